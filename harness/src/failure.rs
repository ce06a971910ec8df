//! How a program ends: its exit codes and the errors that choose them.

use std::process::ExitCode;

use crate::limits::Refusal;

/// Done.
pub const DONE: u8 = 0;
/// Something failed.
pub const FAILED: u8 = 1;
/// The command line cannot be followed.
pub const USAGE: u8 = 2;
/// A limit does not allow what was asked for.
pub const LIMIT: u8 = 3;
/// SIGINT or SIGTERM.
pub const INTERRUPTED: u8 = 130;

/// The command line asks for what cannot be, found before anything is
/// measured.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// The exit code that the design gives to this error.
#[must_use]
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    let code = if error.is::<UsageError>() {
        USAGE
    } else if error.is::<Refusal>() {
        LIMIT
    } else {
        FAILED
    };
    ExitCode::from(code)
}
