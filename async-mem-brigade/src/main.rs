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

use std::future::Future;
use std::io::{self, ErrorKind};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use harness::flags::one_of;
use harness::runtime::{AsyncRuntime, RuntimeKind, join_all};
use harness::tracer::Tracer;
use harness::{Amounts, Bench, Defaults, Measured, Tasks, Work, WorkFlag, WorkersFlag};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Tokens from here on ask every task to note its CPU; no number of tasks
/// reaches so far.
const TRACER: usize = 1 << (usize::BITS - 1);

/// Time a number on its way through N async tasks over channels in memory.
///
/// One iteration: a number goes from the driver through N tokio tasks and
/// back, over bounded channels of capacity 1; each task adds one, and the
/// driver checks the sum. That makes N + 1 hops, none of which needs I/O.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// What runs the tasks
    #[arg(long, value_enum, default_value_t = RuntimeKind::TokioCurrentThread)]
    #[arg(value_parser = one_of::<RuntimeKind>())]
    runtime: RuntimeKind,

    /// The threads of the runtime.
    #[command(flatten)]
    #[serde(flatten)]
    threads: WorkersFlag,

    /// What whoever has the token does before passing it on.
    #[command(flatten)]
    #[serde(flatten)]
    work: WorkFlag,
}

fn main() -> ExitCode {
    let defaults = Defaults { tasks: Tasks::Default(500), iters: 10_000, warmups: 100 };
    harness::run(harness::program!(), defaults, run)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    bench.require(Amounts::async_task(), flags.runtime.amounts(flags.threads.workers, bench))?;
    if flags.runtime == RuntimeKind::TokioCurrentThread {
        bench.expect_switches(0.0);
    }
    let work = bench.work(flags.work);
    let runtime = AsyncRuntime::start(flags.runtime, flags.threads.workers, bench)?;
    runtime.drive(brigade(bench.clone(), work, relay))
}

/// Sets up the brigade, of tasks that are each a `relay`, and measures it.
async fn brigade<T>(
    bench: Bench,
    work: Work,
    relay: impl Fn(usize, Receiver<usize>, Sender<usize>, Work, Arc<Tracer>) -> T,
) -> anyhow::Result<()>
where
    T: Future<Output = io::Result<()>> + Send + 'static,
{
    let (first, mut upstream) = channel(1);
    let mut tasks = Vec::with_capacity(bench.tasks());
    for task in bench.creation() {
        let (downstream, next_upstream) = channel(1);
        tasks.push(tokio::spawn(relay(task, upstream, downstream, work, bench.tracer())));
        upstream = next_upstream;
    }
    let mut last = upstream;

    let passed = drive(&bench, work, &first, &mut last).await;
    let observed = passed.and_then(|()| bench.observe());
    // Without its first sender the brigade ends, task by task.
    drop(first);
    join_all(tasks).await.and(observed)
}

/// Sends the token round, lap after lap.
async fn drive(
    bench: &Bench,
    work: Work,
    first: &Sender<usize>,
    last: &mut Receiver<usize>,
) -> anyhow::Result<()> {
    let tasks = bench.tasks();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let sent = if lap.is_marked() { TRACER } else { 0 };
        work.perform();
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
/// closed.
async fn relay(
    task: usize,
    mut upstream: Receiver<usize>,
    downstream: Sender<usize>,
    work: Work,
    tracer: Arc<Tracer>,
) -> io::Result<()> {
    while let Some(token) = upstream.recv().await {
        if token >= TRACER {
            tracer.note(task);
        }
        work.perform();
        downstream.send(token + 1).await.map_err(|_| ErrorKind::BrokenPipe)?;
    }
    Ok(())
}

#[cfg(test)]
mod faults;
