//! Tasks of tokio's current-thread runtime.

use std::future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::Context as _;
use tokio::runtime::{Builder, Runtime};

use super::{Population, Task};
use crate::heap;

/// Tasks that have started. It is no part of the tasks, which would hold a
/// reference to it otherwise.
static STARTED: AtomicU64 = AtomicU64::new(0);

pub struct Tasks {
    task: Task,
    count: u64,
    runtime: Runtime,
}

impl Tasks {
    pub fn new(task: Task) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().build().context("starting tokio")?;
        Ok(Self { task, count: 0, runtime })
    }
}

impl Population for Tasks {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        self.count += count;
        self.runtime.block_on(async {
            for _ in 0..count {
                drop(tokio::spawn(idle(self.task.touch_bytes)));
            }
            while STARTED.load(Relaxed) < self.count {
                tokio::task::yield_now().await;
            }
        });
        Ok(())
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        drop(self.runtime);
        Ok(())
    }
}

/// The whole life of a task.
async fn idle(touch_bytes: usize) {
    let block = heap::touched(touch_bytes);
    STARTED.fetch_add(1, Relaxed);
    future::pending::<()>().await;
    drop(block);
}
