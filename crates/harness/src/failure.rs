//! Exit codes of a program, and the errors that choose one.

use std::fmt;
use std::io;
use std::process::ExitCode;

use anyhow::anyhow;
use nix::errno::Errno;

pub use crate::machine::limits::Refusal;
use crate::machine::limits::unreadable;

/// Success.
pub const DONE: u8 = 0;
/// Something failed.
pub const FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 2;
/// A limit is too low.
pub const LIMIT: u8 = 3;
/// SIGINT or SIGTERM.
pub const INTERRUPTED: u8 = 130;

/// The command line asks for something impossible; found before anything is
/// measured.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// A resource ran out while tasks were created: a limit that could not be read
/// before, or other processes used the rest.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot create {what}: {cause}; use fewer tasks, or raise the limit of this shell (ulimit), \
     user or control group (pids.max, memory.max){unread}"
)]
pub struct Shortage {
    what: String,
    cause: io::Error,
    /// The limits that cannot be read, with a semicolon before them.
    unread: String,
}

impl Shortage {
    /// What could not be created, and the kernel's error.
    pub fn cause(&self) -> String {
        format!("cannot create {}: {}", self.what, self.cause)
    }
}

/// The error for a task or channel, `what`, that could not be created: a
/// [`Shortage`] if the kernel reports that something ran out.
pub fn to_create(what: impl fmt::Display) -> impl FnOnce(io::Error) -> anyhow::Error {
    use Errno::{EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM};
    move |cause| match cause.raw_os_error().map(Errno::from_raw) {
        Some(number @ (EAGAIN | ENOMEM | EMFILE | ENFILE | ENOBUFS)) => {
            // Without files, nothing can be read.
            let unread = if matches!(number, EMFILE | ENFILE) { None } else { unreadable() };
            let unread = unread.map_or(String::new(), |files| format!("; not readable: {files}"));
            Shortage { what: what.to_string(), cause, unread }.into()
        }
        _ => anyhow!("cannot create {what}: {cause}"),
    }
}

/// The error for the channel with this number, which could not be opened.
pub fn of_channel(number: usize) -> impl FnOnce(io::Error) -> anyhow::Error {
    to_create(format!("channel {number}"))
}

/// The exit code for this error.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    let code = if error.is::<UsageError>() {
        USAGE
    } else if error.is::<Refusal>() || error.is::<Shortage>() {
        LIMIT
    } else {
        FAILED
    };
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(cause: Errno) -> ExitCode {
        exit_code(&to_create("task 7")(cause.into()))
    }

    #[test]
    fn a_resource_that_ran_out_is_a_limit_and_anything_else_a_failure() {
        for cause in [Errno::EAGAIN, Errno::ENOMEM, Errno::EMFILE] {
            assert_eq!(code(cause), ExitCode::from(LIMIT), "{cause}");
        }
        assert_eq!(code(Errno::EPERM), ExitCode::from(FAILED));
        let refusal = Refusal("no such ring".into()).into();
        assert_eq!(exit_code(&refusal), ExitCode::from(LIMIT));
    }
}
