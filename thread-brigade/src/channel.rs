//! What carries the byte from one thread to the next.

use harness::Amounts;

/// What `--channel` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadChannel {
    /// A pipe
    Pipe,
    /// A pair of connected Unix stream sockets, used in one direction
    #[value(name = "socketpair")]
    SocketPair,
    /// An event counter of the kernel
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
    /// What one channel takes.
    pub fn amounts(self) -> Amounts {
        match self {
            Self::Pipe => Amounts::pipe(),
            Self::SocketPair => Amounts::socket_pair(),
            Self::EventFd => Amounts::eventfd(),
            Self::Futex | Self::Mpsc | Self::Condvar => Amounts::channel_in_memory(),
        }
    }
}
