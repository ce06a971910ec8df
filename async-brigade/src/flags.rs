//! The program's flags.

use harness::runtime::{AnyRuntime, some_of};
use harness::{ChannelFlag, LoadFlags, WorkersFlag};

/// Time a byte on its way through N async tasks that wait for I/O.
///
/// One iteration: a byte goes from the driver through N async tasks and back;
/// each task waits until its upstream channel is readable and writes the byte
/// downstream. That makes N + 1 hops.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    #[command(flatten)]
    #[serde(flatten)]
    pub carrier: ChannelFlag,

    /// What runs the tasks
    #[arg(long, default_value = "tokio", value_parser = some_of([AnyRuntime::Tokio, AnyRuntime::TokioCurrentThread, AnyRuntime::TokioLocal, AnyRuntime::AsyncExecutor, AnyRuntime::Compio]))]
    pub runtime: AnyRuntime,

    #[command(flatten)]
    #[serde(flatten)]
    pub threads: WorkersFlag,

    #[command(flatten)]
    #[serde(flatten)]
    pub load: LoadFlags,
}
