//! The signals that matter to a run, as file descriptors, so that the runner
//! sleeps in one `poll` while a program measures and disturbs nothing.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use nix::libc::c_int;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGCHLD, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

use crate::exit::Exit;

/// The signals that ask the runner to stop.
const STOPPING: [c_int; 2] = [SIGINT, SIGTERM];

/// Signals received since registration.
pub struct Signals {
    child: UnixStream,
    stop: UnixStream,
    stops: usize,
    exit_at_once: Arc<AtomicBool>,
}

impl Signals {
    /// Takes over SIGINT, SIGTERM and SIGCHLD for the rest of the process.
    ///
    /// # Errors
    /// When the kernel refuses a socket pair or a handler.
    pub fn register() -> io::Result<Self> {
        let exit_at_once = Arc::new(AtomicBool::new(false));
        let (stop, stop_writer) = waking_pair()?;
        for signal in STOPPING {
            let code = Exit::Interrupted.code().into();
            flag::register_conditional_shutdown(signal, code, Arc::clone(&exit_at_once))?;
            pipe::register(signal, stop_writer.try_clone()?)?;
        }
        let (child, child_writer) = waking_pair()?;
        pipe::register(SIGCHLD, child_writer)?;
        Ok(Self { child, stop, stops: 0, exit_at_once })
    }

    /// What to poll: readable when a child has ended or a stop was asked for.
    pub fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.child.as_fd(), self.stop.as_fd()]
    }

    /// Forgets the children that have ended so far: look for them after this
    /// call, not before, and none is missed.
    pub fn forget_children(&mut self) {
        drain(&mut self.child);
    }

    /// How often SIGINT or SIGTERM has come.
    pub fn stops(&mut self) -> usize {
        self.stops += drain(&mut self.stop);
        self.stops
    }

    /// Sleeps until `end`, or until a stop is asked for.
    pub fn sleep_until(&mut self, end: Instant) {
        while self.stops == 0
            && let Some(left) = end.checked_duration_since(Instant::now())
        {
            let mut stop = [PollFd::new(self.stop.as_fd(), PollFlags::POLLIN)];
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let _ = poll(&mut stop, timeout);
            self.stops();
        }
    }

    /// From now on SIGINT and SIGTERM end the process as they come: for when
    /// no child is left that would have to be ended first.
    pub fn exit_on_next_stop(&self) {
        self.exit_at_once.store(true, Ordering::Relaxed);
    }
}

/// A reader, which never blocks, and the writer for signal handlers.
fn waking_pair() -> io::Result<(UnixStream, UnixStream)> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    Ok((reader, writer))
}

/// Reads all that is there and returns its length: one byte for each signal.
fn drain(reader: &mut UnixStream) -> usize {
    let mut buffer = [0; 64];
    let mut total = 0;
    while let Ok(length @ 1..) = reader.read(&mut buffer) {
        total += length;
    }
    total
}
