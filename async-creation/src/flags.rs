//! The program's flags, and what they need.

use anyhow::bail;
use harness::failure::UsageError;
use harness::limits::STACK_BYTES;
use harness::runtime::{AnyRuntime, some_of};
use harness::{Amounts, FutureFlag, Launch, Spec, WorkersFlag};

/// Time creating, starting and awaiting N async tasks.
///
/// One iteration: spawn N tasks whose body ends at once, then await each of
/// them. One operation is one task. `start` is the time from the call to
/// the first line of the body; `create_cold` is the first iteration's creation.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    /// What runs the tasks
    #[arg(long, default_value = "tokio", value_parser = some_of([AnyRuntime::Tokio, AnyRuntime::TokioCurrentThread, AnyRuntime::TokioLocal, AnyRuntime::AsyncExecutor, AnyRuntime::Compio, AnyRuntime::LocalPool, AnyRuntime::Coroutine, AnyRuntime::Rayon]))]
    pub runtime: AnyRuntime,

    #[command(flatten)]
    #[serde(flatten)]
    pub threads: WorkersFlag,

    #[command(flatten)]
    #[serde(flatten)]
    pub future: FutureFlag,
}

/// What the program declares without flags.
pub const SPEC: Spec = Spec { tasks: 10_000, iters: 100, spread: true, ..Spec::NEW };

/// What it declares with these.
///
/// # Errors
/// Of flags that contradict one another.
pub fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let held = flags.future.future_bytes;
    let (cpus, task) = (launch.cpus(), Amounts::async_task());
    if let Some(kind) = flags.runtime.of_tokio() {
        return Ok(Spec {
            spread: !kind.is_one_thread(),
            per_task: task.and(Amounts::heap(held.into())),
            fixed: kind.amounts(flags.threads.workers, cpus),
            ..SPEC
        });
    }
    flags.threads.refuse("this runtime decides itself")?;
    if held > 0 {
        bail!(UsageError(format!("--future-bytes {held}: choose a runtime of tokio")));
    }
    let (per_task, fixed) = match flags.runtime {
        AnyRuntime::Coroutine => (Amounts::coroutine(STACK_BYTES), Amounts::NONE),
        AnyRuntime::Rayon => (task, Amounts::workers(cpus as u64)),
        AnyRuntime::Compio => (task, Amounts::compio()),
        _ => (task, Amounts::NONE),
    };
    Ok(Spec { spread: false, per_task, fixed, ..SPEC })
}
