//! Tasks of async-executor's local executor.

use std::future;

use async_executor::LocalExecutor;

use super::{Population, Task};
use crate::heap;

pub struct Tasks {
    task: Task,
    count: u64,
    executor: LocalExecutor<'static>,
}

impl Tasks {
    pub fn new(task: Task) -> Self {
        Self { task, count: 0, executor: LocalExecutor::new() }
    }
}

impl Population for Tasks {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        for _ in 0..count {
            self.executor.spawn(idle(self.task.touch_bytes)).detach();
        }
        while self.executor.try_tick() {}
        self.count += count;
        Ok(())
    }

    fn count(&self) -> u64 {
        self.count
    }
}

/// The whole life of a task.
async fn idle(touch_bytes: usize) {
    let block = heap::touched(touch_bytes);
    future::pending::<()>().await;
    drop(block);
}
