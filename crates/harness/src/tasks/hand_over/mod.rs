//! Channels that pass a token from one thread or process to the next.
//!
//! A channel has one direction and room for one token: its sender waits to send again until the
//! receiver has taken the last one, as in a ring. Dropping the sink closes it, so a brigade ends
//! from its first task to its last, even after a failure.

mod kernel;
mod memory;
mod monitor;

use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, Sender, SyncSender};

use anyhow::Context as _;

pub use kernel::{Channel, eventfd, pipe};
pub use memory::{Futex, Park, Spin, Waiting, Yield, futex, halves, place};
pub use monitor::{monitor, shared_monitor};

use crate::tasks::task_kind::TaskKind;

/// What the tasks are that a channel connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ThreadOrProcess {
    /// Threads of one process
    Thread,
    /// Processes, made by fork
    Process,
}

impl ThreadOrProcess {
    /// What the tasks are.
    pub fn task_kind(self) -> TaskKind {
        match self {
            Self::Thread => TaskKind::Thread,
            Self::Process => TaskKind::Process,
        }
    }
}

/// The receiving end of a channel.
pub trait Source: Send {
    /// Waits for a token and takes it; `None` if the channel is empty and its sink closed. A caught
    /// signal does not end the wait.
    ///
    /// # Errors
    /// The kernel's.
    fn receive(&mut self) -> io::Result<Option<u8>>;

    /// A function that closes the sink after its process was killed; `None` if the kernel closes
    /// it.
    fn closer(&self) -> Option<Closer> {
        None
    }
}

/// Closes the sink of a process that was killed.
pub type Closer = Box<dyn FnOnce() + Send>;

/// The sending end of a channel.
pub trait Sink: Send {
    /// Sends a token. A caught signal does not end it.
    ///
    /// # Errors
    /// The kernel's; for some channels [`io::ErrorKind::BrokenPipe`] if the source is gone.
    fn send(&mut self, token: u8) -> io::Result<()>;
}

/// Sends a token through a brigade: into its first channel, and out of its last.
///
/// # Errors
/// If a task has ended or failed.
#[inline]
pub fn send_round(token: u8, first: &mut impl Sink, last: &mut impl Source) -> anyhow::Result<()> {
    first.send(token).context("sending the token to task 0")?;
    let received = last.receive().and_then(|token| token.ok_or(ErrorKind::UnexpectedEof.into()));
    received.map(drop).context("waiting for the token to come round")
}

/// A library's channel in the order of ours: its source before its sink.
pub fn swapped<S, R>((sink, source): (S, R)) -> (R, S) {
    (source, sink)
}

impl Source for Receiver<u8> {
    #[inline]
    fn receive(&mut self) -> io::Result<Option<u8>> {
        Ok(self.recv().ok())
    }
}

impl Sink for Sender<u8> {
    #[inline]
    fn send(&mut self, token: u8) -> io::Result<()> {
        Self::send(self, token).map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

impl Sink for SyncSender<u8> {
    #[inline]
    fn send(&mut self, token: u8) -> io::Result<()> {
        Self::send(self, token).map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests;
