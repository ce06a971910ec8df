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

use std::fs;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::sync_channel;
use std::{io, thread};

use anyhow::{Context as _, bail};
use harness::failure::{self, UsageError};
use harness::hand_over::{self, Sink, Source, ThreadOrProcess, send_round, swapped};
use harness::limits::Kind;
use harness::threads::{end, outcome, outcome_of_process, spawn};
use harness::{Bench, Launch, Line, LoadFlags, Measured, Spec, StackFlag, TaskKind, process_stat};

/// Time a byte on its way through N threads that wait for one another.
///
/// One iteration: a byte goes from the driver through N OS threads and back, or N processes with
/// --kind process; each blocks until its upstream channel has the byte and sends it downstream.
/// That makes N + 1 hops, each with a context switch.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade thread-brigade --tasks 100 --placement same-cpu
  brigade thread-brigade --channel futex --placement spread --keep-awake")]
struct Flags {
    /// Whether the tasks are threads or processes
    #[arg(long, value_enum, default_value_t = ThreadOrProcess::Thread)]
    kind: ThreadOrProcess,

    /// Channel that carries the byte from one task to the next; pipe or socketpair between
    /// processes
    #[arg(long, value_enum, default_value_t = ThreadChannel::Pipe)]
    channel: ThreadChannel,

    #[command(flatten)]
    stack: StackFlag,

    #[command(flatten)]
    load: LoadFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lower")]
enum ThreadChannel {
    /// A pipe
    Pipe,
    /// A pair of connected Unix stream sockets, used in one direction
    SocketPair,
    /// A kernel event counter
    EventFd,
    /// A word in memory, and the system call futex
    Futex,
    /// std's bounded channel, of capacity 1
    Mpsc,
    /// A slot in memory, std's mutex and condition variable
    Condvar,
}

const SPEC: Spec = Spec {
    tasks: 500,
    iters: 10_000,
    switches: Some(1.0),
    spread: true,
    ..Spec::new(TaskKind::Thread, Kind::ThreadPipe)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    let needs = match (flags.kind, flags.channel) {
        (ThreadOrProcess::Process, ThreadChannel::Pipe | ThreadChannel::SocketPair) => {
            Kind::Process
        }
        (ThreadOrProcess::Process, _) => bail!(UsageError(
            "--kind process: choose --channel pipe or socketpair, which connect processes".into()
        )),
        (_, ThreadChannel::Pipe | ThreadChannel::SocketPair) => Kind::ThreadPipe,
        (_, ThreadChannel::EventFd) => Kind::ThreadEventfd,
        _ => Kind::ThreadFutex,
    };
    Ok(Spec {
        hops: flags.kind == ThreadOrProcess::Thread,
        load: Some(flags.load),
        kind: Some(flags.kind.task_kind()),
        needs,
        stack_bytes: flags.stack.stack_size as u64,
        ..SPEC
    })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    match flags.channel {
        ThreadChannel::Pipe => brigade_over_files(flags, bench, hand_over::pipe),
        ThreadChannel::SocketPair => brigade_over_files(flags, bench, UnixStream::pair),
        ThreadChannel::EventFd => brigade(flags, bench, hand_over::eventfd),
        ThreadChannel::Futex => brigade(flags, bench, hand_over::futex),
        ThreadChannel::Mpsc => brigade(flags, bench, || Ok(swapped(sync_channel(1)))),
        ThreadChannel::Condvar => brigade(flags, bench, || Ok(hand_over::monitor())),
    }
}

/// Measures the brigade over files, which connect threads as well as processes.
fn brigade_over_files<R: Source + AsRawFd, S: Sink + AsRawFd>(
    flags: &Flags,
    bench: &Bench,
    open: impl FnMut() -> io::Result<(R, S)>,
) -> anyhow::Result<()> {
    match flags.kind {
        ThreadOrProcess::Thread => brigade(flags, bench, open),
        ThreadOrProcess::Process => brigade_of_processes(bench, open),
    }
}

/// Sets up the brigade, with channels that `open` opens, and measures it.
fn brigade<R: Source, S: Sink>(
    flags: &Flags,
    bench: &Bench,
    open: impl FnMut() -> io::Result<(R, S)>,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        let start = |task, upstream, downstream| {
            let body = move || relay(bench, task, upstream, downstream);
            spawn(scope, task, flags.stack.stack_size, body)
        };
        let mut line = Line::create(bench.tasks_to_create(), open, start)?;
        let result = drive(bench, &mut line.first, &mut line.last);
        end(bench, result, line.first, line.tasks.into_iter().map(outcome))
    })
}

/// Sets up the brigade with processes, each a fork of this one with only its two channels open, and
/// measures it.
fn brigade_of_processes<R: Source + AsRawFd, S: Sink + AsRawFd>(
    bench: &Bench,
    open: impl FnMut() -> io::Result<(R, S)>,
) -> anyhow::Result<()> {
    let start = |task, upstream: R, downstream: S| {
        let live = || {
            close_all_but([upstream.as_raw_fd(), downstream.as_raw_fd()])?;
            relay(bench, task, upstream, downstream)
        };
        process_stat::spawn(live).map_err(failure::to_create(format_args!("task {task}")))
    };
    let mut line = Line::create(bench.tasks_to_create(), open, start)?;
    bench.count_peers(line.tasks.iter().map(|task| task.as_raw().unsigned_abs()).collect());
    let result = drive(bench, &mut line.first, &mut line.last);
    end(bench, result, line.first, line.tasks.into_iter().map(outcome_of_process))
}

/// Closes every file except the standard ones and these. An open end of another channel would hide
/// from its reader that its writer has ended.
fn close_all_but(kept: [RawFd; 2]) -> io::Result<()> {
    let names = fs::read_dir("/proc/self/fd")?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<_>>>()?;
    let open = names.iter().filter_map(|name| name.to_str()?.parse::<i32>().ok());
    for file in open.filter(|file| *file > 2 && !kept.contains(file)) {
        // SAFETY: nothing in this process uses it any more: it ends without destructors.
        unsafe { libc::close(file) };
    }
    Ok(())
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
