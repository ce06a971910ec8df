//! Makes text safe to show on a terminal, even from untrusted files.
//!
//! Records, manifests and programs' errors are data. Printed unchanged, they
//! could move the cursor, change the window's title, or show something other
//! than their content (Boucher and Anderson, "Trojan Source", 2021). So control
//! characters are escaped as in JSON, `\u001b`; escaped JSON stays JSON.

/// Escapes every control character in `text` except line feeds: for text of
/// several lines.
pub fn text(text: &str) -> String {
    escaped(text, |c| acts(c) && c != '\n')
}

/// Escapes every control character in `text`, including line feeds: for a part
/// of a line.
pub fn line(text: &str) -> String {
    escaped(text, acts)
}

/// The longest message, in characters.
const LONGEST_MESSAGE: usize = 2000;

/// A message in one line, as [`line()`] makes it. The middle of a long one is left out: it may quote
/// an argument of any length, but names what is wrong at its ends.
pub fn message(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST_MESSAGE {
        return line(text);
    }
    let half = LONGEST_MESSAGE / 2;
    let first: String = text.chars().take(half).collect();
    let last: String = text.chars().skip(count - half).collect();
    format!("{} [{} characters] {}", line(&first), count - 2 * half, line(&last))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            safe.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Whether a character affects its neighbours or is invisible: controls, changes of direction, line
/// breaks, and the zero-width and tag characters that can hide text.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LONGEST_MESSAGE, acts, line, message, text};

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(line("a\n\u{1b}[31m\u{202e}"), "a\\u000a\\u001b[31m\\u202e");
        assert_eq!(text("a\n\u{1b}"), "a\n\\u001b");
    }

    #[test]
    fn the_middle_of_a_long_message_is_left_out() {
        assert_eq!(message("a\nb"), "a\\u000ab");
        let long = format!("begin {} end", "ä".repeat(100_000));
        let short = message(&long);
        assert!(short.starts_with("begin ä") && short.ends_with("ä end"), "{short}");
        assert!(short.chars().count() < LONGEST_MESSAGE + 50, "{short}");
    }

    proptest! {
        #[test]
        fn no_control_character_is_left(string in ".*|[\u{0}-\u{20}\u{7f}-\u{a0}\u{2000}-\u{2070}]*") {
            prop_assert!(!line(&string).contains(acts));
            prop_assert!(!text(&string).replace('\n', "").contains(acts));
        }
    }
}
