//! The flags: the kind of tasks in a sweep, and what they wait for.

use std::fmt;

use clap::ValueEnum;
use harness::failure::UsageError;
use harness::flags;
use harness::limits::{Kind, STACK_BYTES};

use crate::population::Task;

/// How much of a process's stack may be touched, in bytes: half of the 8 MiB of
/// a main thread on Linux.
const PROCESS_STACK_BYTES: usize = 4 << 20;

/// Read the memory of waiting tasks, part by part.
///
/// Tasks are added step by step; after each step the memory of the process and
/// of the machine is read. One iteration adds the tasks of one step.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    /// Kind of the tasks; heap means one block of memory instead of tasks
    #[arg(long, value_enum, default_value_t = Subject::Thread)]
    pub kind: Subject,

    /// What each async task waits for [default: nothing]
    #[arg(long, value_enum)]
    pub waiting: Option<Waiting>,

    /// Tasks at the first reading [default: half of --to]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub from: Option<u32>,

    /// Bytes that each task writes before it waits, like 400KiB: on its stack,
    /// or in a heap block without one
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = size)]
    #[arg(allow_negative_numbers = true)]
    pub touch: usize,

    /// Address space of each thread's or coroutine's stack [default: 1MiB]
    #[arg(long, value_name = "BYTES", value_parser = stack_size, allow_negative_numbers = true)]
    pub stack_size: Option<usize>,

    /// Size of the block of --kind heap [default: 256MiB]
    #[arg(long, value_name = "BYTES", value_parser = size, allow_negative_numbers = true)]
    pub bytes: Option<usize>,

    /// Create tasks one by one up to --tasks, or until the kernel refuses one
    #[arg(long)]
    pub until_refused: bool,
}

impl Flags {
    /// The memory of each task.
    ///
    /// # Errors
    /// [`UsageError`] for flags that its kind does not support.
    pub fn task(&self) -> Result<Task, UsageError> {
        let Self { kind, waiting, touch, .. } = *self;
        let has_sized_stack = kind.kind(waiting).has_sized_stack();
        let is_process = kind == Subject::Process;
        let chosen = self.stack_size.unwrap_or(STACK_BYTES as usize);
        let stack_bytes = if is_process { PROCESS_STACK_BYTES } else { chosen };
        let task = Task { stack_bytes, touch_bytes: touch, waiting };
        let most = task.most_touched();
        Err(UsageError(if let Some(refusal) = kind.refusal(waiting) {
            refusal
        } else if self.stack_size.is_some() && !has_sized_stack {
            format!("--stack-size: --kind {kind} has no stacks to size")
        } else if self.bytes.is_some() {
            format!("--bytes: --kind {kind} has no block; use --touch")
        } else if touch > 0 && kind == Subject::IoUring {
            "--touch: --kind io-uring has nothing to touch".into()
        } else if (has_sized_stack || is_process) && touch > most {
            format!(
                "--touch {touch}: at most {most} bytes of a stack of {stack_bytes} can be touched"
            )
        } else {
            return Ok(task);
        }))
    }

    /// Refuses flags for tasks.
    ///
    /// # Errors
    /// [`UsageError`], with the flag.
    pub fn check_heap(&self) -> Result<(), UsageError> {
        let given = [
            ("--stack-size", self.stack_size.is_some()),
            ("--until-refused", self.until_refused),
            ("--waiting", self.waiting.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(UsageError(format!("{flag}: --kind heap has no tasks"))),
            None => Ok(()),
        }
    }
}

/// Values of `--kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// One block of memory instead of tasks: address space compared with memory
    Heap,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
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
    fn is_polled(self) -> bool {
        use Subject::{AsyncExecutor, Compio, LocalPool, Tokio, TokioLocal};
        matches!(self, Tokio | TokioLocal | AsyncExecutor | Compio | LocalPool)
    }

    /// Why such tasks cannot wait for that; `None` if they can.
    fn refusal(self, waiting: Option<Waiting>) -> Option<String> {
        let waiting = waiting?;
        let why = if !self.is_polled() {
            format!("--kind {self} determines what its tasks wait for")
        } else if self == Self::LocalPool && waiting != Waiting::Channel {
            "LocalPool has neither timers nor I/O; choose channel".into()
        } else {
            return None;
        };
        Some(format!("--waiting {}: {why}", flags::name(&waiting)))
    }

    /// The corresponding kind in the limits: tasks of any runtime need as much as tokio's.
    pub fn kind(self, waiting: Option<Waiting>) -> Kind {
        match waiting {
            Some(Waiting::Pipe) => match self {
                Self::Compio => Kind::CompioPipe,
                Self::AsyncExecutor => Kind::AsyncExecutorPipe,
                _ => Kind::TokioPipe,
            },
            None | Some(Waiting::Timer | Waiting::Channel) => {
                Kind::from_str(&self.to_string(), false).unwrap_or(Kind::Tokio)
            }
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
    flags::stack_size(&size(text)?.to_string())
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
