//! Async tasks of any runtime, and what all of them have: a block that each touches, and
//! a count of those that have begun.

use std::future::{self, Future};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use harness::failure;
use tokio::sync::mpsc;

use super::{Population, Task};
use crate::heap;
use crate::subject::Waiting;

/// How long a timer is: longer than any sweep.
pub const AN_HOUR: Duration = Duration::from_secs(3600);

/// Tasks that have started. It is no part of the tasks, which would hold a
/// reference to it otherwise.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// What runs tasks.
pub trait Runtime {
    /// Spawns a task.
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static);

    /// Spawns a task that touches so many bytes and waits for a timer, an hour from now.
    ///
    /// # Errors
    /// That this runtime has none.
    fn spawn_with_timer(&mut self, _bytes: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Spawns a task that touches so many bytes and waits for a pipe of its own.
    ///
    /// # Errors
    /// The kernel's, when it refuses a pipe; that this runtime has none.
    fn spawn_with_pipe(&mut self, _bytes: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Runs tasks until so many have begun.
    fn run_until_begun(&mut self, count: u64);
}

/// Tasks on one runtime.
pub struct Tasks<R> {
    task: Task,
    count: u64,
    runtime: R,
    /// The ends of channels that would wake them.
    senders: Vec<mpsc::Sender<usize>>,
}

impl<R: Runtime> Tasks<R> {
    pub fn new(runtime: R, task: Task) -> Self {
        Self { task, count: 0, runtime, senders: Vec::new() }
    }

    fn spawn(&mut self) -> anyhow::Result<()> {
        let bytes = self.task.touch_bytes;
        let spawned = match self.task.waiting {
            None => {
                self.runtime.spawn(for_nothing(bytes));
                Ok(())
            }
            Some(Waiting::Channel) => {
                let (sender, receiver) = mpsc::channel(1);
                self.senders.push(sender);
                self.runtime.spawn(for_message(bytes, receiver));
                Ok(())
            }
            Some(Waiting::Timer) => self.runtime.spawn_with_timer(bytes),
            Some(Waiting::Pipe) => self.runtime.spawn_with_pipe(bytes),
        };
        spawned.map_err(|error| {
            failure::creating(format_args!("the pipe of task {}", self.count), error)
        })?;
        self.count += 1;
        Ok(())
    }
}

/// A task that waits for nothing.
#[expect(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
fn for_nothing(bytes: usize) -> impl Future<Output = ()> + Send + 'static {
    async move {
        let block = begin(bytes);
        future::pending::<()>().await;
        drop(block);
    }
}

/// A task that waits for a message. The channel is the same for every runtime, so that
/// they differ by what is theirs.
#[expect(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
fn for_message(
    bytes: usize,
    mut receiver: mpsc::Receiver<usize>,
) -> impl Future<Output = ()> + Send + 'static {
    async move {
        let _block = begin(bytes);
        receiver.recv().await;
    }
}

impl<R: Runtime> Population for Tasks<R> {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        let spawned = (0..count).try_for_each(|_| self.spawn());
        self.runtime.run_until_begun(self.count);
        spawned
    }

    fn count(&self) -> u64 {
        self.count
    }
}

/// Begins the life of a task: what it touches.
pub fn begin(bytes: usize) -> Box<[u8]> {
    let block = heap::touched(bytes);
    STARTED.fetch_add(1, Relaxed);
    block
}

/// How many tasks have begun.
pub fn begun() -> u64 {
    STARTED.load(Relaxed)
}
