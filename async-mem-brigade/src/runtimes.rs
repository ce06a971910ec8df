//! What runs the tasks. One process has one of them.

use anyhow::Context as _;
use async_executor::LocalExecutor;
use compio::runtime::Runtime;
use futures::executor::{LocalPool, block_on};
use futures::task::LocalSpawnExt as _;
use harness::async_tasks::caught;
use harness::runtime::{AsyncRuntime, RuntimeKind, outcome};
use harness::threads::TaskError;
use harness::{Amounts, Bench, WorkersFlag, failure};

use crate::channels::{Sink, Source};
use crate::{brigade, relay};

/// What `--runtime` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnyRuntime {
    /// Tokio with several worker threads
    Tokio,
    /// Tokio on the thread that waits for it
    TokioCurrentThread,
    /// Tokio on that thread, for tasks that never leave it
    TokioLocal,
    /// async-executor, of smol, on one thread
    AsyncExecutor,
    /// Compio on one thread
    Compio,
    /// LocalPool of futures, which keeps no queue but its tasks' list
    LocalPool,
}

impl AnyRuntime {
    /// Which runtime of tokio this is, if it is one.
    pub fn of_tokio(self) -> Option<RuntimeKind> {
        match self {
            Self::Tokio => Some(RuntimeKind::Tokio),
            Self::TokioCurrentThread => Some(RuntimeKind::TokioCurrentThread),
            Self::TokioLocal => Some(RuntimeKind::TokioLocal),
            Self::AsyncExecutor | Self::Compio | Self::LocalPool => None,
        }
    }

    /// What it takes besides its tasks.
    pub fn amounts(self, threads: WorkersFlag, cpus: usize) -> Amounts {
        match (self, self.of_tokio()) {
            (_, Some(kind)) => kind.amounts(threads.workers, cpus),
            (Self::Compio, _) => Amounts::compio(),
            _ => Amounts::NONE,
        }
    }

    /// Measures a brigade on it, over channels that `open` opens.
    ///
    /// # Errors
    /// Of tokio's flags that contradict one another, and of the tasks.
    pub fn measure<R: Source, S: Sink>(
        self,
        threads: WorkersFlag,
        bench: &Bench,
        open: fn() -> (S, R),
    ) -> anyhow::Result<()> {
        match self {
            Self::Tokio | Self::TokioCurrentThread | Self::TokioLocal => {
                let kind = self.of_tokio().context("a runtime of tokio")?;
                let spawn = move |task| outcome(kind.spawn(task));
                let runtime = AsyncRuntime::start(kind, threads.workers, bench)?;
                runtime.drive(brigade(bench.clone(), open, spawn, relay))
            }
            Self::AsyncExecutor => {
                let executor = LocalExecutor::new();
                let spawn = |task| executor.spawn(caught(task));
                block_on(executor.run(brigade(bench.clone(), open, spawn, relay)))
            }
            Self::LocalPool => {
                let mut pool = LocalPool::new();
                let spawner = pool.spawner();
                let spawn = |task| {
                    let spawned = spawner.spawn_local_with_handle(caught(task));
                    spawned.expect("the pool lives as long as its driver")
                };
                pool.run_until(brigade(bench.clone(), open, spawn, relay))
            }
            Self::Compio => {
                let runtime = Runtime::new()
                    .map_err(|error| failure::creating(format_args!("the runtime"), error))?;
                let spawn = |task| {
                    let task = runtime.spawn(caught(task));
                    async {
                        let cancelled = |_| Err(TaskError::Panicked("cancelled".into()));
                        task.await.unwrap_or_else(cancelled)
                    }
                };
                runtime.block_on(brigade(bench.clone(), open, spawn, relay))
            }
        }
    }
}
