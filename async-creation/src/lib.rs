//! The cost of creating an async task: until it runs, and until it is awaited.
//!
//! One iteration: spawn N tasks whose body ends at once, then await each of them. `create` is the
//! time until the last call returns, for N tasks; `join` the time from there until all are awaited.
//! `start` is measured in separate iterations, which take a quarter of the time, for each task: from
//! the call that spawns it to the first line of its body. `create_cold` is `create` in the very first
//! iteration, when the allocator has nothing to reuse.
//!
//! On one thread later iterations reuse the memory of earlier ones, as a server does. By default the C
//! library would return it to the kernel, because at the end of an iteration nothing is left behind it
//! in the heap. `--trim-heap` measures that: a page fault for each page of tasks.
//!
//! With workers, some memory is returned nevertheless. A thread's arena consists of heaps of 64 MiB, and
//! glibc unmaps an empty one, whatever the threshold of the main heap is. The larger the futures, the more page
//! faults: with 10,000 tasks 19 an iteration, 140 with `--future-bytes 1024`, 3,418 with 16384.
//!
//! What is counted: one operation is one task. CPU time and switches cover creation and awaiting
//! together.
//!
//! Stackful coroutines need no async runtime, and are in a separate file.
//!
//! Tokio allocates a future above 16 KiB apart from its task: with `--future-bytes 16384`, two
//! allocations a task.
//!
//! Known biases: on the current thread no task starts before the driver awaits, so `start` is
//! mostly time in the queue, and `join` includes running the tasks. With several workers, idle ones
//! start stealing at once. `start` of a coroutine is measured one at a time, with none waiting, and
//! includes mapping its stack.

mod coroutine;
mod spawners;

use std::ffi::c_int;
use std::sync::Arc;

use anyhow::ensure;
use async_executor::LocalExecutor;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use compio::runtime::Runtime;
use futures::executor::{LocalPool, block_on};
use harness::failure::UsageError;
use harness::limits::Kind;
use harness::runtime::AsyncRuntime;
use harness::{Bench, Launch, Measured, RuntimeFlags, RuntimeKind, Spec, TaskKind, clock, failure};
use tokio::sync::Semaphore;

use spawners::{OfTokio, Spawner};

/// Time creating, starting and awaiting N async tasks.
///
/// One iteration: spawn N tasks whose body ends at once, then await each of
/// them. One operation is one task. `start` is the time from the call to the
/// first line of the body; `create_cold` is the creation in the first
/// iteration.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade async-creation --tasks 1000
  brigade async-creation --runtime tokio-current-thread --future-bytes 1024")]
struct Flags {
    #[command(flatten)]
    runtime: RuntimeFlags,

    /// Additional bytes in the future of each task of tokio
    #[arg(long, value_name = "BYTES", default_value = "0")]
    #[arg(value_parser = PossibleValuesParser::new(FUTURE_BYTES).try_map(|bytes| bytes.parse::<u32>()))]
    future_bytes: u32,

    /// Let the C library return the memory of ended tasks to the kernel, which is its default
    #[arg(long)]
    trim_heap: bool,
}

/// The sizes of future buffers that are compiled in.
const FUTURE_BYTES: [&str; 3] = ["0", "1024", "16384"];

const SPEC: Spec = Spec {
    tasks: 10_000,
    iters: 100,
    spread: true,
    runtimes: &[
        RuntimeKind::Tokio,
        RuntimeKind::TokioCurrentThread,
        RuntimeKind::TokioLocal,
        RuntimeKind::AsyncExecutor,
        RuntimeKind::Compio,
        RuntimeKind::LocalPool,
        RuntimeKind::Coroutine,
    ],
    ..Spec::new(TaskKind::AsyncTask, Kind::Tokio)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let kind = flags.runtime.runtime;
    let held = flags.future_bytes;
    ensure!(
        held == 0 || RuntimeKind::OF_TOKIO.contains(&kind),
        UsageError(format!("--future-bytes {held}: choose a runtime of tokio"))
    );
    Ok(Spec { heap_bytes: held.into(), ..SPEC.with_runtime(flags.runtime, launch)? })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let kind = flags.runtime.runtime;
    if !flags.trim_heap {
        keep_heap()?;
    }
    match kind {
        RuntimeKind::Coroutine => coroutine::measure(bench),
        RuntimeKind::Compio => {
            let runtime = Runtime::new().map_err(failure::to_create("the runtime"))?;
            runtime.block_on(creation(runtime.clone(), bench.clone()))
        }
        RuntimeKind::LocalPool => {
            let mut pool = LocalPool::new();
            let spawner = pool.spawner();
            pool.run_until(creation(spawner, bench.clone()))
        }
        RuntimeKind::AsyncExecutor => {
            let executor = LocalExecutor::new();
            block_on(executor.run(creation(&executor, bench.clone())))
        }
        _ => {
            let runtime = AsyncRuntime::start(flags.runtime, bench)?;
            match flags.future_bytes {
                0 => runtime.drive(creation(OfTokio::<0>(kind), bench.clone())),
                1024 => runtime.drive(creation(OfTokio::<1024>(kind), bench.clone())),
                _ => runtime.drive(creation(OfTokio::<16_384>(kind), bench.clone())),
            }
        }
    }
}

/// Makes the allocator keep what is freed at the top of the main heap. It does not keep the empty heaps of
/// other threads.
fn keep_heap() -> anyhow::Result<()> {
    // SAFETY: it changes a setting of the allocator; no other thread exists yet.
    let is_set = unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, NEVER) } == 1;
    ensure!(is_set, "the C library does not keep freed memory: measure with --trim-heap");
    Ok(())
}

/// The threshold from which on the allocator returns no memory (`mallopt(3)`).
const NEVER: c_int = -1;

async fn creation<S: Spawner>(spawner: S, bench: Bench) -> anyhow::Result<()> {
    let tasks = bench.tasks();
    let per_task = |name, operation| Measured::per_task(name, operation, tasks);
    let mut handles = Vec::with_capacity(tasks);

    for lap in bench.cold_lap(per_task("create_cold", "task creation")) {
        create(&spawner, tasks, &mut handles);
        lap.finish();
        join_all::<S>(&mut handles).await?;
    }
    for mut lap in bench.laps(&[per_task("create", "task creation"), per_task("join", "join")]) {
        create(&spawner, tasks, &mut handles);
        lap.split();
        join_all::<S>(&mut handles).await?;
        lap.finish();
    }
    let mut timed = Vec::with_capacity(tasks);
    for lap in bench.repeated_laps(Measured::single("start", "start")) {
        for _ in 0..tasks {
            timed.push((clock::now(), spawner.spawn(async { clock::now() })));
        }
        for (task, (called, handle)) in timed.drain(..).enumerate() {
            let started = S::join(task, handle).await?;
            lap.sample(started.saturating_sub(called));
        }
        lap.finish();
    }
    observe_alive(&spawner, &bench).await
}

fn create<S: Spawner>(spawner: &S, tasks: usize, handles: &mut Vec<S::Handle<()>>) {
    for _ in 0..tasks {
        handles.push(spawner.spawn(async {}));
    }
}

async fn join_all<S: Spawner>(handles: &mut Vec<S::Handle<()>>) -> anyhow::Result<()> {
    for (task, handle) in handles.drain(..).enumerate() {
        S::join(task, handle).await?;
    }
    Ok(())
}

/// Observes the process while N tasks are alive and waiting.
async fn observe_alive<S: Spawner>(spawner: &S, bench: &Bench) -> anyhow::Result<()> {
    let gate = Arc::new(Semaphore::new(0));
    let mut handles = Vec::with_capacity(bench.tasks());
    for _ in bench.tasks_to_create() {
        let gate = Arc::clone(&gate);
        handles.push(spawner.spawn(async move {
            // Closing the gate ends the wait, with an error.
            let _ = gate.acquire().await;
        }));
    }
    tokio::task::yield_now().await;
    let observed = bench.observe();
    gate.close();
    join_all::<S>(&mut handles).await.and(observed)
}
