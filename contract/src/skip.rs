use std::io::{self, Write as _};

/// Says that a clause cannot be tested on this machine. It does not use
/// `eprintln!`, which the test runner swallows when a test passes.
pub fn skip(what: &str, why: &str) {
    let _ = writeln!(io::stderr(), "SKIPPED: {what}: {why}");
}
