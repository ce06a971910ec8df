//! A brigade without a runtime: what a hop costs when a loop written by hand waits for
//! I/O on behalf of N tasks. It is the floor below every async runtime.
//!
//! One iteration: the driver sends a byte into the first channel. One thread waits for
//! whatever channel has it, and does there what the task would do: it sends the byte into
//! the next channel, until the byte is in the last: N + 1 hops. A task is its station and
//! the number of its channel, and nothing more.
//!
//! What is counted: with `epoll` a hop is one `epoll_wait`, one `read` and one `write`. With
//! io_uring it is one `io_uring_enter`, which submits a write and the next read, and waits.
//! No hop switches, except where a thread of the kernel submits (`io-uring-sqpoll`). The
//! program counts its system calls, and the record has them per hop.
//!
//! Known biases: one token is in flight, so an `epoll_wait` that could report many events
//! reports one, and a ring that could submit many requests submits two. A loop that knows
//! that its channels are drained by a short read needs no second `read` to see it; a
//! runtime that reads into a buffer of one byte does. To count the system calls costs an
//! addition for each.

mod channels;
mod epoll;
mod flags;
mod ring;

use std::io::ErrorKind;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use harness::threads::TaskError;
use harness::{Bench, Measured, Station, failure};

use channels::{Channels, Pair};
use epoll::{Epoll, Trigger};
use flags::{Flags, Loop, SPEC, declare};
use ring::{Ring, RingKind};

/// This page.
pub const PAGE: &str = include_str!("lib.rs");

/// Runs the program: flags in, a summary or a record out.
pub fn main() -> ExitCode {
    harness::run(harness::program!(), &SPEC, declare, run)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let open =
        |number| flags.carrier.channel.open().map(Pair::from).map_err(failure::of_channel(number));
    let mut pairs = vec![open(0)?];
    let mut stations = Vec::with_capacity(bench.tasks());
    for task in bench.creation() {
        pairs.push(open(task + 1)?);
        stations.push(bench.station(task));
    }
    match flags.event_loop {
        Loop::EpollLevel => brigade(bench, Epoll::over(pairs, Trigger::Level)?, &stations),
        Loop::EpollEdge => brigade(bench, Epoll::over(pairs, Trigger::Edge)?, &stations),
        Loop::IoUring => brigade(bench, Ring::over(pairs, RingKind::Plain)?, &stations),
        Loop::IoUringDefer => brigade(bench, Ring::over(pairs, RingKind::Deferred)?, &stations),
        Loop::IoUringSqpoll => brigade(bench, Ring::over(pairs, RingKind::Polled)?, &stations),
    }
}

/// Sends the token round, lap after lap, and ends the brigade.
fn brigade(bench: &Bench, mut channels: impl Channels, stations: &[Station]) -> anyhow::Result<()> {
    let driver = bench.driver_station();
    let (mut laps, calls_before) = (0, channels.system_calls());
    for lap in bench.laps(&[Measured::hops(stations.len())]) {
        let token = lap.token();
        driver.visit(token);
        channels.send(0, token).context("sending the token to task 0")?;
        pass(&mut channels, stations)?;
        lap.finish();
        laps += 1;
    }
    let hops = laps * (stations.len() as u64 + 1);
    let calls = channels.system_calls() - calls_before;
    bench.findings().system_calls = (hops > 0).then(|| calls as f64 / hops as f64);
    bench.observe()?;
    end(&mut channels, stations.len())
}

/// Does what the tasks do, in whatever order the token comes to them, until it has come
/// round.
#[inline]
fn pass(channels: &mut impl Channels, stations: &[Station]) -> anyhow::Result<()> {
    loop {
        let (channel, token) = channels.next().context("waiting for a token")?;
        let token = token.and_then(|token| token.ok_or(ErrorKind::UnexpectedEof.into()));
        let Some(station) = stations.get(channel) else {
            token.context("waiting for the token to come round")?;
            return Ok(());
        };
        let sent = token.and_then(|token| {
            station.visit(token);
            channels.send(channel + 1, token)
        });
        sent.map_err(|error| TaskError::Failed(error).of_task(channel))?;
    }
}

/// Closes the first channel, upon whose end task 0 closes the next, and so on.
fn end(channels: &mut impl Channels, tasks: usize) -> anyhow::Result<()> {
    for closed in 0..=tasks {
        channels.close(closed);
        let (channel, token) = channels.next().context("waiting for the end")?;
        let ended = channel == closed && matches!(token, Ok(None));
        ensure!(ended, "channel {closed} was closed, but channel {channel} has {token:?}");
    }
    Ok(())
}

#[cfg(test)]
mod faults;
