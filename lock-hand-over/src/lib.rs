//! Tasks that share one lock: how often they acquire it together, and how long each one waits.
//!
//! Each task takes the lock, works `--inside` units, releases it and works `--outside` units.
//! Without `--rate` the loop is closed: no task pauses. One iteration is 1024 acquisitions by
//! any of the tasks; the task that makes the last one reads the clock before it releases the
//! lock. `turn` has one sample per task: its mean time from one acquisition to the next, over the
//! whole run. The shortest is the luckiest task's; the time of an acquisition divided by it is
//! that task's share.
//!
//! With `--rate` the loop is open: acquisition k is due at k / rate seconds and belongs to task
//! k modulo N. One iteration is one acquisition, and its time runs from there until the task
//! has the lock (no coordinated omission); `from_call` is the time from the call alone. A
//! thread waits in `clock_nanosleep` without timer slack, an async task yields to its runtime:
//! then there is no CPU time.
//!
//! With `--read` that share of the acquisitions read, in a fixed sequence for each task, and the
//! others write. Readers of a read-write lock may be inside together, those of a mutex exclude one
//! another. `read_turn` and `write_turn` are the times from asking for the lock until having it, of
//! one reader in 64 and of each writer, since one that starves waits rarely. Readers write nothing
//! that is shared: each task counts for itself and adds to a common count once in 32 acquisitions, and the
//! task that completes 1024 reads the clock.
//!
//! What is counted: only the lock protects a counter, which must show as many acquisitions as the
//! tasks count themselves; otherwise the lock does not exclude, and the run fails. With `--read` the
//! counter has the writers' acquisitions, and a second one is written before their work. Readers read
//! both, one before their work and the other one after it: if the two differ, a writer was inside as
//! well, and the run fails. `readers_together` is whether readers were inside together; only the
//! warm-up observes that, with 1000 units inside or more, 50 % of reads and two CPUs. A single thread in a closed
//! loop never waits and claims no switch. How often several switch depends on the lock, and no number
//! is claimed.
//!
//! Known biases: each acquisition reads the counter before the work inside and writes it after, two
//! accesses to the lock's cache line. A processor overlaps real work with the acquisition; here
//! it cannot, since each piece of work depends on the one before it. An open loop reads the clock
//! inside, and so does an acquisition that is timed with `--read`; with nothing inside, what is then
//! counted and timed takes a quarter of an acquisition. All writes are timed, so a mutex with short work takes
//! up to 5 % longer with 10 % of writes than with fewer. Async tasks do not suspend while they hold the
//! lock, so on one worker no task ever finds it taken. A thread's lock blocks the worker of an async
//! task. All tasks start at the same time, and the last iterations may run without some of them.

mod locks;
mod readers;
mod tally;
mod task;

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::ensure;
use clap::value_parser;
use harness::crew::Crew;
use harness::limits;
use harness::rounds::Purpose;
use harness::work::MOST_WORK;
use harness::{Bench, Fact, Lateness, Launch, RuntimeFlags, RuntimeKind, Spec, TaskKind, WorkFlag};

use crate::locks::{
    Adaptive, Blocking, Broken, BrokenRead, Futex, Inherit, Lock, Normal, NormalRw, Spin, WriterRw,
};
use crate::tally::{Counts, Tally, Waits};
use crate::task::{AnyShared, Shared, Task};

/// The least work inside with which readers that may be inside together are seen to be, in units.
const LONG_ENOUGH: u64 = 1000;

/// The least share of reads with which they are, in percent: with fewer, readers seldom meet.
const MOSTLY: u8 = 50;

/// The most acquisitions a second.
const MOST_RATE: i64 = 100_000_000;

/// Time N tasks that share one lock.
///
/// One iteration is 1024 consecutive acquisitions by any of the tasks, as fast as they can.
/// With --rate it is one acquisition, timed from when it is due.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  brigade lock-hand-over --lock parking-lot --tasks 8 --inside 100 --outside 100
  brigade lock-hand-over --runtime tokio --lock tokio --rate 10000")]
struct Flags {
    /// The lock
    #[arg(long, value_enum, default_value_t = Kind::Std)]
    lock: Kind,

    #[command(flatten)]
    runtime: RuntimeFlags,

    /// Units of work with the lock held; a unit is timed before and after the run
    #[arg(long, visible_alias = "work", overrides_with = "inside", value_name = "UNITS")]
    #[arg(default_value_t = 0, value_parser = value_parser!(u64).range(..=MOST_WORK))]
    inside: u64,

    /// Units of work between releasing the lock and taking it again
    #[arg(long, value_name = "UNITS", default_value_t = 0)]
    #[arg(value_parser = value_parser!(u64).range(..=MOST_WORK))]
    outside: u64,

    /// Share of the acquisitions that read, as readers of a lock that has these, and check that no
    /// writer is inside
    #[arg(long, value_name = "PERCENT", default_value_t = 0, conflicts_with = "rate")]
    #[arg(value_parser = value_parser!(u8).range(..=100))]
    read: u8,

    /// Acquisitions per second by all tasks together, each due at its time [default: as many as
    /// the tasks can make]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=MOST_RATE))]
    rate: Option<u32>,

    /// Take a page fault with the lock held
    #[arg(long)]
    hold_fault: bool,
}

/// Values of `--lock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// `Mutex` of the standard library
    Std,
    /// `Mutex` of parking_lot
    ParkingLot,
    /// `pthread_mutex_t` with default attributes
    Pthread,
    /// `pthread_mutex_t` that spins briefly before it waits
    PthreadAdaptive,
    /// `pthread_mutex_t` with priority inheritance
    PthreadPi,
    /// A spin lock: reads a word until it is free
    Spin,
    /// A word and the system call futex, without spinning: the least a lock can cost
    Futex,
    /// `Mutex` of tokio, which queues its waiters
    Tokio,
    /// `Mutex` of async-lock
    AsyncLock,
    /// `RwLock` of the standard library
    StdRw,
    /// `RwLock` of parking_lot
    ParkingLotRw,
    /// `pthread_rwlock_t` with default attributes, which prefers readers
    PthreadRw,
    /// `pthread_rwlock_t` that prefers writers
    PthreadRwWriter,
    /// `RwLock` of tokio, which queues its waiters
    TokioRw,
    /// `RwLock` of async-lock
    AsyncLockRw,
    /// A lock whose readers do nothing, which the program must detect
    #[value(hide = true)]
    BrokenRead,
    /// No lock at all, which the program must detect
    #[value(hide = true)]
    Broken,
}

/// The stack of a thread, in bytes.
const STACK_BYTES: usize = 256 << 10;

const SPEC: Spec = Spec {
    tasks: 8,
    iters: 1000,
    spread: true,
    hops: true,
    runtimes: &[RuntimeKind::Threads, RuntimeKind::Tokio, RuntimeKind::TokioCurrentThread],
    stack_bytes: STACK_BYTES as u64,
    ..Spec::new(TaskKind::Thread, limits::Kind::Thread)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let is_thread = flags.runtime.are_threads();
    // A lone tokio task yields now and then, in tokio's locks.
    let never_waits = is_thread && launch.tasks == 1 && flags.rate.is_none();
    let has_waits = flags.rate.is_some() || flags.read > 0;
    Ok(Spec {
        switches: never_waits.then_some(0.0),
        // Several readers may be inside.
        hops: flags.read == 0,
        load: Some(WorkFlag { work: flags.inside }.into()),
        heap_bytes: if has_waits { Lateness::BYTES } else { 0 },
        ..SPEC.with_runtime(flags.runtime, launch)?
    })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    match flags.lock {
        Kind::Std => blocking::<std::sync::Mutex<()>>(flags, bench),
        Kind::ParkingLot => blocking::<parking_lot::Mutex<()>>(flags, bench),
        Kind::Pthread => blocking::<Normal>(flags, bench),
        Kind::PthreadAdaptive => blocking::<Adaptive>(flags, bench),
        Kind::PthreadPi => blocking::<Inherit>(flags, bench),
        Kind::Spin => blocking::<Spin>(flags, bench),
        Kind::Futex => blocking::<Futex>(flags, bench),
        Kind::Tokio => awaited::<tokio::sync::Mutex<()>>(flags, bench),
        Kind::AsyncLock => awaited::<async_lock::Mutex<()>>(flags, bench),
        Kind::StdRw => blocking::<std::sync::RwLock<()>>(flags, bench),
        Kind::ParkingLotRw => blocking::<parking_lot::RwLock<()>>(flags, bench),
        Kind::PthreadRw => blocking::<NormalRw>(flags, bench),
        Kind::PthreadRwWriter => blocking::<WriterRw>(flags, bench),
        Kind::TokioRw => awaited::<tokio::sync::RwLock<()>>(flags, bench),
        Kind::AsyncLockRw => awaited::<async_lock::RwLock<()>>(flags, bench),
        Kind::BrokenRead => blocking::<BrokenRead>(flags, bench),
        Kind::Broken => blocking::<Broken>(flags, bench),
    }
}

/// The life of a task whose lock blocks its thread, which suspends it in no measured loop.
type Life = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// Measures tasks that share a lock of this kind. Only their lives depend on it, so the rest is
/// compiled once for all such locks.
fn blocking<L: Blocking>(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let shared = Arc::new(Shared::<L>::new());
    let crew = Crew::default();
    let tasks = bench.tasks();
    let live =
        |number| -> Life { Box::pin(Task::new(number, tasks, flags, &shared).live(crew.member())) };
    let lives = (0..tasks).map(live).collect();
    measure(flags, bench, shared, crew, lives)
}

/// Measures tasks that share a lock of this kind, and are suspended while they wait for it.
fn awaited<L: Lock>(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let shared = Arc::new(Shared::<L>::new());
    let crew = Crew::default();
    let tasks = bench.tasks();
    let live = |number| Task::new(number, tasks, flags, &shared).live(crew.member());
    let lives = (0..tasks).map(live).collect();
    measure(flags, bench, shared, crew, lives)
}

/// Measures tasks that share a lock, and live like this.
fn measure<F: Future<Output = io::Result<()>> + Send + 'static>(
    flags: &Flags,
    bench: &Bench,
    shared: Arc<dyn AnyShared>,
    crew: Crew<Tally>,
    lives: Vec<F>,
) -> anyhow::Result<()> {
    let own = (flags.clone(), bench.clone());
    crew.run_all(bench, flags.runtime, STACK_BYTES, lives, |mut crew| async move {
        let (flags, bench) = own;
        let driven = drive(&flags, &bench, &mut crew, &*shared).await;
        (crew, driven)
    })
}

/// Runs all rounds.
///
/// # Errors
/// If the lock does not exclude, a task fails, or acquisitions are missing.
async fn drive(
    flags: &Flags,
    bench: &Bench,
    crew: &mut Crew<Tally>,
    shared: &dyn AnyShared,
) -> anyhow::Result<()> {
    for round in bench.rounds(flags.rate).announced_to(bench.tasks()) {
        shared.begin();
        let tallies = crew.run(&round).await?;
        let mixed = Counts::sum(&tallies);
        verify(flags, &tallies, mixed, shared.counted())?;
        if let Some(mixed) = mixed
            && round.purpose == Purpose::Warmup
            && can_see_readers(flags, bench)
        {
            bench.report(Fact::ReadersTogether(mixed.together));
        }
        if round.purpose == Purpose::Traced {
            round.finish_traced(shared.stops());
        } else if flags.rate.is_none() {
            let mut samples = shared.samples(&tallies);
            if round.purpose == Purpose::Measured && samples[0].count() > 0 {
                let acquired = tallies.iter().map(|tally| tally.acquired).sum();
                bench.report(Fact::Operations(acquired));
                samples.extend(
                    Waits::sum(&tallies).into_iter().flat_map(|all| [all.reads, all.writes]),
                );
            }
            round.finish(samples, None)?;
        } else if round.purpose == Purpose::Warmup {
            round.finish(Vec::new(), None)?;
        } else {
            // A task of a runtime waits by yielding.
            if !flags.runtime.are_threads() {
                bench.report(Fact::UnknownCpu);
            }
            let late = tallies.into_iter().filter_map(|tally| tally.timed.late);
            let late = Lateness::sum("acquisition", late);
            round.finish(vec![late.from_due, late.from_call], Some(late.kept))?;
        }
    }
    Ok(())
}

/// Checks that the lock excluded whom it must exclude.
///
/// # Errors
/// If not.
fn verify(
    flags: &Flags,
    tallies: &[Tally],
    mixed: Option<Counts>,
    counted: u64,
) -> anyhow::Result<()> {
    let lock = harness::flags::name(&flags.lock);
    let mut made: u64 = tallies.iter().map(|tally| tally.acquired).sum();
    if let Some(counts) = mixed {
        ensure!(
            counts.torn == 0,
            "--lock {lock}: this lock lets readers in next to a writer: in {} of {} reads the two \
             words that a writer changes were different",
            counts.torn,
            counts.reads
        );
        made = counts.writes;
    }
    ensure!(
        made == counted,
        "--lock {lock}: this lock does not exclude: the tasks made {made} exclusive acquisitions, the \
         counter that it protects shows {counted}"
    );
    Ok(())
}

/// Whether readers that may be inside together would be seen to be: two tasks run at once, and are
/// inside for long, mostly to read.
fn can_see_readers(flags: &Flags, bench: &Bench) -> bool {
    let cpus = bench.placement().cpus.len();
    let threads = match flags.runtime.runtime {
        RuntimeKind::Threads => bench.tasks(),
        RuntimeKind::Tokio => flags.runtime.workers.unwrap_or(cpus).min(bench.tasks()),
        _ => 1,
    };
    flags.inside >= LONG_ENOUGH && flags.read >= MOSTLY && threads.min(cpus) >= 2
}
