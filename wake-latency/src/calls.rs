//! The calls to one sleeper: a count that its waker increments, and their times.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
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

/// How a sleeper waits for its next wake-up.
pub trait Wait: Send {
    /// The wake-up that is due then; `None` if the round is over. In a thread, it blocks.
    ///
    /// # Errors
    /// The kernel's.
    fn wait(
        &self,
        round: &Round,
        due_ns: u64,
    ) -> impl Future<Output = io::Result<Option<Ran>>> + Send;
}

/// The calls to one sleeper. The waker's count is its release of a time, and the sleeper's count its
/// release of the time's place; each reads its own count `Relaxed`, since nobody else writes it, and the
/// times, which the counts order. Two sleepers share no cache line, which has up to 128 bytes.
#[repr(align(128))]
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
    fn take(&self, waited: bool) -> Result<Option<Ran>, u32> {
        let made = self.made.load(Acquire);
        let taken = self.taken.load(Relaxed);
        if made == taken {
            return Err(made);
        }
        let at_ns = clock::now();
        if self.closed.load(Acquire) {
            return Ok(None);
        }
        let called_ns = self.at_ns[(taken % MOST_WAITING) as usize].load(Relaxed);
        self.taken.store(taken.wrapping_add(1), Release);
        Ok(Some(Ran { at_ns, waited, called_ns: Some(called_ns) }))
    }
}

impl Wait for Arc<Calls<Futex>> {
    async fn wait(&self, _: &Round, _: u64) -> io::Result<Option<Ran>> {
        let mut waited = false;
        loop {
            match self.take(waited) {
                Ok(ran) => return Ok(ran),
                // Returns at once if the count has changed meanwhile.
                Err(count) => {
                    let slept = futex::wait(&self.made, futex::Flags::PRIVATE, count, None);
                    waited |= slept != Err(Errno::AGAIN);
                }
            }
        }
    }
}

impl Wait for Arc<Calls<AtomicWaker>> {
    async fn wait(&self, _: &Round, _: u64) -> io::Result<Option<Ran>> {
        let mut waited = false;
        poll_fn(|context| {
            if let Ok(ran) = self.take(waited) {
                return Poll::Ready(Ok(ran));
            }
            self.bell.register(context.waker());
            // A call made meanwhile found nobody to wake.
            match self.take(waited) {
                Ok(ran) => Poll::Ready(Ok(ran)),
                Err(_) => {
                    waited = true;
                    Poll::Pending
                }
            }
        })
        .await
    }
}
