//! Text broken into lines for a terminal of 80 columns.

use crate::report::quantity::JOINT;

/// Columns in a line.
pub const COLUMNS: usize = 80;

/// `text` as one item of a list: behind a dash, broken at spaces so that no
/// line is wider than [`COLUMNS`] unless a single word is, each line ended by
/// a newline. Every character counts as one column.
#[must_use]
pub fn item(text: &str) -> String {
    let mut lines = String::from("-");
    let mut column = 1;
    for word in text.split(' ') {
        let width = word.chars().count();
        if column + 1 + width > COLUMNS {
            lines.push_str("\n ");
            column = 1;
        }
        lines.push(' ');
        lines.push_str(word);
        column += 1 + width;
    }
    lines.push('\n');
    lines.replace(JOINT, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_filled_and_never_overfilled() {
        let text = item(&"µs four ".repeat(40));
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width <= COLUMNS), "{widths:?}");
        assert!(widths[0] > COLUMNS - 5, "{widths:?}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("  ")));
    }

    #[test]
    fn a_joint_is_a_space_at_which_no_line_breaks() {
        let words = format!("{} 1.79{JOINT}µs", "x".repeat(COLUMNS - 6));
        assert_eq!(item(&words).lines().last(), Some("  1.79 µs"));
    }

    #[test]
    fn a_word_wider_than_a_line_stands_alone() {
        let text = item(&format!("a {} b", "x".repeat(COLUMNS)));
        assert_eq!(text.lines().count(), 3);
    }
}
