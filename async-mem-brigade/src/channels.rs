//! What carries the number from one task to the next: bounded channels of capacity 1.

use std::future::Future;
use std::hint::black_box;

use harness::Amounts;
use tokio::sync::mpsc;

/// What `--channel` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// `tokio::sync::mpsc`
    Tokio,
    /// async-channel, of smol
    #[value(name = "async-channel")]
    #[serde(rename = "async-channel")]
    Smol,
    /// flume
    Flume,
}

impl Channel {
    /// What one takes beside the task that waits at it.
    pub fn amounts(self) -> Amounts {
        match self {
            // That of an async task has it.
            Self::Tokio => Amounts::default(),
            Self::Smol | Self::Flume => Amounts::channel_in_memory(),
        }
    }
}

/// The end to receive from.
pub trait Source: Send + 'static {
    /// The next number; `None` once the other end is gone.
    fn receive(&mut self) -> impl Future<Output = Option<usize>> + Send;
}

/// The end to send to.
pub trait Sink: Send + Sync + 'static {
    /// Sends a number; `None` where the other end is gone.
    fn send(&self, token: usize) -> impl Future<Output = Option<()>> + Send;
}

impl Source for mpsc::Receiver<usize> {
    async fn receive(&mut self) -> Option<usize> {
        self.recv().await
    }
}

impl Sink for mpsc::Sender<usize> {
    async fn send(&self, token: usize) -> Option<()> {
        self.send(token).await.ok()
    }
}

impl Source for async_channel::Receiver<usize> {
    async fn receive(&mut self) -> Option<usize> {
        self.recv().await.ok()
    }
}

impl Sink for async_channel::Sender<usize> {
    async fn send(&self, token: usize) -> Option<()> {
        self.send(token).await.ok()
    }
}

impl Source for flume::Receiver<usize> {
    async fn receive(&mut self) -> Option<usize> {
        self.recv_async().await.ok()
    }
}

impl Sink for flume::Sender<usize> {
    async fn send(&self, token: usize) -> Option<()> {
        self.send_async(token).await.ok()
    }
}

/// A receiving end of tokio's channel with so many bytes that its task's future holds from
/// one wait to the next.
pub struct Holding<const BYTES: usize> {
    receiver: mpsc::Receiver<usize>,
    held: [u8; BYTES],
}

impl<const BYTES: usize> Holding<BYTES> {
    /// A channel with such a receiving end.
    pub fn open() -> (mpsc::Sender<usize>, Self) {
        let (sender, receiver) = mpsc::channel(1);
        (sender, Self { receiver, held: [0; BYTES] })
    }
}

impl<const BYTES: usize> Source for Holding<BYTES> {
    async fn receive(&mut self) -> Option<usize> {
        black_box(&self.held);
        self.receiver.recv().await
    }
}
