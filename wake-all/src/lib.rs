//! Tasks that sleep, and one event that wakes them all: what waking N at once costs.
//!
//! One iteration is one event: the waker calls once, each task runs, reads the clock into a place of
//! its own and goes back to sleep. One operation is one woken task. `last` is the time from the call
//! until the last task runs, `first` until the first one does, and `first_to_last` is between the
//! two. `call` ends when the call returns, which may be after the first task runs; that of a barrier
//! is the last arrival. All are computed after the event.
//!
//! A task that waits is not yet asleep: on its way into the wait it would be woken without a switch.
//! So the waker calls once the kernel has counted a voluntary switch of each thread since the event
//! before, and no other one for 50 µs; tasks of a runtime must all have been polled, and its workers have
//! 50 µs to sleep. After 2 s it calls even so; more than 1 % of threads that are awake fail the run. The
//! record counts them with `futex` and `eventfd`, where a thread makes one switch; a thread that finds a
//! mutex locked makes more, and could hide another that made none. The waker is a thread among threads, and
//! among tasks of a runtime it is one of those.
//!
//! What is counted: every task is woken exactly once by each event. One that is left out, or woken
//! twice, is named. Threads claim a switch per woken task with `futex` and `eventfd`; the waker
//! makes a few more per event, and with `eventfd` those with which woken threads preempt it. With `condvar`
//! and `barrier` a woken thread may find the mutex locked and wait again, so no number is claimed.
//!
//! Known biases: CPU time is that of the whole round, with going back to sleep, reporting that (a
//! subtraction from a common counter), the pauses of the waker, and its look at the kernel's counters
//! and at every place. All of a CPU's tasks wait for the ones before them, so the last one's time
//! contains the others' report. CPUs fall idle during the pause, so an event wakes them, too; the waker's
//! own is awake. Tasks of a runtime are boxed futures.

mod hall;
mod signals;
mod task;

use std::mem;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use anyhow::ensure;
use futures::executor::block_on;
use harness::counters::counts_switches;
use harness::failure::UsageError;
use harness::flags::name;
use harness::limits;
use harness::rounds::Purpose;
use harness::runtime::AsyncRuntime;
use harness::samples::Samples;
use harness::watch::watched;
use harness::{Bench, Fact, Launch, Measured, RuntimeFlags, RuntimeKind, Spec, TaskKind, clock};

use crate::hall::Hall;
use crate::task::Task;

/// The stack of a thread, in bytes.
const STACK_BYTES: usize = 256 << 10;

/// How long the kernel must not have counted another switch before threads count as asleep; and how long the
/// workers of a runtime have to fall asleep once all tasks wait. In nanoseconds.
const PAUSE_NS: u64 = 50_000;

/// How long the waker waits for threads that do not sleep, in nanoseconds.
const LONGEST_WAIT_NS: u64 = 2_000_000_000;

/// The most tasks that may be awake when the waker calls: one in so many.
const MOST_AWAKE: u64 = 100;

/// Time one event that wakes N tasks.
///
/// One iteration is one event, and one operation is one woken task. The waker begins when all tasks
/// sleep, and the time of an iteration runs from its call until the last task runs.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  brigade wake-all --by futex --tasks 1000
  brigade wake-all --by tokio-notify --runtime tokio --tasks 10000")]
struct Flags {
    /// What wakes the tasks
    #[arg(long, value_enum, default_value_t = By::Condvar)]
    by: By,

    #[command(flatten)]
    runtime: RuntimeFlags,

    /// A fault of the last task, which the program must detect
    #[arg(long, hide = true, value_enum)]
    fault: Option<Fault>,
}

/// Values of `--by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// `Condvar::notify_all` of the standard library
    Condvar,
    /// The system call futex, for all waiters of a word
    Futex,
    /// `Barrier` of the standard library
    Barrier,
    /// An event counter of the kernel for each thread, written in a loop
    Eventfd,
    /// `Notify::notify_waiters` of tokio
    TokioNotify,
    /// `broadcast` of tokio
    TokioBroadcast,
    /// `watch` of tokio
    TokioWatch,
    /// `Event` of event-listener
    EventListener,
}

/// Values of `--fault`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Fault {
    /// No event reaches it
    Lose,
    /// It runs and reports twice
    Double,
    /// It never sleeps
    Awake,
}

impl Flags {
    /// Whether a woken thread makes exactly one switch, when it sleeps again.
    fn claims_a_switch(&self) -> bool {
        matches!(self.by, By::Futex | By::Eventfd)
    }
}

const SPEC: Spec = Spec {
    tasks: 100,
    spread: true,
    runtimes: &[RuntimeKind::Threads, RuntimeKind::Tokio, RuntimeKind::TokioCurrentThread],
    stack_bytes: STACK_BYTES as u64,
    heap_bytes: hall::BYTES,
    ..Spec::new(TaskKind::Thread, limits::Kind::Thread)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let block = matches!(flags.by, By::Condvar | By::Futex | By::Barrier | By::Eventfd);
    if block != flags.runtime.are_threads() {
        let by = name(&flags.by);
        let other = if block { "threads" } else { "tokio" };
        let calls = if block { "block the thread" } else { "are awaited" };
        return Err(
            UsageError(format!("--by {by}: its calls {calls}; choose --runtime {other}")).into()
        );
    }
    let spec = SPEC.with_runtime(flags.runtime, launch)?;
    Ok(Spec {
        switches: flags.claims_a_switch().then_some(1.0),
        needs: if flags.by == By::Eventfd { limits::Kind::ThreadEventfd } else { spec.needs },
        // The waker, or the thread that starts a runtime.
        threads: spec.threads + 1,
        ..spec
    })
}

/// Measures in another thread: a lost task, and a waker that waits for it, would never end, so this
/// thread watches them, and may end without them.
fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let hall = Arc::new(Hall::new(flags, bench)?);
    let own = Arc::clone(&hall);
    let wake = |reports| Waker { hall: own, reports, switches: 0, awake: 0 }.run();
    let mut before = None;
    let is_idle = || {
        let now = hall.look();
        let is_idle = now.is_some() && now == before;
        before = now;
        is_idle
    };
    watched(wake, is_idle, || hall.left_out())
}

/// Creates the tasks, and wakes them all, again and again.
struct Waker {
    hall: Arc<Hall>,
    /// To the thread that watches: the result, or before that a failed task.
    reports: Sender<anyhow::Result<()>>,
    /// Switches of the threads when they slept last.
    switches: u64,
    /// Threads that did not.
    awake: u64,
}

impl Waker {
    fn run(mut self) -> anyhow::Result<()> {
        let Hall { flags, bench, .. } = &*self.hall;
        if !flags.runtime.are_threads() {
            return AsyncRuntime::start(flags.runtime, bench)?.drive(self.conduct());
        }
        bench.placement().pin(0)?;
        clock::be_punctual();
        self.switches = self.hall.switches();
        block_on(self.conduct())
    }

    /// Creates the tasks and runs all rounds. The tasks end with the process, or with their runtime: all of
    /// them sleep, and nothing is left to verify.
    ///
    /// # Errors
    /// If a task cannot be created, does not sleep, or is not woken once by each event; those of
    /// `--command`.
    async fn conduct(mut self) -> anyhow::Result<()> {
        let hall = Arc::clone(&self.hall);
        let Hall { flags, bench, .. } = &*hall;
        for number in bench.tasks_to_create() {
            let is_last = number + 1 == bench.tasks();
            let fault = if is_last { flags.fault } else { None };
            let reports = self.reports.clone();
            Task { number, hall: Arc::clone(&hall), fault, reports, woken: 0 }.start()?;
        }
        if bench.is_interrupted() {
            return Ok(());
        }
        self.await_sleep().await?;
        // Neither allocated nor cleared when a round has begun: the counters have been read by then.
        let mut times = times(bench.tasks());
        for round in bench.rounds(None) {
            let mut events = 0;
            let mut awake = 0;
            while !round.is_enough(events) {
                events += 1;
                awake += self.awake;
                self.wake(&mut times).await?;
            }
            round.end();
            let is_measured = round.purpose == Purpose::Measured;
            if is_measured && flags.claims_a_switch() && counts_switches() {
                bench.report(Fact::Awake(awake));
            }
            round.finish(times.to_vec(), None)?;
            times.iter_mut().for_each(Samples::clear);
        }
        bench.observe()
    }

    /// One event.
    async fn wake(&mut self, times: &mut [Samples; 4]) -> anyhow::Result<()> {
        self.hall.begin();
        let called_ns = clock::now();
        self.hall.signal.0.wake();
        let returned_ns = clock::now();
        self.await_sleep().await?;
        let [first_ns, last_ns] = self.hall.ran()?;
        let [last, first, first_to_last, call] = times;
        last.add(last_ns.saturating_sub(called_ns));
        first.add(first_ns.saturating_sub(called_ns));
        first_to_last.add(last_ns - first_ns);
        call.add(returned_ns - called_ns);
        Ok(())
    }

    /// Waits until all tasks sleep: until they have reported that they wait and then for a pause. Where the
    /// kernel counts switches of threads, until it has counted one of each since they slept last, and no
    /// other one in a pause: a thread that finds a mutex locked switches more than once.
    ///
    /// # Errors
    /// If too many threads do not sleep; the kernel's, if it does not let the waker sleep.
    async fn await_sleep(&mut self) -> anyhow::Result<()> {
        let Hall { flags, bench, .. } = &*self.hall;
        self.hall.all_arrived().await;
        let threads = bench.tasks() as u64;
        let before = self.switches;
        let begun_ns = clock::now();
        let mut now_ns = begun_ns;
        while now_ns < begun_ns + LONGEST_WAIT_NS {
            clock::sleep_until(now_ns + PAUSE_NS)?;
            if !flags.runtime.are_threads() || !counts_switches() {
                break;
            }
            let seen = mem::replace(&mut self.switches, self.hall.switches());
            self.awake = threads.saturating_sub(self.switches.saturating_sub(before));
            if self.awake == 0 && self.switches == seen {
                break;
            }
            now_ns = clock::now();
        }
        let awake = self.awake;
        ensure!(
            awake * MOST_AWAKE <= threads,
            "{awake} of {threads} threads do not sleep: they would be woken without a switch"
        );
        Ok(())
    }
}

/// The times of the events of a round: the last task's, the first one's, between the two, and of the call.
fn times(tasks: usize) -> [Samples; 4] {
    [
        Measured::per_task("last", "wake-up", tasks),
        Measured::single("first", "event"),
        Measured::single("first_to_last", "event"),
        Measured::single("call", "event"),
    ]
    .map(Samples::new)
}
