//! Commands as a reader can paste them into a shell.

/// The words of a command, each quoted if a shell would take it for anything but itself. Words may
/// come from a stranger's folder.
pub fn quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quote = |word: &str| {
        // No command line contains a zero byte.
        let word = word.replace('\0', "");
        shlex::try_quote(&word).map(|word| word.into_owned()).unwrap_or_default()
    };
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// A path as one word.
pub fn quoted_path(path: &std::path::Path) -> String {
    quoted([&*path.to_string_lossy()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_same_words_back() {
        let words = ["a b", "$(touch x)", "it's", "", "`x`", "*", "a\nb", "~", "--x=1"];
        let text = quoted(words);
        assert_eq!(shlex::split(&text).unwrap(), words);
        assert_eq!(quoted(["brigade", "run", "hops", "--seed", "1"]), "brigade run hops --seed 1");
    }
}
