//! The ways to run a blocking call from an async task, and return.

use std::io::{self, ErrorKind};
use std::panic::resume_unwind;
use std::sync::mpsc as blocking;
use std::thread::{self, JoinHandle, ThreadId};

use harness::{Work, failure};
use tokio::sync::mpsc;
use tokio::task::{block_in_place, spawn_blocking};

/// Values of `--via`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Via {
    /// Nowhere else: in the caller
    Inline,
    /// A thread of tokio's pool, with spawn_blocking
    SpawnBlocking,
    /// The caller's thread, with block_in_place
    BlockInPlace,
    /// A dedicated thread per caller, through a channel in each direction
    Channel,
}

/// One caller's way to run calls.
pub enum Crossing {
    Inline(Work),
    SpawnBlocking(Work),
    BlockInPlace(Work),
    Channel(Own),
}

/// A dedicated thread for the calls of one caller.
pub struct Own {
    calls: blocking::SyncSender<()>,
    returns: mpsc::Receiver<ThreadId>,
    thread: JoinHandle<io::Result<()>>,
}

/// The call, and the thread that it ran on.
fn blocking_call(work: Work) -> ThreadId {
    work.perform();
    thread::current().id()
}

impl Crossing {
    /// Sets up the way for the caller with this number, which may need a
    /// thread.
    ///
    /// # Errors
    /// The kernel's, if it refuses the thread.
    pub fn open(via: Via, number: usize, work: Work) -> anyhow::Result<Self> {
        Ok(match via {
            Via::Inline => Self::Inline(work),
            Via::SpawnBlocking => Self::SpawnBlocking(work),
            Via::BlockInPlace => Self::BlockInPlace(work),
            Via::Channel => {
                let (calls, called) = blocking::sync_channel(1);
                let (returned, returns) = mpsc::channel(1);
                let serve = move || serve(&called, &returned, work);
                let thread = thread::Builder::new().spawn(serve);
                let what = format_args!("the thread of task {number}");
                let thread = thread.map_err(failure::to_create(what))?;
                Self::Channel(Own { calls, returns, thread })
            }
        })
    }

    /// Makes a call and awaits it. Returns whether it ran on the calling thread.
    ///
    /// # Errors
    /// If the thread has ended.
    pub async fn call(&mut self) -> io::Result<bool> {
        let caller = thread::current().id();
        let called = match self {
            Self::Inline(work) => blocking_call(*work),
            Self::BlockInPlace(work) => block_in_place(|| blocking_call(*work)),
            Self::SpawnBlocking(work) => {
                let work = *work;
                spawn_blocking(move || blocking_call(work)).await?
            }
            Self::Channel(own) => {
                own.calls.send(()).map_err(io::Error::other)?;
                own.returns.recv().await.ok_or(ErrorKind::UnexpectedEof)?
            }
        };
        Ok(called == caller)
    }

    /// Ends the thread, if there is one, and panics if it did.
    ///
    /// # Errors
    /// If it failed.
    pub fn end(self) -> io::Result<()> {
        let Self::Channel(Own { calls, thread, .. }) = self else { return Ok(()) };
        drop(calls);
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// The dedicated thread's loop, until its caller has gone.
fn serve(
    called: &blocking::Receiver<()>,
    returned: &mpsc::Sender<ThreadId>,
    work: Work,
) -> io::Result<()> {
    while called.recv().is_ok() {
        returned.blocking_send(blocking_call(work)).map_err(io::Error::other)?;
    }
    Ok(())
}
