//! Tasks of compio, over io_uring.

use std::future;
use std::io;
use std::time::Duration;

use compio::fs::pipe;
use compio::io::AsyncRead as _;

use compio::time::sleep;
use tokio::sync::mpsc;

use super::Task;
use super::async_tasks::{AN_HOUR, Runtime, begin, begun, channel};
use crate::subject::Waiting;

/// A runtime, with the ends that would wake its tasks.
pub struct Compio {
    runtime: compio::runtime::Runtime,
    senders: Vec<mpsc::Sender<usize>>,
    pipes: Vec<pipe::Sender>,
}

impl Compio {
    /// A runtime without tasks.
    ///
    /// # Errors
    /// The kernel's, when it refuses the ring.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            runtime: compio::runtime::Runtime::new()?,
            senders: Vec::new(),
            pipes: Vec::new(),
        })
    }
}

impl Runtime for Compio {
    fn spawn(&mut self, task: Task) -> io::Result<()> {
        let bytes = task.touch_bytes;
        let Self { runtime, senders, pipes } = self;
        match task.waiting {
            None => runtime.spawn(async move {
                let block = begin(bytes);
                future::pending::<()>().await;
                drop(block);
            }),
            Some(Waiting::Channel) => {
                let mut receiver = channel(senders);
                runtime.spawn(async move {
                    let _block = begin(bytes);
                    receiver.recv().await;
                })
            }
            Some(Waiting::Timer) => runtime.spawn(async move {
                let _block = begin(bytes);
                sleep(AN_HOUR).await;
            }),
            Some(Waiting::Pipe) => {
                let (mut receiver, sender) = runtime.block_on(pipe::anonymous())?;
                pipes.push(sender);
                runtime.spawn(async move {
                    let _block = begin(bytes);
                    let _ = receiver.read([0]).await;
                })
            }
        }
        .detach();
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
