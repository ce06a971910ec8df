//! Sleepers as threads.

use std::io;
use std::thread::{self, Builder};

use futures::executor::block_on;
use harness::Bench;
use harness::threads::{outcome, root_cause, spawn};
use tokio::sync::watch;

use crate::STACK_BYTES;
use crate::calls::{Bell, Calls, Futex};
use crate::course::{Conductor, Course, Wait, sleeper};
use crate::flags::Flags;
use crate::greedy::greedy;
use crate::sleep;
use crate::tally::{Tally, WakeUp};

/// Woken by the kernel's timer.
struct Timer<'a>(&'a Course);

impl Wait for Timer<'_> {
    async fn wait(&self, intended_ns: u64) -> io::Result<Option<WakeUp>> {
        sleep::until(intended_ns, self.0)
    }
}

/// Woken through a futex.
struct Called<'a>(&'a Calls<Futex>);

impl Wait for Called<'_> {
    async fn wait(&self, intended_ns: u64) -> io::Result<Option<WakeUp>> {
        Ok(self.0.wait(intended_ns))
    }
}

/// Measures threads that sleep until their times.
///
/// # Errors
/// As [`measure`].
pub fn by_timer(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let course = Course::default();
    measure::<Futex, _>(flags, bench, &course, &[], |_| Timer(&course))
}

/// Measures threads that wait for a futex.
///
/// # Errors
/// As [`measure`].
pub fn by_futex(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let calls = Calls::of(bench.tasks());
    measure(flags, bench, &Course::default(), &calls, |task| Called(&calls[task]))
}

/// Measures threads, each of which waits with `wait`.
///
/// # Errors
/// If a thread cannot be created, fails or panics; those of the conductor.
fn measure<B: Bell, W: Wait>(
    flags: &Flags,
    bench: &Bench,
    course: &Course,
    calls: &[Calls<B>],
    wait: impl Fn(usize) -> W,
) -> anyhow::Result<()> {
    let plan = bench.plan(flags.rate);
    let conductor = Conductor { flags, bench, course, calls };
    let mut tallies = vec![Tally::new(); bench.tasks()];
    let conducted = thread::scope(|scope| {
        let (rounds, announced) = watch::channel(None);
        let mut sleepers = Vec::with_capacity(bench.tasks());
        for (task, tally) in bench.creation().zip(&mut tallies) {
            let (announced, wait) = (announced.clone(), wait(task));
            let body = move || {
                let placed = bench.placement().pin(task + 1);
                block_on(sleeper(placed, task, course, announced, tally, wait))
            };
            let builder = Builder::new().stack_size(STACK_BYTES);
            sleepers.push(spawn(scope, task, builder, body)?);
        }
        for number in 0..flags.greedy as usize {
            let announced = announced.clone();
            let body = move || {
                bench.placement().pin(number)?;
                block_on(greedy(flags.clone(), announced, async || thread::yield_now()))
            };
            let builder = Builder::new().stack_size(STACK_BYTES);
            sleepers.push(spawn(scope, bench.tasks() + number, builder, body)?);
        }
        let conducted = conductor.conduct(plan, rounds);
        root_cause(sleepers.into_iter().map(outcome)).and(conducted)
    });
    let reported = conductor.report(plan, tallies);
    conducted.and(reported)
}
