//! A brigade of stackful coroutines: the cost of a switch that only saves a few registers and
//! changes the stack.
//!
//! One iteration: the driver resumes N coroutines in turn, on one thread. Each gets the number that
//! its upstream neighbour suspended with, adds one and suspends with the sum, and the driver checks
//! that it ends as N. That makes N + 1 hops, as in every brigade: one to each coroutine and the
//! last one to the driver.
//!
//! What is counted: between two hops control passes through the driver's loop, so a hop is one
//! switch into a coroutine and one out of it. The kernel has nothing to switch.
//!
//! Known biases: the order is fixed, so no queue, wake-up or scheduler costs anything: this is a
//! lower bound. Many stacks miss the caches and the TLB more often than few.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use anyhow::{bail, ensure};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use harness::limits::Kind;
use harness::{
    Bench, Launch, LoadFlags, Measured, Spec, StackFlag, Station, TaskKind, failure, threads,
};

/// Time a number on its way through N stackful coroutines on one thread.
///
/// One iteration: the driver resumes N coroutines in turn; each adds one to the number that it gets
/// and suspends with it, and the driver checks the sum. That makes N + 1 hops, without the kernel.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade coroutine-brigade --tasks 10000
  brigade coroutine-brigade --tasks 100 --stack-size 131072 --work 100")]
struct Flags {
    #[command(flatten)]
    stack: StackFlag,

    #[command(flatten)]
    load: LoadFlags,
}

const SPEC: Spec = Spec {
    tasks: 500,
    iters: 10_000,
    switches: Some(0.0),
    hops: true,
    ..Spec::new(TaskKind::Coroutine, Kind::Coroutine)
};

harness::program!(SPEC, declare, brigade);

fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    let stack_bytes = flags.stack.stack_size as u64;
    Ok(Spec { load: Some(flags.load), stack_bytes, ..SPEC })
}

/// A task. It is resumed with a number, or with nothing to end, and suspends with the next number.
type Relay = Coroutine<Option<usize>, usize, ()>;

fn brigade(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let mut line = Vec::with_capacity(bench.tasks());
    for task in bench.tasks_to_create() {
        let stack = DefaultStack::new(flags.stack.stack_size);
        let stack = stack.map_err(failure::to_create(format_args!("the stack of task {task}")))?;
        line.push(relay(bench.station(task), stack));
    }

    let result = named(&mut line, |line| drive(bench, line));
    let observed = result.and_then(|()| bench.observe());
    end(&mut line).and(observed)
}

/// Passes numbers on, one greater, until it gets none.
fn relay(station: Station, stack: DefaultStack) -> Relay {
    Coroutine::with_stack(stack, move |yielder, mut upstream| {
        while let Some(token) = upstream {
            station.visit(token);
            upstream = yielder.suspend(token + 1);
        }
    })
}

/// The result of `drive`, or an error that names the coroutine that panicked in it.
fn named(
    line: &mut [Relay],
    drive: impl FnOnce(&mut [Relay]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let panic = match catch_unwind(AssertUnwindSafe(|| drive(line))) {
        Ok(driven) => return driven,
        Err(panic) => panic,
    };
    match line.iter().position(Coroutine::done) {
        Some(task) => bail!("task {task} panicked: {}", threads::panic_text(&*panic)),
        None => resume_unwind(panic),
    }
}

fn drive(bench: &Bench, line: &mut [Relay]) -> anyhow::Result<()> {
    let station = bench.driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let sent: usize = lap.token();
        station.visit(sent);
        let received = pass(line, sent)?;
        lap.finish();
        ensure!(
            received == sent + bench.tasks(),
            "the token came round as {received}, not as {sent} + {}",
            bench.tasks()
        );
    }
    Ok(())
}

/// Resumes the coroutines in turn, each with the value that the one before it suspended with. Not
/// inlined: within `main`, the loop would keep its state on the stack.
#[inline(never)]
fn pass(line: &mut [Relay], mut token: usize) -> anyhow::Result<usize> {
    for (task, coroutine) in line.iter_mut().enumerate() {
        match coroutine.resume(Some(token)) {
            CoroutineResult::Yield(next) => token = next,
            CoroutineResult::Return(()) => bail!("task {task} ended with the token"),
        }
    }
    Ok(token)
}

fn end(line: &mut [Relay]) -> anyhow::Result<()> {
    for (task, coroutine) in line.iter_mut().enumerate() {
        // If it has ended already, that was reported.
        let has_ended = coroutine.done() || coroutine.resume(None).as_return().is_some();
        ensure!(has_ended, "task {task} did not end");
    }
    Ok(())
}

#[cfg(test)]
mod faults;
