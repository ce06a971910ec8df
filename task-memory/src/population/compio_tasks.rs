//! Tasks of compio, over io_uring.

use std::future::Future;
use std::io;
use std::time::Duration;

use compio::fs::pipe;
use compio::io::AsyncRead as _;

use compio::time::sleep;

use super::async_tasks::{AN_HOUR, Runtime, begin, begun};

/// A runtime, with the ends of pipes that would wake its tasks.
pub struct Compio {
    runtime: compio::runtime::Runtime,
    pipes: Vec<pipe::Sender>,
}

impl Compio {
    /// A runtime without tasks.
    ///
    /// # Errors
    /// The kernel's, when it refuses the ring.
    pub fn new() -> io::Result<Self> {
        Ok(Self { runtime: compio::runtime::Runtime::new()?, pipes: Vec::new() })
    }
}

impl Runtime for Compio {
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task).detach();
    }

    fn spawn_with_timer(&mut self, bytes: usize) -> io::Result<()> {
        let task = async move {
            let _block = begin(bytes);
            sleep(AN_HOUR).await;
        };
        self.runtime.spawn(task).detach();
        Ok(())
    }

    fn spawn_with_pipe(&mut self, bytes: usize) -> io::Result<()> {
        let (mut receiver, sender) = self.runtime.block_on(pipe::anonymous())?;
        self.pipes.push(sender);
        let task = async move {
            let _block = begin(bytes);
            let _ = receiver.read([0]).await;
        };
        self.runtime.spawn(task).detach();
        Ok(())
    }

    /// What tasks wait for is submitted when the thread has nothing else to run: at the
    /// last poll here.
    fn run_until_begun(&mut self, count: u64) {
        self.runtime.block_on(async {
            while begun() < count {
                tokio::task::yield_now().await;
            }
        });
        self.runtime.poll_with(Some(Duration::ZERO));
    }
}
