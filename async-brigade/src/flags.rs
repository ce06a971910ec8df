//! The program's flags.

use harness::runtime::RuntimeKind;
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
    #[arg(long, value_enum, default_value_t = AnyRuntime::Tokio)]
    pub runtime: AnyRuntime,

    #[command(flatten)]
    #[serde(flatten)]
    pub threads: WorkersFlag,

    #[command(flatten)]
    #[serde(flatten)]
    pub load: LoadFlags,
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
    /// async-executor with async-io, of smol, on one thread
    AsyncExecutor,
    /// Compio on one thread, over io_uring
    Compio,
}

impl AnyRuntime {
    /// Which runtime of tokio this is, if it is one.
    pub fn of_tokio(self) -> Option<RuntimeKind> {
        match self {
            Self::Tokio => Some(RuntimeKind::Tokio),
            Self::TokioCurrentThread => Some(RuntimeKind::TokioCurrentThread),
            Self::TokioLocal => Some(RuntimeKind::TokioLocal),
            Self::AsyncExecutor | Self::Compio => None,
        }
    }
}
