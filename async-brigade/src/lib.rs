//! A brigade of async tasks: the cost of a switch between tasks that wait for I/O.
//!
//! One iteration: the driver writes a byte into the first channel, each of N async tasks in turn
//! reads it from its upstream channel and writes it into its downstream one, and the driver reads
//! it from the last: N + 1 hops.
//!
//! Each kind of runtime has its loop and its relay in a separate file, because each reads
//! differently. One process has one runtime.
//!
//! What is counted: a hop is one `write`, one successful `read`, usually one more `read` that finds
//! nothing, and a task's wake-up through `epoll`. On the current thread the kernel never switches.
//! With several workers the driver runs as a task on one of them, and the kernel switches workers
//! that find nothing to do; their number is not claimed.
//!
//! With io_uring (`compio`) a hop is a write and a read as requests, which the thread submits when
//! it has nothing else to run.
//!
//! Known biases: a hop includes the I/O; `one-thread-brigade` measures its cost alone. An
//! `epoll_wait` could report several events at once; with one token in flight it reports one.

mod compio;
mod executor;
mod tokio_tasks;

use harness::RuntimeKind::{AsyncExecutor, Compio, Tokio, TokioCurrentThread, TokioLocal};
use harness::limits::Kind;
use harness::{Bench, ChannelFlag, Launch, LoadFlags, RuntimeFlags, Spec, TaskKind};

/// Time a byte on its way through N async tasks that wait for I/O.
///
/// One iteration: a byte goes from the driver through N async tasks and back;
/// each task waits until its upstream channel is readable and writes the byte
/// downstream. That makes N + 1 hops.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade async-brigade --tasks 100 --placement same-cpu
  brigade async-brigade --runtime tokio-current-thread --channel socketpair")]
struct Flags {
    #[command(flatten)]
    carrier: ChannelFlag,

    #[command(flatten)]
    runtime: RuntimeFlags,

    #[command(flatten)]
    load: LoadFlags,
}

const SPEC: Spec = Spec {
    tasks: 500,
    iters: 10_000,
    spread: true,
    hops: true,
    runtimes: &[Tokio, TokioCurrentThread, TokioLocal, AsyncExecutor, Compio],
    ..Spec::new(TaskKind::AsyncTask, Kind::TokioPipe)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let spec = SPEC.with_runtime(flags.runtime, launch)?;
    let switches = (!spec.spread).then_some(0.0);
    let needs = flags.runtime.runtime.needs_over_pipes();
    Ok(Spec { switches, load: Some(flags.load), needs, ..spec })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let channel = flags.carrier.channel;
    match flags.runtime.runtime {
        Compio => compio::measure(channel, bench),
        AsyncExecutor => executor::measure(channel, bench),
        _ => tokio_tasks::measure(flags.runtime, channel, bench),
    }
}

#[cfg(test)]
mod faults;
