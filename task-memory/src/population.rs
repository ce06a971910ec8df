//! Populations: growing sets of idle tasks of one kind.

use std::io;
use std::sync::mpsc::sync_channel;

use anyhow::Context as _;
use async_executor::LocalExecutor;
use compio::runtime::Runtime as Compio;
use corosensei::Coroutine;
use corosensei::stack::DefaultStack;
use futures::executor::LocalPool;
use harness::hand_over::{Sink, Source, eventfd};
use harness::limits::RING_ENTRIES;
use harness::{Channel, failure};
use io_uring::IoUring;

use crate::async_tasks::{Tasks, Tokio};
use crate::kinds::{Population, Subject, Task};
use crate::processes::Processes;
use crate::threads::{Threads, touch_stack};

/// An empty population. One that grows until a task is refused survives the
/// refusal.
///
/// # Errors
/// If a resource shared by all tasks is not available.
pub fn open(
    subject: Subject,
    task: Task,
    until_refused: bool,
) -> anyhow::Result<Box<dyn Population>> {
    let threads = || Box::new(Threads::new(task, until_refused));
    let tokio = |local| anyhow::Ok(Tasks::new(Tokio::new(local, task).context(STARTING)?, task));
    Ok(match subject {
        Subject::Thread => threads(),
        Subject::ThreadFutex => linked(threads(), || {
            let (sender, receiver) = sync_channel(1);
            Ok((receiver, sender))
        }),
        Subject::ThreadEventfd => linked(threads(), eventfd),
        Subject::ThreadPipe => linked(threads(), || Channel::Pipe.open()),
        Subject::ThreadSocketpair => linked(threads(), || Channel::SocketPair.open()),
        Subject::Tokio => Box::new(tokio(false)?),
        Subject::TokioLocal => Box::new(tokio(true)?),
        Subject::AsyncExecutor => Box::new(Tasks::new(LocalExecutor::new(), task)),
        Subject::Compio => Box::new(Tasks::new(Compio::new().context(STARTING)?, task)),
        Subject::LocalPool => Box::new(Tasks::new(LocalPool::new(), task)),
        Subject::Coroutine => Box::new(Each::of("stack", move || coroutine(task))),
        Subject::Process => Box::new(Processes::new(task)?),
        Subject::IoUring => Box::new(Each::of("ring", || IoUring::new(RING_ENTRIES))),
    })
}

const STARTING: &str = "starting the runtime";

/// A coroutine that has touched its stack. Dropping it unwinds it.
fn coroutine(task: Task) -> io::Result<Coroutine<(), (), ()>> {
    let mapped = DefaultStack::new(task.stack_bytes)?;
    let mut coroutine = Coroutine::with_stack(mapped, move |yielder, ()| {
        touch_stack(task.touch_bytes);
        yielder.suspend(());
    });
    coroutine.resume(());
    Ok(coroutine)
}

/// Identical tasks, or their resources, kept until the end.
struct Each<T> {
    /// The name of one of them in an error.
    what: &'static str,
    make: Box<dyn Fn() -> io::Result<T>>,
    held: Vec<T>,
}

impl<T> Each<T> {
    fn of(what: &'static str, make: impl Fn() -> io::Result<T> + 'static) -> Self {
        Self { what, make: Box::new(make), held: Vec::new() }
    }
}

impl<T> Population for Each<T> {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        (0..count).try_for_each(|_| {
            let what = format_args!("the {} of task {}", self.what, self.held.len());
            let task = (self.make)().map_err(failure::to_create(what))?;
            self.held.push(task);
            Ok(())
        })
    }

    fn count(&self) -> u64 {
        self.held.len() as u64
    }
}

/// A channel and a thread for each task.
struct Linked<C>(Each<C>, Box<Threads>);

/// Threads with channels that `open` opens, each used once: a pipe that has carried a byte keeps a
/// page.
fn linked<R: Source + 'static, S: Sink + 'static>(
    threads: Box<Threads>,
    open: impl Fn() -> io::Result<(R, S)> + 'static,
) -> Box<dyn Population> {
    let used = move || {
        let (mut source, mut sink) = open()?;
        sink.send(b'.')?;
        source.receive()?;
        Ok((source, sink))
    };
    Box::new(Linked(Each::of("channel", used), threads))
}

impl<C> Population for Linked<C> {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        self.0.add(count)?;
        self.1.add(count)
    }

    /// A channel whose thread was refused does not count.
    fn count(&self) -> u64 {
        self.1.count()
    }
}
