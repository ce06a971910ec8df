//! The known word nearest to a mistyped one.

/// How alike two words are at least that somebody may have confused, from 0 to 1; as in clap.
const ALIKE: f64 = 0.7;

/// The known word nearest to `word`; `None` if none is near.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let alike = known.into_iter().map(|known| (strsim::jaro(word, known), known));
    let near = alike.filter(|(likeness, _)| *likeness > ALIKE);
    near.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, known)| known)
}

/// A question for the nearest known word, after a semicolon; empty if none is near.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or(String::new(), |known| format!("; did you mean '{known}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_and_a_strange_one_is_like_none() {
        let known = ["hops", "pinned", "thread-brigade", "async-brigade"];
        for (word, expected) in [
            ("hopps", Some("hops")),
            ("pined", Some("pinned")),
            ("thread-brigad", Some("thread-brigade")),
            ("hops", Some("hops")),
            ("xyz", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(did_you_mean("hopps", known), "; did you mean 'hops'?");
        assert_eq!(did_you_mean("xyz", known), "");
        assert_eq!(nearest("hops", []), None);
    }
}
