//! The program's flags, and its needs with them.

use harness::limits::Kind;
use harness::{ChannelFlag, Launch, LoadFlags, Spec};

/// Time a byte on its way through N states of a hand-written event loop.
///
/// One iteration: a byte goes from the driver through N channels and back; one
/// thread waits until a channel is readable and sends the byte into the next.
/// That makes N + 1 hops, each with the system calls that any runtime must
/// make.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    /// How the thread waits
    #[arg(long = "loop", value_enum, default_value_t = Loop::EpollEdge)]
    #[serde(rename = "loop")]
    pub event_loop: Loop,

    #[command(flatten)]
    #[serde(flatten)]
    pub carrier: ChannelFlag,

    #[command(flatten)]
    #[serde(flatten)]
    pub load: LoadFlags,
}

/// Values of `--loop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loop {
    /// epoll, which reports a channel as long as it is readable
    EpollLevel,
    /// epoll, which reports a channel once when something arrives
    EpollEdge,
    /// io_uring, with reads and writes as requests
    IoUring,
    /// io_uring, completing requests only while the thread waits (Linux 6.1)
    IoUringDefer,
    /// io_uring, with a kernel thread that submits requests
    IoUringSqpoll,
}

/// The declaration without flags.
pub const SPEC: Spec = Spec { tasks: 500, iters: 10_000, switches: Some(0.0), ..Spec::NEW };

/// The declaration with these flags.
///
/// # Errors
/// If flags contradict one another.
pub fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    let by_epoll = matches!(flags.event_loop, Loop::EpollLevel | Loop::EpollEdge);
    // The kernel's thread that submits requests.
    let by_sqpoll = flags.event_loop == Loop::IoUringSqpoll;
    Ok(Spec {
        switches: (!by_sqpoll).then_some(0.0),
        load: Some(flags.load),
        kind: if by_epoll { Kind::EpollPipe } else { Kind::IoUringPipe },
        threads: by_sqpoll.into(),
        ..SPEC
    })
}
