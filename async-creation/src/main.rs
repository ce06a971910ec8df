//! What creating an async task costs, until it runs, and until it is awaited.
//!
//! One iteration: spawn N tokio tasks whose body ends at once, then await each
//! of them. `create` is the time until the last call has returned, for N
//! tasks; `join` the time from there until all are awaited. `start` is taken
//! in iterations of its own, for each task: from the call that spawns it to
//! the first line of its body. `create_cold` is `create` of the very first
//! iteration, when the allocator has nothing to reuse.
//!
//! What is counted: one operation is one task. CPU time and switches are of
//! creation and awaiting together.
//!
//! Known biases: on the current thread no task starts before the driver
//! awaits, so `start` is mostly the time in the queue, and `join` holds the
//! running of the tasks. On several workers idle ones start stealing at once.

use std::process::ExitCode;
use std::sync::Arc;

use harness::runtime::{AsyncRuntime, RuntimeKind, join};
use harness::{Amounts, Bench, Defaults, Measured, Tasks, WorkersFlag, clock};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Time creating, starting and awaiting N async tasks.
///
/// One iteration: spawn N tokio tasks whose body ends at once, then await each
/// of them. One operation is one task. `start` is the time from the call to
/// the first line of the body; `create_cold` is the first iteration's creation.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// What runs the tasks
    #[arg(long, value_enum, default_value_t = RuntimeKind::Tokio)]
    runtime: RuntimeKind,

    #[command(flatten)]
    #[serde(flatten)]
    threads: WorkersFlag,
}

fn main() -> ExitCode {
    let defaults = Defaults { tasks: Tasks::Default(10_000), iters: 100, warmups: None };
    harness::run(harness::program!(), defaults, run)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    bench.require(Amounts::async_task(), flags.runtime.amounts(flags.threads.workers, bench))?;
    let runtime = AsyncRuntime::start(flags.runtime, flags.threads.workers, bench)?;
    runtime.drive(creation(flags.runtime, bench.clone()))
}

async fn creation(kind: RuntimeKind, bench: Bench) -> anyhow::Result<()> {
    let tasks = bench.tasks();
    let per_task = |name, operation| Measured::per_task(name, operation, tasks);
    let mut handles = Vec::with_capacity(tasks);

    for lap in bench.cold_lap(per_task("create_cold", "task creation")) {
        create(kind, tasks, &mut handles);
        lap.finish();
        join_all(&mut handles).await?;
    }
    for mut lap in bench.laps(&[per_task("create", "task creation"), per_task("join", "join")]) {
        create(kind, tasks, &mut handles);
        lap.split();
        join_all(&mut handles).await?;
        lap.finish();
    }
    let mut timed = Vec::with_capacity(tasks);
    for lap in bench.side_laps(Measured::single("start", "start")) {
        for _ in 0..tasks {
            timed.push((clock::now(), kind.spawn(async { clock::now() })));
        }
        for (task, (called, handle)) in timed.drain(..).enumerate() {
            let started = join(task, handle).await?;
            lap.sample(started.saturating_sub(called));
        }
        lap.finish();
    }
    observe_alive(kind, &bench).await
}

fn create(kind: RuntimeKind, tasks: usize, handles: &mut Vec<JoinHandle<()>>) {
    for _ in 0..tasks {
        handles.push(kind.spawn(async {}));
    }
}

async fn join_all(handles: &mut Vec<JoinHandle<()>>) -> anyhow::Result<()> {
    for (task, handle) in handles.drain(..).enumerate() {
        join(task, handle).await?;
    }
    Ok(())
}

/// Looks at the process while N tasks are alive and wait.
async fn observe_alive(kind: RuntimeKind, bench: &Bench) -> anyhow::Result<()> {
    let gate = Arc::new(Semaphore::new(0));
    let mut handles: Vec<JoinHandle<()>> = Vec::with_capacity(bench.tasks());
    for _ in bench.creation() {
        let gate = Arc::clone(&gate);
        handles.push(kind.spawn(async move {
            // Closing the gate is what ends the wait, as an error.
            let _ = gate.acquire().await;
        }));
    }
    tokio::task::yield_now().await;
    let observed = bench.observe();
    gate.close();
    join_all(&mut handles).await.and(observed)
}
