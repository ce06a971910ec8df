//! Timers that are armed and cancelled before they are due, as the time-out of a request is.
//!
//! Next to the timed ones `--pending` timers wait, due in 10 to 70 minutes. Each is armed once and is
//! no task. None fires while one measures: a run that lasts so long fails. The timed ones are due at
//! random places among them, or with `--first` before all of them; the times follow from `--seed`.
//!
//! One iteration is 1000 cycles of one timer between two readings of the clock; a cycle arms it and
//! cancels it. `arm`, `cancel`, `reset-later` and `reset-earlier` have laps of their own, on 1000
//! timers in turn, which add to the pending ones. What an operation is:
//!
//! | `--timer` | arm | cancel | reset |
//! |---|---|---|---|
//! | `tokio` | create a `Sleep` and poll it | drop it | `Sleep::reset` |
//! | `tokio-timeout` | create a `Timeout` of a future that is not ready, and poll it | poll it when the future is ready, and drop it | – |
//! | `async-io` | create a `Timer` and poll it; each wakes the thread of async-io by a `write` if that sleeps | drop it | `Timer::set_after` |
//! | `timerfd` | `timerfd_settime` | the same with 0 | the same |
//! | `posix` | `timer_settime` | the same with 0 | the same |
//! | `heap` | push onto a `BinaryHeap`; `timerfd_settime` if it is due before all others | mark it as dead; once half are dead, remove these | cancel and arm |
//!
//! Every timer is given a duration and reads the clock itself, `timerfd` and `posix` in the kernel.
//! Those two create all timers beforehand: creating and closing one are other system calls. Futures
//! are stored where they were before, without an allocation.
//!
//! Tokio's wheel belongs to its runtime, and has a lock. With `--workers N` as many workers arm and
//! cancel timers; figures are those of one of them, and CPU time is unknown. A timer that is due before
//! the time until which the runtime's driver sleeps wakes that: a system call, since this runtime has
//! I/O, as in a server. Without pending timers, each one does. A reset to a later time is one
//! compare-and-swap, one to an earlier time takes the lock.
//!
//! What is counted: `timerfd` and `posix` make one system call per operation, two per cycle; `heap`
//! counts its calls, and how often it removes dead timers. One thread that never waits claims no switch.
//!
//! Known biases: a cycle finds its timer in the cache. Tokio's driver is awake meanwhile, so waking
//! it costs only the system call. No timer fires. `async-io` queues operations; its thread and the caller
//! process them, each time up to 1000.

mod driver;
mod timers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use std::{io, thread};

use anyhow::{Context as _, ensure};
use clap::value_parser;
use harness::failure::UsageError;
use harness::limits::{self, Need};
use harness::runtime::{AsyncRuntime, outcome};
use harness::{Bench, Count, Launch, RuntimeFlags, RuntimeKind, Spec, TaskKind, async_tasks};
use nix::sys::timer::Timer;
use nix::sys::timerfd::TimerFd;
use tokio::runtime::Builder;
use tokio::task::JoinHandle;
use tokio::time::{Sleep, Timeout, sleep};

use crate::driver::{Driver, Due, cycle};
use crate::timers::{Alarm, Futures, Heap, KernelTimers, OfKernel, Request, Timers};

/// Operations in one iteration, and timed timers.
const BATCH: usize = 1000;

/// The most pending timers.
const MOST_PENDING: i64 = 100_000_000;

/// The memory of a timer in the process, of any kind, rounded up.
const BYTES: u64 = 512;

/// The resolution of tokio's timers.
const TICK: Duration = Duration::from_millis(1);

/// Time arming and cancelling a timer while others are pending.
///
/// One iteration is 1000 cycles: arm a timer, cancel it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  brigade timer-cost --timer tokio --pending 100000
  brigade timer-cost --timer timerfd --pending 10 --first")]
struct Flags {
    /// The timers
    #[arg(long, value_enum, default_value_t = Kind::Tokio)]
    timer: Kind,

    /// Timers that are pending meanwhile
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = value_parser!(u32).range(..=MOST_PENDING))]
    pending: u32,

    /// Time timers that are due before all pending ones, not at random places among them
    #[arg(long)]
    first: bool,

    /// Workers of tokio that arm and cancel timers at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = value_parser!(u32).range(1..=1024))]
    workers: u32,

    /// Seed of the random times at which timers are due
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Values of `--timer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// `tokio::time::sleep`
    Tokio,
    /// `tokio::time::timeout`
    TokioTimeout,
    /// `async_io::Timer`
    AsyncIo,
    /// A timer of the kernel with a file
    Timerfd,
    /// A POSIX timer of the kernel
    Posix,
    /// A `BinaryHeap` with one timerfd, as written by hand
    Heap,
}

impl Flags {
    /// The timed timers and the pending ones, in this order.
    fn slots(&self) -> usize {
        BATCH + self.pending as usize
    }
}

const SPEC: Spec = Spec {
    count: Count::Fixed,
    switches: Some(0.0),
    ..Spec::new(TaskKind::AsyncTask, limits::Kind::Tokio)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    let Flags { timer, workers, .. } = *flags;
    let is_of_tokio = matches!(timer, Kind::Tokio | Kind::TokioTimeout);
    ensure!(
        is_of_tokio || workers == 1,
        UsageError(format!(
            "--workers {workers}: only timers of tokio have workers; choose --timer tokio"
        ))
    );
    // Each task and the driver have as much.
    let heap_bytes = (flags.slots() as u64 * BYTES).div_ceil(u64::from(workers) + 1);
    let sized_by = Some(("--pending", flags.pending.into()));
    let spec = Spec { tasks: workers, heap_bytes, sized_by, ..SPEC };
    let thread = |needs| Spec { kind: Some(TaskKind::Thread), needs, ..spec.clone() };
    Ok(match timer {
        Kind::Tokio | Kind::TokioTimeout => Spec {
            threads: workers.into(),
            switches: if workers == 1 { SPEC.switches } else { None },
            ..spec
        },
        // Its own thread processes operations, too.
        Kind::AsyncIo => Spec { needs: limits::Kind::AsyncExecutorPipe, switches: None, ..spec },
        Kind::Posix => thread(limits::Kind::PosixTimer),
        Kind::Timerfd | Kind::Heap => thread(limits::Kind::Timerfd),
    })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let slots = flags.slots();
    match flags.timer {
        Kind::Tokio => on_tokio::<Sleep>(flags, bench),
        Kind::TokioTimeout => on_tokio::<Timeout<Request>>(flags, bench),
        Kind::AsyncIo => async_io::block_on(async {
            alone(flags, bench, Futures::<async_io::Timer>::new(slots).await)
        }),
        Kind::Timerfd => alone(flags, bench, of_kernel::<TimerFd>(flags, limits::Kind::Timerfd)?),
        Kind::Posix => alone(flags, bench, of_kernel::<Timer>(flags, limits::Kind::PosixTimer)?),
        Kind::Heap => alone(flags, bench, Heap::new(slots)?),
    }
}

/// Creates timers of the kernel, if limits allow so many.
fn of_kernel<K: OfKernel>(flags: &Flags, kind: limits::Kind) -> anyhow::Result<KernelTimers<K>> {
    let slots = flags.slots();
    limits::require(&Need::new(kind, slots as u64))
        .with_context(|| format!("with --pending {}", flags.pending))?;
    KernelTimers::new(slots)
}

fn alone(flags: &Flags, bench: &Bench, timers: impl Timers) -> anyhow::Result<()> {
    let mut driver = Driver::new(flags, bench, timers)?;
    driver.measure()?;
    bench.observe()
}

/// Measures timers of a tokio runtime.
fn on_tokio<A: Alarm>(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let workers = Some(flags.workers as usize);
    let kind = RuntimeFlags { workers, ..RuntimeKind::Tokio.into() };
    let runtime = AsyncRuntime::start_with(Builder::enable_all, kind, bench)?;
    let flags = flags.clone();
    let bench = bench.clone();
    runtime.drive(async move {
        let mut driver = Driver::new(&flags, &bench, Futures::<A>::new(flags.slots()).await)?;
        let rivals = End(Arc::default());
        let rival = |_| tokio::spawn(rival::<A>(Arc::clone(&rivals.0), driver.dues.clone()));
        let tasks: Vec<_> = (1..flags.workers).map(rival).collect();
        let are_too_few = |rivals: &AtomicU32| {
            let has_ended = bench.is_interrupted() || tasks.iter().any(JoinHandle::is_finished);
            !has_ended && rivals.load(Relaxed) + 1 < flags.workers
        };
        // Once it has fired, the runtime's driver has seen the pending timers, and sleeps no more.
        sleep(TICK).await;
        while are_too_few(&rivals.0.ready) {
            sleep(TICK).await;
        }
        rivals.0.begun.store(true, Relaxed);
        while are_too_few(&rivals.0.busy) {
            // Not with a timer of tokio: if all workers are busy, none sees that it is due.
            thread::sleep(TICK);
        }
        let measured = driver.measure();
        async_tasks::end(&bench, measured, rivals, tasks.into_iter().map(outcome)).await
    })
}

/// The tasks on the other workers. Nothing else depends on these values, so `Relaxed` is enough: if one is seen
/// later, a task begins or ends a cycle later.
#[derive(Debug, Default)]
struct Rivals {
    ready: AtomicU32,
    begun: AtomicBool,
    /// Those that have made their first cycles.
    busy: AtomicU32,
    /// How often one has made [`BATCH`] cycles.
    batches: AtomicU64,
    over: AtomicBool,
}

/// Ends the tasks on the other workers when it is dropped.
struct End(Arc<Rivals>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.over.store(true, Relaxed);
    }
}

/// Keeps a worker busy, with cycles of one timer once they have begun.
async fn rival<A: Alarm>(rivals: Arc<Rivals>, dues: Vec<Due>) -> io::Result<()> {
    let mut timers = Futures::<A>::new(1).await;
    rivals.ready.fetch_add(1, Relaxed);
    while !rivals.begun.load(Relaxed) && !rivals.over.load(Relaxed) {
        thread::yield_now();
    }
    cycle(&mut timers, &dues)?;
    rivals.busy.fetch_add(1, Relaxed);
    while !rivals.over.load(Relaxed) {
        cycle(&mut timers, &dues)?;
        rivals.batches.fetch_add(1, Relaxed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    #[test]
    fn rivals_make_cycles_until_the_run_is_over() {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_time().build();
        let runtime = runtime.expect("a runtime");
        let rivals = Arc::new(Rivals::default());
        let hours = [1, 2].map(|hours| Duration::from_secs(3600 * hours));
        let dues = vec![Due::new(hours, &mut Rng::with_seed(1)); BATCH];
        let task = runtime.spawn(rival::<Sleep>(Arc::clone(&rivals), dues));
        rivals.begun.store(true, Relaxed);
        while rivals.batches.load(Relaxed) < 3 {
            assert!(!task.is_finished());
            thread::sleep(TICK);
        }
        rivals.over.store(true, Relaxed);
        runtime.block_on(outcome(task)).expect("no timer fails");
        assert_eq!((rivals.ready.load(Relaxed), rivals.busy.load(Relaxed)), (1, 1));
    }

    /// With a place in a vector and in the allocator; of the heap twice as many entries.
    #[test]
    fn timers_take_no_more_memory_than_is_assumed() {
        let futures = [size_of::<Option<Sleep>>(), size_of::<Option<Timeout<Request>>>()];
        let largest = futures.into_iter().max().expect("two");
        assert!(largest as u64 + 24 <= BYTES, "{largest}");
        // With a node of the reactor's tree, which may be half full.
        assert!(size_of::<Option<async_io::Timer>>() as u64 + 24 + 2 * 64 <= BYTES);
    }
}
