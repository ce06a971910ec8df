//! Tasks of tokio's current-thread runtime, each waiting for its upstream, if
//! it has one.

use std::future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::Context as _;
use harness::failure;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use super::{Population, Task};
use crate::heap;

/// Tasks that have started. It is no part of the tasks, which would hold a
/// reference to it otherwise.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// What tasks wait for: the ends that the next task would send by.
pub enum Upstream {
    /// Nothing.
    None,
    /// Channels in memory.
    Channels(Vec<mpsc::Sender<usize>>),
    /// Pipes.
    Pipes(Vec<pipe::Sender>),
}

pub struct Tasks {
    task: Task,
    count: u64,
    upstream: Upstream,
    runtime: Runtime,
}

impl Tasks {
    pub fn waiting_for(upstream: Upstream, task: Task) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build();
        Ok(Self { task, count: 0, upstream, runtime: runtime.context("starting tokio")? })
    }

    fn spawn(&mut self) -> anyhow::Result<()> {
        let _inside = self.runtime.enter();
        let bytes = self.task.touch_bytes;
        match &mut self.upstream {
            Upstream::None => drop(tokio::spawn(async move {
                let block = begin(bytes);
                future::pending::<()>().await;
                drop(block);
            })),
            Upstream::Channels(senders) => {
                let (sender, mut receiver) = mpsc::channel::<usize>(1);
                senders.push(sender);
                drop(tokio::spawn(async move {
                    let _block = begin(bytes);
                    receiver.recv().await
                }));
            }
            Upstream::Pipes(senders) => {
                let (sender, mut receiver) = pipe::pipe().map_err(|error| {
                    failure::creating(format_args!("the pipe of task {}", self.count), error)
                })?;
                senders.push(sender);
                drop(tokio::spawn(async move {
                    let _block = begin(bytes);
                    receiver.read_u8().await
                }));
            }
        }
        self.count += 1;
        Ok(())
    }
}

impl Population for Tasks {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        let spawned = (0..count).try_for_each(|_| self.spawn());
        self.runtime.block_on(async {
            while STARTED.load(Relaxed) < self.count {
                tokio::task::yield_now().await;
            }
        });
        spawned
    }

    fn count(&self) -> u64 {
        self.count
    }
}

/// Begins the life of a task: what it touches.
fn begin(bytes: usize) -> Box<[u8]> {
    let block = heap::touched(bytes);
    STARTED.fetch_add(1, Relaxed);
    block
}
