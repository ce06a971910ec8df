//! What `brigade` does with a manifest: parses and validates it. What is wrong
//! with it is told on one line that begins with the number of the line.

use brigade::manifest::Manifest;
use harness::terminal;

/// Checks one input.
pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    if let Err(reason) = Manifest::parse(text) {
        let place = reason.strip_prefix(':').and_then(|rest| rest.split_once(": "));
        let line = place.and_then(|(line, _)| line.parse::<usize>().ok());
        assert!(line.is_some_and(|line| line >= 1), "{reason:?} names no line");
        assert!(!terminal::line(&reason).contains('\n'));
    }
}
