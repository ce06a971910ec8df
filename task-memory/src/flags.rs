//! The program's flags: the kinds of tasks, and what each task touches and waits for.

use clap::{ValueEnum, value_parser};
use harness::failure::UsageError;
use harness::flags::{STACK_SIZES, name};
use harness::limits::{Kind, Need, Resource, STACK_BYTES};
use harness::{RuntimeKind, TaskKind};

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

impl Subject {
    /// What the tasks are.
    pub fn task_kind(self) -> TaskKind {
        match self {
            Self::Thread | Self::ThreadFutex | Self::ThreadEventfd => TaskKind::Thread,
            Self::ThreadPipe | Self::ThreadSocketpair => TaskKind::Thread,
            Self::Tokio | Self::TokioLocal | Self::AsyncExecutor => TaskKind::AsyncTask,
            Self::Compio | Self::LocalPool => TaskKind::AsyncTask,
            Self::Coroutine => TaskKind::Coroutine,
            Self::Process => TaskKind::Process,
            Self::IoUring => TaskKind::None,
        }
    }
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

/// How much of a process's stack may be touched, in bytes: half of the 8 MiB of a main thread on
/// Linux.
const PROCESS_STACK_BYTES: usize = 4 << 20;

/// Measure the memory of idle tasks, part by part.
///
/// Tasks are added step by step; after each step the memory of the process and
/// of the machine is read. One iteration adds the tasks of one step.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade task-memory --kind thread --tasks 4000
  brigade task-memory --kind tokio --waiting channel --tasks 200000")]
#[command(mut_arg("iters", |iters| {
    iters.visible_alias("steps").help("Number of steps up to the most tasks")
}))]
pub struct Flags {
    /// The most tasks
    #[arg(long, visible_aliases = ["threads", "to"], alias = "connections", value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    pub tasks: Option<u32>,

    /// Kind of the tasks
    #[arg(long, value_enum, default_value_t = Subject::Thread)]
    pub kind: Subject,

    /// What each async task waits for [default: nothing]
    #[arg(long, value_enum)]
    pub waiting: Option<Waiting>,

    /// Tasks at the first reading [default: half of --to]
    #[arg(long, value_name = "N")]
    pub from: Option<u32>,

    /// Bytes that each task writes before it waits, like 400KiB: on its stack, or on the heap if it
    /// has none
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = size)]
    pub touch: usize,

    /// Address space of each thread's or coroutine's stack [default: 1MiB]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub stack_size: Option<usize>,

    /// Create tasks one by one up to --tasks, or until the kernel refuses one
    #[arg(long)]
    pub until_refused: bool,
}

impl Flags {
    /// Refuses flags that the kind of tasks does not support.
    ///
    /// # Errors
    /// [`UsageError`], with the flag.
    pub fn check(&self) -> Result<(), UsageError> {
        let Self { kind, waiting, touch, stack_size, .. } = *self;
        let named = name(&kind);
        let stack_bytes = self.stack_bytes();
        let waits = waiting.map(|waiting| name(&waiting)).unwrap_or_default();
        let most = match self.needs_of_each() {
            Kind::Process => PROCESS_STACK_BYTES,
            sized if sized.has_sized_stack() => stack_bytes.saturating_sub(MARGIN_BYTES),
            _ => usize::MAX,
        };
        let wrong = if waiting.is_some() && !self.is_polled() {
            format!("--waiting {waits}: --kind {named} determines what its tasks wait for")
        } else if kind == Subject::LocalPool && !matches!(waiting, None | Some(Waiting::Channel)) {
            format!("--waiting {waits}: LocalPool has neither timers nor I/O; choose channel")
        } else if stack_size.is_some() && !self.needs_of_each().has_sized_stack() {
            format!("--stack-size: --kind {named} has no stacks to size")
        } else if !STACK_SIZES.contains(&(stack_bytes as u64)) {
            format!("--stack-size {stack_bytes}: not within {STACK_SIZES:?} bytes")
        } else if touch > 0 && kind == Subject::IoUring {
            format!("--touch: --kind {named} has nothing to touch")
        } else if touch > most {
            format!("--touch {touch}: at most {most} bytes of a stack can be touched")
        } else {
            return Ok(());
        };
        Err(UsageError(wrong))
    }

    /// Whether tasks are polled, so that `--waiting` applies.
    fn is_polled(&self) -> bool {
        use Subject::{AsyncExecutor, Compio, LocalPool, Tokio, TokioLocal};
        matches!(self.kind, Tokio | TokioLocal | AsyncExecutor | Compio | LocalPool)
    }

    /// What each task needs: tasks of any runtime as much as tokio's.
    pub fn needs_of_each(&self) -> Kind {
        let name = name(&self.kind);
        match (self.waiting, RuntimeKind::from_str(&name, false)) {
            (Some(Waiting::Pipe), Ok(runtime)) => runtime.needs_over_pipes(),
            _ => Kind::from_str(&name, false).unwrap_or(Kind::Tokio),
        }
    }

    /// Address space of each stack, for kinds that can choose it.
    pub fn stack_bytes(&self) -> usize {
        self.stack_size.unwrap_or(STACK_BYTES as usize)
    }

    /// The needs of so many tasks.
    pub fn need(&self, tasks: u64) -> Need {
        let need = Need::with_stack(self.needs_of_each(), tasks, self.stack_bytes() as u64);
        need.with_per_task(Resource::Memory, self.touch as u64)
    }

    /// Enough tasks to exceed the noise in the machine's memory, half of them beyond the free pages
    /// on per-CPU lists.
    pub fn default_tasks(&self) -> u64 {
        match self.kind {
            Subject::Process => 200,
            Subject::IoUring => 500,
            Subject::Coroutine => 10_000,
            _ if self.is_polled() && self.waiting != Some(Waiting::Pipe) => 1_000_000,
            _ => 12_000,
        }
    }
}

/// Parses a size: a number of bytes, or of KiB, MiB or GiB, like `400KiB`.
fn size(text: &str) -> Result<usize, String> {
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

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_binary_suffixes() {
        assert_eq!(["0", "409600", "2MiB"].map(size), [Ok(0), size("400KiB"), Ok(2 << 20)]);
        assert_eq!(size("1GiB"), size("1024MiB"));
        for nonsense in ["", "-1", "KiB", "1.5MiB", "1 KiB", "1KB", "9kib", "99999999999GiB"] {
            assert!(size(nonsense).is_err(), "{nonsense}");
        }
    }
}
