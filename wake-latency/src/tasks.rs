//! Sleepers as tasks of tokio or async-executor.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use async_executor::LocalExecutor;
use futures::executor::block_on;
use futures::task::AtomicWaker;
use harness::async_tasks::caught;
use harness::runtime::{AsyncRuntime, join, spawn};
use harness::{Bench, RuntimeKind, clock, failure};
use tokio::runtime::Builder;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};

use crate::STACK_BYTES;
use crate::calls::Calls;
use crate::course::{Conductor, Course, Wait, sleeper};
use crate::flags::Flags;
use crate::greedy::greedy;
use crate::sleep::LONGEST;
use crate::tally::{Tally, WakeUp};

/// Woken by the runtime's timer.
struct Timer {
    course: Arc<Course>,
    /// One moment on the runtime's clock and on ours.
    begun: (Instant, u64),
}

impl Wait for Timer {
    async fn wait(&self, intended_ns: u64) -> io::Result<Option<WakeUp>> {
        let (begun, begun_ns) = self.begun;
        let due = begun + Duration::from_nanos(intended_ns.saturating_sub(begun_ns));
        let mut waited = false;
        loop {
            let ran_ns = clock::now();
            if ran_ns >= intended_ns {
                return Ok(Some(WakeUp { intended_ns, called_ns: None, waker: 0, ran_ns, waited }));
            }
            if self.course.is_over() {
                return Ok(None);
            }
            let left = Duration::from_nanos(intended_ns - ran_ns);
            let pause_ends = if left > LONGEST { Instant::now() + LONGEST } else { due };
            sleep_until(pause_ends).await;
            waited = true;
        }
    }
}

/// Woken by its waker, which a thread calls.
struct Called {
    calls: Arc<[Calls<AtomicWaker>]>,
    task: usize,
}

impl Wait for Called {
    async fn wait(&self, intended_ns: u64) -> io::Result<Option<WakeUp>> {
        Ok(self.calls[self.task].wait_as_task(intended_ns).await)
    }
}

/// Creates tasks.
trait Spawner {
    /// Starts task `number`, and returns its result.
    fn start<T: Send + 'static>(
        &self,
        number: usize,
        body: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> impl Future<Output = anyhow::Result<T>> + Send;
}

/// A runtime of tokio.
impl Spawner for RuntimeKind {
    fn start<T: Send + 'static>(
        &self,
        number: usize,
        body: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> impl Future<Output = anyhow::Result<T>> + Send {
        let task = spawn(*self, body);
        async move { join(number, task).await?.context("sleeping") }
    }
}

impl Spawner for &LocalExecutor<'static> {
    fn start<T: Send + 'static>(
        &self,
        number: usize,
        body: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> impl Future<Output = anyhow::Result<T>> + Send {
        let task = self.spawn(caught(body));
        async move { task.await.map_err(|error| error.of_task(number)) }
    }
}

/// State shared by the tasks of a run.
#[derive(Clone)]
struct Run {
    flags: Flags,
    bench: Bench,
    course: Arc<Course>,
    calls: Arc<[Calls<AtomicWaker>]>,
}

impl Run {
    fn new(flags: &Flags, bench: &Bench, sleepers: usize) -> Self {
        let (flags, bench) = (flags.clone(), bench.clone());
        Self { flags, bench, course: Arc::default(), calls: Calls::of(sleepers).into() }
    }

    fn conductor(&self) -> Conductor<'_, AtomicWaker> {
        let Self { flags, bench, course, calls, .. } = self;
        Conductor { flags, bench, course, calls }
    }
}

/// Measures tasks that sleep until their times.
///
/// # Errors
/// If the runtime cannot be started, and as [`measure`].
pub fn by_timer(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let runtime = AsyncRuntime::start_with(Builder::enable_time, flags.runtime, bench)?;
    let run = Run::new(flags, bench, 0);
    let (course, begun) = (Arc::clone(&run.course), (Instant::now(), clock::now()));
    let kind = flags.runtime.runtime;
    runtime.drive(measure(run, kind, move |_| Timer { course: Arc::clone(&course), begun }))
}

/// Measures tasks that a thread wakes.
///
/// # Errors
/// If the runtime cannot be started, and as [`measure`].
pub fn by_waker(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let run = Run::new(flags, bench, bench.tasks());
    let calls = Arc::clone(&run.calls);
    let wait = move |task| Called { calls: Arc::clone(&calls), task };
    match flags.runtime.runtime {
        RuntimeKind::AsyncExecutor => {
            let executor = LocalExecutor::new();
            block_on(executor.run(measure(run, &executor, wait)))
        }
        kind => AsyncRuntime::start(flags.runtime, bench)?.drive(measure(run, kind, wait)),
    }
}

/// Creates the tasks, each of which waits with `wait`, and lets a separate thread conduct the run:
/// the runtime runs only the sleepers.
///
/// # Errors
/// If a task panics; those of the conductor.
async fn measure<W: Wait + 'static>(
    run: Run,
    spawner: impl Spawner,
    wait: impl Fn(usize) -> W,
) -> anyhow::Result<()> {
    let plan = run.bench.plan(run.flags.rate);
    let (rounds, announced) = watch::channel(None);
    let mut sleepers = Vec::with_capacity(run.bench.tasks());
    for task in run.bench.creation() {
        let course = Arc::clone(&run.course);
        let (announced, wait) = (announced.clone(), wait(task));
        let sleeper = async move {
            let mut tally = Tally::new();
            let slept = sleeper(Ok(()), task, &course, announced, &mut tally, wait).await;
            slept.map(|()| tally)
        };
        sleepers.push(spawner.start(task, sleeper));
    }
    let greedy = |number| {
        let (flags, announced) = (run.flags.clone(), announced.clone());
        let greedy = greedy(flags, announced, tokio::task::yield_now);
        spawner.start(run.bench.tasks() + number as usize, greedy)
    };
    let greedy: Vec<_> = (0..run.flags.greedy).map(greedy).collect();
    let (end, ended) = oneshot::channel();
    let conducting = run.clone();
    let conduct = move || {
        let _ = end.send(conducting.conductor().conduct(plan, rounds));
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(conduct);
    thread.map_err(|error| failure::creating(format_args!("the driver"), error))?;
    let mut conducted = ended.await.context("the driver panicked").flatten();
    let mut tallies = Vec::with_capacity(sleepers.len());
    for sleeper in sleepers {
        match sleeper.await {
            Ok(tally) => tallies.push(tally),
            Err(error) => conducted = conducted.and(Err(error)),
        }
    }
    for greedy in greedy {
        conducted = conducted.and(greedy.await);
    }
    let reported = run.conductor().report(plan, tallies);
    conducted.and(reported)
}
