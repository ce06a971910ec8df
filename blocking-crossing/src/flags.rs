//! The program's flags, and its needs with them.

use harness::failure::UsageError;
use harness::limits::Kind;
use harness::{Launch, RuntimeFlags, RuntimeKind, Spec, WorkFlag};

use crate::crossings::Via;

/// Time blocking calls from async tasks: to a place where they may block, and back.
///
/// One iteration: each of N async tasks makes 32 calls, one after another, by the mechanism in
/// --via. One operation is one call.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    /// Where a call runs
    #[arg(long, value_enum, default_value_t = Via::SpawnBlocking)]
    pub via: Via,

    #[command(flatten)]
    #[serde(flatten)]
    pub runtime: RuntimeFlags,

    #[command(flatten)]
    #[serde(flatten)]
    pub work: WorkFlag,
}

/// The declaration without flags.
pub const SPEC: Spec =
    Spec { tasks: 1, iters: 1000, spread: true, runtimes: RuntimeKind::OF_TOKIO, ..Spec::NEW };

/// The declaration with these flags.
///
/// # Errors
/// If flags contradict one another.
pub fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let Flags { via, runtime, work } = *flags;
    let one_thread = runtime.runtime != RuntimeKind::Tokio;
    if via == Via::BlockInPlace && one_thread {
        let why = "--via block-in-place: needs workers; choose --runtime tokio";
        return Err(UsageError(why.to_owned()).into());
    }
    let kind = if via == Via::Inline { Kind::Tokio } else { Kind::TokioBlocking };
    Ok(Spec {
        spread: !one_thread,
        load: Some(work.into()),
        kind,
        threads: runtime.threads(launch.cpus())?,
        ..SPEC
    })
}
