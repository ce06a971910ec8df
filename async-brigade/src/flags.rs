//! The program's flags.

use harness::{ChannelFlag, LoadFlags, RuntimeFlags};

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

    #[command(flatten)]
    #[serde(flatten)]
    pub runtime: RuntimeFlags,

    #[command(flatten)]
    #[serde(flatten)]
    pub load: LoadFlags,
}
