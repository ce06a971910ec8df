//! How a program ends: its exit codes and the errors that choose them.

use std::fmt;
use std::io;
use std::process::ExitCode;

use anyhow::anyhow;
use nix::errno::Errno;

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

/// The kernel, or a filter of its system calls, does not have what a flag asks for.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// The machine gave out while the tasks were being created: a limit that could
/// not be read before, or somebody else took what was left.
#[derive(Debug, thiserror::Error)]
#[error(
    "creating {what}: {cause}; use fewer tasks, or raise the limit of this shell (ulimit), \
     user or control group (pids.max, memory.max)"
)]
pub struct Shortage {
    what: String,
    cause: io::Error,
}

impl Shortage {
    /// What could not be created, and what the kernel said.
    pub fn cause(&self) -> String {
        format!("creating {}: {}", self.what, self.cause)
    }
}

/// The error of a task or a channel, `what`, that could not be created: a
/// [`Shortage`] where the kernel says that something has run out.
pub fn creating(what: fmt::Arguments<'_>, cause: io::Error) -> anyhow::Error {
    const RUN_OUT: [Errno; 5] =
        [Errno::EAGAIN, Errno::ENOMEM, Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS];
    let number = cause.raw_os_error().map(Errno::from_raw);
    if number.is_some_and(|number| RUN_OUT.contains(&number)) {
        Shortage { what: what.to_string(), cause }.into()
    } else {
        anyhow!("creating {what}: {cause}")
    }
}

/// The error of the channel of this number, that could not be opened.
pub fn of_channel(number: usize) -> impl FnOnce(io::Error) -> anyhow::Error {
    move |error| creating(format_args!("channel {number}"), error)
}

/// The exit code that the design gives to this error.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    let code = if error.is::<UsageError>() {
        USAGE
    } else if error.is::<Refusal>() || error.is::<Shortage>() || error.is::<Unavailable>() {
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
        exit_code(&creating(format_args!("task 7"), cause.into()))
    }

    #[test]
    fn what_has_run_out_is_a_limit_and_anything_else_a_failure() {
        for cause in [Errno::EAGAIN, Errno::ENOMEM, Errno::EMFILE] {
            assert_eq!(code(cause), ExitCode::from(LIMIT), "{cause}");
        }
        assert_eq!(code(Errno::EPERM), ExitCode::from(FAILED));
        let unavailable = Unavailable("no such ring".into()).into();
        assert_eq!(exit_code(&unavailable), ExitCode::from(LIMIT));
    }
}
