//! The calls to one sleeper: a count that its waker increments, and their times.

use std::future::poll_fn;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures::task::AtomicWaker;
use harness::clock;
use harness::rounds::{Ran, Round};
use rustix::io::Errno;
use rustix::thread::futex;

/// The most pending calls to a sleeper. A waker that would exceed it waits, which delays its calls
/// but not the times that they are measured from.
const MOST_WAITING: u32 = 512;

/// How long a waker waits before it checks again.
const PAUSE: Duration = Duration::from_micros(50);

/// Memory per sleeper, in bytes.
pub const BYTES: u64 = size_of::<Calls<AtomicWaker>>() as u64;

/// How a sleeper waits, and is woken.
pub trait Bell: Default + Send + Sync + 'static {
    /// Wakes the sleeper, which waits while the count is unchanged.
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

/// One wake-up.
#[derive(Clone, Copy, Debug)]
pub struct WakeUp {
    /// When the sleeper ran.
    pub ran_ns: u64,
    /// Whether it had to wait.
    pub waited: bool,
    /// When its waker called, if there is one.
    pub called_ns: Option<u64>,
}

/// By a timer.
impl From<Ran> for WakeUp {
    fn from(ran: Ran) -> Self {
        Self { ran_ns: ran.at_ns, waited: ran.waited, called_ns: None }
    }
}

/// The calls to one sleeper.
#[repr(align(64))]
#[derive(Debug)]
pub struct Calls<B> {
    bell: B,
    /// Calls made; wraps.
    made: AtomicU32,
    /// Calls taken by the sleeper; wraps.
    taken: AtomicU32,
    /// Whether no more will be made.
    closed: AtomicBool,
    /// The time of each of the latest calls.
    at_ns: [AtomicU64; MOST_WAITING as usize],
}

impl<B: Bell> Default for Calls<B> {
    fn default() -> Self {
        Self {
            bell: B::default(),
            made: AtomicU32::new(0),
            taken: AtomicU32::new(0),
            closed: AtomicBool::new(false),
            at_ns: [const { AtomicU64::new(0) }; MOST_WAITING as usize],
        }
    }
}

impl<B: Bell> Calls<B> {
    /// Calls the sleeper. If too many calls are pending, waits until it takes one or the round is
    /// over.
    pub fn make(&self, round: &Round) {
        let made = self.made.load(Relaxed);
        while made.wrapping_sub(self.taken.load(Acquire)) >= MOST_WAITING {
            if round.is_over() {
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

    /// Takes a call; `Err` with the count if there is none, and `Ok(None)` if there will be none.
    #[inline]
    fn take(&self, waited: bool) -> Result<Option<WakeUp>, u32> {
        let (made, taken) = (self.made.load(Acquire), self.taken.load(Relaxed));
        if made == taken {
            return Err(made);
        }
        let ran_ns = clock::now();
        if self.closed.load(Acquire) {
            return Ok(None);
        }
        let called_ns = self.at_ns[(taken % MOST_WAITING) as usize].load(Relaxed);
        self.taken.store(taken.wrapping_add(1), Release);
        Ok(Some(WakeUp { ran_ns, waited, called_ns: Some(called_ns) }))
    }
}

impl Calls<Futex> {
    /// Waits for a call; `None` if no more will be made.
    pub fn wait(&self) -> Option<WakeUp> {
        let mut waited = false;
        loop {
            match self.take(waited) {
                Ok(wake_up) => return wake_up,
                // Returns at once if the count has changed meanwhile.
                Err(count) => {
                    let slept = futex::wait(&self.made, futex::Flags::PRIVATE, count, None);
                    waited |= slept != Err(Errno::AGAIN);
                }
            }
        }
    }
}

impl Calls<AtomicWaker> {
    /// As [`Calls::wait`], but for a task.
    pub async fn wait_as_task(&self) -> Option<WakeUp> {
        let mut waited = false;
        poll_fn(|context| {
            if let Ok(wake_up) = self.take(waited) {
                return Poll::Ready(wake_up);
            }
            self.bell.register(context.waker());
            // A call made meanwhile found nobody to wake.
            match self.take(waited) {
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
