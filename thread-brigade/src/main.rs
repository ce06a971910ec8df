//! A brigade of threads: what a switch between threads costs when each of them
//! waits for another, by I/O or without it.
//!
//! One iteration: the driver sends a byte into the first channel, each of N
//! threads in turn receives it from its upstream channel and sends it into its
//! downstream one, and the driver receives it from the last: N + 1 hops.
//!
//! What is counted: a hop wakes one thread, blocks another, and makes one context switch,
//! because at any moment one thread runs and all others wait. The claim of 1 is checked against
//! the kernel's count. Over `futex`, `mpsc` and `condvar` no file takes part.
//!
//! Known biases: a hop over pipes includes the I/O, whose cost alone `one-thread-brigade`
//! measures. Under free placement the kernel decides, anew in every process, whether neighbours
//! share a CPU, and waking an idle CPU costs more than switching on a busy one: compare several
//! processes.

mod flags;

use std::io::{self, ErrorKind};
use std::mem;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::thread;

use anyhow::Context as _;
use harness::hand_over::{self, Channel, Sink, Source};
use harness::threads::{end, spawn};
use harness::{Bench, Measured, failure};

use flags::{Flags, SPEC, ThreadChannel, declare};

fn main() -> ExitCode {
    harness::run(harness::program!(), &SPEC, declare, run)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    match flags.channel {
        ThreadChannel::Pipe => brigade(flags, bench, || Channel::Pipe.open()),
        ThreadChannel::SocketPair => brigade(flags, bench, || Channel::SocketPair.open()),
        ThreadChannel::EventFd => brigade(flags, bench, hand_over::eventfd),
        ThreadChannel::Futex => brigade(flags, bench, hand_over::futex),
        ThreadChannel::Mpsc => brigade(flags, bench, || {
            let (sender, receiver) = sync_channel(1);
            Ok((receiver, sender))
        }),
        ThreadChannel::Condvar => brigade(flags, bench, || Ok(hand_over::monitor())),
    }
}

/// Sets up the brigade, with channels that `open` opens, and measures it.
fn brigade<R: Source, S: Sink>(
    flags: &Flags,
    bench: &Bench,
    mut open: impl FnMut() -> io::Result<(R, S)>,
) -> anyhow::Result<()> {
    let mut open = |number: usize| {
        open().map_err(|error| failure::creating(format_args!("channel {number}"), error))
    };
    thread::scope(|scope| {
        let (mut last, mut first) = open(0)?;
        let mut threads = Vec::with_capacity(bench.tasks());
        for task in bench.creation() {
            let (source, downstream) = open(task + 1)?;
            let upstream = mem::replace(&mut last, source);
            let body = move || relay(bench, task, upstream, downstream);
            let builder = thread::Builder::new().stack_size(flags.stack.stack_size);
            threads.push(spawn(scope, task, builder, body)?);
        }
        let passed = drive(bench, &mut first, &mut last);
        end(bench, passed, first, threads)
    })
}

/// Sends the token round, lap after lap.
fn drive(bench: &Bench, first: &mut impl Sink, last: &mut impl Source) -> anyhow::Result<()> {
    bench.placement().pin(0).context("placing the driver")?;
    let station = bench.driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let token = lap.token();
        station.visit(token);
        first.send(token).context("sending the token to task 0")?;
        let received =
            last.receive().and_then(|token| token.ok_or(ErrorKind::UnexpectedEof.into()));
        received.context("waiting for the token to come round")?;
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
