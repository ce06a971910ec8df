//! Text broken into lines for a terminal of 80 columns.

/// Columns in a line.
pub const COLUMNS: usize = 80;

/// A space at which no line breaks; it is printed as a space.
pub const NO_BREAK_SPACE: char = '\u{a0}';

/// `text` as one item of a list: behind a dash, broken at spaces so that no
/// line is wider than [`COLUMNS`] unless a single word is, each line ended by
/// a newline. Every character counts as one column.
#[must_use]
pub fn item(text: &str) -> String {
    broken(text, "- ", "  ")
}

/// `text` broken like an item, but not one of a list.
#[must_use]
pub fn lines(text: &str) -> String {
    broken(text, "", "")
}

/// `text` in lines, the first of which begins with `first` and the others with
/// `others`, which is as wide.
fn broken(text: &str, first: &str, others: &str) -> String {
    let mut lines = String::from(first);
    let mut column = first.len();
    for (index, word) in text.split(' ').enumerate() {
        let width = word.chars().count();
        if index > 0 && column + 1 + width > COLUMNS {
            lines.push('\n');
            lines.push_str(others);
            column = others.len();
        } else if index > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += width;
    }
    lines.push('\n');
    lines.replace(NO_BREAK_SPACE, " ")
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
    fn what_is_no_item_is_broken_alike_and_begins_at_the_edge() {
        let text = lines(&"four ".repeat(40));
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths, [79, 79, 40], "{text}");
        assert!(text.lines().all(|line| line.starts_with("four")), "{text}");
    }

    #[test]
    fn a_joint_is_a_space_at_which_no_line_breaks() {
        let words = format!("{} 1.79{NO_BREAK_SPACE}µs", "x".repeat(COLUMNS - 6));
        assert_eq!(item(&words).lines().last(), Some("  1.79 µs"));
    }

    #[test]
    fn a_word_wider_than_a_line_stands_alone() {
        let text = item(&format!("a {} b", "x".repeat(COLUMNS)));
        assert_eq!(text.lines().count(), 3);
    }
}
