//! Exit codes of `brigade`, and the errors that choose one.

pub use harness::failure::UsageError;
use harness::failure::{self, Refusal};

/// The exit codes of `brigade`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded.
    Done = failure::DONE,
    /// Something failed: an invocation, a check, the build, the output.
    Failed = failure::FAILED,
    /// The flags or the manifest are wrong.
    Usage = failure::USAGE,
    /// Nothing failed, but a program refused to run because of a limit.
    Limit = failure::LIMIT,
    /// A comparison found a slower case, with `--fail-on`.
    Slower = 4,
    /// SIGINT or SIGTERM.
    Interrupted = failure::INTERRUPTED,
}

impl Exit {
    /// The numeric exit code.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The exit code of an error; its root cause decides.
    pub fn from_error(error: &anyhow::Error) -> Self {
        let cause = error.root_cause();
        if cause.is::<Interrupted>() {
            Self::Interrupted
        } else if cause.is::<UsageError>() {
            Self::Usage
        } else if cause.is::<Refusal>() {
            Self::Limit
        } else {
            Self::Failed
        }
    }
}

/// SIGINT, SIGTERM or SIGHUP stopped a command early. It exits with
/// [`Exit::Interrupted`] and prints nothing: the caller asked for it.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;
