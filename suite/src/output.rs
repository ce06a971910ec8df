//! Writing to the caller. A reader that has gone away is no failure; a full
//! disk is one.

use std::io::{self, ErrorKind, Write};

use anyhow::Context;

/// Writes text to standard output, as it is.
///
/// # Errors
/// When standard output cannot be written, unless its reader has closed it.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("writing to standard output")
        }
        _ => Ok(()),
    }
}

/// Writes one line to standard error, after the program's name.
pub fn complain(message: &str) {
    // Where standard error is gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "brigade: {message}");
}
