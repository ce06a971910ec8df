//! Chains of async functions around a wait (`--depth`).
//!
//! Each level of a chain awaits the next, as a program does that awaits a message, which
//! awaits a frame, which awaits bytes. At every hop the chain is called anew, polled down
//! to the wait when it is called and once more when the task is woken. What the compiler
//! makes of it in a release build, it makes of such a program too: it may put several
//! levels into one function.

use std::hint::black_box;
use std::marker::PhantomData;

use tokio::sync::mpsc::Receiver;

/// A way to wait for the next number.
pub trait Wait: Send + 'static {
    /// The next number; `None` once upstream is closed.
    fn wait(upstream: &mut Receiver<usize>) -> impl Future<Output = Option<usize>> + Send;
}

/// The wait itself.
pub struct Here;

impl Wait for Here {
    async fn wait(upstream: &mut Receiver<usize>) -> Option<usize> {
        upstream.recv().await
    }
}

/// One level above `W`.
pub struct Above<W>(PhantomData<fn() -> W>);

impl<W: Wait> Wait for Above<W> {
    async fn wait(upstream: &mut Receiver<usize>) -> Option<usize> {
        let token = W::wait(upstream).await;
        // Something is left to do, as in most callers.
        black_box(token)
    }
}

/// Five levels above `W`.
type Five<W> = Above<Above<Above<Above<Above<W>>>>>;

/// Ten levels above `W`.
pub type Ten<W> = Five<Five<W>>;

/// A hundred levels above `W`.
pub type Hundred<W> = Ten<Ten<Ten<Ten<Ten<Ten<Ten<Ten<Ten<Ten<W>>>>>>>>>>;
