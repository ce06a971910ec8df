//! Tasks of async-executor's local executor, over async-io.

use std::fs::File;
use std::future;
use std::io::{self, Read as _};

use async_executor::LocalExecutor;
use async_io::{Async, Timer};
use harness::Channel;
use tokio::sync::mpsc;

use super::Task;
use super::async_tasks::{AN_HOUR, Runtime, begin, begun, channel};
use crate::subject::Waiting;

/// An executor, with the ends that would wake its tasks.
#[derive(Default)]
pub struct Executor {
    executor: LocalExecutor<'static>,
    senders: Vec<mpsc::Sender<usize>>,
    pipes: Vec<File>,
}

impl Runtime for Executor {
    fn spawn(&mut self, task: Task) -> io::Result<()> {
        let bytes = task.touch_bytes;
        match task.waiting {
            None => self.executor.spawn(async move {
                let block = begin(bytes);
                future::pending::<()>().await;
                drop(block);
            }),
            Some(Waiting::Channel) => {
                let mut receiver = channel(&mut self.senders);
                self.executor.spawn(async move {
                    let _block = begin(bytes);
                    receiver.recv().await;
                })
            }
            Some(Waiting::Timer) => self.executor.spawn(async move {
                let _block = begin(bytes);
                Timer::after(AN_HOUR).await;
            }),
            Some(Waiting::Pipe) => {
                let (reader, writer) = Channel::Pipe.open()?;
                let reader = Async::new(reader)?;
                self.pipes.push(writer);
                self.executor.spawn(async move {
                    let _block = begin(bytes);
                    let _ = reader.read_with(|mut file| file.read(&mut [0])).await;
                })
            }
        }
        .detach();
        Ok(())
    }

    fn run_until_begun(&mut self, count: u64) {
        while begun() < count {
            self.executor.try_tick();
        }
    }
}
