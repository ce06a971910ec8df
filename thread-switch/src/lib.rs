//! Two tasks that hand over to each other: the cost of a switch, by the ways in which threads and
//! processes can wait for one another.
//!
//! One iteration, a round trip: the driver, task 0, hands over to its partner, task 1, and waits;
//! the partner hands over to the driver and waits. That is two hand-overs, and an operation is one
//! of them. If a hand-over takes less than a microsecond, an iteration is a batch of round trips:
//! the clock, which takes about 25 ns to read, is read once for all of them.
//!
//! What is counted: a hand-over by a blocking mechanism is one context switch, and so is one by
//! `yield`; `spin` makes none. The claim is checked against the kernel's count, of both processes
//! if there are two.
//!
//! Known biases: a hand-over includes its system calls or atomics; for I/O, `--self` measures that
//! cost alone. Under free placement the kernel decides in every process whether the two share a
//! CPU. On one CPU, a woken task that runs at once and finds its waker not ready yet switches back:
//! condvar, rendezvous and socketpair make more than one switch. Memory is that of the driver's
//! process.

mod flags;
mod pair;
mod process;

use std::fs::File;
use std::io;
use std::sync::mpsc;

use anyhow::Context as _;
use harness::hand_over::{
    Channel, Futex, Park, Reach, Sink, Source, Spin, Yield, eventfd, halves, shared_monitor,
    swapped,
};
use harness::limits::Kind;
use harness::{Bench, Count, Launch, Spec};

use crate::flags::{Flags, Via};
use crate::pair::{RoundTrips, measure_alone, sides, twice};

const SPEC: Spec = Spec { tasks: 2, count: Count::Fixed, iters: 10_000, spread: true, ..Spec::NEW };

harness::program!(SPEC, declare, measure);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    flags.check(launch.placement)?;
    let (kind, hops) = match flags.kind {
        Reach::Thread => (Kind::ThreadPipe, !flags.alone),
        Reach::Process => (Kind::Process, false),
    };
    let (switches, load) = (Some(flags.claim()), Some(flags.work.into()));
    Ok(Spec { switches, spread: !flags.alone, hops, load, kind, ..SPEC })
}

fn measure(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let trips = RoundTrips { per_lap: flags.batch(), work: flags.work.work() };
    let kind = flags.kind;
    let alone = |channel: Channel| measure_alone(bench, trips, channel.open());
    match flags.via {
        Via::Pipe if flags.alone => alone(Channel::Pipe),
        Via::SocketPair if flags.alone => alone(Channel::SocketPair),
        Via::EventFd if flags.alone => measure_alone(bench, trips, eventfd()),
        Via::Pipe => switch(kind, trips, bench, twice(|| Channel::Pipe.open())),
        Via::SocketPair => switch(kind, trips, bench, sockets()),
        Via::EventFd => switch(kind, trips, bench, twice(eventfd)),
        Via::Condvar => switch(kind, trips, bench, twice(|| shared_monitor(kind))),
        Via::Futex => switch(kind, trips, bench, halves(|| Futex::of(kind), kind)),
        Via::Spin => switch(kind, trips, bench, halves(|| Spin, kind)),
        Via::Yield => switch(kind, trips, bench, halves(|| Yield, kind)),
        Via::Park => switch(kind, trips, bench, halves(Park::default, kind)),
        Via::Channel => switch(kind, trips, bench, twice(|| Ok(swapped(mpsc::channel())))),
        Via::Rendezvous => switch(kind, trips, bench, twice(|| Ok(swapped(mpsc::sync_channel(0))))),
    }
}

/// One pair of connected sockets, used in both directions.
fn sockets() -> io::Result<[(File, File); 2]> {
    let (driver, partner) = Channel::SocketPair.open()?;
    Ok([(partner.try_clone()?, driver.try_clone()?), (driver, partner)])
}

/// Measures a pair of sides as threads or as processes.
fn switch<R: Source, S: Sink>(
    kind: Reach,
    trips: RoundTrips,
    bench: &Bench,
    channels: io::Result<[(R, S); 2]>,
) -> anyhow::Result<()> {
    let sides = sides(channels.context("opening the channels")?);
    match kind {
        Reach::Thread => pair::measure(bench, trips, sides),
        Reach::Process => process::measure(bench, trips, sides),
    }
}
