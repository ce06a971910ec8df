//! The cost of a switch after a unit of work.
//!
//! One cycle: a task does its work, then yields the processor in the way of
//! `--scenario`, until it is its turn again. One iteration is a block of 5000
//! cycles, so that the time to read the clock is negligible; 100 iterations,
//! the default, are 500,000 cycles. The work is a counted loop of `--work`
//! units, the same machine code in every scenario, and `no-switch` is that work
//! alone: the cost of a scenario is its time minus that of `no-switch` with the
//! same work.
//!
//! What is counted: an await that yields must poll its task once per cycle, one
//! that does not, never; a coroutine must be resumed once per cycle. With
//! threads, nine of ten cycles must be another thread's than the one before,
//! since a scheduler may let a thread continue. The kernel must count a switch
//! for nine of ten cycles with `sched-yield`, and for half of them with
//! `thread-event`, where a thread may be woken before it sleeps. Otherwise the
//! run fails.
//!
//! Known biases: a task that yields finds no other in the queue, the best case
//! for a runtime. Tasks that yield wake themselves, so that every runtime is
//! measured with the same future; `tokio::task::yield_now` would also let tokio
//! poll for I/O. `sched-yield` runs on one CPU, since only there it switches
//! threads; the kernel places `thread-event`.

mod tasks;
mod threads;

use anyhow::ensure;
use harness::failure::UsageError;
use harness::limits::Kind;
use harness::placement::Policy;
use harness::{Bench, Count, Launch, RuntimeKind, Spec, TaskKind, WorkFlag};

use tasks::{CYCLES, Yield};

/// Time the cost of switching after a unit of work.
///
/// One cycle: work, then a switch of the kind in --scenario, until it is the
/// task's turn again. One iteration is a block of 5000 cycles.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade yield-cost --scenario coroutine
  brigade yield-cost --scenario sched-yield --placement same-cpu --work 500")]
struct Flags {
    /// What a cycle does after its work
    #[arg(long, value_enum, default_value_t = Scenario::YieldTokioCt, value_name = "NAME")]
    scenario: Scenario,

    #[command(flatten)]
    work: WorkFlag,
}

/// Values of `--scenario`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Scenario {
    /// The work alone
    NoSwitch,
    /// Await something that is ready
    AwaitReady,
    /// Yield to the LocalPool of `futures`
    YieldLocalPool,
    /// Yield to tokio on one thread
    YieldTokioCt,
    /// Yield to tokio on several threads
    YieldTokioMt,
    /// Suspend a stackful coroutine and resume it
    Coroutine,
    /// `sched_yield` between two threads; needs --placement same-cpu
    SchedYield,
    /// As many threads as CPUs pass one auto-reset event around
    ThreadEvent,
}

const SPEC: Spec = Spec {
    tasks: 1,
    count: Count::Fixed,
    iters: 100,
    switches: Some(0.0),
    ..Spec::new(TaskKind::AsyncTask, Kind::AsyncExecutor)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let spec = Spec { load: Some(flags.work.into()), ..SPEC };
    let threads = |tasks| Spec {
        tasks,
        switches: Some(1.0),
        kind: Some(TaskKind::Thread),
        needs: Kind::Thread,
        ..spec
    };
    Ok(match flags.scenario {
        Scenario::NoSwitch => Spec { kind: Some(TaskKind::None), ..spec },
        Scenario::AwaitReady | Scenario::YieldLocalPool => spec,
        Scenario::YieldTokioCt => Spec { needs: Kind::Tokio, ..spec },
        Scenario::YieldTokioMt => {
            Spec { switches: None, needs: Kind::Tokio, threads: launch.cpus() as u64, ..spec }
        }
        Scenario::Coroutine => Spec { kind: Some(TaskKind::Coroutine), ..spec },
        Scenario::SchedYield => {
            let wrong = "--scenario sched-yield: threads yield only to others on their CPU; add \
                         --placement same-cpu";
            ensure!(launch.placement.policy == Policy::SameCpu, UsageError(wrong.into()));
            threads(2)
        }
        Scenario::ThreadEvent => threads(launch.cpus().max(2) as u32),
    })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    // The scenarios call the loop directly, without testing for work.
    let work = flags.work.work;
    match flags.scenario {
        Scenario::NoSwitch => tasks::no_switch(bench, work),
        Scenario::AwaitReady => tasks::local_pool(bench, work, Yield::ready, 0),
        Scenario::YieldLocalPool => tasks::local_pool(bench, work, Yield::new, CYCLES),
        Scenario::YieldTokioCt => tasks::tokio(RuntimeKind::TokioCurrentThread, bench, work),
        Scenario::YieldTokioMt => tasks::tokio(RuntimeKind::Tokio, bench, work),
        Scenario::Coroutine => tasks::coroutine(bench, work),
        Scenario::SchedYield => threads::sched_yield(bench, work),
        Scenario::ThreadEvent => threads::thread_event(bench, work),
    }
}
