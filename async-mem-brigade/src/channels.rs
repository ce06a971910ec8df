//! The channels that carry the number from one task to the next: bounded, of capacity 1.

use std::error::Error;
use std::future::Future;

use tokio::sync::mpsc;

/// Values of `--channel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Channel {
    /// `tokio::sync::mpsc`
    Tokio,
    /// async-channel, of smol
    #[value(name = "async-channel")]
    Smol,
}

/// The receiving end. It returns the channel's future directly: a wrapper would make every hop
/// slower.
pub trait Source: Send + 'static {
    /// The next number; `None` once the other end is gone.
    fn receive(&mut self) -> impl Future<Output = Option<usize>> + Send;
}

/// The sending end.
pub trait Sink: Send + Sync + 'static {
    /// The error if the other end is gone.
    type Gone: Error + Send + Sync + 'static;

    /// Sends a number.
    fn send(&self, token: usize) -> impl Future<Output = Result<(), Self::Gone>> + Send;
}

impl Source for mpsc::Receiver<usize> {
    fn receive(&mut self) -> impl Future<Output = Option<usize>> + Send {
        self.recv()
    }
}

impl Sink for mpsc::Sender<usize> {
    type Gone = mpsc::error::SendError<usize>;

    fn send(&self, token: usize) -> impl Future<Output = Result<(), Self::Gone>> + Send {
        self.send(token)
    }
}

impl Source for async_channel::Receiver<usize> {
    async fn receive(&mut self) -> Option<usize> {
        self.recv().await.ok()
    }
}

impl Sink for async_channel::Sender<usize> {
    type Gone = async_channel::SendError<usize>;

    fn send(&self, token: usize) -> impl Future<Output = Result<(), Self::Gone>> + Send {
        self.send(token)
    }
}
