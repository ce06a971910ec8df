//! Async tasks of any runtime, and what all of them have: a block that each touches, and
//! a count of those that have begun.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use harness::failure;
use tokio::sync::mpsc;

use super::{Population, Task};
use crate::heap;

/// How long a timer is: longer than any sweep.
pub const AN_HOUR: Duration = Duration::from_secs(3600);

/// Tasks that have started. It is no part of the tasks, which would hold a
/// reference to it otherwise.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// What runs tasks. A wait is written out in the body of its task, since a future that is
/// moved into another is held twice.
pub trait Runtime {
    /// Spawns a task that waits for what `task` says.
    ///
    /// # Errors
    /// The kernel's, when it refuses a pipe.
    fn spawn(&mut self, task: Task) -> std::io::Result<()>;

    /// Runs tasks until so many have begun.
    fn run_until_begun(&mut self, count: u64);
}

/// Tasks on one runtime.
pub struct Tasks<R> {
    task: Task,
    count: u64,
    runtime: R,
}

impl<R: Runtime> Tasks<R> {
    pub fn new(runtime: R, task: Task) -> Self {
        Self { task, count: 0, runtime }
    }

    fn spawn(&mut self) -> anyhow::Result<()> {
        let spawned = self.runtime.spawn(self.task);
        spawned.map_err(|error| {
            failure::creating(format_args!("the pipe of task {}", self.count), error)
        })?;
        self.count += 1;
        Ok(())
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

/// A channel that is never sent to; its sender is kept in `senders`. The same for every
/// runtime, so that they differ by what is theirs.
pub fn channel(senders: &mut Vec<mpsc::Sender<usize>>) -> mpsc::Receiver<usize> {
    let (sender, receiver) = mpsc::channel(1);
    senders.push(sender);
    receiver
}
