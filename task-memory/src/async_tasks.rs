//! Async tasks on five runtimes. Each touches a block, then waits: for nothing, for a message, for
//! a timer an hour from now, or for a private pipe.

use std::fs::File;
use std::future::{self, Future};
use std::io::{self, Read as _};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use async_executor::LocalExecutor;
use async_io::{Async, Timer};
use compio::io::AsyncRead as _;
use futures::executor::LocalPool;
use futures::task::LocalSpawnExt as _;
use harness::{failure, hand_over};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc;

use crate::Population;
use crate::flags::{Flags, Waiting};

/// Longer than any sweep.
const AN_HOUR: Duration = Duration::from_secs(3600);

/// Tasks that have begun. It is static, so that the tasks contain no reference
/// to it.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// A heap block with every byte written.
fn begin(bytes: usize) -> Box<[u8]> {
    let block = vec![1; bytes].into();
    BEGUN.fetch_add(1, Relaxed);
    block
}

/// A task that touches this many bytes and then waits. A block instead of a function, whose future
/// would contain its arguments twice.
macro_rules! task {
    ($bytes:ident, $wait:expr) => {
        async move {
            let _block = begin($bytes);
            let _ = $wait.await;
        }
    };
}

/// A runtime. Some have neither timers nor pipes.
pub trait Spawner {
    /// The writing end of a task's pipe.
    type Pipe;

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static);

    /// Spawns a task that touches this many bytes and waits for a timer.
    fn spawn_with_timer(&mut self, _: usize) {
        unreachable!("the flags refuse a timer for it")
    }

    /// Spawns a task that touches this many bytes and waits for a pipe.
    fn spawn_with_pipe(&mut self, _: usize) -> io::Result<Self::Pipe> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Runs tasks until this many have begun.
    fn run_until_begun(&mut self, count: u64);
}

/// Tasks on one runtime.
pub struct Tasks<R: Spawner> {
    runtime: R,
    touch_bytes: usize,
    waiting: Option<Waiting>,
    /// The other ends of the tasks' channels and pipes.
    senders: Vec<mpsc::Sender<usize>>,
    pipes: Vec<R::Pipe>,
}

impl<R: Spawner> Tasks<R> {
    pub fn new(runtime: R, &Flags { touch, waiting, .. }: &Flags) -> Self {
        Self { runtime, touch_bytes: touch, waiting, senders: Vec::new(), pipes: Vec::new() }
    }
}

impl<R: Spawner> Population for Tasks<R> {
    fn create(&mut self, task: u64) -> anyhow::Result<()> {
        let bytes = self.touch_bytes;
        match self.waiting {
            None => self.runtime.spawn(task!(bytes, future::pending::<()>())),
            // The channel is the same for every runtime, so that only the runtimes differ.
            Some(Waiting::Channel) => {
                let (sender, mut receiver) = mpsc::channel::<usize>(1);
                self.senders.push(sender);
                self.runtime.spawn(task!(bytes, receiver.recv()));
            }
            Some(Waiting::Timer) => self.runtime.spawn_with_timer(bytes),
            Some(Waiting::Pipe) => {
                let what = format_args!("the pipe of task {task}");
                let pipe = self.runtime.spawn_with_pipe(bytes);
                self.pipes.push(pipe.map_err(failure::to_create(what))?);
            }
        }
        Ok(())
    }

    fn wait(&mut self, tasks: u64) -> anyhow::Result<()> {
        self.runtime.run_until_begun(tasks);
        Ok(())
    }
}

/// Tokio on one thread. A task that may leave it costs the same here as on a `Runtime`.
pub struct Tokio {
    runtime: LocalRuntime,
    /// Whether tasks never leave it.
    is_local: bool,
}

impl Tokio {
    /// A runtime with the driver that its tasks wait for.
    pub fn new(is_local: bool, waiting: Option<Waiting>) -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        match waiting {
            Some(Waiting::Timer) => builder.enable_time(),
            Some(Waiting::Pipe) => builder.enable_io(),
            _ => &mut builder,
        };
        Ok(Self { runtime: builder.build_local(LocalOptions::default())?, is_local })
    }
}

impl Spawner for Tokio {
    type Pipe = pipe::Sender;

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        let Self { runtime, is_local } = self;
        drop(if *is_local { runtime.spawn_local(task) } else { runtime.handle().spawn(task) });
    }

    fn spawn_with_timer(&mut self, bytes: usize) {
        self.spawn(task!(bytes, tokio::time::sleep(AN_HOUR)));
    }

    fn spawn_with_pipe(&mut self, bytes: usize) -> io::Result<Self::Pipe> {
        let (sender, mut receiver) = {
            let _inside = self.runtime.enter();
            pipe::pipe()?
        };
        self.spawn(task!(bytes, receiver.read_u8()));
        Ok(sender)
    }

    fn run_until_begun(&mut self, count: u64) {
        self.runtime.block_on(yield_until_begun(count));
    }
}

async fn yield_until_begun(count: u64) {
    while BEGUN.load(Relaxed) < count {
        tokio::task::yield_now().await;
    }
}

impl Spawner for compio::runtime::Runtime {
    type Pipe = compio::fs::pipe::Sender;

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        Self::spawn(self, task).detach();
    }

    fn spawn_with_timer(&mut self, bytes: usize) {
        Self::spawn(self, task!(bytes, compio::time::sleep(AN_HOUR))).detach();
    }

    fn spawn_with_pipe(&mut self, bytes: usize) -> io::Result<Self::Pipe> {
        let (mut receiver, sender) = self.block_on(compio::fs::pipe::anonymous())?;
        Self::spawn(self, task!(bytes, receiver.read([0]))).detach();
        Ok(sender)
    }

    /// Tasks submit their waiting when the thread has nothing else to run: at the last poll here.
    fn run_until_begun(&mut self, count: u64) {
        self.block_on(yield_until_begun(count));
        self.poll_with(Some(Duration::ZERO));
    }
}

/// async-executor on async-io, from smol.
impl Spawner for LocalExecutor<'static> {
    type Pipe = File;

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        Self::spawn(self, task).detach();
    }

    fn spawn_with_timer(&mut self, bytes: usize) {
        Self::spawn(self, task!(bytes, Timer::after(AN_HOUR))).detach();
    }

    fn spawn_with_pipe(&mut self, bytes: usize) -> io::Result<File> {
        let (reader, writer) = hand_over::pipe()?;
        let reader = Async::new(reader)?;
        Self::spawn(self, task!(bytes, reader.read_with(|mut file| file.read(&mut [0])))).detach();
        Ok(writer)
    }

    fn run_until_begun(&mut self, count: u64) {
        while BEGUN.load(Relaxed) < count {
            self.try_tick();
        }
    }
}

/// The pool of `futures`, without timers and I/O.
impl Spawner for LocalPool {
    type Pipe = ();

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        let spawned = self.spawner().spawn_local(task);
        spawned.expect("the pool lives as long as its tasks");
    }

    fn run_until_begun(&mut self, count: u64) {
        self.run_until(yield_until_begun(count));
    }
}
