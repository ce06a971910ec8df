//! An event counter of the kernel, which both ends share: one file a channel.
//!
//! A token is a number so large that a second one does not fit: the kernel
//! lets its sender wait until the first one has been taken. Reading takes all
//! that the counter holds.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::event::{EventfdFlags, eventfd};

use super::{Sink, Source};

/// What a token adds, besides its own value in the lowest byte: two of them
/// are more than a counter holds.
const TOKEN: u64 = 1 << 63;
/// What the sender adds when it closes; there is room for that beside a token.
const END: u64 = 1 << 62;

/// What the two ends share.
struct Counter {
    file: File,
    /// Whether nobody will take what is added.
    closed: AtomicBool,
}

impl Counter {
    fn add(&self, number: u64) -> io::Result<()> {
        (&self.file).write_all(&number.to_ne_bytes())
    }

    /// Waits until the counter is not 0 and takes all of it.
    fn take(&self) -> io::Result<u64> {
        let mut count = [0; size_of::<u64>()];
        (&self.file).read_exact(&mut count)?;
        Ok(u64::from_ne_bytes(count))
    }

    /// Whether there is something to take.
    fn holds_something(&self) -> bool {
        let mut file = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
        poll(&mut file, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }
}

/// The end that tokens come out of.
pub struct Out {
    counter: Arc<Counter>,
    ended: bool,
}

impl Source for Out {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        if self.ended {
            return Ok(None);
        }
        let taken = self.counter.take()?;
        self.ended = taken & END != 0;
        Ok((taken & TOKEN != 0).then_some(taken as u8))
    }
}

impl Drop for Out {
    /// Lets a sender go that waits for room.
    fn drop(&mut self) {
        self.counter.closed.store(true, Release);
        if self.counter.holds_something() {
            let _ = self.counter.take();
        }
    }
}

/// The end that tokens go into.
pub struct In {
    counter: Arc<Counter>,
}

impl Sink for In {
    fn send(&mut self, token: u8) -> io::Result<()> {
        if self.counter.closed.load(Acquire) {
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.counter.add(TOKEN | u64::from(token))
    }
}

impl Drop for In {
    fn drop(&mut self) {
        // There is always room for it.
        let _ = self.counter.add(END);
    }
}

/// A channel over a new counter.
pub fn channel() -> io::Result<(Out, In)> {
    let file = File::from(eventfd(0, EventfdFlags::CLOEXEC)?);
    let counter = Arc::new(Counter { file, closed: AtomicBool::new(false) });
    Ok((Out { counter: Arc::clone(&counter), ended: false }, In { counter }))
}
