//! The program's flags, and its needs with them.

use harness::{FutureFlag, Launch, RuntimeFlags, RuntimeKind, Spec};

/// Time creating, starting and awaiting N async tasks.
///
/// One iteration: spawn N tasks whose body ends at once, then await each of
/// them. One operation is one task. `start` is the time from the call to the
/// first line of the body; `create_cold` is the creation in the first
/// iteration.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    #[command(flatten)]
    #[serde(flatten)]
    pub runtime: RuntimeFlags,

    #[command(flatten)]
    #[serde(flatten)]
    pub future: FutureFlag,
}

/// The declaration without flags.
pub const SPEC: Spec = Spec {
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
    ..Spec::NEW
};

/// The declaration with these flags.
///
/// # Errors
/// If flags contradict one another.
pub fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let kind = flags.runtime.runtime;
    Ok(Spec {
        spread: kind == RuntimeKind::Tokio,
        kind: kind.task(),
        threads: flags.runtime.threads(launch.cpus())?,
        heap_bytes: flags.future.heap_bytes(kind)?,
        ..SPEC
    })
}
