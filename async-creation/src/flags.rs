//! The program's flags, and what they need.

use anyhow::bail;
use harness::failure::UsageError;
use harness::limits::STACK_BYTES;
use harness::runtime::RuntimeKind;
use harness::{Amounts, FutureFlag, Launch, Spec, WorkersFlag};

/// Time creating, starting and awaiting N async tasks.
///
/// One iteration: spawn N tasks whose body ends at once, then await each of
/// them. One operation is one task. `start` is the time from the call to
/// the first line of the body; `create_cold` is the first iteration's creation.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    /// What runs the tasks
    #[arg(long, value_enum, default_value_t = AnyRuntime::Tokio)]
    pub runtime: AnyRuntime,

    #[command(flatten)]
    #[serde(flatten)]
    pub threads: WorkersFlag,

    #[command(flatten)]
    #[serde(flatten)]
    pub future: FutureFlag,
}

/// What `--runtime` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnyRuntime {
    /// Tokio with several worker threads
    Tokio,
    /// Tokio on the thread that waits for it
    TokioCurrentThread,
    /// Tokio on that thread, for tasks that never leave it
    TokioLocal,
    /// async-executor, of smol, on one thread
    AsyncExecutor,
    /// Compio on one thread
    Compio,
    /// LocalPool of futures
    LocalPool,
    /// No runtime: stackful coroutines that are resumed in turn
    Coroutine,
    /// Jobs of rayon, on as many threads as it likes
    Rayon,
}

impl AnyRuntime {
    /// Which runtime of tokio this is, if it is one.
    pub fn of_tokio(self) -> Option<RuntimeKind> {
        match self {
            Self::Tokio => Some(RuntimeKind::Tokio),
            Self::TokioCurrentThread => Some(RuntimeKind::TokioCurrentThread),
            Self::TokioLocal => Some(RuntimeKind::TokioLocal),
            _ => None,
        }
    }
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
