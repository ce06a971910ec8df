//! Tasks of the LocalPool of `futures`, which has neither timers nor I/O.

use std::future::Future;

use futures::executor::LocalPool;
use futures::task::LocalSpawnExt as _;

use super::async_tasks::{Runtime, begun};

impl Runtime for LocalPool {
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        let spawned = self.spawner().spawn_local(task);
        spawned.expect("the pool lives as long as its tasks");
    }

    fn run_until_begun(&mut self, count: u64) {
        while begun() < count {
            self.run_until_stalled();
        }
    }
}
