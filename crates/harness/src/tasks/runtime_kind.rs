//! The runtimes that programs offer, and the flags that choose one.

use clap::builder::RangedU64ValueParser;

use crate::machine::limits::Kind;
use crate::tasks::task_kind::TaskKind;
use crate::tasks::tokio_settings::TokioSettings;

/// Values of `--runtime`. Each program offers some of them, in its `Spec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RuntimeKind {
    /// No runtime: each task is a thread
    Threads,
    /// Tokio with several worker threads
    Tokio,
    /// Tokio on the thread that waits for it
    TokioCurrentThread,
    /// Tokio on that thread, for tasks that never leave it
    TokioLocal,
    /// async-executor, of smol, on one thread
    AsyncExecutor,
    /// Compio on one thread, over io_uring
    Compio,
    /// LocalPool of futures, which keeps no queue, only a list of tasks
    LocalPool,
    /// No runtime: stackful coroutines resumed in turn
    Coroutine,
}

impl RuntimeKind {
    /// The runtimes of tokio.
    pub const OF_TOKIO: &[Self] = &[Self::Tokio, Self::TokioCurrentThread, Self::TokioLocal];

    /// What its tasks are.
    pub fn task_kind(self) -> TaskKind {
        match self {
            Self::Threads => TaskKind::Thread,
            Self::Coroutine => TaskKind::Coroutine,
            Self::Tokio | Self::TokioCurrentThread | Self::TokioLocal => TaskKind::AsyncTask,
            Self::AsyncExecutor | Self::Compio | Self::LocalPool => TaskKind::AsyncTask,
        }
    }

    /// What its tasks need, without I/O.
    pub fn needs(self) -> Kind {
        match self {
            Self::Threads => Kind::Thread,
            Self::Coroutine => Kind::Coroutine,
            Self::Compio => Kind::Compio,
            Self::AsyncExecutor | Self::LocalPool => Kind::AsyncExecutor,
            Self::Tokio | Self::TokioCurrentThread | Self::TokioLocal => Kind::Tokio,
        }
    }

    /// What its tasks need if they wait for pipes.
    pub fn needs_over_pipes(self) -> Kind {
        match self {
            Self::Threads => Kind::ThreadPipe,
            Self::Compio => Kind::CompioPipe,
            Self::AsyncExecutor => Kind::AsyncExecutorPipe,
            _ => Kind::TokioPipe,
        }
    }
}

/// The flags of programs with several runtimes.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(skip)]
pub struct RuntimeFlags {
    /// Runtime of the tasks
    #[arg(long, value_enum)]
    pub runtime: RuntimeKind,

    /// Worker threads of a multi-thread runtime [default: one per CPU]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=1024))]
    pub workers: Option<usize>,

    /// Settings of tokio, such as event_interval=1,global_queue_interval=31 [default: its own, which
    /// brigade list prints]
    #[arg(long, value_name = "LIST")]
    pub tokio: Option<TokioSettings>,
}

impl RuntimeFlags {
    /// Whether the tasks are threads.
    pub fn are_threads(&self) -> bool {
        self.runtime == RuntimeKind::Threads
    }
}

impl From<RuntimeKind> for RuntimeFlags {
    /// This runtime as it is without further flags.
    fn from(runtime: RuntimeKind) -> Self {
        Self { runtime, workers: None, tokio: None }
    }
}
