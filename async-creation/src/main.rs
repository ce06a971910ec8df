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
//! creation and awaiting together. With `--future-bytes` each call moves so many bytes into
//! its task; a future of more than 16 KiB tokio puts into a box of its own.
//!
//! Known biases: on the current thread no task starts before the driver
//! awaits, so `start` is mostly the time in the queue, and `join` holds the
//! running of the tasks. On several workers idle ones start stealing at once.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use harness::runtime::{AsyncRuntime, RuntimeKind, join};
use harness::{Amounts, Bench, Defaults, FutureFlag, Measured, Tasks, WorkersFlag, clock};
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

    #[command(flatten)]
    #[serde(flatten)]
    future: FutureFlag,
}

fn main() -> ExitCode {
    let defaults = Defaults { tasks: Tasks::Default(10_000), iters: 100, warmups: None };
    harness::run(harness::program!(), defaults, run)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let task = Amounts::async_task().and(Amounts::heap(flags.future.future_bytes.into()));
    bench.require(task, flags.runtime.amounts(flags.threads.workers, bench))?;
    let runtime = AsyncRuntime::start(flags.runtime, flags.threads.workers, bench)?;
    match flags.future.future_bytes {
        0 => runtime.drive(creation::<0>(bench.clone())),
        1024 => runtime.drive(creation::<1024>(bench.clone())),
        _ => runtime.drive(creation::<16_384>(bench.clone())),
    }
}

async fn creation<const BYTES: usize>(bench: Bench) -> anyhow::Result<()> {
    let tasks = bench.tasks();
    let per_task = |name, operation| Measured::per_task(name, operation, tasks);
    let mut handles = Vec::with_capacity(tasks);

    for lap in bench.cold_lap(per_task("create_cold", "task creation")) {
        create::<BYTES>(tasks, &mut handles);
        lap.finish();
        join_all(&mut handles).await?;
    }
    for mut lap in bench.laps(&[per_task("create", "task creation"), per_task("join", "join")]) {
        create::<BYTES>(tasks, &mut handles);
        lap.split();
        join_all(&mut handles).await?;
        lap.finish();
    }
    let mut timed = Vec::with_capacity(tasks);
    for lap in bench.side_laps(Measured::single("start", "start")) {
        for _ in 0..tasks {
            timed.push((clock::now(), tokio::spawn(holding([0; BYTES], clock::now))));
        }
        for (task, (called, handle)) in timed.drain(..).enumerate() {
            let started = join(task, handle).await?;
            lap.sample(started.saturating_sub(called));
        }
        lap.finish();
    }
    observe_alive::<BYTES>(&bench).await
}

fn create<const BYTES: usize>(tasks: usize, handles: &mut Vec<JoinHandle<()>>) {
    for _ in 0..tasks {
        handles.push(tokio::spawn(holding([0; BYTES], || ())));
    }
}

/// A task's body, which holds so many bytes that were moved into it.
async fn holding<T, const BYTES: usize>(held: [u8; BYTES], body: impl FnOnce() -> T) -> T {
    let returned = body();
    black_box(&held);
    returned
}

async fn join_all(handles: &mut Vec<JoinHandle<()>>) -> anyhow::Result<()> {
    for (task, handle) in handles.drain(..).enumerate() {
        join(task, handle).await?;
    }
    Ok(())
}

/// Looks at the process while N tasks are alive and wait.
async fn observe_alive<const BYTES: usize>(bench: &Bench) -> anyhow::Result<()> {
    let gate = Arc::new(Semaphore::new(0));
    let mut handles: Vec<JoinHandle<()>> = Vec::with_capacity(bench.tasks());
    for _ in bench.creation() {
        let (gate, held) = (Arc::clone(&gate), [0_u8; BYTES]);
        handles.push(tokio::spawn(async move {
            // Closing the gate is what ends the wait, as an error.
            let _ = gate.acquire().await;
            black_box(&held);
        }));
    }
    tokio::task::yield_now().await;
    let observed = bench.observe();
    gate.close();
    join_all(&mut handles).await.and(observed)
}
