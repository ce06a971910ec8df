//! A word in memory that holds the token, on a cache line of its own, and the
//! system call `futex` to wait for it to change and to wake who waits.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use rustix::thread::futex::{self, Flags};

use super::{Sink, Source};

/// The bit of a word that holds a token, whose value is in the lowest byte.
const TOKEN: u32 = 1 << 8;
/// The bit that says that the sender waits for room.
const SENDER_WAITS: u32 = 1 << 9;
/// The bit that says that no more tokens come.
const SENDER_CLOSED: u32 = 1 << 10;
/// The bit that says that nobody takes tokens any more.
const RECEIVER_CLOSED: u32 = 1 << 11;

/// The word. One end at most waits for it at any time: the receiver while it
/// holds no token, the sender while it does.
#[repr(align(64))]
struct Word(AtomicU32);

impl Word {
    /// Waits in the kernel while the word is `seen`. Returns at once if it has
    /// changed meanwhile, and early when a signal is caught: the caller looks
    /// again.
    fn wait_while(&self, seen: u32) {
        let _ = futex::wait(&self.0, Flags::PRIVATE, seen, None);
    }

    /// Wakes the end that waits.
    fn wake(&self) {
        let _ = futex::wake(&self.0, Flags::PRIVATE, 1);
    }

    fn close(&self, end: u32) {
        self.0.fetch_or(end, Release);
        self.wake();
    }
}

/// The end that tokens come out of.
pub struct Out(Arc<Word>);

impl Source for Out {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let Word(word) = &*self.0;
        loop {
            let seen = word.load(Acquire);
            if seen & TOKEN != 0 {
                let taken = word.fetch_and(SENDER_CLOSED | RECEIVER_CLOSED, AcqRel);
                if taken & SENDER_WAITS != 0 {
                    self.0.wake();
                }
                return Ok(Some(taken as u8));
            }
            if seen & SENDER_CLOSED != 0 {
                return Ok(None);
            }
            self.0.wait_while(seen);
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.0.close(RECEIVER_CLOSED);
    }
}

/// The end that tokens go into.
pub struct In(Arc<Word>);

impl Sink for In {
    fn send(&mut self, token: u8) -> io::Result<()> {
        let Word(word) = &*self.0;
        let mut seen = 0;
        loop {
            if seen & RECEIVER_CLOSED != 0 {
                return Err(ErrorKind::BrokenPipe.into());
            }
            let full = seen & TOKEN != 0;
            let next = if full { SENDER_WAITS } else { TOKEN | u32::from(token) };
            match word.compare_exchange(seen, seen | next, AcqRel, Acquire) {
                Err(changed) => seen = changed,
                Ok(_) if full => {
                    self.0.wait_while(seen | SENDER_WAITS);
                    seen = word.load(Relaxed);
                }
                Ok(_) => {
                    self.0.wake();
                    return Ok(());
                }
            }
        }
    }
}

impl Drop for In {
    fn drop(&mut self) {
        self.0.close(SENDER_CLOSED);
    }
}

/// A channel over a new word.
pub fn channel() -> (Out, In) {
    let word = Arc::new(Word(AtomicU32::new(0)));
    (Out(Arc::clone(&word)), In(word))
}
