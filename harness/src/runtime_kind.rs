//! The runtimes that programs offer, and the flags that choose one.

use clap::ValueEnum as _;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};

use crate::failure::UsageError;
use crate::limits::Kind;

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

    /// The kind of its tasks in the limits, without I/O.
    pub fn task(self) -> Kind {
        match self {
            Self::Threads => Kind::Thread,
            Self::Coroutine => Kind::Coroutine,
            Self::Compio => Kind::Compio,
            Self::AsyncExecutor | Self::LocalPool => Kind::AsyncExecutor,
            Self::Tokio | Self::TokioCurrentThread | Self::TokioLocal => Kind::Tokio,
        }
    }

    /// The kind of its tasks in the limits, if they wait for pipes.
    pub fn task_over_pipes(self) -> Kind {
        match self {
            Self::Threads => Kind::ThreadPipe,
            Self::Compio => Kind::CompioPipe,
            Self::AsyncExecutor => Kind::AsyncExecutorPipe,
            _ => Kind::TokioPipe,
        }
    }

    /// Parses one of the runtimes that a program offers.
    pub(crate) fn one_of(offered: &[Self]) -> impl TypedValueParser<Value = Self> + use<> {
        let values = offered.iter().filter_map(Self::to_possible_value);
        PossibleValuesParser::new(values)
            .map(|name| Self::from_str(&name, false).expect("one of the values"))
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
}

impl RuntimeFlags {
    /// The number of its workers, on this many CPUs.
    ///
    /// # Errors
    /// [`UsageError`] for workers of a runtime without any.
    pub(crate) fn threads(&self, cpus: usize) -> Result<u64, UsageError> {
        match (self.runtime, self.workers) {
            (RuntimeKind::Tokio, None) => Ok(cpus as u64),
            (RuntimeKind::Tokio, Some(workers)) => Ok(workers as u64),
            (_, None) => Ok(0),
            (_, Some(workers)) => Err(UsageError(format!(
                "--workers {workers}: this runtime has no workers; choose --runtime tokio"
            ))),
        }
    }
}
