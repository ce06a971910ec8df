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

mod scheduled;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;

use anyhow::{bail, ensure};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use harness::{
    Amounts, Bench, Launch, LoadFlags, Measured, Spec, StackFlag, Station, failure, threads,
};

use scheduled::Scheduler;

/// A coroutine of the line: it is resumed with a number, or with nothing to
/// end, and suspends with the next number.
type Relay = Coroutine<Option<usize>, usize, ()>;

/// Time a number on its way through N stackful coroutines on one thread.
///
/// One iteration: the driver resumes N coroutines in turn; each adds one to the
/// number that it is given and suspends with it, and the driver checks the sum.
/// That makes N + 1 hops, none of which the kernel takes part in. With a scheduler
/// they wait for one another's channels or sockets instead.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// What runs the coroutines; without it, the driver resumes them in turn
    #[arg(long, value_enum)]
    scheduler: Option<Scheduler>,

    #[command(flatten)]
    #[serde(flatten)]
    stack: StackFlag,

    #[command(flatten)]
    #[serde(flatten)]
    load: LoadFlags,
}

const SPEC: Spec = Spec { tasks: 500, iters: 10_000, switches: Some(0.0), ..Spec::NEW };

fn main() -> ExitCode {
    harness::run(harness::program!(), &SPEC, declare, brigade)
}

fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    let stack_bytes = flags.stack.stack_size as u64;
    let coroutine = Amounts::coroutine(stack_bytes);
    let (per_task, fixed) = match flags.scheduler {
        Some(scheduler) => {
            let task = coroutine.and(scheduler.channel());
            (task, scheduled::runtime().and(task))
        }
        None => (coroutine, Amounts::NONE),
    };
    Ok(Spec { load: Some(flags.load), per_task, fixed, ..SPEC })
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
/// with.
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
mod tests {
    use super::*;

    /// The error of a brigade of 20 tasks, of which task 7 has `body`, and what
    /// was measured until then.
    fn error_of(body: fn(usize)) -> (String, u64) {
        let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
        let stack = || DefaultStack::new(64 << 10).expect("a stack");
        let mut line: Vec<_> = (0..20).map(|task| relay(bench.station(task), stack())).collect();
        line[7] = Coroutine::with_stack(stack(), move |yielder, mut upstream| {
            for lap in 0.. {
                let Some(token) = upstream else { return };
                if lap == 30 {
                    return body(token);
                }
                upstream = yielder.suspend(token + 1);
            }
        });
        let error = named(&mut line, |line| drive(&bench, line)).expect_err("a fault");
        end(&mut line).expect("the others end");
        (format!("{error:#}"), bench.findings().iterations)
    }

    #[test]
    fn a_coroutine_that_panics_is_named_and_the_others_end() {
        let error = error_of(|token| panic!("on purpose, at {token}"));
        assert_eq!(error, ("task 7 panicked: on purpose, at 7".into(), 30));
    }

    #[test]
    fn a_coroutine_that_ends_early_is_named_and_its_lap_is_none() {
        let (error, laps) = error_of(|_| ());
        assert_eq!((&*error, laps), ("task 7 ended with the token", 30));
    }
}
