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
//! With `--depth` a coroutine suspends from so many frames below its body.
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
use harness::depth::below;
use harness::failure::UsageError;
use harness::{
    Amounts, Bench, Defaults, DepthFlag, LoadFlags, Measured, StackFlag, Station, Tasks, failure,
    threads,
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

    #[command(flatten)]
    #[serde(flatten)]
    depth: DepthFlag,
}

fn main() -> ExitCode {
    let defaults = Defaults { tasks: Tasks::Default(500), iters: 10_000, warmups: None };
    harness::run(harness::program!(), defaults, brigade)
}

fn brigade(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    bench.load(flags.load);
    flags.depth.require_stack(flags.stack)?;
    bench.refuse_spread("all coroutines run on one thread")?;
    if let Some(scheduler) = flags.scheduler {
        if flags.depth.depth > 0 {
            return Err(UsageError("--depth: leave out --scheduler".to_owned()).into());
        }
        return scheduled::measure(scheduler, flags.stack.stack_size, bench);
    }
    let coroutine = Amounts::coroutine(flags.stack.stack_size as u64);
    bench.require(coroutine, Amounts::observation())?;
    bench.expect_switches(0.0);
    let mut line = Vec::with_capacity(bench.tasks());
    for task in bench.creation() {
        let stack = DefaultStack::new(flags.stack.stack_size);
        let stack = stack
            .map_err(|error| failure::creating(format_args!("the stack of task {task}"), error))?;
        line.push(relay(bench.unpinned_station(task), flags.depth, stack));
    }

    let passed = named(&mut line, |line| drive(bench, line));
    let observed = passed.and_then(|()| bench.observe());
    end(&mut line).and(observed)
}

/// A coroutine that passes numbers on, one greater, until it gets none. One that suspends
/// where it is has a loop of its own, which does not ask for the depth.
fn relay(station: Station, DepthFlag { depth }: DepthFlag, stack: DefaultStack) -> Relay {
    if depth > 0 {
        return Coroutine::with_stack(stack, move |yielder, mut upstream| {
            while let Some(token) = upstream {
                station.visit(token);
                upstream = below(depth, || yielder.suspend(token + 1));
            }
        });
    }
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
    let station = bench.unpinned_driver_station();
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
        let mut line: Vec<_> = (0..20)
            .map(|task| relay(bench.unpinned_station(task), DepthFlag { depth: 0 }, stack()))
            .collect();
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
        (format!("{error:#}"), bench.measured_iterations())
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
