//! Tasks of tokio's runtimes on one thread.

use std::future::Future;
use std::io;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::runtime::{Builder, EnterGuard, LocalOptions, LocalRuntime};
use tokio::time::sleep;

use super::Task;
use super::async_tasks::{AN_HOUR, Runtime, begin, begun};
use crate::subject::Waiting;

/// A runtime, with the ends of pipes that would wake its tasks.
pub struct Tokio<R> {
    runtime: R,
    pipes: Vec<pipe::Sender>,
}

/// Which of tokio's runtimes it is.
pub trait OfTokio {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);
    fn enter(&self) -> EnterGuard<'_>;
    fn drive(&self, driver: impl Future<Output = ()>);
}

impl OfTokio for tokio::runtime::Runtime {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn(task);
    }

    fn enter(&self) -> EnterGuard<'_> {
        self.enter()
    }

    fn drive(&self, driver: impl Future<Output = ()>) {
        self.block_on(driver);
    }
}

impl OfTokio for LocalRuntime {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_local(task);
    }

    fn enter(&self) -> EnterGuard<'_> {
        self.enter()
    }

    fn drive(&self, driver: impl Future<Output = ()>) {
        self.block_on(driver);
    }
}

/// The runtime on the current thread. Its clock is switched on where tasks wait for it.
pub fn current_thread(task: Task) -> io::Result<Tokio<tokio::runtime::Runtime>> {
    Ok(Tokio::on(builder(task).build()?))
}

/// The runtime of tasks that never leave its thread.
pub fn local(task: Task) -> io::Result<Tokio<LocalRuntime>> {
    Ok(Tokio::on(builder(task).build_local(LocalOptions::default())?))
}

fn builder(task: Task) -> Builder {
    let mut builder = Builder::new_current_thread();
    builder.enable_io();
    if task.waiting == Some(Waiting::Timer) {
        builder.enable_time();
    }
    builder
}

impl<R> Tokio<R> {
    fn on(runtime: R) -> Self {
        Self { runtime, pipes: Vec::new() }
    }
}

impl<R: OfTokio> Runtime for Tokio<R> {
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    fn spawn_with_timer(&mut self, bytes: usize) -> io::Result<()> {
        self.runtime.spawn(async move {
            let _block = begin(bytes);
            sleep(AN_HOUR).await;
        });
        Ok(())
    }

    fn spawn_with_pipe(&mut self, bytes: usize) -> io::Result<()> {
        let _inside = self.runtime.enter();
        let (sender, mut receiver) = pipe::pipe()?;
        self.pipes.push(sender);
        self.runtime.spawn(async move {
            let _block = begin(bytes);
            let _ = receiver.read_u8().await;
        });
        Ok(())
    }

    fn run_until_begun(&mut self, count: u64) {
        self.runtime.drive(async {
            while begun() < count {
                tokio::task::yield_now().await;
            }
        });
    }
}
