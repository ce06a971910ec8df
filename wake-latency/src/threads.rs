//! Sleepers that are threads.

use std::io;
use std::thread::{self, Builder};

use futures::executor::block_on;
use harness::Bench;
use harness::threads::{outcome, root_cause, spawn};
use tokio::sync::watch;

use crate::STACK_BYTES;
use crate::calls::{Bell, Calls, Futex};
use crate::course::{Announced, Conductor, Course, Round, next};
use crate::flags::Flags;
use crate::sleep::{self, Reached};
use crate::tally::{Tally, WakeUp};

/// Measures threads that sleep until their times.
///
/// # Errors
/// As [`measure`].
pub fn by_timer(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    measure::<Futex>(flags, bench, &[], |_, intended_ns, course| {
        let reached = sleep::until(intended_ns, course)?;
        Ok(reached.map(|Reached { at_ns, waited }| WakeUp {
            intended_ns,
            called_ns: None,
            ran_ns: at_ns,
            waited,
        }))
    })
}

/// Measures threads that wait for a futex.
///
/// # Errors
/// As [`measure`].
pub fn by_futex(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let calls = Calls::of(bench.tasks());
    measure(flags, bench, &calls, |task, intended_ns, _| Ok(calls[task].wait(intended_ns)))
}

/// Measures threads that `wait` for their next wake-up, which is `None` when the run is over.
///
/// # Errors
/// When a thread cannot be created, fails or panics; those of the conductor.
fn measure<B: Bell>(
    flags: &Flags,
    bench: &Bench,
    calls: &[Calls<B>],
    wait: impl Fn(usize, u64, &Course) -> io::Result<Option<WakeUp>> + Sync,
) -> anyhow::Result<()> {
    let (plan, course) = (bench.plan(flags.rate), &Course::default());
    let conductor = Conductor { flags, bench, course, calls };
    let mut tallies = vec![Tally::new(); bench.tasks()];
    let conducted = thread::scope(|scope| {
        let (rounds, announced) = watch::channel(None);
        let mut sleepers = Vec::with_capacity(bench.tasks());
        for (task, tally) in bench.creation().zip(&mut tallies) {
            let (announced, wait) = (announced.clone(), &wait);
            let wait = move |intended_ns| wait(task, intended_ns, course);
            let body = move || sleeper(bench, task, course, announced, tally, wait);
            let builder = Builder::new().stack_size(STACK_BYTES);
            sleepers.push(spawn(scope, task, builder, body)?);
        }
        let conducted = conductor.conduct(plan, rounds);
        root_cause(sleepers.into_iter().map(outcome)).and(conducted)
    });
    let reported = conductor.report(plan, tallies);
    conducted.and(reported)
}

/// The life of a sleeper.
fn sleeper(
    bench: &Bench,
    task: usize,
    course: &Course,
    mut announced: Announced,
    tally: &mut Tally,
    wait: impl Fn(u64) -> io::Result<Option<WakeUp>>,
) -> io::Result<()> {
    let mut result = bench.placement().pin(task + 1);
    while let Some(round) = block_on(next(&mut announced)) {
        let _part = course.part();
        result = result.and_then(|()| sleep_through(round, task, tally, &wait));
        if result.is_err() {
            course.end();
        }
    }
    result
}

/// Takes down the wake-ups of one round.
fn sleep_through(
    Round { schedule, is_measured }: Round,
    task: usize,
    tally: &mut Tally,
    wait: impl Fn(u64) -> io::Result<Option<WakeUp>>,
) -> io::Result<()> {
    for number in schedule.of_task(task) {
        let Some(wake_up) = wait(schedule.intended_ns(number))? else { break };
        tally.add(wake_up);
    }
    if !is_measured {
        tally.clear();
    }
    Ok(())
}
