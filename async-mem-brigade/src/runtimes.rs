//! The runtimes of the tasks. One process has one of them.

use async_executor::LocalExecutor;
use compio::runtime::Runtime;
use futures::executor::{LocalPool, block_on};
use futures::task::LocalSpawnExt as _;
use harness::async_tasks::caught;
use harness::runtime::{AsyncRuntime, outcome, spawn};
use harness::threads::TaskError;
use harness::{Bench, RuntimeFlags, RuntimeKind, failure};

use crate::channels::{Sink, Source};
use crate::{brigade, relay};

/// Measures a brigade on a runtime, over channels that `open` opens.
///
/// # Errors
/// If tokio's flags contradict one another, or a task fails.
pub fn measure<R: Source, S: Sink>(
    on: RuntimeFlags,
    bench: &Bench,
    open: fn() -> (S, R),
) -> anyhow::Result<()> {
    match on.runtime {
        RuntimeKind::Compio => {
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
        RuntimeKind::LocalPool => {
            let mut pool = LocalPool::new();
            let spawner = pool.spawner();
            let spawn = |task| {
                let spawned = spawner.spawn_local_with_handle(caught(task));
                spawned.expect("the pool lives as long as its driver")
            };
            pool.run_until(brigade(bench.clone(), open, spawn, relay))
        }
        RuntimeKind::AsyncExecutor => {
            let executor = LocalExecutor::new();
            let spawn = |task| executor.spawn(caught(task));
            block_on(executor.run(brigade(bench.clone(), open, spawn, relay)))
        }
        kind => {
            let spawn = move |task| outcome(spawn(kind, task));
            AsyncRuntime::start(on, bench)?.drive(brigade(bench.clone(), open, spawn, relay))
        }
    }
}
