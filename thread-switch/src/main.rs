//! Two tasks that hand over to each other: what a switch costs by each of the
//! ways that threads and processes have of waiting for one another.
//!
//! One iteration, a round trip: the driver, task 0, hands over to its partner,
//! task 1, and waits; the partner hands over to the driver and waits. That is
//! two hand-overs, and an operation is one of them. Where a hand-over takes less
//! than a microsecond, an iteration is a batch of round trips: the clock, which
//! takes some 25 ns to read, is read once for all of them.
//!
//! What is counted: a hand-over by a mechanism that blocks is one context
//! switch, and so is one by `yield`; `spin` makes none. The kernel's count, of
//! both processes where there are two, stands beside that claim. A message
//! longer than the kernel writes in one piece may take several, and of that
//! nothing is claimed.
//!
//! Known biases: a hand-over includes the system calls or the atomics that
//! make it; for those that are I/O, `--self` measures that cost alone. Under
//! free placement the kernel decides, anew in every process, whether the two
//! share a CPU. On one CPU, a woken task that runs at once and finds its waker
//! not ready yet switches back: condvar, rendezvous and socketpair make more
//! switches than one. Memory is that of the driver's process.

mod alone;
mod flags;
mod mechanism;
mod process;
mod shared;
mod side;
mod thread;

use std::io;
use std::process::ExitCode;

use anyhow::Context as _;
use harness::{Amounts, Bench, Count, Launch, Spec};

use crate::flags::{Flags, Kind, Via};
use crate::mechanism::turn::{Futex, Spin, Yield};
use crate::mechanism::{channel, condvar, eventfd, park, stream, turn};
use crate::side::{Pair, RoundTrips, Side};

const SPEC: Spec = Spec { tasks: 2, count: Count::Fixed, iters: 10_000, spread: true, ..Spec::NEW };

fn main() -> ExitCode {
    harness::run(harness::program!(), &SPEC, declare, measure)
}

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    flags.check(launch.placement)?;
    let switches = if flags.alone { Some(0.0) } else { claim(flags) };
    let load = Some(flags.work.into());
    Ok(Spec { switches, spread: !flags.alone, load, per_task: needs(flags), ..SPEC })
}

fn measure(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    match flags.alone {
        true => alone::measure(flags, bench),
        false => switch(flags, bench),
    }
}

/// What each of the two tasks needs.
fn needs(flags: &Flags) -> Amounts {
    let task = match flags.kind {
        Kind::Thread => Amounts::thread(2 << 20),
        Kind::Process => Amounts { threads: 1, user_bytes: 1 << 20, ..Amounts::default() },
    };
    task.and(Amounts::pipe())
}

/// Measures two tasks that hand over to each other.
fn switch(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let Flags { kind, message, .. } = *flags;
    let trips = RoundTrips { per_lap: flags.batch(), work: flags.work.work() };
    match flags.via {
        Via::Pipe => run(kind, trips, bench, stream::pipes(message as usize)),
        Via::SocketPair => run(kind, trips, bench, stream::sockets(message as usize)),
        Via::EventFd => run(kind, trips, bench, eventfd::counters()),
        Via::Condvar => run(kind, trips, bench, condvar::condvars(kind)),
        Via::Futex => run(kind, trips, bench, turn::turns(Futex::between(kind))),
        Via::Spin => run(kind, trips, bench, turn::turns(Spin)),
        Via::Yield => run(kind, trips, bench, turn::turns(Yield)),
        Via::Park => run(kind, trips, bench, Ok(park::parks())),
        Via::Channel => run(kind, trips, bench, Ok(channel::mpsc())),
        Via::Rendezvous => run(kind, trips, bench, Ok(channel::rendezvous())),
    }
}

/// How many switches a hand-over makes, where that is certain.
fn claim(flags: &Flags) -> Option<f64> {
    match flags.via {
        Via::Spin => Some(0.0),
        _ if flags.message > libc::PIPE_BUF as u64 => None,
        _ => Some(1.0),
    }
}

/// Runs a pair of sides as threads or as processes.
fn run<S: Side + 'static>(
    kind: Kind,
    trips: RoundTrips,
    bench: &Bench,
    pair: io::Result<(S, S)>,
) -> anyhow::Result<()> {
    let (driver, partner) = pair.context("setting up the mechanism")?;
    let pair: Pair = [Box::new(driver), Box::new(partner)];
    match kind {
        Kind::Thread => thread::measure(bench, trips, pair),
        Kind::Process => process::measure(bench, trips, pair),
    }
}
