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
use harness::rounds::{Crew, Round};
use harness::runtime::{AsyncRuntime, join, spawn};
use harness::{Bench, RuntimeKind, clock, failure};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::calls::{Calls, WakeUp};
use crate::conductor::{Conductor, Wait, greedy, sleeper};
use crate::flags::{Flags, STACK_BYTES};

/// The longest sleep between two checks of whether the round is over.
const LONGEST: Duration = Duration::from_secs(1);

/// Woken by the runtime's timer. The fields are one moment on its clock and on ours.
struct Timer(Instant, u64);

impl Wait for Timer {
    async fn wait(&self, round: &Round, due_ns: u64) -> io::Result<Option<WakeUp>> {
        let due = self.0 + Duration::from_nanos(due_ns.saturating_sub(self.1));
        let mut waited = false;
        loop {
            if let Some(ran) = round.reached(due_ns, waited) {
                return Ok(ran.map(WakeUp::from));
            }
            sleep_until(due.min(Instant::now() + LONGEST)).await;
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
    async fn wait(&self, _: &Round, _: u64) -> io::Result<Option<WakeUp>> {
        Ok(self.calls[self.task].wait_as_task().await)
    }
}

/// Creates tasks.
trait Spawner {
    /// Starts task `number`, and returns its result.
    fn start(
        &self,
        number: usize,
        body: impl Future<Output = io::Result<()>> + Send + 'static,
    ) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// A runtime of tokio.
impl Spawner for RuntimeKind {
    fn start(
        &self,
        number: usize,
        body: impl Future<Output = io::Result<()>> + Send + 'static,
    ) -> impl Future<Output = anyhow::Result<()>> + Send {
        let task = spawn(*self, body);
        async move { join(number, task).await?.context("sleeping") }
    }
}

impl Spawner for &LocalExecutor<'static> {
    fn start(
        &self,
        number: usize,
        body: impl Future<Output = io::Result<()>> + Send + 'static,
    ) -> impl Future<Output = anyhow::Result<()>> + Send {
        let task = self.spawn(caught(body));
        async move { task.await.map_err(|error| error.of_task(number)) }
    }
}

/// Measures tasks that sleep until their times.
///
/// # Errors
/// If the runtime cannot be started, and as [`measure`].
pub fn by_timer(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let runtime = AsyncRuntime::start_with(Builder::enable_time, flags.runtime, bench)?;
    let (now, now_ns) = (Instant::now(), clock::now());
    let conductor = Conductor::new(flags, bench, 0);
    runtime.drive(measure(conductor, flags.runtime.runtime, move |_| Timer(now, now_ns)))
}

/// Measures tasks that a thread wakes.
///
/// # Errors
/// If the runtime cannot be started, and as [`measure`].
pub fn by_waker(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let conductor = Conductor::new(flags, bench, bench.tasks());
    let calls = Arc::clone(&conductor.calls);
    let wait = move |task| Called { calls: Arc::clone(&calls), task };
    match flags.runtime.runtime {
        RuntimeKind::AsyncExecutor => {
            let executor = LocalExecutor::new();
            block_on(executor.run(measure(conductor, &executor, wait)))
        }
        kind => AsyncRuntime::start(flags.runtime, bench)?.drive(measure(conductor, kind, wait)),
    }
}

/// Creates the tasks, each of which waits with `wait`, and lets a separate thread conduct the run:
/// the runtime runs only the sleepers.
///
/// # Errors
/// If a task panics; those of the conductor.
async fn measure<W: Wait + 'static>(
    conductor: Conductor<AtomicWaker>,
    spawner: impl Spawner,
    wait: impl Fn(usize) -> W,
) -> anyhow::Result<()> {
    let (flags, bench) = (conductor.flags.clone(), conductor.bench.clone());
    let crew = Crew::default();
    let sleeper = |task| spawner.start(task, sleeper(task, crew.member(), wait(task)));
    let tasks: Vec<_> = bench.creation().map(sleeper).collect();
    let greedy = |number| {
        let greedy = greedy(flags.clone(), crew.watch(), tokio::task::yield_now);
        spawner.start(bench.tasks() + number as usize, greedy)
    };
    let greedy: Vec<_> = (0..flags.greedy).map(greedy).collect();
    let (end, ended) = oneshot::channel();
    let conduct = move || {
        let _ = end.send(conductor.conduct(crew));
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(conduct);
    thread.map_err(|error| failure::creating(format_args!("the driver"), error))?;
    let conducted = ended.await.context("the driver panicked").flatten();
    let mut result = Ok(());
    for task in tasks {
        result = result.and(task.await);
    }
    for greedy in greedy {
        result = result.and(greedy.await);
    }
    result.and(conducted)
}
