//! The signals that matter to a run, as file descriptors, so that the runner
//! sleeps in one `poll` while a program measures and disturbs nothing. With them
//! goes the guard, for the one that cannot be caught.

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

/// The signals that ask the runner to stop.
const STOPPING: [c_int; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Signals received since registration.
pub struct Signals {
    child: UnixStream,
    stop: UnixStream,
    stops: usize,
    exit_at_once: Arc<AtomicBool>,
    /// What ends programs where the runner is killed.
    pub guard: Option<Guard>,
}

impl Signals {
    /// Takes over SIGCHLD and the signals that ask to stop for the rest of the
    /// process. Until the first child is started, those end it as they come. A
    /// hang-up that is ignored, as under `nohup`, stays so; a file that reaches the
    /// limit of its size is an error, and no signal.
    ///
    /// # Errors
    /// When the kernel refuses a socket pair or a handler.
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

    /// What to poll: readable when a child has ended or a stop was asked for.
    pub fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.child.as_fd(), self.stop.as_fd()]
    }

    /// Forgets the children that have ended so far: look for them after this
    /// call, not before, and none is missed.
    pub fn forget_children(&mut self) {
        drain(&mut self.child);
    }

    /// How often a signal to stop has come.
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

    /// From now on the signals to stop do not end the process: there is a child that
    /// has to be ended first.
    pub fn defer_stops(&self) {
        self.exit_at_once.store(false, Ordering::Relaxed);
    }

    /// From now on the signals to stop end the process as they come: for when
    /// no child is left that would have to be ended first.
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

/// Reads all that is there and returns its length: one byte for each signal.
fn drain(reader: &mut UnixStream) -> usize {
    let mut buffer = [0; 64];
    let mut total = 0;
    while let Ok(length @ 1..) = reader.read(&mut buffer) {
        total += length;
    }
    total
}
