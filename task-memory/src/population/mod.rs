//! Populations: idle tasks of one kind, of which more can be added.

mod coroutines;
mod executor;
mod processes;
mod threads;
mod tokio;

use harness::Amounts;

use crate::stack::MARGIN_BYTES;

/// What `--kind` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// OS threads, parked
    Thread,
    /// Tasks of tokio's current-thread runtime that wait for ever
    Tokio,
    /// Tasks of async-executor's local executor that wait for ever
    AsyncExecutor,
    /// Suspended stackful coroutines (corosensei)
    Coroutine,
    /// Forked processes that wait to read
    Process,
    /// No tasks: one block of memory, virtual against resident
    Heap,
}

impl Kind {
    /// The value of `--kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Tokio => "tokio",
            Self::AsyncExecutor => "async-executor",
            Self::Coroutine => "coroutine",
            Self::Process => "process",
            Self::Heap => "heap",
        }
    }

    /// Whether its tasks have stacks of a size that the program chooses.
    pub fn has_sized_stacks(self) -> bool {
        matches!(self, Self::Thread | Self::Coroutine)
    }

    /// As many tasks as show in the machine's memory above its noise, half of
    /// them beyond the free pages that the CPUs have on lists.
    pub fn default_tasks(self) -> u64 {
        match self {
            Self::Thread => 12_000,
            Self::Coroutine => 10_000,
            Self::Process => 200,
            Self::Tokio | Self::AsyncExecutor | Self::Heap => 1_000_000,
        }
    }
}

/// What each task is to hold.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Address space of its stack, for the kinds that choose it.
    pub stack_bytes: usize,
    /// What it writes to before it waits: of its stack, or of a heap block
    /// for kinds without a stack.
    pub touch_bytes: usize,
}

impl Task {
    /// What a task of this kind needs of every limited resource.
    pub fn amounts(self, kind: Kind) -> Amounts {
        let stack_bytes = self.stack_bytes as u64;
        let touch = Amounts { user_bytes: self.touch_bytes as u64, ..Amounts::default() };
        touch.and(match kind {
            Kind::Thread => Amounts::thread(stack_bytes),
            Kind::Process => Amounts::process(),
            Kind::Coroutine => Amounts::coroutine(stack_bytes),
            Kind::Tokio | Kind::AsyncExecutor | Kind::Heap => Amounts::async_task(),
        })
    }

    /// How much of its stack a task may touch, in bytes.
    pub fn most_touched(self) -> usize {
        self.stack_bytes.saturating_sub(MARGIN_BYTES)
    }
}

/// Idle tasks of one kind. They end when the population is dropped, unless
/// [`Population::end`] has ended them before.
pub trait Population {
    /// Adds `count` tasks, and returns when each of them has touched what it
    /// is to touch.
    fn add(&mut self, count: u64) -> anyhow::Result<()>;

    /// The processes that the tasks live in, as they are called in `/proc`.
    fn processes(&self) -> Vec<String> {
        vec!["self".into()]
    }

    /// Ends all tasks.
    ///
    /// # Errors
    /// When a task failed.
    fn end(self: Box<Self>) -> anyhow::Result<()>;
}

/// A population of no tasks yet.
pub fn open(kind: Kind, task: Task) -> anyhow::Result<Box<dyn Population>> {
    Ok(match kind {
        Kind::Thread => Box::new(threads::Threads::new(task)),
        Kind::Tokio => Box::new(tokio::Tasks::new(task)?),
        Kind::AsyncExecutor => Box::new(executor::Tasks::new(task)),
        Kind::Coroutine => Box::new(coroutines::Coroutines::new(task)),
        Kind::Process => Box::new(processes::Processes::new(task)?),
        Kind::Heap => anyhow::bail!("--kind heap has no tasks"),
    })
}
