//! The flags: what the tasks of a sweep are, and what they wait for.

use std::fmt;

use clap::ValueEnum;
use harness::failure::UsageError;
use harness::limits::{Kind, STACK_BYTES};
use harness::{Amounts, flags};

use crate::population::Task;

/// How much of the stack of a process may be touched, in bytes: half of the
/// 8 MiB that Linux gives to the main thread.
const PROCESS_STACK_BYTES: usize = 4 << 20;

/// Read what waiting tasks hold in memory, part by part.
///
/// Tasks are added step by step, and at each count the memory of the process
/// and of the machine is read. One iteration adds the tasks of one step.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    /// What the tasks are; heap is no tasks but one block of memory
    #[arg(long, value_enum, default_value_t = Subject::Thread)]
    pub kind: Subject,

    /// What each async task waits for; without it, nothing
    #[arg(long, value_enum)]
    pub waiting: Option<Waiting>,

    /// Tasks at the first reading; without it, half of the most
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub from: Option<u32>,

    /// What each task writes to before it waits, like 400KiB: of its stack, or
    /// of a heap block where tasks have none
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = size)]
    #[arg(allow_negative_numbers = true)]
    pub touch: usize,

    /// Address space of each thread's or coroutine's stack; without it, 1MiB
    #[arg(long, value_name = "BYTES", value_parser = stack_size, allow_negative_numbers = true)]
    pub stack_size: Option<usize>,

    /// The block of --kind heap; without it, 256MiB
    #[arg(long, value_name = "BYTES", value_parser = size, allow_negative_numbers = true)]
    pub bytes: Option<usize>,

    /// Make tasks one by one until there are as many as --tasks, or the kernel
    /// refuses one
    #[arg(long)]
    pub until_refused: bool,
}

impl Flags {
    /// What each task holds.
    ///
    /// # Errors
    /// [`UsageError`] for flags that its kind cannot follow.
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
            format!("--stack-size: --kind {kind} does not choose stacks")
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

    /// Why such tasks cannot wait for that, if they cannot.
    fn refusal(self, waiting: Option<Waiting>) -> Option<String> {
        let waiting = waiting?;
        let why = if !self.is_polled() {
            format!("--kind {self} says what its tasks wait for")
        } else if self == Self::LocalPool && waiting != Waiting::Channel {
            "LocalPool has neither timers nor I/O; choose channel".into()
        } else {
            return None;
        };
        Some(format!("--waiting {}: {why}", flags::name(&waiting)))
    }

    /// The kind that limits know such tasks by: tasks of any runtime need what those of tokio
    /// need.
    pub fn kind(self, waiting: Option<Waiting>) -> Kind {
        match waiting {
            Some(Waiting::Channel) => Kind::TokioChannel,
            Some(Waiting::Pipe) => Kind::TokioPipe,
            None | Some(Waiting::Timer) => {
                Kind::from_str(&self.to_string(), false).unwrap_or(Kind::Tokio)
            }
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
        assert_eq!(["0", "409600", "2MiB"].map(size), [Ok(0), size("400KiB"), Ok(2 << 20)]);
        assert_eq!(size("1GiB"), size("1024MiB"));
        assert_eq!(stack_size("64KiB"), Ok(65536));
        for nonsense in ["", "-1", "KiB", "1.5MiB", "1 KiB", "1KB", "9kib", "99999999999GiB"] {
            assert!(size(nonsense).is_err(), "{nonsense}");
        }
        assert!(stack_size("4KiB").is_err());
    }
}
