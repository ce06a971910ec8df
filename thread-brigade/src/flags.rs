//! The program's flags, its needs with them, and the channels between the
//! threads.

use std::sync::mpsc::sync_channel;

use anyhow::bail;
use harness::failure::UsageError;
use harness::hand_over::{self, Channel, Reach};
use harness::limits::Kind;
use harness::{Bench, Launch, LoadFlags, Spec, StackFlag};

use crate::{brigade, processes};

/// Time a byte on its way through N threads that wait for one another.
///
/// One iteration: a byte goes from the driver through N OS threads and back, or N processes with
/// --kind process; each blocks until its upstream channel has the byte and sends it downstream.
/// That makes N + 1 hops, each with a context switch.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    /// Whether the tasks are threads or processes
    #[arg(long, value_enum, default_value_t = Reach::Thread)]
    pub kind: Reach,

    /// Channel that carries the byte from one task to the next; pipe or socketpair between
    /// processes
    #[arg(long, value_enum, default_value_t = ThreadChannel::Pipe)]
    pub channel: ThreadChannel,

    #[command(flatten)]
    #[serde(flatten)]
    pub stack: StackFlag,

    #[command(flatten)]
    #[serde(flatten)]
    pub load: LoadFlags,
}

/// The declaration without flags.
pub const SPEC: Spec =
    Spec { tasks: 500, iters: 10_000, switches: Some(1.0), spread: true, ..Spec::NEW };

/// The declaration with these flags.
///
/// # Errors
/// If flags contradict one another.
pub fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    let kind = match (flags.kind, flags.channel) {
        (Reach::Process, _) => Kind::Process,
        (_, ThreadChannel::Pipe | ThreadChannel::SocketPair) => Kind::ThreadPipe,
        (_, ThreadChannel::EventFd) => Kind::ThreadEventfd,
        _ => Kind::ThreadFutex,
    };
    if flags.kind == Reach::Process && flags.channel.of_kernel().is_none() {
        let wrong = "--kind process: choose --channel pipe or socketpair, which connect processes";
        bail!(UsageError(wrong.to_owned()));
    }
    let stack_bytes = flags.stack.stack_size as u64;
    Ok(Spec { load: Some(flags.load), kind, stack_bytes, ..SPEC })
}

/// Measures a brigade over the channels in the flags.
///
/// # Errors
/// Those of channels and tasks.
pub fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    match (flags.channel, flags.channel.of_kernel()) {
        (_, Some(channel)) if flags.kind == Reach::Process => {
            processes::brigade(bench, || channel.open())
        }
        (_, Some(channel)) => brigade(flags, bench, || channel.open()),
        (ThreadChannel::EventFd, _) => brigade(flags, bench, hand_over::eventfd),
        (ThreadChannel::Futex, _) => brigade(flags, bench, hand_over::futex),
        (ThreadChannel::Mpsc, _) => brigade(flags, bench, || {
            let (sender, receiver) = sync_channel(1);
            Ok((receiver, sender))
        }),
        (_, _) => brigade(flags, bench, || Ok(hand_over::monitor())),
    }
}

/// A value of `--channel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadChannel {
    /// A pipe
    Pipe,
    /// A pair of connected Unix stream sockets, used in one direction
    #[value(name = "socketpair")]
    SocketPair,
    /// A kernel event counter
    #[value(name = "eventfd")]
    EventFd,
    /// A word in memory, and the system call futex
    Futex,
    /// std's bounded channel, of capacity 1
    Mpsc,
    /// A slot in memory, std's mutex and condition variable
    Condvar,
}

impl ThreadChannel {
    /// The corresponding pair of files, if it is one.
    fn of_kernel(self) -> Option<Channel> {
        match self {
            Self::Pipe => Some(Channel::Pipe),
            Self::SocketPair => Some(Channel::SocketPair),
            _ => None,
        }
    }
}
