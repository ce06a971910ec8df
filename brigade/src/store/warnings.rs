//! What was left out of what was read. A damaged file may have a million lines: the first few
//! reasons are kept, and how many more there are.

/// How many reasons are kept.
const MOST_KEPT: usize = 5;

/// The longest one, in characters.
const LONGEST: usize = 300;

/// What was not used, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    first: Vec<String>,
    more: usize,
}

impl Warnings {
    /// Adds a sentence without its full stop. It may quote, unescaped, what was read.
    pub fn push(&mut self, sentence: &str) {
        if self.first.len() == MOST_KEPT {
            self.more += 1;
            return;
        }
        let mut kept: String = sentence.chars().take(LONGEST).collect();
        if kept.len() < sentence.len() {
            kept.push('…');
        }
        self.first.push(kept);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.first.len() + self.more
    }

    /// The first sentences, and one that counts the others.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let more = (self.more > 0).then(|| format!("and {} more like these", self.more));
        self.first.iter().cloned().chain(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_warnings_are_five_short_ones_and_a_count() {
        let mut warnings = Warnings::default();
        for number in 0..1_000_000 {
            warnings.push(&format!("{number}: {}", "Ω".repeat(400)));
        }
        let lines: Vec<String> = warnings.lines().collect();
        assert_eq!((lines.len(), warnings.count()), (MOST_KEPT + 1, 1_000_000));
        assert!(lines.iter().all(|line| line.chars().count() <= LONGEST + 1), "{lines:?}");
        assert_eq!(lines[MOST_KEPT], "and 999995 more like these");
    }
}
