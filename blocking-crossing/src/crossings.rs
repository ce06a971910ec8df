//! The ways to a thread that may block, and back.

use std::io;
use std::sync::mpsc as blocking;
use std::thread::{self, JoinHandle, ThreadId};

use anyhow::Context as _;
use harness::{Work, failure, threads};
use tokio::sync::mpsc;
use tokio::task::{block_in_place, spawn_blocking};

/// What `--via` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// Nowhere else: the call is made where the caller is
    Inline,
    /// A thread of tokio's pool, by spawn_blocking
    SpawnBlocking,
    /// The caller's own thread, by block_in_place
    BlockInPlace,
    /// A thread of the caller's own, by a channel there and one back
    Channel,
}

impl Via {
    /// Whether a call runs on another thread than its caller.
    pub fn crosses(self) -> bool {
        matches!(self, Self::SpawnBlocking | Self::Channel)
    }
}

/// One caller's way.
pub enum Crossing {
    Inline(Work),
    SpawnBlocking(Work),
    BlockInPlace(Work),
    Channel(Own),
}

/// A thread that makes the calls of one caller.
pub struct Own {
    calls: blocking::SyncSender<()>,
    returns: mpsc::Receiver<ThreadId>,
    thread: JoinHandle<io::Result<()>>,
    number: usize,
}

/// The call itself, and the thread that it ran on.
fn blocking_call(work: Work) -> ThreadId {
    work.perform();
    thread::current().id()
}

impl Crossing {
    /// Opens the way of the caller of this number, which may need a thread.
    ///
    /// # Errors
    /// The kernel's, when it refuses the thread.
    pub fn open(via: Via, number: usize, work: Work) -> anyhow::Result<Self> {
        Ok(match via {
            Via::Inline => Self::Inline(work),
            Via::SpawnBlocking => Self::SpawnBlocking(work),
            Via::BlockInPlace => Self::BlockInPlace(work),
            Via::Channel => {
                let (calls, called) = blocking::sync_channel(1);
                let (returned, returns) = mpsc::channel(1);
                let serve = move || serve(&called, &returned, work);
                let thread = thread::Builder::new().spawn(serve).map_err(|error| {
                    failure::creating(format_args!("the thread of task {number}"), error)
                })?;
                Self::Channel(Own { calls, returns, thread, number })
            }
        })
    }

    /// Makes a call and awaits it: whether it ran on the thread from which it was made.
    ///
    /// # Errors
    /// When the thread has ended.
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
    /// That it failed or panicked.
    pub fn end(self) -> anyhow::Result<()> {
        let Self::Channel(Own { calls, thread, number, .. }) = self else { return Ok(()) };
        drop(calls);
        threads::join(number, thread)?.context("making calls")
    }
}

/// What such a thread does until nobody calls any more.
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
