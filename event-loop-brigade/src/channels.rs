//! The channels of a brigade, all on one thread, and how it waits for them.

use std::fs::File;
use std::io;

/// Values of `--loop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
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

/// Channels 0 to N: task `i` reads from channel `i` and writes into channel `i + 1`; the
/// driver writes into the first and reads from the last.
pub trait Channels {
    /// Sends a token into a channel, now or when [`Self::next`] waits.
    ///
    /// # Errors
    /// Those of the write.
    fn send(&mut self, channel: usize, token: u8) -> io::Result<()>;

    /// Waits until a channel is readable, and reads it. Returns its number and the token, `None` if
    /// the channel was closed, or the error of the read.
    ///
    /// # Errors
    /// If the kernel does not let the thread wait.
    fn next(&mut self) -> io::Result<(usize, io::Result<Option<u8>>)>;

    /// The number of system calls so far.
    fn system_calls(&self) -> u64;
}

/// The reading and the writing end of a channel.
pub type Pair = (File, File);
