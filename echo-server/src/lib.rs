//! What a request costs a server that has N connections, by kind of task.
//!
//! The program is the load: one thread with an epoll, which sends messages over all connections,
//! and verifies that each comes back on its connection, in order and once. Its child is the server,
//! which echoes them. Without `--rate` the loop is closed: `--busy` requests are under way at a
//! time, each on the connection that has been idle for longest, in an order drawn at random. One
//! iteration is 256 requests. With `--rate` one iteration is one request, and its latency runs from
//! when it was due (no coordinated omission).
//!
//! `cpu` is the CPU time of a request: the server's and the load's, since on loopback the kernel
//! does part of the receiver's work in the sender's call. `server` is the server's share. Compare
//! kinds with `--placement same-cpu`, where no CPU has to be woken. With `spread` the load polls on
//! a CPU of its own, the last, and `cpu` is left out; how many requests a second the server can
//! serve is printed only if enough polls found nothing, so that the load waited for the server.
//!
//! What is counted: over TCP a thread that is woken for each request makes a switch, and a loop
//! that always finds a request makes none; the record compares that with the kernel's count for
//! the server alone. `ledger` has the memory of a server with 64 connections and of the one with all,
//! each after its tasks have served a message; that of sockets is of both ends.
//!
//! Known biases: no network card, no TLS, one load, one size of message, and a server that only
//! echoes; BIAS has more. `one` is no server that could be used: it is told the order of requests,
//! and never asks which connection is next. If a message arrives in pieces, `epoll` waits for the
//! rest, and serves nobody meanwhile.

mod load;
mod peers;
mod server;
mod silence;
mod tasks;

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use clap::value_parser;
use harness::counters::{Counters, counts_switches};
use harness::failure::{UsageError, to_create};
use harness::hand_over::{ThreadOrProcess, place};
use harness::limits::{self, Need, Resource, Scope};
use harness::placement::Policy;
use harness::process_stat::{die_with, family_of, has_ended, kill_family, spawn};
use harness::record::Serving;
use harness::samples::Samples;
use harness::system_files::SystemFiles;
use harness::threads::{TaskError, outcome_of_process};
use harness::tokio_settings::TokioSettings;
use harness::{
    Bench, Fact, Lateness, Launch, Measured, Spec, StackFlag, TaskKind, WorkFlag, clock, cpus,
    memory,
};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{Pid, getpid};
use rustix::net;

use crate::load::{Load, Route};
use crate::peers::{announcements, bound};
use crate::server::Server;
use crate::silence::Silence;

/// Requests in an iteration of a closed loop.
const REQUESTS: u64 = 256;

/// The longest message: it fits into the buffers of any socket, so a sender never blocks.
const LONGEST_MESSAGE: i64 = 16 << 10;

/// Connections of the server with which the one of all is compared, for memory per connection.
const FEW: usize = 64;

/// Connections that may wait to be accepted: strangers', too.
const BACKLOG: i32 = 128;

/// Requests under way by default.
const BUSY: u32 = 10;

/// The least share of polls that find nothing if the server is what limits the load.
const WAITED: f64 = 0.2;

/// Time requests that a server echoes.
///
/// The server is a child of this process, with a task of --kind for each of
/// --tasks connections. One iteration is 256 requests, --busy of them under way
/// at a time. With --rate it is one request, timed from when it was due.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  brigade echo-server --kind epoll --tasks 1000
  brigade echo-server --kind tokio --tasks 100 --rate 5000 --work 10")]
struct Flags {
    /// What serves the connections
    #[arg(long, value_enum, default_value_t = Kind::Thread)]
    kind: Kind,

    /// Start this command as the server instead; it inherits the listening socket as its standard
    /// input, and must also take --tasks, --message, --work and --workers
    #[arg(long, value_name = "CMD")]
    server: Option<String>,

    /// Requests in flight [default: 10, or one per connection in use]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    #[arg(conflicts_with = "rate")]
    busy: Option<u32>,

    /// Connections in use; the others are idle [default: all]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    hot: Option<u32>,

    /// Size of a message, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    #[arg(value_parser = value_parser!(u32).range(1..=LONGEST_MESSAGE))]
    message: u32,

    /// What connects load and server
    #[arg(long, value_enum, default_value_t = Channel::Tcp)]
    channel: Channel,

    /// Requests per second, each due at its time [default: as many as the server can serve]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=100_000_000))]
    rate: Option<u32>,

    /// Workers of thread-pool and tokio [default: one per CPU of the server]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1024))]
    workers: Option<u32>,

    /// Settings of tokio, such as event_interval=1,max_io_events_per_tick=64 [default: its own, which
    /// brigade list prints]
    #[arg(long, value_name = "LIST", conflicts_with = "server")]
    tokio: Option<TokioSettings>,

    #[command(flatten)]
    stack: StackFlag,

    #[command(flatten)]
    work: WorkFlag,
}

/// Values of `--kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// A thread per connection
    Thread,
    /// One thread that waits for all connections, and workers
    ThreadPool,
    /// A process per connection
    Process,
    /// Tasks of tokio, with several workers
    Tokio,
    /// Tasks of tokio, on one thread
    TokioCurrentThread,
    /// Tasks of async-executor, on one thread
    AsyncExecutor,
    /// Tasks of compio, on one thread over io_uring
    Compio,
    /// A loop of epoll
    Epoll,
    /// A loop of io_uring
    IoUring,
    /// One thread that knows which request is next, to be subtracted
    One,
}

impl Kind {
    /// Serves with tasks of this kind until all connections have ended.
    fn serve(self, server: &'static Server) -> io::Result<()> {
        match self {
            Self::Thread => server.threads(),
            Self::ThreadPool => server.pool(),
            Self::Process => server.processes(),
            Self::One => server.one(),
            Self::Epoll => server::epoll(server),
            Self::IoUring => server::io_uring(server),
            Self::Tokio | Self::TokioCurrentThread => tasks::tokio(server, self),
            Self::AsyncExecutor => tasks::async_executor(server),
            Self::Compio => tasks::compio(server),
        }
    }

    /// What the tasks are.
    fn task_kind(self) -> TaskKind {
        match self {
            Self::Thread | Self::ThreadPool => TaskKind::Thread,
            Self::Process => TaskKind::Process,
            Self::Tokio | Self::TokioCurrentThread => TaskKind::AsyncTask,
            Self::AsyncExecutor | Self::Compio => TaskKind::AsyncTask,
            Self::Epoll | Self::IoUring => TaskKind::EventLoop,
            Self::One => TaskKind::None,
        }
    }
}

/// Values of `--channel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Channel {
    /// TCP, over the loopback device
    Tcp,
    /// Unix sockets, which need no soft interrupts
    Unix,
}

const SPEC: Spec = Spec {
    tasks: 1000,
    iters: 1000,
    spread: true,
    ..Spec::new(TaskKind::Thread, limits::Kind::ThreadTcp)
};

harness::program!(SPEC, declare, run);

/// How a run uses its connections.
struct Usage {
    /// Connections in use.
    hot: usize,
    /// Requests under way.
    busy: usize,
}

impl Flags {
    /// How many of so many connections are in use, and how many requests are under way.
    fn usage(&self, connections: u32) -> Result<Usage, UsageError> {
        let hot = self.hot.unwrap_or(connections);
        let busy = self.busy.unwrap_or(BUSY.min(hot));
        let has_workers = matches!(self.kind, Kind::Tokio | Kind::ThreadPool);
        let has_tokio = matches!(self.kind, Kind::Tokio | Kind::TokioCurrentThread);
        let reason = if hot > connections {
            format!("--hot {hot}: there are {connections}; raise --tasks")
        } else if busy > hot {
            format!("--busy {busy}: a connection has one request; use {hot} at most")
        } else if let Some(workers) = self.workers
            && !has_workers
            && self.server.is_none()
        {
            format!("--workers {workers}: this kind has none; choose --kind tokio or thread-pool")
        } else if self.tokio.is_some() && !has_tokio {
            "--tokio: this kind is not tokio's; choose --kind tokio or tokio-current-thread"
                .to_owned()
        } else {
            return Ok(Usage { hot: hot as usize, busy: busy as usize });
        };
        Err(UsageError(reason))
    }
}

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    flags.usage(launch.tasks)?;
    let workers = flags.workers.map_or(launch.cpus() as u64, u64::from);
    let (needs, threads) = match flags.kind {
        Kind::Thread => (limits::Kind::ThreadTcp, 0),
        Kind::Process => (limits::Kind::Process, 0),
        Kind::Tokio | Kind::ThreadPool => (limits::Kind::TokioTcp, workers + 1),
        Kind::Compio | Kind::IoUring => (limits::Kind::Compio, 1),
        _ => (limits::Kind::TokioTcp, 1),
    };
    // A command may serve with tasks of any kind.
    let kind = if flags.server.is_none() { Some(flags.kind.task_kind()) } else { None };
    Ok(Spec {
        load: Some(flags.work.into()),
        kind,
        needs,
        threads,
        stack_bytes: flags.stack.stack_size as u64,
        // A message, and the other end of the connection.
        heap_bytes: u64::from(flags.message) + (8 << 10),
        tcp: flags.channel == Channel::Tcp,
        ..SPEC
    })
}

/// Checks the limits of so many connections, whatever serves them.
fn require(flags: &Flags, connections: u64) -> anyhow::Result<()> {
    let ports = u64::from(flags.channel == Channel::Tcp);
    // A connection is a file of each process, so two of the machine.
    let need = |connections| Need::new(limits::Kind::TokioTcp, connections);
    limits::require(&need(connections).with_per_task(Resource::Ports, ports))?;
    let mut of_machine = limits::in_force(&SystemFiles::live());
    of_machine.retain(|limit| limit.scope == Scope::Machine && limit.resource == Resource::Files);
    Ok(limits::admit(&need(2 * connections), &of_machine)?)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    require(flags, bench.tasks() as u64)?;
    // Memory per connection is the difference of two servers, without what both have once.
    if FEW < bench.tasks() {
        serve(flags, bench, FEW)?;
    }
    serve(flags, bench, bench.tasks())
}

/// Starts a server of this many connections, opens them, measures if they are all, and ends it.
fn serve(flags: &Flags, bench: &Bench, connections: usize) -> anyhow::Result<()> {
    let mut order: Vec<usize> = (0..connections).collect();
    fastrand::Rng::with_seed(0).shuffle(&mut order);
    order.truncate(flags.usage(bench.tasks() as u32)?.hot);
    let (listener, address) = bound(flags.channel).context("opening the listening socket")?;
    net::listen(&listener, BACKLOG).context("listening")?;
    let (announcer, announced) = announcements().context("opening a pipe")?;
    let cpus = &*bench.placement().cpus;
    let polls = bench.placement().policy == Policy::Spread;
    let (of_server, own) = if polls { cpus.split_at(cpus.len() - 1) } else { (cpus, cpus) };
    let server = Server {
        listener,
        announced,
        connections,
        workers: flags.workers.map_or(of_server.len(), |count| count as usize),
        tokio: flags.tokio.unwrap_or_default(),
        stack_size: flags.stack.stack_size,
        order: order.clone(),
        bytes: flags.message as usize,
        work: flags.work.work(),
        waited: place(AtomicU64::new(0), ThreadOrProcess::Process).context("sharing memory")?,
    };
    let bytes = server.bytes;
    let waited = server.waited;
    cpus::confine(of_server).context("placing the server")?;
    // In both cases this process's copies of the server's descriptors are closed.
    let child = match &flags.server {
        None => spawn(|| flags.kind.serve(Box::leak(Box::new(server)))),
        Some(line) => execute(line, server, flags),
    };
    let child = child.map_err(to_create("the server"))?;
    let measured = cpus::confine(own).context("placing the load").and_then(|()| {
        let process = child.as_raw().unsigned_abs();
        let route = Route { channel: flags.channel, address, announcer };
        let mut load = Load::new(route, bytes, polls, Silence::new(process, bench)?)?;
        let mut numbers = bench.tasks_to_create().take(connections);
        numbers.try_for_each(|number| load.connect(number))?;
        // What opened a connection has answered its first message, and its task answers this one.
        (0..connections).try_for_each(|number| load.set_up(number))?;
        if bench.is_interrupted() {
            return Ok(());
        }
        let processes = family_of(process);
        bench.add_reading(memory::with_tasks(connections as u64, &processes));
        if connections < bench.tasks() {
            return Ok(());
        }
        bench.count_peers(processes);
        load.idle = order.into();
        measure(flags, bench, &mut load, waited)
    });
    // The load has been dropped, so its connections are closed, and a server ends.
    let ended = end(child, bench, flags.server.is_some(), measured.is_ok());
    match (measured, ended) {
        (Err(error), Err(server)) => Err(error.context(server.to_string())),
        (measured, ended) => measured.and(ended),
    }
}

/// Starts the command of a server, in the process group of this program, so that it ends with it.
fn execute(line: &str, server: Server, flags: &Flags) -> io::Result<Pid> {
    let line = format!(
        "{line} --tasks {} --message {} --work {} --workers {}",
        server.connections, flags.message, flags.work.work, server.workers
    );
    let mut words = shlex::split(&line).unwrap_or_default().into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).stdin(server.listener).stdout(io::stderr());
    let parent = getpid();
    let announced = server.announced;
    let prepare = move || {
        die_with(parent)?;
        // An interruption of the group is for the load only.
        // SAFETY: ignoring a signal runs no code of this process.
        unsafe { signal(Signal::SIGINT, SigHandler::SigIgn) }?;
        announced.pass_on()
    };
    // SAFETY: it makes system calls, and neither allocates nor locks.
    let child = unsafe { command.pre_exec(prepare) }.spawn()?;
    Ok(Pid::from_raw(child.id().cast_signed()))
}

/// How long a server may take to end after a failure, to report it, and otherwise.
const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST_END: Duration = Duration::from_secs(60);

/// Waits for the server's end. Kills it, with all that it has started, if it does not end by itself.
fn end(child: Pid, bench: &Bench, is_guest: bool, was_served: bool) -> anyhow::Result<()> {
    let patience = if !was_served {
        PATIENCE
    } else if is_guest {
        // A command may serve for ever.
        Duration::ZERO
    } else {
        LONGEST_END
    };
    let begun = Instant::now();
    let is_enough = || bench.is_interrupted() || begun.elapsed() >= patience;
    let has_ended = has_ended(child, is_enough).context("waiting for the server")?;
    if !has_ended {
        kill_family(child);
    }
    match outcome_of_process(child) {
        Err(_) if !has_ended => Ok(()),
        // The code of a command is no error number.
        Err(TaskError::Failed(error)) if is_guest && let Some(code) = error.raw_os_error() => {
            Err(anyhow!("the server ended with code {code}"))
        }
        ended => ended.map_err(|error| anyhow!("the server {error}")),
    }
}

/// Runs all rounds.
fn measure(flags: &Flags, bench: &Bench, load: &mut Load, waits: &AtomicU64) -> anyhow::Result<()> {
    clock::be_punctual();
    let Usage { busy, .. } = flags.usage(bench.tasks() as u32)?;
    // Allocated before the first round, so that no measured one does.
    let requests = Measured::single("iteration", "request");
    let mut iterations = Samples::new(Measured { operations: REQUESTS, ..requests });
    let mut late = Lateness::new("request");
    for round in bench.rounds(flags.rate) {
        let used = Counters::own();
        let begun_ns = clock::now();
        let waited = waits.load(Relaxed);
        load.looks = 0;
        load.empty_looks = 0;
        match flags.rate {
            None => load.closed(&round, busy, &mut iterations)?,
            Some(_) => load.open(&round, &mut late)?,
        }
        load.used = Counters::own().used_since(used);
        load.wall_ns = clock::now() - begun_ns;
        let waited = waits.load(Relaxed) - waited;
        round.end();
        // The server has sent nothing that was not asked for.
        load.receive(Some(0))?;
        let (mut samples, kept) = match flags.rate {
            None => (vec![iterations.clone()], None),
            Some(_) => (vec![late.from_due.clone(), late.from_call.clone()], Some(late.kept)),
        };
        samples.extend(counted(flags, bench, load, samples[0].operations(), waited));
        round.finish(samples, kept)?;
        iterations.clear();
        late.clear();
    }
    bench.observe()
}

/// Records what both sides used in the measured round, and returns the measurements of CPU time.
fn counted(flags: &Flags, bench: &Bench, load: &Load, requests: u64, waited: u64) -> Vec<Samples> {
    let Some(both) = bench.used().filter(|_| requests > 0) else { return Vec::new() };
    let server = both.used_since(load.used);
    let wall = load.wall_ns as f64;
    let number = requests as f64;
    let empty_polls = load.empty_looks as f64 / load.looks as f64;
    let is_closed = flags.rate.is_none();
    let is_limit = load.polls && is_closed && empty_polls >= WAITED;
    let counts = counts_switches();
    let expected = match flags.kind {
        _ if flags.server.is_some() || !counts => None,
        Kind::Thread | Kind::Process if is_closed && flags.channel == Channel::Tcp => Some(1.0),
        Kind::Epoll | Kind::IoUring | Kind::TokioCurrentThread if is_limit => Some(0.0),
        _ => None,
    };
    bench.report(Fact::Serving(Serving {
        server_busy: server.cpu_ns() as f64 / wall,
        load_busy: load.used.cpu_ns() as f64 / wall,
        polls_per_request: load.looks as f64 / number,
        empty_polls: load.polls.then_some(empty_polls),
        capacity_per_second: is_limit.then_some(number * 1e9 / wall),
        server_switches_per_request: counts.then(|| server.switches() as f64 / number),
        expected_server_switches_per_request: expected,
        server_waits_per_request: (waited > 0).then_some(waited as f64 / number),
    }));
    let cpu = |name, used: Counters| {
        let measured = Measured { operations: requests, ..Measured::single(name, "request") };
        let mut samples = Samples::new(measured);
        samples.add(used.cpu_ns());
        samples
    };
    let mut samples = Vec::new();
    if !load.polls && is_closed {
        samples.push(cpu("cpu", both));
    }
    samples.push(cpu("server", server));
    samples
}
