//! What wakes all waiting tasks at once.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Barrier, Condvar, Mutex, PoisonError};

use event_listener::Event;
use futures::{FutureExt as _, TryFutureExt as _};
use harness::failure::to_create;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::retry_on_intr;
use rustix::thread::futex;
use tokio::sync::{Notify, broadcast, watch};

use crate::By;
use crate::task::{AnySignal, Signal, Task};

/// What wakes threads.
pub trait Blocks: Send + Sync + 'static {
    /// Wakes all threads.
    fn wake(&self);

    /// Blocks the thread of the task with this number until there were more events than so many.
    ///
    /// # Errors
    /// The kernel's.
    fn wait(&self, task: usize, seen: u64) -> io::Result<()>;
}

/// A signal whose waits block.
pub struct Blocking<B>(pub B);

impl<B: Blocks> Signal for Blocking<B> {
    fn wake(&self) {
        self.0.wake();
    }

    async fn live(&self, task: &mut Task) -> io::Result<()> {
        let number = task.number;
        let mut seen = 0;
        loop {
            task.wake_up(pin!(async { self.0.wait(number, seen) })).await?;
            seen += 1;
        }
    }
}

/// The number of events under a mutex, and a condition variable.
#[derive(Default)]
pub struct Monitor {
    events: Mutex<u64>,
    changed: Condvar,
}

impl Blocks for Monitor {
    fn wake(&self) {
        *self.events.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    fn wait(&self, _: usize, seen: u64) -> io::Result<()> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        // Returns with the mutex locked.
        drop(self.changed.wait_while(events, |events| *events == seen));
        Ok(())
    }
}

/// The number of events, as the word of a futex.
#[derive(Default)]
pub struct Word(AtomicU32);

impl Blocks for Word {
    fn wake(&self) {
        self.0.fetch_add(1, Release);
        // The kernel reads the number of threads as a signed one.
        let _ = futex::wake(&self.0, futex::Flags::PRIVATE, i32::MAX as u32);
    }

    fn wait(&self, _: usize, seen: u64) -> io::Result<()> {
        while self.0.load(Acquire) == seen as u32 {
            // Returns at once if the word has changed, and early if a signal is caught.
            let _ = futex::wait(&self.0, futex::Flags::PRIVATE, seen as u32, None);
        }
        Ok(())
    }
}

/// A barrier of all tasks and the waker, which comes last.
impl Blocks for Barrier {
    fn wake(&self) {
        Self::wait(self);
    }

    fn wait(&self, _: usize, _: u64) -> io::Result<()> {
        Self::wait(self);
        Ok(())
    }
}

/// An event counter of the kernel for each task, written one after the other.
pub struct EventFds(Vec<OwnedFd>);

impl EventFds {
    /// The counters of so many tasks.
    ///
    /// # Errors
    /// The kernel's, such as too many open files.
    pub fn new(tasks: usize) -> io::Result<Self> {
        let open = |_| Ok(eventfd(0, EventfdFlags::CLOEXEC)?);
        Ok(Self((0..tasks).map(open).collect::<io::Result<_>>()?))
    }
}

impl Blocks for EventFds {
    fn wake(&self) {
        for counter in &self.0 {
            let _ = rustix::io::write(counter, &1_u64.to_ne_bytes());
        }
    }

    fn wait(&self, task: usize, _: u64) -> io::Result<()> {
        let mut count = [0; size_of::<u64>()];
        retry_on_intr(|| rustix::io::read(&self.0[task], &mut count))?;
        Ok(())
    }
}

/// What wakes so many tasks.
///
/// # Errors
/// The kernel's, such as too many open files.
pub fn open(by: By, tasks: usize) -> anyhow::Result<Arc<dyn AnySignal>> {
    Ok(match by {
        By::Condvar => Arc::new(Blocking(Monitor::default())),
        By::Futex => Arc::new(Blocking(Word::default())),
        By::Barrier => Arc::new(Blocking(Barrier::new(tasks + 1))),
        By::Eventfd => {
            let counters = EventFds::new(tasks);
            Arc::new(Blocking(counters.map_err(to_create("the tasks' event counters"))?))
        }
        By::TokioNotify => Arc::new(Notify::new()),
        By::TokioBroadcast => Arc::new(broadcast::Sender::new(1)),
        By::TokioWatch => Arc::new(watch::Sender::new(())),
        By::EventListener => Arc::new(Event::new()),
    })
}

impl Signal for Notify {
    fn wake(&self) {
        self.notify_waiters();
    }

    async fn live(&self, task: &mut Task) -> io::Result<()> {
        loop {
            task.wake_up(pin!(self.notified().map(Ok))).await?;
        }
    }
}

impl Signal for broadcast::Sender<()> {
    fn wake(&self) {
        let _ = self.send(());
    }

    async fn live(&self, task: &mut Task) -> io::Result<()> {
        let mut receiver = self.subscribe();
        loop {
            task.wake_up(pin!(receiver.recv().map_err(io::Error::other))).await?;
        }
    }
}

impl Signal for watch::Sender<()> {
    fn wake(&self) {
        self.send_replace(());
    }

    async fn live(&self, task: &mut Task) -> io::Result<()> {
        let mut receiver = self.subscribe();
        loop {
            task.wake_up(pin!(receiver.changed().map_err(io::Error::other))).await?;
        }
    }
}

impl Signal for Event {
    fn wake(&self) {
        self.notify(usize::MAX);
    }

    async fn live(&self, task: &mut Task) -> io::Result<()> {
        loop {
            task.wake_up(pin!(self.listen().map(Ok))).await?;
        }
    }
}
