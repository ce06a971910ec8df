//! Tasks of tokio's current-thread runtime, each waiting for its upstream.

use anyhow::Context as _;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use super::{Population, Refused};

/// Tasks, and the ends of their channels that the next task would hold.
pub struct Tasks {
    upstream: Upstream,
    runtime: Runtime,
}

enum Upstream {
    Channels(Vec<mpsc::Sender<usize>>),
    Pipes(Vec<pipe::Sender>),
}

impl Tasks {
    pub fn over_channels() -> anyhow::Result<Self> {
        Self::over(Upstream::Channels(Vec::new()))
    }

    pub fn over_pipes() -> anyhow::Result<Self> {
        Self::over(Upstream::Pipes(Vec::new()))
    }

    fn over(upstream: Upstream) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build();
        Ok(Self { upstream, runtime: runtime.context("starting tokio")? })
    }
}

impl Population for Tasks {
    fn add(&mut self) -> Result<(), Refused> {
        let _inside = self.runtime.enter();
        match &mut self.upstream {
            Upstream::Channels(senders) => {
                let (sender, mut receiver) = mpsc::channel::<usize>(1);
                senders.push(sender);
                self.runtime.spawn(async move { receiver.recv().await.is_some() });
            }
            Upstream::Pipes(senders) => {
                let (sender, mut receiver) = pipe::pipe().map_err(Refused::by("opening a pipe"))?;
                senders.push(sender);
                self.runtime.spawn(async move { receiver.read_u8().await.is_ok() });
            }
        }
        // Lets the new task run until it waits.
        self.runtime.block_on(tokio::task::yield_now());
        Ok(())
    }
}
