//! Signals as file descriptors, so that the runner sleeps in one `poll` while a program measures.
//! It also holds the guard, which handles the signal that cannot be caught.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use harness::system_files::SystemFiles;
use nix::libc::c_int;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level::pipe};

use crate::exit::Exit;
use crate::measure::guard::Guard;

/// Signals that ask the runner to stop.
const STOPPING: [c_int; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Signals received since registration.
pub struct Signals {
    child: UnixStream,
    stop: UnixStream,
    stops: usize,
    exit_at_once: Arc<AtomicBool>,
    /// Ends programs if the runner is killed.
    pub guard: Option<Guard>,
}

impl Signals {
    /// Handles SIGCHLD and the signals to stop for the rest of the process's life. Until the first
    /// child starts, signals to stop end the process directly. An ignored hang-up, as under
    /// `nohup`, stays ignored; reaching a file size limit is an error, not a signal.
    ///
    /// # Errors
    /// If the kernel refuses a socket pair or a handler.
    pub fn register() -> io::Result<Self> {
        let exit_at_once = Arc::new(AtomicBool::new(true));
        let (stop, stop_writer) = waking_pair()?;
        flag::register(SIGXFSZ, Arc::default())?;
        let heeded = STOPPING.into_iter().filter(|signal| *signal != SIGHUP || !ignores(SIGHUP));
        for signal in heeded {
            let code = Exit::Interrupted.code().into();
            flag::register_conditional_shutdown(signal, code, Arc::clone(&exit_at_once))?;
            pipe::register(signal, stop_writer.try_clone()?)?;
        }
        let (child, child_writer) = waking_pair()?;
        pipe::register(SIGCHLD, child_writer)?;
        Ok(Self { child, stop, stops: 0, exit_at_once, guard: None })
    }

    /// File descriptors to poll: readable when a child has ended or a stop was
    /// requested.
    pub fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.child.as_fd(), self.stop.as_fd()]
    }

    /// Forgets the children that have ended so far. Check for them after this
    /// call, so that none is missed.
    pub fn forget_children(&mut self) {
        drain(&mut self.child);
    }

    /// The number of signals to stop so far.
    pub fn stops(&mut self) -> usize {
        self.stops += drain(&mut self.stop);
        self.stops
    }

    /// Sleeps until `end`, or until a stop is requested.
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

    /// From now on, signals to stop do not end the process: a child must be ended first.
    pub fn defer_stops(&self) {
        self.exit_at_once.store(false, Ordering::Relaxed);
    }

    /// From now on, signals to stop end the process directly: there is no child
    /// to end first.
    pub fn exit_on_next_stop(&self) {
        self.exit_at_once.store(true, Ordering::Relaxed);
    }
}

/// Whether this process was started to ignore a signal.
fn ignores(signal: c_int) -> bool {
    let status = SystemFiles::live().text("proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// A reader, which never blocks, and the writer for signal handlers.
fn waking_pair() -> io::Result<(UnixStream, UnixStream)> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    Ok((reader, writer))
}

/// Reads everything and returns its length: one byte per signal.
fn drain(reader: &mut UnixStream) -> usize {
    let mut buffer = [0; 64];
    let mut total = 0;
    while let Ok(length @ 1..) = reader.read(&mut buffer) {
        total += length;
    }
    total
}
