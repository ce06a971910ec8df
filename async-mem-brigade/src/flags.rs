//! The program's flags, and what they need.

use anyhow::bail;
use harness::failure::UsageError;
use harness::runtime::{AnyRuntime, some_of};
use harness::{Amounts, FutureFlag, Launch, LoadFlags, Spec, WorkersFlag};

use crate::channels::Channel;

/// Time a number on its way through N async tasks over channels in memory.
///
/// One iteration: a number goes from the driver through N async tasks and
/// back, over bounded channels of capacity 1; each task adds one, and the
/// driver checks the sum. That makes N + 1 hops, none of which needs I/O.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    /// What runs the tasks
    #[arg(long, default_value = "tokio-current-thread", value_parser = some_of([AnyRuntime::Tokio, AnyRuntime::TokioCurrentThread, AnyRuntime::TokioLocal, AnyRuntime::AsyncExecutor, AnyRuntime::Compio, AnyRuntime::LocalPool]))]
    pub runtime: AnyRuntime,

    /// What carries the number
    #[arg(long, value_enum, default_value_t = Channel::Tokio)]
    pub channel: Channel,

    #[command(flatten)]
    #[serde(flatten)]
    pub threads: WorkersFlag,

    #[command(flatten)]
    #[serde(flatten)]
    pub load: LoadFlags,

    #[command(flatten)]
    #[serde(flatten)]
    pub future: FutureFlag,
}

/// What the program declares without flags.
pub const SPEC: Spec = Spec { tasks: 500, iters: 10_000, spread: true, ..Spec::NEW };

/// What it declares with these.
///
/// # Errors
/// Of flags that contradict one another.
pub fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let Flags { runtime, threads, load, future, .. } = *flags;
    if runtime.of_tokio().is_none() {
        threads.refuse("this runtime runs every task on one thread")?;
        if future.future_bytes > 0 {
            bail!(UsageError("--future-bytes: choose a runtime of tokio".to_owned()));
        }
    }
    let channel = flags.channel.amounts();
    let held = Amounts::heap(future.future_bytes.into());
    let one_thread = runtime != AnyRuntime::Tokio;
    Ok(Spec {
        switches: one_thread.then_some(0.0),
        spread: !one_thread,
        load: Some(load),
        per_task: Amounts::async_task().and(channel).and(held),
        fixed: runtime.amounts(threads.workers, launch.cpus()).and(channel),
        ..SPEC
    })
}
