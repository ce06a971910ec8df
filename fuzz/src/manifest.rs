//! Parses and validates a manifest as `brigade` does. An error is one line, which begins with a
//! line number, or names the table (`profile 'default': …`).

use brigade::manifest::Manifest;
use harness::terminal;

/// Checks one input.
pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    if let Err(reason) = Manifest::parse(text) {
        let place = reason.strip_prefix(':').and_then(|rest| rest.split_once(": "));
        let line = place.and_then(|(line, _)| line.parse::<usize>().ok());
        let table = reason.strip_prefix(": ").and_then(|rest| rest.split_once(": "));
        let is_placed = line.is_some_and(|line| line >= 1) || table.is_some();
        assert!(is_placed, "{reason:?} names neither a line nor a table");
        assert!(!terminal::line(&reason).contains('\n'));
    }
}
