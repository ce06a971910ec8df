//! The population of each kind of task.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::sync_channel;

use anyhow::Context as _;
use async_executor::LocalExecutor;
use compio::runtime::Runtime as Compio;
use corosensei::Coroutine;
use corosensei::stack::DefaultStack;
use futures::executor::LocalPool;
use harness::failure;
use harness::hand_over::{Sink, Source, eventfd, pipe, swapped};
use harness::limits::RING_ENTRIES;
use io_uring::IoUring;

use crate::Population;
use crate::async_tasks::{Tasks, Tokio};
use crate::flags::{Flags, Subject};
use crate::processes::Processes;
use crate::threads::{Threads, touch_stack};

/// An empty population.
///
/// # Errors
/// If a resource shared by all tasks is not available.
pub fn open(flags: &Flags) -> anyhow::Result<Box<dyn Population>> {
    let tokio = |local| Tokio::new(local, flags.waiting).context(STARTING);
    Ok(match flags.kind {
        Subject::Thread => Box::new(Threads::new(flags, || Ok(()))),
        Subject::ThreadFutex => linked(flags, || Ok(swapped(sync_channel(1)))),
        Subject::ThreadEventfd => linked(flags, eventfd),
        Subject::ThreadPipe => linked(flags, pipe),
        Subject::ThreadSocketpair => linked(flags, UnixStream::pair),
        Subject::Tokio => Box::new(Tasks::new(tokio(false)?, flags)),
        Subject::TokioLocal => Box::new(Tasks::new(tokio(true)?, flags)),
        Subject::AsyncExecutor => Box::new(Tasks::new(LocalExecutor::new(), flags)),
        Subject::Compio => Box::new(Tasks::new(Compio::new().context(STARTING)?, flags)),
        Subject::LocalPool => Box::new(Tasks::new(LocalPool::new(), flags)),
        Subject::Coroutine => {
            let stack_bytes = flags.stack_bytes();
            let touch_bytes = flags.touch;
            kept("stack", move || coroutine(stack_bytes, touch_bytes))
        }
        Subject::Process => Box::new(Processes::new(flags.touch)?),
        Subject::IoUring => kept("ring", || IoUring::new(RING_ENTRIES)),
    })
}

const STARTING: &str = "starting the runtime";

/// A coroutine that has touched its stack. Dropping it unwinds it.
fn coroutine(stack_bytes: usize, touch_bytes: usize) -> io::Result<Coroutine<(), (), ()>> {
    let mapped = DefaultStack::new(stack_bytes)?;
    let mut coroutine = Coroutine::with_stack(mapped, move |yielder, ()| {
        touch_stack(touch_bytes);
        yielder.suspend(());
    });
    coroutine.resume(());
    Ok(coroutine)
}

/// Threads with channels that `open` opens, each used once: a pipe that has carried a byte keeps a
/// page.
fn linked<R: Source + 'static, S: Sink + 'static>(
    flags: &Flags,
    open: impl Fn() -> io::Result<(R, S)> + 'static,
) -> Box<dyn Population> {
    let used = move || {
        let (mut source, mut sink) = open()?;
        sink.send(b'.')?;
        source.receive()?;
        Ok((source, sink))
    };
    Box::new(Threads::new(flags, used))
}

/// Identical tasks, or their resources, that `make` makes and that are kept until the end; `what`
/// is the name of one of them in an error.
fn kept<T: 'static>(
    what: &'static str,
    make: impl Fn() -> io::Result<T> + 'static,
) -> Box<dyn Population> {
    let mut kept = Vec::new();
    Box::new(move |task: u64| {
        let what = format_args!("the {what} of task {task}");
        kept.push(make().map_err(failure::to_create(what))?);
        Ok(())
    })
}

impl<F: FnMut(u64) -> anyhow::Result<()>> Population for F {
    fn create(&mut self, task: u64) -> anyhow::Result<()> {
        self(task)
    }
}
