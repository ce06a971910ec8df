//! A brigade of async tasks without I/O: what a switch between tasks costs
//! when the runtime alone makes it.
//!
//! One iteration: the driver sends 0 into the first channel, each of N tokio
//! tasks in turn receives the number from its upstream channel, adds one and
//! sends it downstream, and the driver checks that it comes out as N. The
//! channels are bounded `tokio::sync::mpsc` of capacity 1: N + 1 hops.
//!
//! What is counted: a hop is one send, one receive and one wake-up of a task,
//! all in memory. On the current thread the kernel has nothing to switch. On
//! several workers a wake-up may go to an idle worker, and no number of
//! switches is claimed.
//!
//! Known biases: with one token in flight a runtime always has exactly one
//! task to run, which is the best case for its scheduler.
#![recursion_limit = "512"]

mod nested;

use std::future::Future;
use std::hint::black_box;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use harness::failure::UsageError;
use harness::runtime::{AsyncRuntime, RuntimeKind, end};
use harness::{
    Amounts, Bench, Defaults, DepthFlag, FutureFlag, LoadFlags, Measured, Station, Tasks,
    WorkersFlag,
};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use nested::{Above, Here, Hundred, Ten, Wait};

/// Time a number on its way through N async tasks over channels in memory.
///
/// One iteration: a number goes from the driver through N tokio tasks and
/// back, over bounded channels of capacity 1; each task adds one, and the
/// driver checks the sum. That makes N + 1 hops, none of which needs I/O.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// What runs the tasks
    #[arg(long, value_enum, default_value_t = RuntimeKind::TokioCurrentThread)]
    runtime: RuntimeKind,

    #[command(flatten)]
    #[serde(flatten)]
    threads: WorkersFlag,

    #[command(flatten)]
    #[serde(flatten)]
    load: LoadFlags,

    #[command(flatten)]
    #[serde(flatten)]
    depth: DepthFlag,

    #[command(flatten)]
    #[serde(flatten)]
    future: FutureFlag,
}

fn main() -> ExitCode {
    let defaults = Defaults { tasks: Tasks::Default(500), iters: 10_000, warmups: None };
    harness::run(harness::program!(), defaults, run)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let held = Amounts::heap(flags.future.future_bytes.into());
    let task = Amounts::async_task().and(held).and(flags.load.amounts());
    bench.require(task, flags.runtime.amounts(flags.threads.workers, bench))?;
    if flags.runtime == RuntimeKind::TokioCurrentThread {
        bench.expect_switches(0.0);
    }
    bench.load(flags.load);
    let runtime = AsyncRuntime::start(flags.runtime, flags.threads.workers, bench)?;
    let bench = bench.clone();
    match (flags.depth.depth, flags.future.future_bytes) {
        (0, 0) => runtime.drive(brigade(bench, relay::<Here, 0>)),
        (1, 0) => runtime.drive(brigade(bench, relay::<Above<Here>, 0>)),
        (10, 0) => runtime.drive(brigade(bench, relay::<Ten<Here>, 0>)),
        (_, 0) => runtime.drive(brigade(bench, relay::<Hundred<Here>, 0>)),
        (0, 1024) => runtime.drive(brigade(bench, relay::<Here, 1024>)),
        (0, _) => runtime.drive(brigade(bench, relay::<Here, 16_384>)),
        (depth, bytes) => bail!(UsageError(format!(
            "--depth {depth} --future-bytes {bytes}: choose one of the two"
        ))),
    }
}

/// Sets up the brigade, of tasks that are each a `relay`, and measures it.
async fn brigade<T>(
    bench: Bench,
    relay: impl Fn(Station, Receiver<usize>, Sender<usize>) -> T,
) -> anyhow::Result<()>
where
    T: Future<Output = io::Result<()>> + Send + 'static,
{
    let (first, mut upstream) = channel(1);
    let mut tasks = Vec::with_capacity(bench.tasks());
    for task in bench.creation() {
        let (downstream, next_upstream) = channel(1);
        tasks.push(tokio::spawn(relay(bench.unpinned_station(task), upstream, downstream)));
        upstream = next_upstream;
    }
    let mut last = upstream;

    let passed = drive(&bench, &first, &mut last).await;
    end(&bench, passed, first, tasks).await
}

/// Sends the token round, lap after lap.
async fn drive(
    bench: &Bench,
    first: &Sender<usize>,
    last: &mut Receiver<usize>,
) -> anyhow::Result<()> {
    let tasks = bench.tasks();
    let station = bench.unpinned_driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let sent: usize = lap.token();
        station.visit(sent);
        first.send(sent).await.context("sending the token to task 0")?;
        let received = last.recv().await.context("waiting for the token to come round")?;
        lap.finish();
        ensure!(
            received == sent + tasks,
            "the token came round as {received}, not as {sent} + {tasks}",
        );
    }
    Ok(())
}

/// Passes numbers from upstream to downstream, one greater, until upstream is
/// closed. It awaits them by `W`, and holds so many bytes from one wait to the next.
async fn relay<W: Wait, const BYTES: usize>(
    station: Station,
    mut upstream: Receiver<usize>,
    downstream: Sender<usize>,
) -> io::Result<()> {
    let held = [0_u8; BYTES];
    while let Some(token) = W::wait(&mut upstream).await {
        station.visit(token);
        downstream.send(token + 1).await.map_err(|_| ErrorKind::BrokenPipe)?;
    }
    black_box(&held);
    Ok(())
}

#[cfg(test)]
mod faults;
