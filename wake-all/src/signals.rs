//! What wakes all waiting tasks at once.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Barrier, Condvar, Mutex, PoisonError};

use event_listener::Event;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::retry_on_intr;
use rustix::thread::futex;
use tokio::sync::{Notify, broadcast, watch};

/// What wakes all tasks.
pub trait Signal: Sized + Send + Sync + 'static {
    /// What a task keeps from one event to the next.
    type End: Send + 'static;

    /// The signal for so many tasks.
    ///
    /// # Errors
    /// The kernel's, such as too many open files.
    fn new(tasks: usize) -> io::Result<Self>;

    /// The end of the task with this number.
    fn end(&self, task: usize) -> Self::End;

    /// Wakes all tasks. If that fails for one, the task stays asleep, which the program detects.
    fn wake(&self);

    /// Waits for the next event. The wait of a thread blocks it.
    ///
    /// # Errors
    /// The kernel's or the channel's.
    fn wait(&self, end: &mut Self::End) -> impl Future<Output = io::Result<()>> + Send;
}

/// The number of events under a mutex, and a condition variable. Its end is the number of events
/// that the task has seen.
#[derive(Default)]
pub struct Monitor {
    events: Mutex<u32>,
    changed: Condvar,
}

impl Signal for Monitor {
    type End = u32;

    fn new(_: usize) -> io::Result<Self> {
        Ok(Self::default())
    }

    fn end(&self, _: usize) -> u32 {
        0
    }

    fn wake(&self) {
        *self.events.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    async fn wait(&self, seen: &mut u32) -> io::Result<()> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        // Returns with the mutex locked.
        drop(self.changed.wait_while(events, |events| events == seen));
        *seen += 1;
        Ok(())
    }
}

/// The number of events, as the word of a futex. Its end is the number of events that the task has
/// seen.
pub struct Word(AtomicU32);

impl Signal for Word {
    type End = u32;

    fn new(_: usize) -> io::Result<Self> {
        Ok(Self(AtomicU32::new(0)))
    }

    fn end(&self, _: usize) -> u32 {
        0
    }

    fn wake(&self) {
        self.0.fetch_add(1, Release);
        // The kernel reads the number of threads as a signed one.
        let _ = futex::wake(&self.0, futex::Flags::PRIVATE, i32::MAX as u32);
    }

    async fn wait(&self, seen: &mut u32) -> io::Result<()> {
        while self.0.load(Acquire) == *seen {
            // Returns at once if the word has changed, and early if a signal is caught.
            let _ = futex::wait(&self.0, futex::Flags::PRIVATE, *seen, None);
        }
        *seen += 1;
        Ok(())
    }
}

/// A barrier of all tasks and the waker, which comes last.
impl Signal for Barrier {
    type End = ();

    fn new(tasks: usize) -> io::Result<Self> {
        Ok(Self::new(tasks + 1))
    }

    fn end(&self, _: usize) {}

    fn wake(&self) {
        Barrier::wait(self);
    }

    async fn wait(&self, _: &mut ()) -> io::Result<()> {
        Barrier::wait(self);
        Ok(())
    }
}

/// An event counter of the kernel for each task, written one after the other. Its end is the number
/// of the task.
pub struct EventFds(Vec<OwnedFd>);

impl Signal for EventFds {
    type End = usize;

    fn new(tasks: usize) -> io::Result<Self> {
        let open = |_| Ok(eventfd(0, EventfdFlags::CLOEXEC)?);
        Ok(Self((0..tasks).map(open).collect::<io::Result<_>>()?))
    }

    fn end(&self, task: usize) -> usize {
        task
    }

    fn wake(&self) {
        for counter in &self.0 {
            let _ = rustix::io::write(counter, &1_u64.to_ne_bytes());
        }
    }

    async fn wait(&self, task: &mut usize) -> io::Result<()> {
        let mut count = [0; size_of::<u64>()];
        retry_on_intr(|| rustix::io::read(&self.0[*task], &mut count))?;
        Ok(())
    }
}

impl Signal for Notify {
    type End = ();

    fn new(_: usize) -> io::Result<Self> {
        Ok(Self::new())
    }

    fn end(&self, _: usize) {}

    fn wake(&self) {
        self.notify_waiters();
    }

    async fn wait(&self, _: &mut ()) -> io::Result<()> {
        self.notified().await;
        Ok(())
    }
}

impl Signal for broadcast::Sender<()> {
    type End = broadcast::Receiver<()>;

    fn new(_: usize) -> io::Result<Self> {
        Ok(Self::new(1))
    }

    fn end(&self, _: usize) -> Self::End {
        self.subscribe()
    }

    fn wake(&self) {
        let _ = self.send(());
    }

    async fn wait(&self, receiver: &mut Self::End) -> io::Result<()> {
        receiver.recv().await.map_err(io::Error::other)
    }
}

impl Signal for watch::Sender<()> {
    type End = watch::Receiver<()>;

    fn new(_: usize) -> io::Result<Self> {
        Ok(Self::new(()))
    }

    fn end(&self, _: usize) -> Self::End {
        self.subscribe()
    }

    fn wake(&self) {
        self.send_replace(());
    }

    async fn wait(&self, receiver: &mut Self::End) -> io::Result<()> {
        receiver.changed().await.map_err(io::Error::other)
    }
}

impl Signal for Event {
    type End = ();

    fn new(_: usize) -> io::Result<Self> {
        Ok(Self::new())
    }

    fn end(&self, _: usize) {}

    fn wake(&self) {
        self.notify(usize::MAX);
    }

    async fn wait(&self, _: &mut ()) -> io::Result<()> {
        self.listen().await;
        Ok(())
    }
}
