//! Rings of threads.

use std::io;
use std::thread::{self, Builder};

use anyhow::Context as _;
use harness::hand_over::{Sink, Source, send_round};
use harness::rounds::Round;
use harness::samples::Samples;
use harness::threads::{end, joined, outcome, spawn};
use harness::{Bench, Line, clock, failure};

use crate::laps::{Pool, RingLaps};

/// The stack of a task or driver, in bytes.
pub const STACK_BYTES: usize = 1 << 20;

/// Sets up rings of threads with channels that `open` opens, and measures them.
///
/// # Errors
/// If a channel, a thread or a task fails.
pub fn measure<R: Source, S: Sink>(
    bench: &Bench,
    rings: usize,
    mut open: impl FnMut() -> io::Result<(R, S)>,
) -> anyhow::Result<()> {
    let tasks = bench.tasks() / rings;
    thread::scope(|scope| {
        let mut creation = bench.tasks_to_create();
        // For each ring the channel that its driver sends into, and the one that it receives from.
        let mut drivers = Vec::with_capacity(rings);
        let mut threads = Vec::with_capacity(bench.tasks());
        for _ in 0..rings {
            let ring = Line::create(creation.by_ref().take(tasks), &mut open, |task, from, to| {
                spawn(scope, task, STACK_BYTES, move || relay(bench, task % tasks, from, to))
            })?;
            drivers.push(((ring.first, ring.last), Pool::samples(bench, rings)));
            threads.extend(ring.tasks);
        }
        let pool = Pool::new(bench, rings);
        let result = bench
            .rounds(None)
            .announced_to(rings)
            .try_for_each(|round| drive_all(bench, &round, &pool, &mut drivers));
        end(bench, result, drivers, threads.into_iter().map(outcome))
    })
}

/// Sends a token round each ring, all of them at once.
fn drive_all<R: Source, S: Sink>(
    bench: &Bench,
    round: &Round,
    pool: &Pool,
    drivers: &mut [((S, R), Samples)],
) -> anyhow::Result<()> {
    let result = thread::scope(|scope| {
        let mut running = Vec::with_capacity(drivers.len());
        for (number, (ends, samples)) in drivers.iter_mut().enumerate() {
            let laps = pool.laps(round, samples);
            let builder = Builder::new().stack_size(STACK_BYTES);
            let driver = builder.spawn_scoped(scope, move || drive(bench, round, laps, ends));
            let what = format_args!("the driver of ring {number}");
            running.push(driver.map_err(failure::to_create(what))?);
        }
        let driven = |driver| joined(driver).context("driving a ring");
        running.into_iter().map(driven).fold(Ok(()), anyhow::Result::and)
    });
    pool.finish(round, result, drivers.iter_mut().map(|(_, samples)| samples))
}

fn drive(
    bench: &Bench,
    round: &Round,
    mut laps: RingLaps<'_>,
    (first, last): &mut (impl Sink, impl Source),
) -> anyhow::Result<()> {
    bench.placement().pin(0).context("placing the driver")?;
    // Until all drivers exist.
    clock::sleep_until(round.begin_ns).context("waiting for the round")?;
    while laps.next() {
        send_round(0, first, last)?;
    }
    Ok(())
}

/// Passes tokens from upstream to downstream until upstream is closed.
fn relay(
    bench: &Bench,
    task: usize,
    mut upstream: impl Source,
    mut downstream: impl Sink,
) -> io::Result<()> {
    bench.placement().pin(task + 1)?;
    while let Some(token) = upstream.receive()? {
        downstream.send(token)?;
    }
    Ok(())
}
