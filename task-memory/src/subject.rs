//! What the tasks of a sweep are, and what they wait for.

use std::fmt;

use clap::ValueEnum;
use harness::failure::UsageError;
use harness::limits::Kind;
use harness::{Amounts, flags};

/// What `--kind` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// No tasks but one block of memory: address space against memory
    Heap,
    /// Threads that share nothing
    Thread,
    /// Threads with a channel in memory each
    ThreadFutex,
    /// Threads over eventfds
    ThreadEventfd,
    /// Threads over pipes
    ThreadPipe,
    /// Threads over socket pairs
    ThreadSocketpair,
    /// Tasks of tokio on one thread
    Tokio,
    /// Tasks of tokio that never leave its thread
    TokioLocal,
    /// Tasks of async-executor, of smol
    AsyncExecutor,
    /// Tasks of compio
    Compio,
    /// Tasks of LocalPool of futures
    LocalPool,
    /// Stackful coroutines
    Coroutine,
    /// Forked processes
    Process,
    /// Rings of io_uring
    IoUring,
}

/// What `--waiting` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// A message, each task from a channel of its own
    Channel,
    /// A timer, an hour from now
    Timer,
    /// A byte, each task from a pipe of its own
    Pipe,
}

impl Subject {
    /// Whether tasks are polled, and so wait for what `--waiting` names.
    fn is_polled(self) -> bool {
        use Subject::{AsyncExecutor, Compio, LocalPool, Tokio, TokioLocal};
        matches!(self, Tokio | TokioLocal | AsyncExecutor | Compio | LocalPool)
    }

    /// Refuses what such tasks cannot wait for.
    ///
    /// # Errors
    /// [`UsageError`], with what they wait for instead.
    pub fn require(self, waiting: Option<Waiting>) -> Result<(), UsageError> {
        let Some(waiting) = waiting else { return Ok(()) };
        let refused = |why: &str| {
            let waiting = flags::name(&waiting);
            Err(UsageError(format!("--waiting {waiting}: {why}")))
        };
        match waiting {
            _ if !self.is_polled() => {
                refused(&format!("--kind {self} says what its tasks wait for"))
            }
            Waiting::Timer | Waiting::Pipe if self == Self::LocalPool => {
                refused("LocalPool has neither timers nor I/O; choose channel")
            }
            _ => Ok(()),
        }
    }

    /// The kind that limits know such tasks by.
    pub fn kind(self, waiting: Option<Waiting>) -> Kind {
        match self {
            Self::Heap | Self::Thread => Kind::Thread,
            Self::ThreadFutex => Kind::ThreadFutex,
            Self::ThreadEventfd => Kind::ThreadEventfd,
            Self::ThreadPipe => Kind::ThreadPipe,
            Self::ThreadSocketpair => Kind::ThreadSocketpair,
            Self::Coroutine => Kind::Coroutine,
            Self::Process => Kind::Process,
            Self::IoUring => Kind::IoUring,
            _ => match waiting {
                None | Some(Waiting::Timer) => Kind::Tokio,
                Some(Waiting::Channel) => Kind::TokioChannel,
                Some(Waiting::Pipe) => Kind::TokioPipe,
            },
        }
    }

    /// What the tasks take together, besides what each takes.
    pub fn shared(self) -> Amounts {
        if self == Self::Compio { Amounts::compio() } else { Amounts::default() }
    }

    /// As many tasks as show in the machine's memory above its noise, half of them
    /// beyond the free pages that the CPUs have on lists.
    pub fn default_tasks(self, waiting: Option<Waiting>) -> u64 {
        match self {
            Self::Process => 200,
            Self::IoUring => 500,
            Self::Coroutine => 10_000,
            _ if self.is_polled() && waiting != Some(Waiting::Pipe) => 1_000_000,
            _ => 12_000,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&flags::name(self))
    }
}

/// Reads a size: a number of bytes, or of KiB, MiB or GiB, like `400KiB`.
pub fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        unit => return Err(format!("'{unit}' is not one of B, KiB, MiB, GiB")),
    };
    let number: usize = digits.parse().map_err(|_| "not a number of bytes, like 400KiB")?;
    number.checked_mul(unit).filter(|bytes| *bytes <= 1 << 46).ok_or("more than 64 TiB".into())
}

/// Reads the value of `--stack-size`, within what threads and coroutines take.
pub fn stack_size(text: &str) -> Result<usize, String> {
    flags::stack_size(&size(text)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::{size, stack_size};

    #[test]
    fn sizes_have_binary_suffixes() {
        assert_eq!(size("0"), Ok(0));
        assert_eq!(size("409600"), size("400KiB"));
        assert_eq!(size("2MiB"), Ok(2 << 20));
        assert_eq!(size("1GiB"), size("1024MiB"));
    }

    #[test]
    fn nonsense_is_told_apart_from_too_much() {
        for nonsense in ["", "-1", "KiB", "1.5MiB", "1 KiB", "1KB", "9kib", "x"] {
            assert!(size(nonsense).is_err(), "{nonsense}");
        }
        assert_eq!(size("99999999999GiB"), Err("more than 64 TiB".into()));
        assert!(stack_size("4KiB").is_err());
        assert_eq!(stack_size("64KiB"), Ok(65536));
    }
}
