//! A task on the LocalPool of `futures`, on one thread.

use std::future::Future;

use anyhow::Context as _;
use futures::executor::LocalPool;
use futures::task::LocalSpawnExt as _;
use harness::Bench;

use crate::awaits::{ready_cycles, yielding_cycles};

/// Measures cycles that end with an await of something ready.
pub fn measure_ready(bench: &Bench, units: u64) -> anyhow::Result<()> {
    run(ready_cycles(bench.clone(), units))
}

/// Measures cycles that end with a yield to the pool.
pub fn measure_yields(bench: &Bench, units: u64) -> anyhow::Result<()> {
    run(yielding_cycles(bench.clone(), units))
}

fn run(cycles: impl Future<Output = anyhow::Result<()>> + 'static) -> anyhow::Result<()> {
    let mut pool = LocalPool::new();
    let task = pool.spawner().spawn_local_with_handle(cycles).context("spawning the task")?;
    pool.run_until(task)
}
