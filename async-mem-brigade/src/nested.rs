//! Receiving ends of tokio's channel that put something around the wait: a chain of async
//! functions (`--depth`), or bytes that the future holds from one wait to the next
//! (`--future-bytes`).
//!
//! Each level of a chain awaits the next, as a program does that awaits a message, which
//! awaits a frame, which awaits bytes. At every hop the chain is called anew, polled down
//! to the wait when it is called and once more when the task is woken. What the compiler
//! makes of it in a release build, it makes of such a program too: it may put several
//! levels into one function.

use std::hint::black_box;

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::channels::Source;

/// What is put around a receiving end.
pub trait Around: Source {
    /// The same around this one.
    fn around(receiver: Receiver<usize>) -> Self;
}

impl Around for Receiver<usize> {
    fn around(receiver: Receiver<usize>) -> Self {
        receiver
    }
}

/// One level above the wait of `R`.
pub struct Above<R>(R);

impl<R: Around> Around for Above<R> {
    fn around(receiver: Receiver<usize>) -> Self {
        Self(R::around(receiver))
    }
}

impl<R: Source> Source for Above<R> {
    async fn receive(&mut self) -> Option<usize> {
        let token = self.0.receive().await;
        // Something is left to do, as in most callers.
        black_box(token)
    }
}

/// Five levels above the wait of `R`.
type Five<R> = Above<Above<Above<Above<Above<R>>>>>;

/// Ten levels above the wait of `R`.
pub type Ten<R> = Five<Five<R>>;

/// A hundred levels above the wait of `R`.
pub type Hundred<R> = Ten<Ten<Ten<Ten<Ten<Ten<Ten<Ten<Ten<Ten<R>>>>>>>>>>;

/// A receiving end with so many bytes beside it, which its task's future holds.
pub struct Beside<const BYTES: usize> {
    receiver: Receiver<usize>,
    held: [u8; BYTES],
}

impl<const BYTES: usize> Around for Beside<BYTES> {
    fn around(receiver: Receiver<usize>) -> Self {
        Self { receiver, held: [0; BYTES] }
    }
}

impl<const BYTES: usize> Source for Beside<BYTES> {
    async fn receive(&mut self) -> Option<usize> {
        black_box(&self.held);
        self.receiver.recv().await
    }
}

/// A channel of tokio's with this around its receiving end.
pub fn open<R: Around>() -> (Sender<usize>, R) {
    let (sender, receiver) = channel(1);
    (sender, R::around(receiver))
}
