//! Producers that send messages to consumers through one channel, all at once: what a message costs
//! under load.
//!
//! Without `--rate` the loop is closed: producers send, and consumers receive, as fast as they can.
//! One iteration is 16,384 messages, received by any of the consumers; the one that completes it
//! reads the clock. `producer` has one sample per producer: its mean time from one message to its
//! next; the time of a message divided by it is that producer's share. `consumer` is the same for
//! consumers. `cpu` is the CPU time of a message, over all messages of the round; the time covers
//! whole iterations.
//!
//! With `--rate` the loop is open: message k is due at k / rate seconds and belongs to producer k
//! modulo their number. One iteration is one message, and its time runs from then until it is
//! received (no coordinated omission). `channel.mean_length` is the number of messages that were
//! sent and not yet received, as a mean over the round (by Little's law). A thread waits in
//! `clock_nanosleep` without timer slack, an async task yields to its runtime: then there is no CPU
//! time.
//!
//! A round ends in order: producers stop, the last one sends an end mark for each consumer, and
//! every consumer receives until its mark. What is counted: a message has its producer and its
//! number; each consumer keeps for each producer the last number, a count and a sum. A message that
//! was lost, doubled or, for one consumer, overtaken fails the run, and so does a message for which
//! nobody is woken: all tasks sleep then. The consumers add to a common count once in 256 messages
//! each, since its cache line would be measured otherwise. No number of switches is claimed.
//!
//! `--capacity` is what the channel is asked for; the record has how many messages fit before a
//! producer waits, found by filling another one: futures' channel has room for one more per sender,
//! a pipe's is in pages. Through an unbounded one producers take credit for 1024 messages at a time, which
//! consumers return, so that memory is bounded; `--credit` does that for any channel.
//!
//! Known biases: a consumer does nothing with a message but check it, and `--work`. Messages are
//! values without a destructor. All producers send messages of one size. A channel that spins
//! before it waits trades CPU time for time: compare both. Tokio makes a task yield after 128
//! operations on its channels. Tasks are numbered producer, consumer, producer …; under `spread`
//! partners are on different CPUs. Tasks of a runtime are boxed futures. With `--rate` each message
//! allocates the future that sends it. The last messages of a round, while producers stop, are in
//! CPU time and in no iteration. flume 0.12 sometimes wakes none of several tasks that receive
//! although a message is in the channel: then the run fails. kanal's lock sleeps for 1 ms when it
//! stays taken: between two threads, the number of these sleeps decides how long a message takes. On one
//! CPU a slow consumer (`--work`) is preempted by the producer that it wakes: a full channel then costs
//! up to two switches per message, even with a large capacity.

mod channels;
mod faults;
mod message;
mod pipe;
mod queue;
mod rounds;
mod tasks;

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::anyhow;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::value_parser;
use harness::crew::Crew;
use harness::failure::UsageError;
use harness::flags::name;
use harness::watch::{PATIENCE, watched};
use harness::work::MOST_WORK;
use harness::{
    Bench, Count, Launch, RuntimeFlags, RuntimeKind, Spec, TaskKind, WorkFlag, histogram, limits,
};

use crate::channels::{Ends, open};
use crate::faults::Fault;
use crate::rounds::Driver;
use crate::tasks::{CREDIT, Consumer, Producer, Shared, Tally};

/// The most producers, and consumers.
const MOST_TASKS: i64 = 1024;

/// The default capacity, in messages.
const USUAL_CAPACITY: usize = 64;

/// The largest capacity, in messages.
const MOST_CAPACITY: usize = 1 << 16;

/// The most messages a second.
const MOST_RATE: i64 = 100_000_000;

/// The stack of a thread, in bytes.
const STACK_BYTES: usize = 256 << 10;

/// Time messages through one channel, from several producers to several consumers.
///
/// One iteration is 16,384 messages, as fast as the tasks can. With --rate it is one message, timed
/// from when it is due.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  brigade channel-load --channel crossbeam --producers 4 --capacity 64
  brigade channel-load --channel tokio --runtime tokio --rate 10000")]
struct Flags {
    /// The channel
    #[arg(long, value_enum, default_value_t = Kind::Std)]
    channel: Kind,

    #[command(flatten)]
    runtime: RuntimeFlags,

    /// Tasks that send
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = value_parser!(u32).range(1..=MOST_TASKS))]
    producers: u32,

    /// Tasks that receive
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = value_parser!(u32).range(1..=MOST_TASKS))]
    consumers: u32,

    /// Messages for which the channel has room, or `unbounded`; a pipe has its own
    #[arg(long, value_name = "N", value_parser = capacity, default_value = "64")]
    #[arg(default_value_if("channel", "pipe", None))]
    capacity: Option<Capacity>,

    /// Take credit for 1024 messages at a time, as with `--capacity unbounded`
    #[arg(long)]
    credit: bool,

    /// Size of a message, in bytes
    #[arg(long, value_name = "BYTES", default_value = "64")]
    #[arg(value_parser = PossibleValuesParser::new(["8", "64", "1024"]).try_map(|bytes| bytes.parse::<u32>()))]
    message: u32,

    /// Units of work of a consumer for each message; a unit is timed before and after the run
    #[arg(long, value_name = "UNITS", default_value_t = 0)]
    #[arg(value_parser = value_parser!(u64).range(..=MOST_WORK))]
    work: u64,

    /// Messages per second by all producers together, each due at its time [default: as many as
    /// the tasks can send]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=MOST_RATE))]
    rate: Option<u32>,

    /// Messages after which a consumer adds to the common count
    #[arg(long, hide = true, value_name = "N", default_value = "256")]
    #[arg(value_parser = PossibleValuesParser::new(["256", "4096"]).try_map(|lot| lot.parse::<u64>()))]
    lot: u64,

    /// The fault of `--channel broken`
    #[arg(long, hide = true, value_enum, default_value_t = Fault::Lose)]
    fault: Fault,

    /// The message with the fault, from 1 in every round; 0 is the last one
    #[arg(long, hide = true, value_name = "N", default_value_t = 0)]
    at: u64,
}

/// Values of `--channel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// `std::sync::mpsc`
    Std,
    /// crossbeam-channel, for threads
    Crossbeam,
    /// flume
    Flume,
    /// kanal
    Kanal,
    /// async-channel
    AsyncChannel,
    /// `tokio::sync::mpsc`
    Tokio,
    /// `futures::channel::mpsc`, for tasks
    Futures,
    /// A `VecDeque` with a mutex and two condition variables of std, as written by hand
    Queue,
    /// A pipe of the kernel
    Pipe,
    /// A channel with a fault, which the program must detect
    #[value(hide = true)]
    Broken,
}

/// A value of `--capacity`: messages, or `None` if it is unbounded.
#[derive(Clone, Copy, Debug)]
struct Capacity(Option<usize>);

fn capacity(text: &str) -> Result<Capacity, String> {
    if text == "unbounded" {
        return Ok(Capacity(None));
    }
    let messages = text.parse().ok().filter(|messages| *messages <= MOST_CAPACITY);
    let refused = || format!("not a number of messages up to {MOST_CAPACITY}, or unbounded");
    messages.map(|messages| Capacity(Some(messages))).ok_or_else(refused)
}

impl Flags {
    /// The room of the channel; `None` if it is unbounded.
    fn room(&self) -> Option<usize> {
        self.capacity.map_or(Some(USUAL_CAPACITY), |capacity| capacity.0)
    }

    /// Whether credit bounds the messages under way.
    fn has_credit(&self) -> bool {
        self.credit || self.room().is_none()
    }

    /// What each task allocates, with its part of the channel, in bytes.
    fn heap_bytes(&self) -> u64 {
        let tasks = u64::from(self.producers + self.consumers);
        let under_way = self.room().map_or(tasks * CREDIT, |room| room as u64 + tasks);
        // A message with its place in a channel.
        let channel = under_way * (u64::from(self.message) + 32);
        // A consumer's counts of a producer, and how late its messages are.
        let counts = u64::from(self.producers) * 64;
        let late = if self.rate.is_some() { histogram::BYTES } else { 0 };
        let of_consumers = u64::from(self.consumers) * (counts + late);
        (channel + of_consumers).div_ceil(tasks)
    }
}

const SPEC: Spec = Spec {
    tasks: 2,
    count: Count::Fixed,
    iters: 100,
    spread: true,
    runtimes: &[RuntimeKind::Threads, RuntimeKind::Tokio, RuntimeKind::TokioCurrentThread],
    stack_bytes: STACK_BYTES as u64,
    ..Spec::new(TaskKind::Thread, limits::Kind::Thread)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    check(flags)?;
    let spec = SPEC.with_runtime(flags.runtime, launch)?;
    // With so few messages, a limit is reached because of the tasks.
    let room = flags.room().filter(|room| *room > USUAL_CAPACITY);
    Ok(Spec {
        tasks: flags.producers + flags.consumers,
        load: Some(WorkFlag { work: flags.work }.into()),
        heap_bytes: flags.heap_bytes(),
        sized_by: room.map(|room| ("--capacity", room as u64)),
        // The one that drives the rounds, while the first one watches them.
        threads: spec.threads + 1,
        ..spec
    })
}

/// Refuses what a channel cannot do.
fn check(flags: &Flags) -> Result<(), UsageError> {
    use Kind::{AsyncChannel, Broken, Crossbeam, Futures, Pipe, Queue, Std, Tokio};
    let Flags { channel, consumers, .. } = *flags;
    let kind = name(&channel);
    Err(UsageError(match (channel, flags.room()) {
        (Futures, _) if flags.runtime.are_threads() => {
            format!("--channel {kind}: it has no calls that block; choose --runtime tokio")
        }
        (Std | Crossbeam | Queue | Pipe | Broken, _) if !flags.runtime.are_threads() => {
            format!("--channel {kind}: its calls block the thread; choose --runtime threads")
        }
        (Std | Tokio | Futures, _) if consumers > 1 => format!(
            "--consumers {consumers}: --channel {kind} has one receiver; choose flume or async-channel"
        ),
        (Pipe, _) if flags.capacity.is_some() => {
            "--capacity: a pipe's capacity is in pages; leave the flag out, and the record shows how many \
             messages fit"
                .to_owned()
        }
        (Tokio | AsyncChannel | Queue | Broken, Some(0)) => {
            format!("--capacity 0: --channel {kind} has room for 1 message or more")
        }
        (Broken, None) => {
            format!("--capacity unbounded: --channel {kind} holds messages back; choose a number")
        }
        _ => return Ok(()),
    }))
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let channel = name(&flags.channel);
    let lost = || {
        anyhow!(
            "--channel {channel}: all tasks slept for {PATIENCE} s before the end of a round: a wake-up \
             was lost"
        )
    };
    let asleep = bench.sleeps_in_round();
    let (flags, bench) = (flags.clone(), bench.clone());
    let body = move |_| {
        let fits = flags.room().map(|_| fits(&flags)).transpose()?;
        measure(&flags, &bench, fits)
    };
    watched(body, asleep, lost)
}

/// The main function of a task.
type Body = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// How many messages fit into a channel, found by filling one.
fn fits(flags: &Flags) -> anyhow::Result<u64> {
    let mut ends = open(flags)?;
    Ok(ends.outlets.iter_mut().map(|outlet| outlet.fill()).sum())
}

/// Measures messages through a channel into which so many fit.
fn measure(flags: &Flags, bench: &Bench, fits: Option<u64>) -> anyhow::Result<()> {
    let crew = Crew::default();
    let shared = Arc::new(Shared::new(flags));
    let bodies = bodies(open(flags)?, &crew, &shared);
    let driver = Driver { bench: bench.clone(), shared, fits };
    crew.run_all(bench, flags.runtime, STACK_BYTES, bodies, |mut crew| async move {
        let driven = driver.drive(&mut crew).await;
        (crew, driven)
    })
}

/// The tasks in the order of their numbers: producer, consumer, producer ….
fn bodies(ends: Ends, crew: &Crew<Tally>, shared: &Arc<Shared>) -> Vec<Body> {
    let tasks = ends.outlets.len() + ends.inlets.len();
    let mut outlets = ends.outlets.into_iter().enumerate();
    let mut inlets = ends.inlets.into_iter().enumerate();
    let mut bodies: Vec<Body> = Vec::with_capacity(tasks);
    while bodies.len() < tasks {
        if let Some((number, outlet)) = outlets.next() {
            let producer = Producer { number, outlet, shared: Arc::clone(shared) };
            bodies.push(Box::pin(producer.live(crew.member())));
        }
        if let Some((number, inlet)) = inlets.next() {
            let consumer = Consumer::new(number, inlet, shared);
            bodies.push(Box::pin(consumer.live(crew.member())));
        }
    }
    bodies
}
