//! Tasks of the LocalPool of `futures`, which has neither timers nor I/O.

use std::future;
use std::io;

use futures::executor::LocalPool;
use futures::task::LocalSpawnExt as _;
use tokio::sync::mpsc;

use super::Task;
use super::async_tasks::{Runtime, begin, begun, channel};
use crate::subject::Waiting;

/// A pool, with the ends that would wake its tasks.
#[derive(Default)]
pub struct Pool {
    pool: LocalPool,
    senders: Vec<mpsc::Sender<usize>>,
}

impl Runtime for Pool {
    fn spawn(&mut self, task: Task) -> io::Result<()> {
        let bytes = task.touch_bytes;
        let spawner = self.pool.spawner();
        let spawned = match task.waiting {
            Some(Waiting::Channel) => {
                let mut receiver = channel(&mut self.senders);
                spawner.spawn_local(async move {
                    let _block = begin(bytes);
                    receiver.recv().await;
                })
            }
            // What else there is to wait for has been refused.
            _ => spawner.spawn_local(async move {
                let block = begin(bytes);
                future::pending::<()>().await;
                drop(block);
            }),
        };
        spawned.map_err(io::Error::other)
    }

    fn run_until_begun(&mut self, count: u64) {
        while begun() < count {
            self.pool.run_until_stalled();
        }
    }
}
