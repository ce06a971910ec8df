//! Kinds of tasks, and what the tasks of one kind can do together.

use std::{fmt, process};

use clap::ValueEnum;
use harness::limits::{Kind, Need, Resource};
use harness::{RuntimeKind, flags};

/// Stack that a task needs in addition to what is touched, in bytes.
const MARGIN_BYTES: usize = 16 << 10;

/// Values of `--kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// Threads without a channel
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

/// Values of `--waiting`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Waiting {
    /// A message, from a private channel
    Channel,
    /// A timer, an hour from now
    Timer,
    /// A byte, from a private pipe
    Pipe,
}

impl Subject {
    /// Whether tasks are polled, so that `--waiting` applies.
    pub fn is_polled(self) -> bool {
        use Subject::{AsyncExecutor, Compio, LocalPool, Tokio, TokioLocal};
        matches!(self, Tokio | TokioLocal | AsyncExecutor | Compio | LocalPool)
    }

    /// The corresponding kind in the limits: tasks of any runtime need as much as tokio's.
    pub fn kind(self, waiting: Option<Waiting>) -> Kind {
        let name = self.to_string();
        match (waiting, RuntimeKind::from_str(&name, false)) {
            (Some(Waiting::Pipe), Ok(runtime)) => runtime.task_over_pipes(),
            _ => Kind::from_str(&name, false).unwrap_or(Kind::Tokio),
        }
    }

    /// Enough tasks to exceed the noise in the machine's memory, half of them beyond the free pages
    /// on per-CPU lists.
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

/// The memory and waiting of each task.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Address space of its stack, for kinds that can choose it.
    pub stack_bytes: usize,
    /// Bytes that it writes before it waits: on its stack, or in a heap block
    /// for kinds without a stack.
    pub touch_bytes: usize,
    /// What it waits for, if it is an async task that waits for something.
    pub waiting: Option<Waiting>,
}

impl Task {
    /// The needs of so many tasks of this kind.
    pub fn need(self, subject: Subject, tasks: u64) -> Need {
        let kind = subject.kind(self.waiting);
        let need = Need::with_stack(kind, tasks, self.stack_bytes as u64);
        need.with(Resource::Memory, self.touch_bytes as u64)
    }

    /// How much of its stack a task may touch, in bytes.
    pub fn most_touched(self) -> usize {
        self.stack_bytes.saturating_sub(MARGIN_BYTES)
    }
}

/// Idle tasks of one kind.
pub trait Population {
    /// Adds `count` tasks, and returns when each of them has touched its memory. If one is refused,
    /// the ones before it stay.
    ///
    /// # Errors
    /// [`harness::failure::Shortage`] if the kernel refuses a task.
    fn add(&mut self, count: u64) -> anyhow::Result<()>;

    /// The number of tasks.
    fn count(&self) -> u64;

    /// The processes of the tasks.
    fn processes(&self) -> Vec<u32> {
        vec![process::id()]
    }

    /// Ends all tasks that would outlive this process.
    ///
    /// # Errors
    /// If a task failed.
    fn end(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}

/// A heap block with every byte written.
pub fn touched(bytes: usize) -> Box<[u8]> {
    vec![1; bytes].into()
}

/// Parses a size: a number of bytes, or of KiB, MiB or GiB, like `400KiB`.
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

/// Parses the value of `--stack-size`, within the bounds of threads and
/// coroutines.
pub fn stack_size(text: &str) -> Result<usize, String> {
    let bytes = size(text)?;
    let is_possible = flags::STACK_SIZES.contains(&(bytes as u64));
    is_possible.then_some(bytes).ok_or(format!("not within {:?} bytes", flags::STACK_SIZES))
}

#[cfg(test)]
mod tests {
    use super::{size, stack_size};

    #[test]
    fn sizes_have_binary_suffixes() {
        assert_eq!(["0", "409600", "2MiB"].map(size), [Ok(0), size("400KiB"), Ok(2 << 20)]);
        assert_eq!(size("1GiB"), size("1024MiB"));
        assert_eq!(stack_size("64KiB"), Ok(65536));
        for nonsense in ["", "-1", "KiB", "1.5MiB", "1 KiB", "1KB", "9kib", "99999999999GiB"] {
            assert!(size(nonsense).is_err(), "{nonsense}");
        }
        assert!(stack_size("4KiB").is_err());
    }
}
