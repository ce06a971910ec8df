//! A task on a runtime of tokio.

use anyhow::Context as _;
use harness::runtime::{AsyncRuntime, RuntimeKind};
use harness::{Amounts, Bench};

use crate::awaits::yielding_cycles;

/// Measures cycles that end with a yield to the runtime. They run as a task of
/// its own: what a runtime waits for from outside does not go through its
/// queue.
pub fn measure(kind: RuntimeKind, bench: &Bench, units: u64) -> anyhow::Result<()> {
    if kind == RuntimeKind::TokioCurrentThread {
        bench.expect_switches(0.0);
    }
    bench.require(Amounts::async_task(), kind.amounts(None, bench))?;
    let cycles = yielding_cycles(bench.clone(), units);
    AsyncRuntime::start(kind, None, bench)?
        .drive(async { tokio::spawn(cycles).await.context("running the task")? })
}
