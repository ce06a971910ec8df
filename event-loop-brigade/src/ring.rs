//! Channels with reads and writes as requests to io_uring.

use std::cell::Cell;
use std::io;
use std::os::fd::AsRawFd;

use harness::failure::{Refusal, to_create};
use harness::limits::RING_ENTRIES;
use io_uring::squeue::{Entry, Flags};
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use rustix::io::Errno;

use crate::{Channels, Loop, Pair};

/// Marks the request of a write; the channel's number is in the lower bits.
const SENT: u64 = 1 << 63;

/// How long the kernel thread polls for requests before it sleeps, in milliseconds.
const SUBMITTER_IDLE_MS: u32 = 1000;

/// Channels with reads and writes as requests to io_uring.
pub struct Ring<F> {
    ring: IoUring,
    kind: Loop,
    pairs: Vec<Pair<F>>,
    /// Where the kernel puts the byte read from each channel, and the byte to write into it.
    received: &'static [Cell<u8>],
    sent: &'static [Cell<u8>],
    /// Flags of write requests: to complete silently, if the kernel supports that.
    quietly: Flags,
    system_calls: u64,
}

impl<F: AsRawFd> Ring<F> {
    /// Requests a read from each of `pairs`.
    ///
    /// # Errors
    /// [`Refusal`] if the kernel has no such ring; otherwise the kernel's.
    pub fn new(pairs: Vec<Pair<F>>, kind: Loop) -> anyhow::Result<Self> {
        let ring = open(kind)?;
        let quietly = if ring.params().is_feature_skip_cqe_on_success() {
            Flags::SKIP_SUCCESS
        } else {
            Flags::empty()
        };
        // The kernel may still write to them after the ring has been closed, so they are never
        // freed.
        let bytes = || -> &'static [Cell<u8>] { vec![Cell::new(0); pairs.len()].leak() };
        let received = bytes();
        let sent = bytes();
        let mut ring = Self { ring, kind, pairs, received, sent, quietly, system_calls: 0 };
        for channel in 0..ring.pairs.len() {
            ring.ask_for_read(channel)?;
        }
        ring.ring.submit()?;
        Ok(ring)
    }

    fn ask_for_read(&mut self, channel: usize) -> io::Result<()> {
        let reader = Fd(self.pairs[channel].0.as_raw_fd());
        let read = opcode::Read::new(reader, self.received[channel].as_ptr(), 1);
        self.ask(read.build().user_data(channel as u64))
    }

    /// Adds a request to the queue; the next wait submits it.
    #[inline]
    fn ask(&mut self, request: Entry) -> io::Result<()> {
        loop {
            // SAFETY: the byte that the request reads or writes is never freed, is accessed only
            // through `Cell`, and belongs to one request at a time; the kernel references the file
            // from the submission on, and nobody closes it before.
            if unsafe { self.ring.submission().push(&request) }.is_ok() {
                return Ok(());
            }
            self.ring.submit()?;
            if self.kind == Loop::IoUringSqpoll {
                self.ring.submitter().squeue_wait()?;
            }
        }
    }

    /// Submits the queue, and waits until something completes.
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        self.system_calls += 1;
        match self.ring.submit_and_wait(1) {
            Err(error) if !is_passing(&error) => Err(error),
            // After a signal the lap is still finished. Or completions must be handled before more
            // is submitted.
            _ => Ok(()),
        }
    }
}

/// Whether to retry a call or a request after this error.
fn is_passing(error: &io::Error) -> bool {
    let passing = [Errno::INTR, Errno::AGAIN, Errno::BUSY].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|number| passing.contains(&number))
}

/// A ring of this kind.
///
/// # Errors
/// [`Refusal`], with the reason, if the kernel has none.
fn open(kind: Loop) -> anyhow::Result<IoUring> {
    let mut builder = IoUring::builder();
    let needs = match kind {
        Loop::IoUringDefer => {
            builder.setup_single_issuer().setup_defer_taskrun();
            "Linux 6.1"
        }
        Loop::IoUringSqpoll => {
            builder.setup_sqpoll(SUBMITTER_IDLE_MS);
            "Linux 5.11 or privileges"
        }
        _ => "Linux 5.1",
    };
    builder.build(RING_ENTRIES).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::INVAL | Errno::NOSYS | Errno::PERM | Errno::ACCESS) => Refusal(format!(
            "--loop: cannot create an io_uring ring: {error}; this kind needs {needs}"
        ))
        .into(),
        _ => to_create("an io_uring ring")(error),
    })
}

impl<F: AsRawFd> Channels for Ring<F> {
    #[inline]
    fn send(&mut self, channel: usize, token: u8) -> io::Result<()> {
        let writer = Fd(self.pairs[channel].1.as_raw_fd());
        self.sent[channel].set(token);
        let write = opcode::Write::new(writer, self.sent[channel].as_ptr(), 1);
        self.ask(write.build().flags(self.quietly).user_data(SENT | channel as u64))
    }

    #[inline]
    fn next(&mut self) -> io::Result<(usize, io::Result<Option<u8>>)> {
        loop {
            let Some(done) = self.ring.completion().next() else {
                self.wait()?;
                continue;
            };
            let channel = (done.user_data() & !SENT) as usize;
            let result = match done.result() {
                number @ ..0 => Err(io::Error::from_raw_os_error(-number)),
                bytes => Ok(bytes),
            };
            if done.user_data() & SENT != 0 {
                result.map_err(|error| {
                    io::Error::new(error.kind(), format!("writing into channel {channel}: {error}"))
                })?;
                continue;
            }
            let token = match result {
                Ok(0) => Ok(None),
                Ok(_) => {
                    let token = self.received[channel].get();
                    self.ask_for_read(channel)?;
                    Ok(Some(token))
                }
                Err(error) if is_passing(&error) => {
                    self.ask_for_read(channel)?;
                    continue;
                }
                Err(error) => Err(error),
            };
            return Ok((channel, token));
        }
    }

    fn system_calls(&self) -> u64 {
        self.system_calls
    }
}
