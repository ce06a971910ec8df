//! A brigade of async tasks: what a switch between tasks costs when each of
//! them waits for I/O.
//!
//! One iteration: the driver writes a byte into the first channel, each of N
//! async tasks in turn reads it from its upstream channel and writes it into
//! its downstream one, and the driver reads it from the last: N + 1 hops.
//!
//! The relay of tokio is below; the other runtimes have theirs in files of their own,
//! because each reads in its own way. One process has one runtime.
//!
//! What is counted: a hop is one `write`, one `read` that succeeds, mostly one
//! more `read` that finds nothing, and a task's wake-up through `epoll`. On
//! the current thread no hop needs the kernel to switch. On several workers
//! the driver runs as a task on one of them, and what the kernel switches is
//! workers that find nothing to do; no number is claimed for that.
//!
//! By io_uring (`compio`) a hop is a write and a read as requests, which the
//! thread submits when it has nothing else to run.
//!
//! Known biases: a hop includes the I/O, whose cost alone `one-thread-brigade`
//! tells. One `epoll_wait` that reports several events at once would be shared
//! by them; with one token in flight it reports one.

mod compio;
mod executor;

use std::io;
use std::mem;
use std::process::ExitCode;

use anyhow::Context as _;
use harness::runtime::{AsyncRuntime, RuntimeKind, end};
use harness::{
    Amounts, Bench, Channel, ChannelFlag, Launch, LoadFlags, Measured, Spec, Station, WorkersFlag,
    failure,
};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{UnixStream, unix::pipe};

/// Time a byte on its way through N async tasks that wait for I/O.
///
/// One iteration: a byte goes from the driver through N async tasks and back;
/// each task waits until its upstream channel is readable and writes the byte
/// downstream. That makes N + 1 hops.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    #[command(flatten)]
    #[serde(flatten)]
    carrier: ChannelFlag,

    /// What runs the tasks
    #[arg(long, value_enum, default_value_t = AnyRuntime::Tokio)]
    runtime: AnyRuntime,

    #[command(flatten)]
    #[serde(flatten)]
    threads: WorkersFlag,

    #[command(flatten)]
    #[serde(flatten)]
    load: LoadFlags,
}

/// What `--runtime` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
enum AnyRuntime {
    /// Tokio with several worker threads
    Tokio,
    /// Tokio on the thread that waits for it
    TokioCurrentThread,
    /// Tokio on that thread, for tasks that never leave it
    TokioLocal,
    /// async-executor with async-io, of smol, on one thread
    AsyncExecutor,
    /// Compio on one thread, over io_uring
    Compio,
}

const SPEC: Spec = Spec { tasks: 500, iters: 10_000, spread: true, ..Spec::NEW };

impl AnyRuntime {
    /// Which runtime of tokio this is, if it is one.
    fn of_tokio(self) -> Option<RuntimeKind> {
        match self {
            Self::Tokio => Some(RuntimeKind::Tokio),
            Self::TokioCurrentThread => Some(RuntimeKind::TokioCurrentThread),
            Self::TokioLocal => Some(RuntimeKind::TokioLocal),
            Self::AsyncExecutor | Self::Compio => None,
        }
    }
}

fn main() -> ExitCode {
    harness::run(harness::program!(), &SPEC, declare, run)
}

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let channel = flags.carrier.channel.amounts();
    let Some(kind) = flags.runtime.of_tokio() else {
        flags.threads.refuse("this runtime runs every task on one thread")?;
        let (each, fixed) = match flags.runtime {
            AnyRuntime::Compio => (channel.and(compio::request()), Amounts::compio()),
            _ => (channel.watched(), executor::amounts()),
        };
        let per_task = Amounts::async_task().and(each);
        let fixed = fixed.and(each);
        let load = Some(flags.load);
        return Ok(Spec { switches: Some(0.0), spread: false, load, per_task, fixed, ..SPEC });
    };
    let each = channel.watched();
    let per_task = Amounts::async_task().and(each);
    Ok(Spec {
        switches: kind.is_one_thread().then_some(0.0),
        spread: !kind.is_one_thread(),
        load: Some(flags.load),
        per_task,
        fixed: kind.amounts(flags.threads.workers, launch.cpus()).and(each),
        ..SPEC
    })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let channel = flags.carrier.channel;
    let kind = match (flags.runtime, flags.runtime.of_tokio()) {
        (_, Some(kind)) => kind,
        (AnyRuntime::Compio, None) => return compio::measure(channel, bench),
        (_, None) => return executor::measure(channel, bench),
    };
    let runtime = AsyncRuntime::start(kind, flags.threads.workers, bench)?;
    match channel {
        Channel::Pipe => runtime.drive(brigade(kind, bench.clone(), open_pipe)),
        Channel::SocketPair => runtime.drive(brigade(kind, bench.clone(), UnixStream::pair)),
    }
}

fn open_pipe() -> io::Result<(pipe::Receiver, pipe::Sender)> {
    pipe::pipe().map(|(sender, receiver)| (receiver, sender))
}

/// Sets up the brigade, with channels that `open` opens, and measures it.
async fn brigade<R, W>(
    kind: RuntimeKind,
    bench: Bench,
    mut open: impl FnMut() -> io::Result<(R, W)>,
) -> anyhow::Result<()>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let mut open = |number: usize| {
        open().map_err(|error| failure::creating(format_args!("channel {number}"), error))
    };
    let (mut last, mut first) = open(0)?;
    let mut tasks = Vec::with_capacity(bench.tasks());
    for task in bench.creation() {
        let (reader, downstream) = open(task + 1)?;
        let upstream = mem::replace(&mut last, reader);
        tasks.push(kind.spawn(relay(bench.station(task), upstream, downstream)));
    }
    let passed = drive(&bench, &mut first, &mut last).await;
    end(&bench, passed, first, tasks).await
}

/// Sends the token round, lap after lap.
async fn drive<R, W>(bench: &Bench, first: &mut W, last: &mut R) -> anyhow::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let station = bench.driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let mut token = [lap.token()];
        station.visit(token[0]);
        first.write_all(&token).await.context("sending the token to task 0")?;
        last.read_exact(&mut token).await.context("waiting for the token to come round")?;
        lap.finish();
    }
    Ok(())
}

/// Passes bytes from upstream to downstream until upstream is closed.
async fn relay<R, W>(station: Station, mut upstream: R, mut downstream: W) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut token = [0];
    while upstream.read(&mut token).await? == 1 {
        station.visit(token[0]);
        downstream.write_all(&token).await?;
    }
    Ok(())
}

#[cfg(test)]
mod faults;
