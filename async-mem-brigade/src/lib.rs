//! A brigade of async tasks without I/O: the cost of a switch made by the runtime alone.
//!
//! One iteration: the driver sends 0 into the first channel, each of N async tasks in turn receives
//! the number from its upstream channel, adds one and sends it downstream, and the driver checks
//! that it ends as N. The channels are bounded, of capacity 1: N + 1 hops.
//!
//! What is counted: a hop is one send, one receive and one wake-up of a task, all in memory. On the
//! current thread the kernel has nothing to switch. With several workers a wake-up may go to an
//! idle worker, so no number of switches is claimed.
//!
//! Known biases: with one token in flight a runtime always has exactly one task to run, the best
//! case for its scheduler.

mod channels;

use std::io::{self, ErrorKind};

use anyhow::{Context as _, ensure};
use async_executor::LocalExecutor;
use compio::runtime::Runtime;
use futures::FutureExt as _;
use futures::executor::{self, block_on};
use futures::task::LocalSpawnExt as _;
use harness::RuntimeKind::{
    AsyncExecutor, Compio, LocalPool, Tokio, TokioCurrentThread, TokioLocal,
};
use harness::async_tasks::{caught, end};
use harness::failure::to_create;
use harness::hand_over::swapped;
use harness::limits::Kind;
use harness::runtime::{AsyncRuntime, outcome, spawn};
use harness::threads::TaskError;
use harness::{Bench, Launch, Line, LoadFlags, Measured, RuntimeFlags, Spec, Station, TaskKind};
use tokio::sync::mpsc;

use channels::{Channel, Sink, Source};

/// Time a number on its way through N async tasks over channels in memory.
///
/// One iteration: a number goes from the driver through N async tasks and
/// back, over bounded channels of capacity 1; each task adds one, and the
/// driver checks the sum. That makes N + 1 hops, none of which needs I/O.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade async-mem-brigade --tasks 100
  brigade async-mem-brigade --runtime tokio --channel tokio --work 100")]
struct Flags {
    #[command(flatten)]
    runtime: RuntimeFlags,

    /// Channel that carries the number
    #[arg(long, value_enum, default_value_t = Channel::Tokio)]
    channel: Channel,

    #[command(flatten)]
    load: LoadFlags,
}

const SPEC: Spec = Spec {
    tasks: 500,
    iters: 10_000,
    spread: true,
    hops: true,
    runtimes: &[TokioCurrentThread, Tokio, TokioLocal, AsyncExecutor, Compio, LocalPool],
    ..Spec::new(TaskKind::AsyncTask, Kind::Tokio)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let spec = SPEC.with_runtime(flags.runtime, launch)?;
    let switches = (!spec.spread).then_some(0.0);
    Ok(Spec { switches, load: Some(flags.load), ..spec })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let runtime = flags.runtime;
    match flags.channel {
        Channel::Tokio => measure(runtime, bench, || swapped(mpsc::channel(1))),
        Channel::Smol => measure(runtime, bench, || swapped(async_channel::bounded(1))),
    }
}

/// Measures a brigade on a runtime, over channels that `open` opens.
fn measure<R: Source, S: Sink>(
    on: RuntimeFlags,
    bench: &Bench,
    open: fn() -> (R, S),
) -> anyhow::Result<()> {
    match on.runtime {
        Compio => {
            let runtime = Runtime::new().map_err(to_create("the runtime"))?;
            let spawn =
                |task| runtime.spawn(caught(task)).map(|ended| ended.expect("nobody cancels it"));
            runtime.block_on(brigade(bench.clone(), open, spawn, relay))
        }
        LocalPool => {
            let mut pool = executor::LocalPool::new();
            let spawner = pool.spawner();
            let spawn = |task| {
                let spawned = spawner.spawn_local_with_handle(caught(task));
                spawned.expect("the pool lives as long as its driver")
            };
            pool.run_until(brigade(bench.clone(), open, spawn, relay))
        }
        AsyncExecutor => {
            let executor = LocalExecutor::new();
            let spawn = |task| executor.spawn(caught(task));
            block_on(executor.run(brigade(bench.clone(), open, spawn, relay)))
        }
        kind => {
            let spawn = move |task| outcome(spawn(kind, task));
            AsyncRuntime::start(on, bench)?.drive(brigade(bench.clone(), open, spawn, relay))
        }
    }
}

/// Sets up the brigade, with tasks that each run a `relay` between channels that `open` opens, and
/// measures it. `spawn` creates a task and returns a future of its outcome.
async fn brigade<R: Source, S: Sink, T, J>(
    bench: Bench,
    open: impl Fn() -> (R, S),
    spawn: impl Fn(T) -> J,
    relay: impl Fn(Station, R, S) -> T,
) -> anyhow::Result<()>
where
    T: Future<Output = io::Result<()>> + Send + 'static,
    J: Future<Output = Result<(), TaskError>>,
{
    let start =
        |task, upstream, downstream| Ok(spawn(relay(bench.station(task), upstream, downstream)));
    let mut line = Line::create(bench.tasks_to_create(), || Ok(open()), start)?;

    let result = drive(&bench, &line.first, &mut line.last).await;
    end(&bench, result, line.first, line.tasks).await
}

/// Sends the token round, lap after lap.
async fn drive(bench: &Bench, first: &impl Sink, last: &mut impl Source) -> anyhow::Result<()> {
    let tasks = bench.tasks();
    let station = bench.driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let sent: usize = lap.token();
        station.visit(sent);
        first.send(sent).await.context("sending the token to task 0")?;
        let received = last.receive().await.context("waiting for the token to come round")?;
        lap.finish();
        ensure!(
            received == sent + tasks,
            "the token came round as {received}, not as {sent} + {tasks}",
        );
    }
    Ok(())
}

/// Passes numbers from upstream to downstream, one greater, until upstream is
/// closed.
#[expect(clippy::manual_async_fn, reason = "an async fn would contain its arguments twice")]
fn relay(
    station: Station,
    mut upstream: impl Source,
    downstream: impl Sink,
) -> impl Future<Output = io::Result<()>> + Send + 'static {
    async move {
        while let Some(token) = upstream.receive().await {
            station.visit(token);
            downstream.send(token + 1).await.map_err(|_| ErrorKind::BrokenPipe)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod faults;
