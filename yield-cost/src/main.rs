//! What a switch adds to a unit of work.
//!
//! One cycle: a task does its work, then leaves the processor in the way that
//! `--scenario` names, until it is its turn again. One iteration is a block of
//! 5000 cycles, so that reading the clock vanishes beside it; 100 iterations,
//! the default, are 500,000 cycles. The work is a counted loop of `--work`
//! units, the same machine code in every scenario, and `no-switch` is that
//! work alone. Without a scenario the program runs all of them, each in fresh
//! processes, and prints a table: what each adds to `no-switch`, by round, and
//! the time of 500,000 cycles at that rate. A process of the table ends early
//! after 0.35 s.
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

mod awaits;
mod calibration;
mod comparison;
mod coroutine;
mod event;
mod scenario;
mod threads;

use std::process::ExitCode;

use harness::flags::{one_of, u32_in, u64_in};
use harness::{Bench, Defaults, Measured, Tasks};

use scenario::Scenario;

/// Cycles in one iteration.
const CYCLES: u64 = 5_000;

/// Time what switching adds to a unit of work.
///
/// One cycle: work, then a switch of the kind that --scenario names, until it
/// is the task's turn again. One iteration is a block of 5000 cycles. All
/// scenarios together are told as a table, each run in fresh processes.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// What a cycle does after its work
    #[arg(long, value_enum, default_value_t = Scenario::All, value_name = "NAME")]
    #[arg(value_parser = one_of::<Scenario>())]
    scenario: Scenario,

    /// Units of work in a cycle, turns of a counted loop; without it, 0, and for
    /// all scenarios a table for 0 and one for 500
    #[arg(long, value_name = "UNITS", allow_negative_numbers = true)]
    #[arg(value_parser = u64_in(0..=1_000_000_000))]
    work: Option<u64>,

    /// How often every scenario of a table is run
    #[arg(long, value_name = "N", default_value_t = 5, allow_negative_numbers = true)]
    #[arg(value_parser = u32_in(1..=u32::MAX))]
    rounds: u32,
}

fn main() -> ExitCode {
    let defaults = Defaults { tasks: Tasks::Fixed(1), iters: 100, warmups: 2 };
    harness::run(harness::program!(), defaults, run)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    bench.refuse_spread("one task at a time has the turn")?;
    if flags.scenario == Scenario::All {
        let works = flags.work.map_or(vec![0, 500], |units| vec![units]);
        return comparison::compare(bench, &works, flags.rounds);
    }
    let units = flags.work.unwrap_or(0);
    flags.scenario.measure(bench, units)?;
    calibration::calibrate(bench)
}

/// What one iteration is.
fn block() -> Measured {
    Measured { name: "iteration", operation: "cycle", operations: CYCLES, covers_tasks: true }
}
