//! Sleepers as tasks of tokio or async-executor.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use async_executor::LocalExecutor;
use futures::FutureExt as _;
use futures::executor::block_on;
use futures::task::AtomicWaker;
use harness::async_tasks::caught;
use harness::crew::{Crew, Member};
use harness::rounds::{Ran, Round};
use harness::runtime::{AsyncRuntime, outcome, spawn};
use harness::threads::{TaskError, root_cause};
use harness::{Bench, RuntimeKind, clock, failure};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::calls::Wait;
use crate::conductor::{Conductor, Tally, greedy, sleeper};
use crate::{Flags, STACK_BYTES};

/// The wait of a sleeper that the runtime's timer wakes. The fields are one moment.
struct Timer {
    /// The moment on the runtime's clock.
    now: Instant,
    /// The moment on our clock.
    now_ns: u64,
}

impl Wait for Timer {
    async fn wait(&self, round: &Round, due_ns: u64) -> io::Result<Option<Ran>> {
        let sleep = |until_ns: u64| {
            let after = Duration::from_nanos(until_ns.saturating_sub(self.now_ns));
            sleep_until(self.now + after).map(Ok)
        };
        round.wait_until(due_ns, sleep).await
    }
}

/// Measures tasks that sleep until their times.
///
/// # Errors
/// If the runtime cannot be started, and those of [`measure`].
pub fn by_timer(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let runtime = AsyncRuntime::start_with(Builder::enable_time, flags.runtime, bench)?;
    let now = Instant::now();
    let now_ns = clock::now();
    let conductor = Conductor::new(flags, bench, 0);
    let kind = flags.runtime.runtime;
    let start = move |task| outcome(spawn(kind, task));
    runtime.drive(measure(conductor, start, live, move |_| Timer { now, now_ns }))
}

/// Measures tasks that a thread wakes.
///
/// # Errors
/// If the runtime cannot be started, and those of [`measure`].
pub fn by_waker(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let conductor = Conductor::new(flags, bench, bench.tasks());
    let calls = conductor.calls.clone();
    let wait = move |task| Arc::clone(&calls[task]);
    if flags.runtime.runtime != RuntimeKind::Tokio {
        // The runtime runs on this thread, and the waker has seat 0.
        bench.placement().pin(1)?;
    }
    match flags.runtime.runtime {
        RuntimeKind::AsyncExecutor => {
            let executor = LocalExecutor::new();
            let start = |task| executor.spawn(caught(task));
            block_on(executor.run(measure(conductor, start, live, wait)))
        }
        kind => {
            let start = move |task| outcome(spawn(kind, task));
            AsyncRuntime::start(flags.runtime, bench)?.drive(measure(conductor, start, live, wait))
        }
    }
}

/// A task: a sleeper with its number, or a greedy one with the end of the run.
enum Role<W> {
    Sleeper(usize, Member<Tally>, W),
    Greedy(Flags, Box<dyn Fn() -> bool + Send>),
}

/// A task's main function.
async fn live<W: Wait>(role: Role<W>) -> io::Result<()> {
    match role {
        Role::Sleeper(task, member, wait) => sleeper(task, member, wait).await,
        Role::Greedy(flags, is_over) => greedy(flags, is_over, tokio::task::yield_now).await,
    }
}

/// Starts the tasks, each of which runs `live` and waits with `wait`, and lets a separate thread
/// conduct the run: the runtime runs only these tasks. `start` returns a task's outcome.
///
/// # Errors
/// If a task fails or panics; those of the conductor.
async fn measure<W, T, J>(
    conductor: Conductor<AtomicWaker>,
    start: impl Fn(T) -> J,
    live: impl Fn(Role<W>) -> T,
    wait: impl Fn(usize) -> W,
) -> anyhow::Result<()>
where
    T: Future<Output = io::Result<()>> + Send + 'static,
    J: Future<Output = Result<(), TaskError>>,
{
    let flags = conductor.flags.clone();
    let bench = conductor.bench.clone();
    let crew = Crew::default();
    let sleeper = |task| start(live(Role::Sleeper(task, crew.member(), wait(task))));
    let mut tasks: Vec<_> = bench.tasks_to_create().map(sleeper).collect();
    let greedy = |_| start(live(Role::Greedy(flags.clone(), Box::new(crew.watch()))));
    tasks.extend((0..flags.greedy).map(greedy));
    let (end, ended) = oneshot::channel();
    let conduct = move || {
        let _ = end.send(conductor.conduct(crew));
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(conduct);
    thread.map_err(failure::to_create("the driver"))?;
    let conducted = ended.await.context("the driver panicked").flatten();
    let mut outcomes = Vec::with_capacity(tasks.len());
    for task in tasks {
        outcomes.push(task.await);
    }
    root_cause(outcomes).and(conducted)
}
