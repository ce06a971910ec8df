//! The I/O of a brigade in one thread: the baseline for thread-brigade and async-brigade.
//!
//! One iteration: one thread writes a byte into each of N + 1 channels in turn and reads it back.
//! That is N + 1 hops, as in a brigade of N tasks.
//!
//! What is counted: a hop is one `write` and one `read` that never blocks, or over sockets one `send`
//! and one `recv`, by the code that thread-brigade runs. No hop switches. With
//! `--working-set` every hop touches separate memory, as much in total as N tasks and their driver
//! would.
//!
//! Known biases: the thread's cache stays warmer than those of N tasks. Writing into a pipe whose
//! reader waits costs more, because the writer wakes the reader; that is part of a switch, not of
//! the I/O.

use std::io;
use std::os::unix::net::UnixStream;

use anyhow::Context as _;
use harness::hand_over::{Sink, Source, pipe};
use harness::limits::Kind;
use harness::{Bench, Channel, ChannelFlag, Launch, LoadFlags, Measured, Spec, TaskKind, failure};

/// Time the I/O of a brigade of N tasks, in one thread.
///
/// One iteration: one thread writes a byte into each of N + 1 channels in turn
/// and reads it back. That makes N + 1 hops without a switch.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade one-thread-brigade --tasks 100
  brigade one-thread-brigade --channel socketpair --working-set 16384")]
struct Flags {
    #[command(flatten)]
    carrier: ChannelFlag,

    #[command(flatten)]
    load: LoadFlags,
}

const SPEC: Spec = Spec {
    tasks: 500,
    iters: 10_000,
    switches: Some(0.0),
    ..Spec::new(TaskKind::None, Kind::Pipe)
};

harness::program!(SPEC, declare, brigade);

fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    Ok(Spec { load: Some(flags.load), ..SPEC })
}

fn brigade(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    match flags.carrier.channel {
        Channel::Pipe => measure(bench, pipe),
        Channel::SocketPair => measure(bench, UnixStream::pair),
    }
}

/// Measures the I/O over channels that `open` opens.
fn measure<R: Source, S: Sink>(
    bench: &Bench,
    open: impl Fn() -> io::Result<(R, S)>,
) -> anyhow::Result<()> {
    let mut channels = (0..=bench.tasks())
        .map(|number| open().map_err(failure::of_channel(number)))
        .collect::<Result<Vec<_>, _>>()?;

    let stations: Vec<_> = (0..=bench.tasks()).map(|_| bench.driver_station()).collect();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        for ((source, sink), station) in channels.iter_mut().zip(&stations) {
            let token = lap.token();
            station.visit(token);
            sink.send(token).context("writing the token")?;
            source.receive().context("reading the token back")?;
        }
        lap.finish();
    }
    bench.observe()
}
