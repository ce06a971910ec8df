//! The calls of one sleeper: a count that its waker raises, and when it did.

use std::future::poll_fn;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures::task::AtomicWaker;
use harness::clock;
use rustix::io::Errno;
use rustix::thread::futex;

use crate::course::Course;
use crate::tally::WakeUp;

/// So many calls may wait for a sleeper. A waker that would make more waits for it, which
/// delays its calls and not the times that they are measured from.
const MOST_WAITING: u32 = 512;

/// How long a waker waits before it looks again.
const PAUSE: Duration = Duration::from_micros(50);

/// Memory of the calls of a sleeper, in bytes.
pub const BYTES: u64 = size_of::<Calls<AtomicWaker>>() as u64;

/// How a sleeper waits, and is woken.
pub trait Bell: Default + Send + Sync + 'static {
    /// Wakes the sleeper, that waits while the count is what it was.
    fn ring(&self, count: &AtomicU32);
}

/// The bell of a thread: the count itself, as the word of a futex.
#[derive(Debug, Default)]
pub struct Futex;

impl Bell for Futex {
    fn ring(&self, count: &AtomicU32) {
        let _ = futex::wake(count, futex::Flags::PRIVATE, 1);
    }
}

impl Bell for AtomicWaker {
    fn ring(&self, _: &AtomicU32) {
        self.wake();
    }
}

/// The calls of one sleeper.
#[repr(align(64))]
#[derive(Debug)]
pub struct Calls<B> {
    bell: B,
    /// How many have been made; wraps.
    made: AtomicU32,
    /// How many the sleeper has taken; wraps.
    taken: AtomicU32,
    /// Whether no more will be made.
    closed: AtomicBool,
    /// When each of the latest was made.
    at_ns: [AtomicU64; MOST_WAITING as usize],
}

impl<B: Bell> Calls<B> {
    /// Of so many sleepers, none yet.
    pub fn of(sleepers: usize) -> Vec<Self> {
        (0..sleepers).map(|_| Self::new()).collect()
    }

    fn new() -> Self {
        Self {
            bell: B::default(),
            made: AtomicU32::new(0),
            taken: AtomicU32::new(0),
            closed: AtomicBool::new(false),
            at_ns: [const { AtomicU64::new(0) }; MOST_WAITING as usize],
        }
    }

    /// Calls the sleeper. Where too many calls wait for it, waits until it takes one or the
    /// run is over.
    pub fn make(&self, course: &Course) {
        let made = self.made.load(Relaxed);
        while made.wrapping_sub(self.taken.load(Acquire)) >= MOST_WAITING {
            if course.is_over() {
                return;
            }
            thread::sleep(PAUSE);
        }
        self.at_ns[(made % MOST_WAITING) as usize].store(clock::now(), Relaxed);
        self.made.store(made.wrapping_add(1), Release);
        self.bell.ring(&self.made);
    }

    /// Makes no more calls, and wakes the sleeper.
    pub fn close(&self) {
        self.closed.store(true, Release);
        self.made.fetch_add(1, Release);
        self.bell.ring(&self.made);
    }

    /// Takes a call that has been made for this intended time; `Err` with the count where
    /// none has, and `Ok(None)` where no more will be.
    #[inline]
    fn take(&self, intended_ns: u64, waited: bool) -> Result<Option<WakeUp>, u32> {
        let (made, taken) = (self.made.load(Acquire), self.taken.load(Relaxed));
        if made == taken {
            return Err(made);
        }
        let ran_ns = clock::now();
        if self.closed.load(Acquire) {
            return Ok(None);
        }
        let called_ns = Some(self.at_ns[(taken % MOST_WAITING) as usize].load(Relaxed));
        self.taken.store(taken.wrapping_add(1), Release);
        Ok(Some(WakeUp { intended_ns, called_ns, ran_ns, waited }))
    }
}

impl Calls<Futex> {
    /// Waits for the call of this intended time; `None` when no more will be made.
    pub fn wait(&self, intended_ns: u64) -> Option<WakeUp> {
        let mut waited = false;
        loop {
            match self.take(intended_ns, waited) {
                Ok(wake_up) => return wake_up,
                // It does not wait when the count has changed meanwhile.
                Err(count) => {
                    let slept = futex::wait(&self.made, futex::Flags::PRIVATE, count, None);
                    waited |= slept != Err(Errno::AGAIN);
                }
            }
        }
    }
}

impl Calls<AtomicWaker> {
    /// As [`Calls::wait`], of a task.
    pub async fn wait_as_task(&self, intended_ns: u64) -> Option<WakeUp> {
        let mut waited = false;
        poll_fn(|context| {
            if let Ok(wake_up) = self.take(intended_ns, waited) {
                return Poll::Ready(wake_up);
            }
            self.bell.register(context.waker());
            // One that was made meanwhile found nobody to wake.
            match self.take(intended_ns, waited) {
                Ok(wake_up) => Poll::Ready(wake_up),
                Err(_) => {
                    waited = true;
                    Poll::Pending
                }
            }
        })
        .await
    }
}
