//! A brigade without a runtime: the cost of a hop if a hand-written loop waits for I/O on behalf of
//! N tasks. It is the lower bound for every async runtime.
//!
//! One iteration: the driver sends a byte into the first channel. One thread waits for any readable
//! channel, and does the task's part: it sends the byte into the next channel, until the byte is in
//! the last: N + 1 hops. A task is only its station and the number of its channel.
//!
//! What is counted: with `epoll` a hop is one `epoll_wait`, one `read` and one `write`. With
//! io_uring it is one `io_uring_enter`, which submits a write and the next read, and waits. No hop
//! switches, unless a kernel thread submits (`io-uring-sqpoll`). The program counts its system
//! calls, and the record contains them per hop.
//!
//! Known biases: one token is in flight, so an `epoll_wait` that could report many events reports
//! one, and a ring that could submit many requests submits two. This loop can tell from a short
//! read that a channel is drained, without a second `read`; a runtime that reads into a buffer of
//! one byte cannot. Counting the system calls costs one addition each.

mod epoll;
mod ring;

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;

use anyhow::Context as _;
use harness::hand_over::pipe;
use harness::limits::Kind;
use harness::threads::TaskError;
use harness::{
    Bench, Channel, ChannelFlag, Fact, Launch, LoadFlags, Measured, Spec, Station, TaskKind,
    failure,
};
use rustix::event::epoll::EventFlags;

use epoll::Epoll;
use ring::Ring;

/// Time a byte on its way through N states of a hand-written event loop.
///
/// One iteration: a byte goes from the driver through N channels and back; one
/// thread waits until a channel is readable and sends the byte into the next.
/// That makes N + 1 hops, each with the system calls that any runtime must
/// make.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade event-loop-brigade --loop io-uring --tasks 100
  brigade event-loop-brigade --loop epoll-level --channel socketpair")]
struct Flags {
    /// How the thread waits
    #[arg(long = "loop", value_enum, default_value_t = Loop::EpollEdge)]
    event_loop: Loop,

    #[command(flatten)]
    carrier: ChannelFlag,

    #[command(flatten)]
    load: LoadFlags,
}

/// Values of `--loop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Loop {
    /// epoll, which reports a channel as long as it is readable
    EpollLevel,
    /// epoll, which reports a channel once when something arrives
    EpollEdge,
    /// io_uring, with reads and writes as requests
    IoUring,
    /// io_uring, completing requests only while the thread waits (Linux 6.1)
    IoUringDefer,
    /// io_uring, with a kernel thread that submits requests
    IoUringSqpoll,
}

const SPEC: Spec = Spec {
    tasks: 500,
    iters: 10_000,
    switches: Some(0.0),
    hops: true,
    ..Spec::new(TaskKind::EventLoop, Kind::EpollPipe)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    let by_epoll = matches!(flags.event_loop, Loop::EpollLevel | Loop::EpollEdge);
    // The kernel's thread that submits requests.
    let by_sqpoll = flags.event_loop == Loop::IoUringSqpoll;
    Ok(Spec {
        switches: (!by_sqpoll).then_some(0.0),
        load: Some(flags.load),
        needs: if by_epoll { Kind::EpollPipe } else { Kind::IoUringPipe },
        threads: by_sqpoll.into(),
        ..SPEC
    })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    match flags.carrier.channel {
        Channel::Pipe => measure(flags, bench, pipe),
        Channel::SocketPair => measure(flags, bench, UnixStream::pair),
    }
}

/// Sets up the brigade, with channels that `open` opens, and measures it.
fn measure<F: AsFd + AsRawFd>(
    flags: &Flags,
    bench: &Bench,
    open: fn() -> io::Result<Pair<F>>,
) -> anyhow::Result<()>
where
    for<'a> &'a F: Read + Write,
{
    let open = |number| open().map_err(failure::of_channel(number));
    let stations: Vec<_> = bench.tasks_to_create().map(|task| bench.station(task)).collect();
    let pairs = (0..=stations.len()).map(open).collect::<Result<_, _>>()?;
    match flags.event_loop {
        Loop::EpollLevel => brigade(bench, Epoll::new(pairs, EventFlags::IN)?, &stations),
        Loop::EpollEdge => {
            brigade(bench, Epoll::new(pairs, EventFlags::IN | EventFlags::ET)?, &stations)
        }
        ring => brigade(bench, Ring::new(pairs, ring)?, &stations),
    }
}

/// Channels 0 to N: task `i` reads from channel `i` and writes into channel `i + 1`; the
/// driver writes into the first and reads from the last.
trait Channels {
    /// Sends a token into a channel, now or when [`Self::next`] waits.
    ///
    /// # Errors
    /// If the write fails.
    fn send(&mut self, channel: usize, token: u8) -> io::Result<()>;

    /// Waits until a channel is readable, and reads it. Returns its number and the token, `None` if
    /// the channel was closed, or the error of the read.
    ///
    /// # Errors
    /// If the kernel does not let the thread wait.
    fn next(&mut self) -> io::Result<(usize, io::Result<Option<u8>>)>;

    /// The number of system calls so far.
    fn system_calls(&self) -> u64;
}

/// The reading and the writing end of a channel.
type Pair<F> = (F, F);

/// Sends the token round, lap after lap.
fn brigade(bench: &Bench, mut channels: impl Channels, stations: &[Station]) -> anyhow::Result<()> {
    let driver = bench.driver_station();
    let mut laps = 0;
    let calls_before = channels.system_calls();
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
    if hops > 0 {
        bench.report(Fact::SystemCalls(calls as f64 / hops as f64));
    }
    bench.observe()
}

/// Does the tasks' part, in the order in which the token reaches them, until it has come round.
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

#[cfg(test)]
mod faults;
