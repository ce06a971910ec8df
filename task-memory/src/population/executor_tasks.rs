//! Tasks of async-executor's local executor, over async-io.

use std::fs::File;
use std::future::Future;
use std::io::{self, Read as _};

use async_executor::LocalExecutor;
use async_io::{Async, Timer};
use harness::Channel;

use super::async_tasks::{AN_HOUR, Runtime, begin, begun};

/// An executor, with the ends of pipes that would wake its tasks.
#[derive(Default)]
pub struct Executor {
    executor: LocalExecutor<'static>,
    pipes: Vec<File>,
}

impl Runtime for Executor {
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.executor.spawn(task).detach();
    }

    fn spawn_with_timer(&mut self, bytes: usize) -> io::Result<()> {
        self.spawn(async move {
            let _block = begin(bytes);
            Timer::after(AN_HOUR).await;
        });
        Ok(())
    }

    fn spawn_with_pipe(&mut self, bytes: usize) -> io::Result<()> {
        let (reader, writer) = Channel::Pipe.open()?;
        let reader = Async::new(reader)?;
        self.pipes.push(writer);
        self.spawn(async move {
            let _block = begin(bytes);
            let _ = reader.read_with(|mut file| file.read(&mut [0])).await;
        });
        Ok(())
    }

    fn run_until_begun(&mut self, count: u64) {
        while begun() < count {
            self.executor.try_tick();
        }
    }
}
