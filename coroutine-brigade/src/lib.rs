//! A brigade of stackful coroutines: what a switch costs that saves a few
//! registers and changes the stack, and does nothing else.
//!
//! One iteration: the driver resumes N coroutines in turn, on one thread. Each
//! gets the number that its upstream neighbour suspended with, adds one and
//! suspends with the sum, and the driver checks that it comes out as N. That
//! makes N + 1 hops, as in every brigade: one to each coroutine and the last
//! one to the driver.
//!
//! With `--scheduler` the coroutines, and the driver as one of them, wait for channels or
//! sockets and are woken through the scheduler's queue instead.
//!
//! What is counted: between two hops the control passes through the driver's
//! round, so a hop is one switch into a coroutine and one out of it. The
//! kernel has nothing to switch.
//!
//! Known biases: the order is fixed, so there is no queue, no wake-up and no
//! scheduler to pay for: this is a floor, not what a scheduler of coroutines
//! costs. Every stack is memory of its own, and many of them together miss the
//! caches and the translation buffer more often than few.

mod flags;
mod scheduled;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;

use anyhow::{bail, ensure};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use harness::{Bench, Measured, Station, failure, threads};

use flags::{Flags, SPEC, declare};

/// A coroutine of the line: it is resumed with a number, or with nothing to
/// end, and suspends with the next number.
type Relay = Coroutine<Option<usize>, usize, ()>;

/// This page.
pub const PAGE: &str = include_str!("lib.rs");

/// Runs the program: flags in, a summary or a record out.
pub fn main() -> ExitCode {
    harness::run(harness::program!(), &SPEC, declare, brigade)
}

fn brigade(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    if let Some(scheduler) = flags.scheduler {
        return scheduled::measure(scheduler, flags.stack.stack_size, bench);
    }
    let mut line = Vec::with_capacity(bench.tasks());
    for task in bench.creation() {
        let stack = DefaultStack::new(flags.stack.stack_size);
        let stack = stack
            .map_err(|error| failure::creating(format_args!("the stack of task {task}"), error))?;
        line.push(relay(bench.station(task), stack));
    }

    let passed = named(&mut line, |line| drive(bench, line));
    let observed = passed.and_then(|()| bench.observe());
    end(&mut line).and(observed)
}

/// A coroutine that passes numbers on, one greater, until it gets none.
fn relay(station: Station, stack: DefaultStack) -> Relay {
    Coroutine::with_stack(stack, move |yielder, mut upstream| {
        while let Some(token) = upstream {
            station.visit(token);
            upstream = yielder.suspend(token + 1);
        }
    })
}

/// What `drive` returns; where a coroutine has panicked, the error that names
/// it. The panic comes out of the call that resumed it.
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

/// Takes the token round, lap after lap.
fn drive(bench: &Bench, line: &mut [Relay]) -> anyhow::Result<()> {
    let station = bench.driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let sent: usize = lap.token();
        station.visit(sent);
        let received = pass(line, sent)?;
        lap.finish();
        ensure!(
            received == sent + bench.tasks(),
            "the token came round as {}: {} tasks add that many",
            received - sent,
            bench.tasks()
        );
    }
    Ok(())
}

/// Resumes the coroutines in turn, each with what the one before it suspended
/// with. Not inlined: among all that `main` does, its loop would keep its state on the stack.
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

/// Lets every coroutine end.
fn end(line: &mut [Relay]) -> anyhow::Result<()> {
    for (task, coroutine) in line.iter_mut().enumerate() {
        // One that has ended already has been told of.
        if !coroutine.done() {
            let ended = coroutine.resume(None);
            ensure!(matches!(ended, CoroutineResult::Return(())), "task {task} did not end");
        }
    }
    Ok(())
}

#[cfg(test)]
mod faults;
