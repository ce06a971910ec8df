//! A brigade of threads, or of processes: the cost of a switch between tasks that wait for one
//! another, with or without I/O.
//!
//! One iteration: the driver sends a byte into the first channel, each of N threads in turn
//! receives it from its upstream channel and sends it into its downstream one, and the driver
//! receives it from the last: N + 1 hops.
//!
//! What is counted: a hop wakes one thread, blocks another, and makes one context switch, because
//! at any moment one thread runs and all others wait. The claim of 1 is checked against the
//! kernel's count. `futex`, `mpsc` and `condvar` use no files.
//!
//! Known biases: a hop over pipes includes the I/O; `one-thread-brigade` measures its cost alone.
//! Under free placement the kernel decides in every process whether neighbours share a CPU, and
//! waking an idle CPU costs more than switching on a busy one: compare several runs. For processes,
//! memory is that of the driver only, crossings are not traced, and clock ticks are too coarse to
//! divide the CPU time of many processes into user and kernel.

mod flags;
mod processes;

use std::io;
use std::thread;

use anyhow::Context as _;
use harness::hand_over::{Sink, Source, send_round};
use harness::threads::{end, spawn};
use harness::{Bench, Line, Measured};

use flags::{Flags, SPEC, declare, run};

harness::program!(SPEC, declare, run);

/// Sets up the brigade, with channels that `open` opens, and measures it.
fn brigade<R: Source, S: Sink>(
    flags: &Flags,
    bench: &Bench,
    open: impl FnMut() -> io::Result<(R, S)>,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        let start = |task, upstream, downstream| {
            let builder = thread::Builder::new().stack_size(flags.stack.stack_size);
            spawn(scope, task, builder, move || relay(bench, task, upstream, downstream))
        };
        let mut line = Line::create(bench.creation(), open, start)?;
        let result = drive(bench, &mut line.first, &mut line.last);
        end(bench, result, line.first, line.tasks)
    })
}

/// Sends the token round, lap after lap.
fn drive(bench: &Bench, first: &mut impl Sink, last: &mut impl Source) -> anyhow::Result<()> {
    bench.placement().pin(0).context("placing the driver")?;
    let station = bench.driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let token = lap.token();
        station.visit(token);
        send_round(token, first, last)?;
        lap.finish();
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
    let station = bench.station(task);
    while let Some(token) = upstream.receive()? {
        station.visit(token);
        downstream.send(token)?;
    }
    Ok(())
}

#[cfg(test)]
mod faults;
