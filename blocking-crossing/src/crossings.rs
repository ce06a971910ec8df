//! The ways to run a blocking call from an async task, and return.

use std::io;
use std::sync::mpsc as blocking;
use std::thread::{self, JoinHandle, ThreadId};

use anyhow::Context as _;
use harness::{Work, failure, threads};
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

impl Via {
    /// Whether a call runs on a different thread than its caller.
    pub fn crosses(self) -> bool {
        matches!(self, Self::SpawnBlocking | Self::Channel)
    }
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
    number: usize,
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
                Self::Channel(Own { calls, returns, thread, number })
            }
        })
    }

    /// Makes a call and awaits it. Returns whether it ran on the calling thread.
    ///
    /// # Errors
    /// If the thread has ended.
    pub async fn call(&mut self) -> anyhow::Result<bool> {
        let caller = thread::current().id();
        let called = match self {
            Self::Inline(work) => blocking_call(*work),
            Self::BlockInPlace(work) => block_in_place(|| blocking_call(*work)),
            Self::SpawnBlocking(work) => {
                let work = *work;
                spawn_blocking(move || blocking_call(work)).await.context("calling")?
            }
            Self::Channel(own) => {
                own.calls.send(()).context("calling")?;
                own.returns.recv().await.context("waiting for a call to return")?
            }
        };
        Ok(called == caller)
    }

    /// Ends the thread, if there is one.
    ///
    /// # Errors
    /// If it failed or panicked.
    pub fn end(self) -> anyhow::Result<()> {
        let Self::Channel(Own { calls, thread, number, .. }) = self else { return Ok(()) };
        drop(calls);
        threads::join(number, thread)?.context("making calls")
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
