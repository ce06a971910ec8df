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

mod pair;

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;

use anyhow::Context as _;
use harness::failure::UsageError;
use harness::flags::name;
use harness::hand_over::{
    Futex, Park, Sink, Source, Spin, ThreadOrProcess, Yield, eventfd, halves, pipe, shared_monitor,
    swapped,
};
use harness::limits::Kind;
use harness::{Bench, Count, Launch, Spec, TaskKind, WorkFlag};

use crate::pair::{measure_alone, measure_processes, measure_threads};

/// Time two threads or processes that hand over to each other in turn.
///
/// One iteration is a round trip: the driver hands over to its partner and
/// waits, the partner hands over to the driver and waits. That makes two
/// switches. If a hand-over takes less than a microsecond, an iteration is a
/// batch of round trips.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade thread-switch --via futex --placement same-cpu
  brigade thread-switch --via pipe --kind process --placement spread")]
struct Flags {
    /// Hand-over mechanism
    #[arg(long, value_enum, default_value_t = Via::Pipe)]
    via: Via,

    /// Whether the two are threads or processes
    #[arg(long, value_enum, default_value_t = ThreadOrProcess::Thread)]
    kind: ThreadOrProcess,

    /// Let one thread write and read: the calls of pipe, socketpair or eventfd without a switch
    #[arg(long = "self")]
    alone: bool,

    #[command(flatten)]
    work: WorkFlag,
}

/// Values of `--via`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lower")]
enum Via {
    /// A byte through a pipe, one for each direction
    Pipe,
    /// A byte through a pair of Unix stream sockets
    SocketPair,
    /// A kernel event counter, one for each direction
    EventFd,
    /// A condition variable, signalled with its mutex locked
    Condvar,
    /// A word in memory, and the system call futex
    Futex,
    /// A word in memory, and std's thread parking
    Park,
    /// std's channel, one for each direction
    Channel,
    /// std's channel of capacity 0, one for each direction
    Rendezvous,
    /// A word in memory, polled until it changes; needs two CPUs
    Spin,
    /// A word in memory, polled with sched_yield; needs one CPU
    Yield,
}

const SPEC: Spec = Spec {
    tasks: 2,
    count: Count::Fixed,
    iters: 10_000,
    spread: true,
    ..Spec::new(TaskKind::Thread, Kind::ThreadPipe)
};

harness::program!(SPEC, declare, measure);

impl Flags {
    /// Round trips per iteration, or passes of one thread: enough for about 20 µs, and one if a
    /// hand-over takes a microsecond or more.
    fn batch(&self) -> usize {
        match self.via {
            _ if self.alone => 32,
            Via::Spin => 128,
            Via::Yield => 16,
            _ => 1,
        }
    }
}

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    check(flags, launch.cpus() == 1)?;
    let (needs, hops) = match flags.kind {
        ThreadOrProcess::Thread => (Kind::ThreadPipe, !flags.alone),
        ThreadOrProcess::Process => (Kind::Process, false),
    };
    let switches = if flags.alone || flags.via == Via::Spin { 0.0 } else { 1.0 };
    Ok(Spec {
        switches: Some(switches),
        spread: !flags.alone,
        hops,
        load: Some(flags.work.into()),
        kind: Some(if flags.alone { TaskKind::None } else { flags.kind.task_kind() }),
        needs,
        ..SPEC
    })
}

/// Refuses flags that contradict one another or the available CPUs.
fn check(&Flags { via, kind, alone, .. }: &Flags, one_cpu: bool) -> Result<(), UsageError> {
    let named = name(&via);
    let is_io = matches!(via, Via::Pipe | Via::SocketPair | Via::EventFd);
    let is_of_threads = matches!(via, Via::Park | Via::Channel | Via::Rendezvous);
    let wrong = if kind == ThreadOrProcess::Process && is_of_threads {
        format!(
            "--kind process: --via {named} works inside one process; choose pipe, socketpair, \
             eventfd, condvar, futex, spin or yield"
        )
    } else if alone && !is_io {
        format!(
            "--self: --via {named} writes and reads nothing; choose pipe, socketpair or eventfd"
        )
    } else if alone && kind == ThreadOrProcess::Process {
        "--self: one thread does all, so omit --kind".into()
    } else if via == Via::Spin && one_cpu {
        "--via spin needs two CPUs: on one, each would spin until the scheduler stops it; \
        choose --placement spread, or widen --cpus"
            .into()
    } else if via == Via::Yield && !one_cpu {
        "--via yield needs one CPU: on two, there is no other task to yield to; choose \
         --placement same-cpu"
            .into()
    } else {
        return Ok(());
    };
    Err(UsageError(wrong))
}

fn measure(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let kind = flags.kind;
    match flags.via {
        Via::Pipe if flags.alone => measure_alone(flags, bench, pipe()),
        Via::SocketPair if flags.alone => measure_alone(flags, bench, UnixStream::pair()),
        Via::EventFd if flags.alone => measure_alone(flags, bench, eventfd()),
        Via::Pipe => switch(flags, bench, twice(pipe)),
        Via::SocketPair => switch(flags, bench, sockets()),
        Via::EventFd => switch(flags, bench, twice(eventfd)),
        Via::Condvar => switch(flags, bench, twice(|| shared_monitor(kind))),
        Via::Futex => switch(flags, bench, halves(|| Futex::new(kind), kind)),
        Via::Spin => switch(flags, bench, halves(|| Spin, kind)),
        Via::Yield => switch(flags, bench, halves(|| Yield, kind)),
        Via::Park => switch(flags, bench, halves(Park::default, kind)),
        Via::Channel => switch(flags, bench, twice(|| Ok(swapped(mpsc::channel())))),
        Via::Rendezvous => switch(flags, bench, twice(|| Ok(swapped(mpsc::sync_channel(0))))),
    }
}

/// A channel for each direction, both opened by `open`.
fn twice<R, S>(open: impl Fn() -> io::Result<(R, S)>) -> io::Result<[(R, S); 2]> {
    Ok([open()?, open()?])
}

/// One pair of connected sockets, used in both directions.
fn sockets() -> io::Result<[(UnixStream, UnixStream); 2]> {
    let (driver, partner) = UnixStream::pair()?;
    Ok([(partner.try_clone()?, driver.try_clone()?), (driver, partner)])
}

/// Measures a pair of sides as threads or as processes.
fn switch<R: Source, S: Sink>(
    flags: &Flags,
    bench: &Bench,
    channels: io::Result<[(R, S); 2]>,
) -> anyhow::Result<()> {
    let [there, back] = channels.context("opening the channels")?;
    let sides = [(back.0, there.1), (there.0, back.1)];
    match flags.kind {
        ThreadOrProcess::Thread => measure_threads(flags, bench, sides),
        ThreadOrProcess::Process => measure_processes(flags, bench, sides),
    }
}
