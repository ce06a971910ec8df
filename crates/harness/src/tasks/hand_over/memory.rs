//! Channels through a word in memory on a separate cache line, with four ways to wait until it
//! changes: in the kernel (`futex`), by parking the thread, in a loop, and by yielding in a loop.

use std::hint::spin_loop;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicU32, fence};
use std::thread::{self, Thread};
use std::{io, mem};

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::thread::futex::{self as kernel, Flags};

use super::{Closer, Sink, Source, ThreadOrProcess};

/// The bit that changes with each token; the token's value is in the lowest
/// byte.
const TURN: u32 = 1 << 8;
/// The bit that is set when the sink closes.
const CLOSED: u32 = 1 << 9;

/// How a source waits for the word to change, and how a sink wakes it.
///
/// Implementations are `#[inline]`: a call into another crate returns through a stack frame that
/// the switch has evicted from the cache, which cost 0.4 µs per hop.
pub trait Waiting: Send + Sync + 'static {
    /// Registers the calling thread as the waiter.
    fn begin(&self) {}

    /// Waits while the word is `seen`; may return early.
    fn wait_while(&self, word: &AtomicU32, seen: u32);

    /// Wakes the source, but first waits until it has registered. One that looks by itself is not
    /// woken.
    #[inline]
    fn wake(&self, _: &AtomicU32) {}

    /// Wakes the source if it has registered.
    #[inline]
    fn wake_last(&self, word: &AtomicU32) {
        self.wake(word);
    }
}

/// Waits with the system call `futex`.
#[derive(Debug)]
pub struct Futex(Flags);

impl Futex {
    /// `PRIVATE` between threads, which saves the kernel looking up the page.
    pub fn new(kind: ThreadOrProcess) -> Self {
        Self(if kind == ThreadOrProcess::Thread { Flags::PRIVATE } else { Flags::empty() })
    }
}

impl Waiting for Futex {
    /// Returns at once if the word has changed meanwhile, and early if a signal is caught.
    #[inline]
    fn wait_while(&self, word: &AtomicU32, seen: u32) {
        let _ = kernel::wait(word, self.0, seen, None);
    }

    #[inline]
    fn wake(&self, word: &AtomicU32) {
        let _ = kernel::wake(word, self.0, 1);
    }
}

/// Waits by parking the thread with `std`.
#[derive(Debug, Default)]
pub struct Park(OnceLock<Thread>);

impl Waiting for Park {
    #[inline]
    fn begin(&self) {
        if self.0.get().is_none() {
            self.0.get_or_init(thread::current);
            // Either this thread sees that the sink has closed, or the sink sees this thread.
            fence(SeqCst);
        }
    }

    #[inline]
    fn wait_while(&self, _: &AtomicU32, _: u32) {
        thread::park();
    }

    #[inline]
    fn wake(&self, _: &AtomicU32) {
        self.0.wait().unpark();
    }

    #[inline]
    fn wake_last(&self, _: &AtomicU32) {
        fence(SeqCst);
        self.0.get().inspect(|thread| thread.unpark());
    }
}

/// Waits in a loop, without giving up the CPU.
#[derive(Debug)]
pub struct Spin;

impl Waiting for Spin {
    #[inline]
    fn wait_while(&self, _: &AtomicU32, _: u32) {
        spin_loop();
    }
}

/// Waits in a loop of `sched_yield`.
#[derive(Debug)]
pub struct Yield;

impl Waiting for Yield {
    #[inline]
    fn wait_while(&self, _: &AtomicU32, _: u32) {
        thread::yield_now();
    }
}

/// A word of two halves, each of which is a channel. Two threads that alternate share one cache
/// line, which costs half as much as two.
#[repr(align(64))]
struct Word<W> {
    value: AtomicU32,
    waiting: [W; 2],
}

struct Half<W: 'static> {
    word: &'static Word<W>,
    waiting: &'static W,
    /// Its position in the word, in bits.
    shift: u32,
}

impl<W: Waiting> Half<W> {
    fn close(&self) {
        self.word.value.fetch_or(CLOSED << self.shift, Release);
        self.waiting.wake_last(&self.word.value);
    }
}

/// The source of a word.
pub struct WordSource<W: Waiting> {
    half: Half<W>,
    /// The word's bit for this half's [`TURN`], as of the last token.
    turn_bit: u32,
    turn: u32,
}

/// The sink of a word.
pub struct WordSink<W: Waiting> {
    half: Half<W>,
    /// The last token.
    last: u8,
}

impl<W: Waiting> Source for WordSource<W> {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let Half { word, waiting, shift } = self.half;
        waiting.begin();
        loop {
            let seen = word.value.load(Acquire);
            if seen & self.turn_bit != self.turn {
                self.turn ^= self.turn_bit;
                return Ok(Some((seen >> shift) as u8));
            }
            if seen >> shift & CLOSED != 0 {
                return Ok(None);
            }
            waiting.wait_while(&word.value, seen);
        }
    }

    fn closer(&self) -> Option<Closer> {
        let half = Half { ..self.half };
        Some(Box::new(move || half.close()))
    }
}

impl<W: Waiting> Drop for WordSource<W> {
    /// A sink that sends may be waiting for the waiter to register.
    fn drop(&mut self) {
        self.half.waiting.begin();
    }
}

impl<W: Waiting> Sink for WordSink<W> {
    /// An exchange, so that it does not overwrite a simultaneous close.
    fn send(&mut self, token: u8) -> io::Result<()> {
        let Half { word, waiting, shift } = self.half;
        let change = TURN | u32::from(self.last ^ token);
        word.value.fetch_xor(change << shift, Release);
        self.last = token;
        waiting.wake(&word.value);
        Ok(())
    }
}

impl<W: Waiting> Drop for WordSink<W> {
    fn drop(&mut self) {
        self.half.close();
    }
}

/// A channel over each half of a new word.
///
/// # Errors
/// The kernel's, if memory runs out.
pub fn halves<W: Waiting>(
    waiting: impl Fn() -> W,
    kind: ThreadOrProcess,
) -> io::Result<[(WordSource<W>, WordSink<W>); 2]> {
    let word = Word { value: AtomicU32::new(0), waiting: [waiting(), waiting()] };
    let word = place(word, kind)?;
    Ok([0, 1].map(|number| {
        let shift = 16 * number as u32;
        let half = || Half { word, waiting: &word.waiting[number], shift };
        let source = WordSource { half: half(), turn_bit: TURN << shift, turn: 0 };
        (source, WordSink { half: half(), last: 0 })
    }))
}

/// A channel between threads over the first half of a new word, with `futex`.
///
/// # Errors
/// The kernel's, if memory runs out.
pub fn futex() -> io::Result<(impl Source, impl Sink)> {
    let [channel, unused] =
        halves(|| Futex::new(ThreadOrProcess::Thread), ThreadOrProcess::Thread)?;
    // Dropping it would close it and wake somebody.
    mem::forget(unused);
    Ok(channel)
}

/// Puts `value` into memory that all tasks share until the process ends.
///
/// # Errors
/// The kernel's, if memory runs out.
///
/// # Panics
/// Never: a shared value has bytes.
pub fn place<T: Sync>(value: T, kind: ThreadOrProcess) -> io::Result<&'static T> {
    if kind == ThreadOrProcess::Thread {
        return Ok(Box::leak(Box::new(value)));
    }
    let length = NonZeroUsize::new(size_of::<T>()).expect("it has bytes");
    let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing.
    let memory = unsafe { mmap_anonymous(None, length, protection, MapFlags::MAP_SHARED) }?;
    let memory = memory.cast::<T>();
    // SAFETY: the mapping is writable, large enough, and aligned to a page.
    // It is never unmapped, and nothing else refers to it yet.
    Ok(unsafe {
        memory.write(value);
        memory.as_ref()
    })
}
