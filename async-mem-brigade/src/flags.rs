//! The program's flags, and its needs with them.

use harness::{FutureFlag, Launch, LoadFlags, RuntimeFlags, RuntimeKind, Spec};

use crate::channels::Channel;

/// Time a number on its way through N async tasks over channels in memory.
///
/// One iteration: a number goes from the driver through N async tasks and
/// back, over bounded channels of capacity 1; each task adds one, and the
/// driver checks the sum. That makes N + 1 hops, none of which needs I/O.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    #[command(flatten)]
    #[serde(flatten)]
    pub runtime: RuntimeFlags,

    /// Channel that carries the number
    #[arg(long, value_enum, default_value_t = Channel::Tokio)]
    pub channel: Channel,

    #[command(flatten)]
    #[serde(flatten)]
    pub load: LoadFlags,

    #[command(flatten)]
    #[serde(flatten)]
    pub future: FutureFlag,
}

/// The declaration without flags.
pub const SPEC: Spec = Spec {
    tasks: 500,
    iters: 10_000,
    spread: true,
    runtimes: &[
        RuntimeKind::TokioCurrentThread,
        RuntimeKind::Tokio,
        RuntimeKind::TokioLocal,
        RuntimeKind::AsyncExecutor,
        RuntimeKind::Compio,
        RuntimeKind::LocalPool,
    ],
    ..Spec::NEW
};

/// The declaration with these flags.
///
/// # Errors
/// If flags contradict one another.
pub fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let kind = flags.runtime.runtime;
    let one_thread = kind != RuntimeKind::Tokio;
    Ok(Spec {
        switches: one_thread.then_some(0.0),
        spread: !one_thread,
        load: Some(flags.load),
        kind: kind.task(),
        threads: flags.runtime.threads(launch.cpus())?,
        heap_bytes: flags.future.heap_bytes(kind)?,
        ..SPEC
    })
}
