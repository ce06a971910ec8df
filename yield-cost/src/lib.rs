//! What a switch adds to a unit of work.
//!
//! One cycle: a task does its work, then gives up the processor in the way that
//! `--scenario` names, until it is its turn again. One iteration is a block of
//! 5000 cycles, so that the time to read the clock vanishes; 100 iterations,
//! the default, are 500,000 cycles. The work is a counted loop of `--work`
//! units, the same machine code in every scenario, and `no-switch` is that
//! work alone: what a scenario adds is its time minus that of `no-switch` with
//! as much work.
//!
//! What is counted: an await that yields must poll its task once a cycle, one
//! that does not, never; a coroutine must come back once a cycle; the kernel
//! must switch threads once a cycle on `sched_yield`, and a thread that hands
//! over the event must not be the one that takes it. Otherwise the run fails.
//!
//! Known biases: a task that yields finds no other in the queue, the best case
//! for a runtime. Tasks that yield wake themselves, so that every runtime is
//! measured with the same future; `tokio::task::yield_now` also lets tokio look
//! for I/O. `sched-yield` runs on one CPU, where alone it switches threads,
//! `thread-event` wherever the kernel puts it.

mod tasks;
mod threads;

use std::process::ExitCode;

use harness::{Amounts, Bench, Count, Launch, Measured, RuntimeFlags, RuntimeKind, Spec, WorkFlag};

/// Cycles in one iteration.
const CYCLES: u64 = 5_000;

/// Time what switching adds to a unit of work.
///
/// One cycle: work, then a switch of the kind that --scenario names, until it
/// is the task's turn again. One iteration is a block of 5000 cycles.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// What a cycle does after its work
    #[arg(long, value_enum, default_value_t = Scenario::YieldTokioCt, value_name = "NAME")]
    scenario: Scenario,

    #[command(flatten)]
    #[serde(flatten)]
    work: WorkFlag,
}

/// What `--scenario` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
enum Scenario {
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
}

const SPEC: Spec = Spec { tasks: 1, count: Count::Fixed, iters: 100, ..Spec::NEW };

/// This page.
pub const PAGE: &str = include_str!("lib.rs");

/// Runs the program: flags in, a summary or a record out.
pub fn main() -> ExitCode {
    harness::run(harness::program!(), &SPEC, declare, run)
}

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let load = Some(flags.work.into());
    let (threads, async_task) = (Amounts::thread(threads::STACK), Amounts::async_task());
    let runtime = |kind: RuntimeKind| RuntimeFlags::from(kind).amounts(launch.cpus());
    let none = Amounts::NONE;
    let (tasks, switches, per_task, fixed) = match flags.scenario {
        Scenario::YieldTokioCt => {
            (1, Some(0.0), async_task, runtime(RuntimeKind::TokioCurrentThread)?)
        }
        Scenario::YieldTokioMt => (1, None, async_task, runtime(RuntimeKind::Tokio)?),
        Scenario::SchedYield => {
            threads::check_sched_yield(launch.placement)?;
            (2, Some(1.0), threads, none)
        }
        Scenario::ThreadEvent => (launch.cpus().max(2) as u32, Some(1.0), threads, none),
        _ => (1, Some(0.0), none, none),
    };
    Ok(Spec { tasks, switches, load, per_task, fixed, ..SPEC })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    // The scenarios call the loop themselves, without a test for whether there is work.
    let work = flags.work.work;
    match flags.scenario {
        Scenario::NoSwitch => tasks::no_switch(bench, work),
        Scenario::AwaitReady => tasks::local_pool(tasks::ready_cycles(bench.clone(), work)),
        Scenario::YieldLocalPool => tasks::local_pool(tasks::yielding_cycles(bench.clone(), work)),
        Scenario::YieldTokioCt => tasks::tokio(RuntimeKind::TokioCurrentThread, bench, work),
        Scenario::YieldTokioMt => tasks::tokio(RuntimeKind::Tokio, bench, work),
        Scenario::Coroutine => tasks::coroutine(bench, work),
        Scenario::SchedYield => threads::sched_yield(bench, work),
        Scenario::ThreadEvent => threads::thread_event(bench, work),
    }
}

/// What one iteration is.
fn block() -> Measured {
    Measured { name: "iteration", operation: "cycle", operations: CYCLES, covers_tasks: true }
}
