//! The scenarios by name.

use std::future::Future;

use anyhow::Context as _;
use clap::ValueEnum as _;
use futures::executor::LocalPool;
use futures::task::LocalSpawnExt as _;
use harness::runtime::{AsyncRuntime, RuntimeKind};
use harness::work::spend;
use harness::{Amounts, Bench};

use crate::awaits::{ready_cycles, yielding_cycles};
use crate::{CYCLES, block, coroutine, threads};

/// What `--scenario` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// The work alone
    NoSwitch,
    /// Await something that is ready
    AwaitReady,
    /// Await with a yield to the LocalPool of `futures`
    YieldLocalPool,
    /// Await with a yield to tokio on one thread
    YieldTokioCt,
    /// Await with a yield to tokio on several threads
    YieldTokioMt,
    /// Suspend a stackful coroutine and resume it
    Coroutine,
    /// `sched_yield` between two threads; needs --placement same-cpu
    SchedYield,
    /// As many threads as CPUs hand one auto-reset event around
    ThreadEvent,
    /// Every scenario, as a table
    All,
}

impl Scenario {
    /// Every scenario that is one, in the order of the table.
    pub fn each() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied().filter(|scenario| *scenario != Self::All)
    }

    /// The name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().expect("no scenario is hidden").get_name().to_owned()
    }

    /// Measures this scenario in this process, with `units` of work in a
    /// cycle. `All` measures nothing.
    pub fn measure(self, bench: &Bench, units: u64) -> anyhow::Result<()> {
        match self {
            Self::NoSwitch => no_switch(bench, units),
            Self::AwaitReady => on_local_pool(bench, ready_cycles(bench.clone(), units)),
            Self::YieldLocalPool => on_local_pool(bench, yielding_cycles(bench.clone(), units)),
            Self::YieldTokioCt => on_tokio(RuntimeKind::TokioCurrentThread, bench, units),
            Self::YieldTokioMt => on_tokio(RuntimeKind::Tokio, bench, units),
            Self::Coroutine => coroutine::cycles(bench, units),
            Self::SchedYield => threads::yielding(bench, units),
            Self::ThreadEvent => threads::handing_an_event_around(bench, units),
            Self::All => Ok(()),
        }
    }
}

fn no_switch(bench: &Bench, units: u64) -> anyhow::Result<()> {
    bench.expect_switches(0.0);
    for lap in bench.laps(&[block()]) {
        for _ in 0..CYCLES {
            spend(units);
        }
        lap.finish();
    }
    bench.observe()
}

fn on_local_pool(
    bench: &Bench,
    cycles: impl Future<Output = anyhow::Result<()>> + 'static,
) -> anyhow::Result<()> {
    bench.expect_switches(0.0);
    let mut pool = LocalPool::new();
    let task = pool.spawner().spawn_local_with_handle(cycles).context("spawning the task")?;
    pool.run_until(task)
}

/// Runs the cycles as a task of its own: what a runtime is waiting for from
/// outside does not go through its queue.
fn on_tokio(kind: RuntimeKind, bench: &Bench, units: u64) -> anyhow::Result<()> {
    if kind == RuntimeKind::TokioCurrentThread {
        bench.expect_switches(0.0);
    }
    bench.require(Amounts::async_task(), kind.amounts(None, bench))?;
    let cycles = yielding_cycles(bench.clone(), units);
    AsyncRuntime::start(kind, None, bench)?
        .drive(async { tokio::spawn(cycles).await.context("running the task")? })
}
