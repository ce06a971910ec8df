//! A task on a runtime of tokio.

use anyhow::Context as _;
use harness::Bench;
use harness::runtime::{AsyncRuntime, RuntimeKind};

use crate::awaits::yielding_cycles;

/// Measures cycles that end with a yield to the runtime. They run as a task of
/// its own: what a runtime waits for from outside does not go through its
/// queue.
pub fn measure(kind: RuntimeKind, bench: &Bench, units: u64) -> anyhow::Result<()> {
    let cycles = yielding_cycles(bench.clone(), units);
    AsyncRuntime::start(kind, None, bench)?
        .drive(async { tokio::spawn(cycles).await.context("running the task")? })
}
