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
//! the server alone. `ledger` has the memory of the server after the first 64 connections and after
//! the tasks of all have served a message; that of sockets is of both ends.
//!
//! Known biases: no network card, no TLS, one load, one size of message, and a server that only
//! echoes; BIAS has more. `one` is no server that could be used: it is told the order of requests,
//! and never asks which connection is next. If a message arrives in pieces, `epoll` waits for the
//! rest, and serves nobody meanwhile.

mod load;
mod loops;
mod server;
mod tasks;

use std::io::{self, ErrorKind, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::value_parser;
use harness::counters::Counters;
use harness::failure::{Unavailable, UsageError};
use harness::hand_over::{Reach, place};
use harness::limits::{self, Kind as TaskKind, Need};
use harness::placement::Policy;
use harness::process_stat::{fork_alone, live};
use harness::record::{LedgerPoint, ScheduleKept, Serving};
use harness::rounds::{Lateness, Purpose};
use harness::samples::Samples;
use harness::system_files::{SystemFiles, kib_field};
use harness::threads::{TaskError, outcome_of_process};
use harness::usage::children_of;
use harness::{Bench, Launch, Measured, Spec, StackFlag, WorkFlag, clock, cpus, failure};
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{ForkResult, Pid, getpid};
use rustix::net::{
    self, AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, sockopt,
};

use crate::load::{Counts, Load};
use crate::server::{Desk, Server};

/// Requests in an iteration of a closed loop.
const REQUESTS: u64 = 256;

/// The longest message: it fits into the buffers of any socket, so a sender never blocks.
const LONGEST_MESSAGE: i64 = 16 << 10;

/// How many connections can wait to be accepted, at most.
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
#[derive(Clone, Debug, clap::Args, serde::Serialize)]
struct Flags {
    /// What serves the connections
    #[arg(long, value_enum, default_value_t = Kind::Thread)]
    kind: Kind,

    /// Start this command as the server instead; it inherits the listening socket as its standard
    /// input, and must also take --tasks, --message, --work and --workers
    #[arg(long, value_name = "CMD")]
    #[serde(skip)]
    server: Option<String>,

    /// Requests under way [default: 10, or one per connection in use]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
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

    #[command(flatten)]
    #[serde(flatten)]
    stack: StackFlag,

    #[command(flatten)]
    #[serde(flatten)]
    work: WorkFlag,
}

/// Values of `--kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
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

/// Values of `--channel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
enum Channel {
    /// TCP, over the loopback device
    Tcp,
    /// Unix sockets, which need no soft interrupts
    Unix,
}

const SPEC: Spec = Spec { tasks: 1000, iters: 1000, spread: true, ..Spec::NEW };

harness::program!(SPEC, declare, run);

impl Flags {
    /// The number of connections in use, and of requests under way.
    fn use_of(&self, connections: u32) -> Result<(usize, usize), UsageError> {
        let hot = self.hot.unwrap_or(connections);
        let busy = self.busy.unwrap_or(BUSY.min(hot));
        let refuse = |reason: String| Err(UsageError(reason));
        if hot > connections {
            return refuse(format!("--hot {hot}: there are {connections}; raise --tasks"));
        }
        if busy > hot {
            return refuse(format!(
                "--busy {busy}: a connection has one request; use {hot} at most"
            ));
        }
        if self.busy.is_some() && self.rate.is_some() {
            return refuse(format!("--busy {busy}: --rate decides how many are under way"));
        }
        let has_workers = matches!(self.kind, Kind::Tokio | Kind::ThreadPool);
        match self.workers.filter(|_| !has_workers && self.server.is_none()) {
            Some(workers) => refuse(format!(
                "--workers {workers}: this kind has none; choose --kind tokio or thread-pool"
            )),
            None => Ok((hot as usize, busy as usize)),
        }
    }

    fn workers(&self, cpus: usize) -> usize {
        self.workers.map_or(cpus, |workers| workers as usize)
    }
}

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    flags.use_of(launch.tasks)?;
    let connections = u64::from(launch.tasks);
    // The load's side: a connection is a file of each process, so two of the machine.
    limits::require(&Need::new(TaskKind::TokioTcp, connections))?;
    let mut of_machine = limits::in_force(&SystemFiles::live());
    of_machine.retain(|limit| limit.name == "fs.file-max");
    limits::admit(&Need::new(TaskKind::TokioTcp, 2 * connections), &of_machine)?;
    if flags.channel == Channel::Tcp
        && let Some(ports) = ports().filter(|ports| connections > *ports)
    {
        return Err(Unavailable(format!(
            "{connections} connections need a port each, but net.ipv4.ip_local_port_range has \
             {ports}; use --channel unix, fewer, or widen it"
        ))
        .into());
    }
    if matches!(flags.kind, Kind::Compio | Kind::IoUring) {
        limits::require(&Need::new(TaskKind::Compio, 1))?;
    }
    let workers = flags.workers(launch.cpus()) as u64;
    let (kind, threads) = match flags.kind {
        Kind::Thread => (TaskKind::ThreadTcp, 0),
        Kind::Process => (TaskKind::Process, 0),
        Kind::Tokio | Kind::ThreadPool => (TaskKind::TokioTcp, workers + 1),
        _ => (TaskKind::TokioTcp, 1),
    };
    Ok(Spec {
        load: Some(flags.work.into()),
        kind,
        threads,
        stack_bytes: flags.stack.stack_size as u64,
        // A message, and the other end of the connection.
        heap_bytes: u64::from(flags.message) + (8 << 10),
        ..SPEC
    })
}

/// How many ports connections to one address can have.
fn ports() -> Option<u64> {
    let range = SystemFiles::live().text("proc/sys/net/ipv4/ip_local_port_range")?;
    let mut ends = range.split_whitespace().map(|end| end.parse::<u64>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    // The server has one of them.
    last.checked_sub(first)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let (hot, busy) = flags.use_of(bench.tasks() as u32)?;
    let bytes = flags.message as usize;
    let mut order: Vec<usize> = (0..bench.tasks()).collect();
    fastrand::Rng::with_seed(0).shuffle(&mut order);
    order.truncate(hot);
    let (listener, address) = listen(flags.channel).context("listening")?;
    let (polls, own, of_server) = split(bench);
    let calls = place(AtomicU64::new(0), Reach::Process).context("sharing memory")?;
    let server = Server {
        listener,
        connections: bench.tasks(),
        workers: flags.workers(of_server.len()),
        stack_size: flags.stack.stack_size,
        order: order.clone(),
        desk: Desk { bytes, work: flags.work.work(), calls },
    };
    io::stdout().flush().context("flushing standard output")?;
    let parent = getpid();
    let forked = fork_alone();
    let child =
        match forked.map_err(|error| failure::creating(format_args!("the server"), error))? {
            ForkResult::Child => live(parent, || {
                cpus::confine(&of_server)?;
                match &flags.server {
                    None => server.run(flags.kind),
                    Some(line) => Err(execute(line, server, flags)),
                }
            }),
            ForkResult::Parent { child } => child,
        };
    drop(server.listener);
    let measured = cpus::confine(&own).map_err(Into::into).and_then(|()| {
        let mut load = Load::new(bytes, polls)?;
        measure(flags, bench, &mut load, (&address, &order, busy), Served { process: child, calls })
    });
    // The load has been dropped, so its connections are closed, and a server ends.
    let ended = end(child, bench, flags.server.is_some(), measured.is_ok());
    match (measured, ended) {
        (Err(error), Err(server)) => Err(error.context(format!("the server {server}"))),
        (Ok(()), Err(server)) => Err(anyhow!("the server {server}")),
        (measured, Ok(())) => measured,
    }
}

/// The CPUs: whether the load polls, its CPUs, and those of the server.
fn split(bench: &Bench) -> (bool, Vec<usize>, Vec<usize>) {
    let cpus = bench.placement().cpus();
    match cpus.split_last() {
        Some((last, others)) if bench.placement().policy() == Policy::Spread => {
            (true, vec![*last], others.to_vec())
        }
        _ => (false, cpus.to_vec(), cpus.to_vec()),
    }
}

/// Replaces this process by the command of a server; returns why that failed.
fn execute(line: &str, server: Server, flags: &Flags) -> io::Error {
    let words = shlex::split(line).unwrap_or_default();
    let Some((program, words)) = words.split_first() else {
        return ErrorKind::InvalidInput.into();
    };
    let (tasks, message) = (server.connections.to_string(), flags.message.to_string());
    let (work, workers) = (flags.work.work.to_string(), server.workers.to_string());
    // SAFETY: nothing else handles the signal in this process.
    let _ = unsafe { signal(Signal::SIGINT, SigHandler::SigIgn) };
    Command::new(program)
        .args(words)
        .args(["--tasks", &tasks, "--message", &message, "--work", &work, "--workers", &workers])
        .stdin(server.listener)
        .stdout(io::stderr())
        .exec()
}

/// How long a server may take to end after a failure.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits for the server's end. Kills it if it does not end by itself.
fn end(child: Pid, bench: &Bench, is_guest: bool, was_served: bool) -> Result<(), String> {
    let begun_ns = clock::now();
    let is_over = || clock::now() - begun_ns > PATIENCE.as_nanos() as u64;
    let may_hang = !was_served || bench.is_interrupted();
    let runs = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let still_runs = || waitid(Id::Pid(child), runs) == Ok(WaitStatus::StillAlive);
    while !is_guest && may_hang && still_runs() && !is_over() {
        thread::sleep(Duration::from_millis(1));
    }
    let is_killed = (is_guest || may_hang) && still_runs();
    if is_killed {
        let _ = kill(child, Signal::SIGKILL);
    }
    match outcome_of_process(child) {
        Err(TaskError::Failed(error)) if !is_killed => Err(format!("failed: {error}")),
        Err(TaskError::Panicked(text)) => Err(format!("panicked: {text}")),
        _ => Ok(()),
    }
}

/// Listens at an unused address.
fn listen(channel: Channel) -> rustix::io::Result<(OwnedFd, SocketAddrAny)> {
    let name = format!("brigade-echo-server-{}", getpid());
    let address: SocketAddrAny = match channel {
        Channel::Tcp => SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0).into(),
        Channel::Unix => SocketAddrUnix::new_abstract_name(name.as_bytes())?.into(),
    };
    let listener = socket(&address)?;
    net::bind(&listener, &address)?;
    net::listen(&listener, BACKLOG)?;
    let address = net::getsockname(&listener)?;
    Ok((listener, address))
}

/// Connects to a server.
fn connect(address: &SocketAddrAny) -> rustix::io::Result<OwnedFd> {
    let socket = socket(address)?;
    net::connect(&socket, address)?;
    Ok(socket)
}

/// A socket for this address. What a listening one accepts inherits its options.
fn socket(address: &SocketAddrAny) -> rustix::io::Result<OwnedFd> {
    let family = address.address_family();
    let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    if family == AddressFamily::INET {
        sockopt::set_tcp_nodelay(&socket, true)?;
    }
    Ok(socket)
}

/// The server's process, and how many system calls its loop has made.
#[derive(Clone, Copy)]
struct Served {
    process: Pid,
    calls: &'static AtomicU64,
}

/// Opens all connections, and runs all rounds.
fn measure(
    flags: &Flags,
    bench: &Bench,
    load: &mut Load,
    (address, order, busy): (&SocketAddrAny, &[usize], usize),
    served: Served,
) -> anyhow::Result<()> {
    let server = served.process.as_raw().unsigned_abs();
    let mut ledger = Vec::new();
    let mut observe = |open| ledger.push(memory_with(open, server));
    load.connect(address, bench.creation(), &mut observe)?;
    if !bench.is_interrupted() {
        load.set_up_all()?;
        observe(bench.tasks());
    }
    if flags.rate.is_some() {
        clock::be_punctual()?;
    }
    load.begin(order, flags.kind == Kind::One);
    bench.findings().peers = [vec![server], children_of(server)].concat();
    for round in bench.rounds(flags.rate) {
        let before = (Counters::own(), clock::now(), served.calls.load(Relaxed));
        load.counts = Counts::default();
        let (samples, missed) = match flags.rate {
            None => (vec![load.closed(&round, busy)?], None),
            Some(_) => {
                let Lateness { from_due, from_call, missed } = load.open(&round)?;
                (vec![from_due, from_call], Some(ScheduleKept { missed, called_late: None }))
            }
        };
        let wall_ns = clock::now() - before.1;
        let own = Counters::own().since(before.0);
        let calls = served.calls.load(Relaxed) - before.2;
        round.end();
        load.check_silence()?;
        let counted = Counted { own, wall_ns, calls, counts: load.counts };
        let more = match round.purpose {
            Purpose::Measured => counted.report(flags, bench, &samples[0]),
            _ => Vec::new(),
        };
        round.finish([samples, more].concat(), missed)?;
    }
    bench.findings().ledger = ledger;
    bench.observe()
}

/// What was counted in a round.
struct Counted {
    own: Counters,
    wall_ns: u64,
    calls: u64,
    counts: Counts,
}

impl Counted {
    /// Records what both sides used, and returns the measurements of CPU time.
    fn report(&self, flags: &Flags, bench: &Bench, principal: &Samples) -> Vec<Samples> {
        let (requests, polls) = (principal.operations(), split(bench).0);
        let Some(both) = bench.used().filter(|_| requests > 0) else { return Vec::new() };
        let server = both.since(self.own);
        let [both_ns, server_ns, own_ns] =
            [both, server, self.own].map(|used| used.user_ns + used.system_ns);
        let (wall, number) = (self.wall_ns as f64, requests as f64);
        let empty_polls = self.counts.empty as f64 / self.counts.polls.max(1) as f64;
        let is_limit = polls && flags.rate.is_none() && empty_polls >= WAITED;
        let is_tcp = flags.channel == Channel::Tcp;
        let expected = match flags.kind {
            _ if flags.server.is_some() => None,
            Kind::Thread | Kind::Process => (is_tcp && flags.rate.is_none()).then_some(1.0),
            Kind::Epoll | Kind::IoUring | Kind::TokioCurrentThread => is_limit.then_some(0.0),
            _ => None,
        };
        let mut findings = bench.findings();
        findings.system_calls = (self.calls > 0).then_some(self.calls as f64 / number);
        findings.serving = Some(Serving {
            server_busy: server_ns as f64 / wall,
            load_busy: own_ns as f64 / wall,
            polls_per_request: self.counts.polls as f64 / number,
            empty_polls: polls.then_some(empty_polls),
            capacity_per_second: is_limit.then_some(number * 1e9 / wall),
            server_switches_per_request: server.switches() as f64 / number,
            expected_server_switches_per_request: expected,
        });
        let cpu = |name, ns| {
            let measured = Measured::single(name, "request");
            let mut samples = Samples::new(Measured { operations: requests, ..measured });
            samples.add(ns);
            samples
        };
        let both = (!polls && flags.rate.is_none()).then(|| cpu("cpu", both_ns));
        both.into_iter().chain([cpu("server", server_ns)]).collect()
    }
}

/// The memory of the server and its processes, and of the kernel, with so many connections.
fn memory_with(connections: usize, server: u32) -> LedgerPoint {
    let files = SystemFiles::live();
    let processes = [vec![server], children_of(server)].concat();
    let sum = |file: &str, field: &str| -> Option<u64> {
        let of = |process| kib_field(&files.text(&format!("proc/{process}/{file}"))?, field);
        processes.iter().map(of).sum()
    };
    let machine = files.text("proc/meminfo").unwrap_or_default();
    LedgerPoint {
        tasks: connections as u64,
        proportional_bytes: sum("smaps_rollup", "Pss"),
        page_table_bytes: sum("status", "VmPTE"),
        kernel_stack_bytes: kib_field(&machine, "KernelStack"),
        unreclaimable_slab_bytes: kib_field(&machine, "SUnreclaim"),
        ..LedgerPoint::default()
    }
}
