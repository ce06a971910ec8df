//! Channels that carry a token from one thread or process to the next.
//!
//! A channel goes one way and has room for one token: its sender does not send again before
//! the receiver has taken the last one, which is how a token goes round. Its sink closes when
//! it is dropped, so a brigade ends from its first task to its last, also if one has failed.

mod kernel;
mod memory;
mod monitor;

use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, Sender, SyncSender};

use anyhow::Context as _;

pub use kernel::{Channel, EventFdSink, EventFdSource, Message, eventfd};
pub use memory::{
    Futex, Park, Spin, Waiting, WordChannel, WordSink, WordSource, Yield, futex, halves,
};
pub use monitor::{MonitorSink, MonitorSource, SharedSink, SharedSource, monitor, shared_monitor};

/// Which tasks a channel links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Two threads of one process
    Thread,
    /// A process and its fork
    Process,
}

/// The end of a channel that tokens come out of.
pub trait Source: Send {
    /// Waits for a token and takes it; `None` when there is none left and the sink is closed.
    /// A signal that is caught does not end the wait.
    ///
    /// # Errors
    /// The kernel's.
    fn receive(&mut self) -> io::Result<Option<u8>>;

    /// What closes the sink from here after its process was killed; `None` if the kernel does.
    fn closer(&self) -> Option<Closer> {
        None
    }
}

/// Closes the sink of a process that was killed.
pub type Closer = Box<dyn FnOnce() + Send>;

/// The end of a channel that tokens go into.
pub trait Sink: Send {
    /// Puts a token in. A signal that is caught does not end it.
    ///
    /// # Errors
    /// The kernel's; of some channels [`io::ErrorKind::BrokenPipe`] when the source has gone.
    fn send(&mut self, token: u8) -> io::Result<()>;
}

/// Sends a token round a brigade: into its first channel, and out of its last one.
///
/// # Errors
/// That a task has ended or failed.
#[inline]
pub fn send_round(token: u8, first: &mut impl Sink, last: &mut impl Source) -> anyhow::Result<()> {
    first.send(token).context("sending the token to task 0")?;
    let received = last.receive().and_then(|token| token.ok_or(ErrorKind::UnexpectedEof.into()));
    received.map(drop).context("waiting for the token to come round")
}

impl Source for Receiver<u8> {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        Ok(self.recv().ok())
    }
}

impl Sink for Sender<u8> {
    fn send(&mut self, token: u8) -> io::Result<()> {
        Self::send(self, token).map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

impl Sink for SyncSender<u8> {
    fn send(&mut self, token: u8) -> io::Result<()> {
        Self::send(self, token).map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests;
