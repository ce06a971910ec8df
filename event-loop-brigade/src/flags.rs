//! The program's flags, and its needs with them.

use harness::{Amounts, ChannelFlag, Launch, LoadFlags, Spec, Station};

use crate::channels::Pair;
use crate::{epoll, ring};

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
    let channel = flags.carrier.channel.amounts();
    let state = Amounts::heap(size_of::<Station>() as u64 + Pair::BYTES);
    let (each, fixed) = match flags.event_loop {
        Loop::EpollLevel | Loop::EpollEdge => (channel.watched(), epoll::amounts()),
        Loop::IoUring | Loop::IoUringDefer => (channel.and(Amounts::ring_read()), Amounts::ring()),
        Loop::IoUringSqpoll => {
            (channel.and(Amounts::ring_read()), Amounts::ring().and(ring::submitter()))
        }
    };
    Ok(Spec {
        switches: (flags.event_loop != Loop::IoUringSqpoll).then_some(0.0),
        load: Some(flags.load),
        per_task: state.and(each),
        fixed: each.and(fixed),
        ..SPEC
    })
}
