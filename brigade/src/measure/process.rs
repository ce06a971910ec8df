//! Runs one process: its own process group, a time-out, bounded output, and an
//! orderly end when the runner is interrupted.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use harness::clock;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::measure::guard::{self, Guard};
use crate::measure::guest::Guest;
use crate::measure::signals::Signals;

/// The most that a process may print to standard output, in bytes. A record is
/// a few KiB; this bounds the memory that a broken program can use.
pub const STDOUT_BOUND: usize = 16 * 1024 * 1024;

/// How much of the end of standard error is kept, in bytes.
const STDERR_BOUND: usize = 4 * 1024;

/// How long a tool may take to print its version.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);

/// How often to check whether a silent process has ended, in milliseconds.
const LOOK_MILLIS: u8 = 10;

/// Grace period between SIGINT and SIGKILL.
const GRACE: Duration = Duration::from_secs(3);

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// Who ended it.
    pub cause: Cause,
    /// Time from its start to its end.
    pub duration: Duration,
    /// How much of that time a signal had stopped it.
    pub stopped: Duration,
    /// Moments at which it was seen to be stopped.
    pub stops_ns: Vec<u64>,
    /// Its standard output, at most [`STDOUT_BOUND`] bytes.
    pub stdout: Vec<u8>,
    /// The end of its standard error.
    pub stderr: Vec<u8>,
}

/// Who ended a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The process itself, or somebody else.
    Itself,
    /// The runner, which was interrupted.
    Stopped,
    /// The runner, after the time-out.
    TimedOut,
    /// The runner: the process printed more than [`STDOUT_BOUND`].
    Flooded,
}

/// Runs `command` without input to its end, and kills what it leaves in its
/// process group. Captures standard error unless `command` redirects it; there
/// may be no time-out. On a signal to stop, the process gets SIGINT; 3 s later,
/// or at the second signal, SIGKILL. It cannot outlive the calling thread: if
/// the runner were killed, it would disturb the next run. The guard takes care
/// of its children.
///
/// # Errors
/// If the process cannot be started or waited for.
pub fn run(
    command: &mut Command,
    time_out: Option<Duration>,
    signals: &mut Signals,
) -> io::Result<Ended> {
    start(command.stdin(Stdio::null()), time_out, signals)?.wait(signals, None)
}

/// Runs a guest to its end, as [`run`] does a program, and answers it.
///
/// # Errors
/// As [`run`].
pub fn run_guest(
    command: &mut Command,
    time_out: Option<Duration>,
    signals: &mut Signals,
    guest: &mut Guest,
) -> io::Result<Ended> {
    let mut running = start(command.stdin(Stdio::piped()), time_out, signals)?;
    if let Some(answers) = running.child.stdin.take() {
        guest.started(running.child.id(), answers);
    }
    running.wait(signals, Some(guest))
}

fn start(
    command: &mut Command,
    time_out: Option<Duration>,
    signals: &Signals,
) -> io::Result<Running> {
    command.stdout(Stdio::piped()).process_group(0);
    guard::end_with_this(command);
    if let Some(guard) = &signals.guard {
        guard.watch(command);
    }
    signals.defer_stops();
    let started = Instant::now();
    Running::new(command.spawn()?, started, time_out)
}

/// The short output of a tool, such as its version. If it does not end, because it waits for a
/// network or was stopped, it is killed.
///
/// # Errors
/// If it cannot be started, and of kind `TimedOut` if it has not ended in time.
pub fn ask(command: &mut Command) -> io::Result<Output> {
    ask_for(command, LONGEST_ANSWER)
}

fn ask_for(command: &mut Command, patience: Duration) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    guard::end_with_this(command);
    let mut running = Running::new(command.spawn()?, Instant::now(), Some(patience))?;
    while !running.has_ended()? && running.cause == Cause::Itself {
        let streams = [running.stdout.fd(), running.stderr.fd()].into_iter().flatten();
        let mut fds: Vec<PollFd> = streams.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        // It has ended when it closes its output, or at the next check.
        let _ = poll(&mut fds, PollTimeout::from(LOOK_MILLIS));
        running.stdout.read_some()?;
        running.stderr.read_some()?;
        running.end_if_due(0);
    }
    let Ended { status, cause, stdout, stderr, .. } = running.finish(None)?;
    match cause {
        Cause::Itself => Ok(Output { status, stdout, stderr }),
        _ => Err(io::Error::new(
            ErrorKind::TimedOut,
            format!("it did not end in {} s", patience.as_secs()),
        )),
    }
}

/// A running process.
struct Running {
    child: Child,
    group: Pid,
    started: Instant,
    /// When to kill it.
    deadline: Option<Instant>,
    cause: Cause,
    /// Since when a signal has stopped it, and the length of earlier stops.
    stopped_at: Option<Instant>,
    stopped: Duration,
    stops_ns: Vec<u64>,
    stdout: Capture,
    stderr: Capture,
}

impl Running {
    fn new(mut child: Child, started: Instant, time_out: Option<Duration>) -> io::Result<Self> {
        let group = Pid::from_raw(child.id().cast_signed());
        let stdout = Capture::new(child.stdout.take(), Keep::First, STDOUT_BOUND)?;
        let stderr = Capture::new(child.stderr.take(), Keep::Last, STDERR_BOUND)?;
        let deadline = time_out.and_then(|time_out| started.checked_add(time_out));
        Ok(Self {
            child,
            group,
            started,
            deadline,
            cause: Cause::Itself,
            stopped_at: None,
            stopped: Duration::ZERO,
            stops_ns: Vec::new(),
            stdout,
            stderr,
        })
    }

    fn wait(mut self, signals: &mut Signals, mut guest: Option<&mut Guest>) -> io::Result<Ended> {
        loop {
            signals.forget_children();
            self.note_stops();
            if self.has_ended()? {
                return self.finish(signals.guard.as_ref());
            }
            self.sleep(signals)?;
            self.stdout.read_some()?;
            self.stderr.read_some()?;
            if let Some(guest) = &mut guest {
                guest.hear(self.stdout.bytes());
            }
            self.end_if_due(signals.stops());
        }
    }

    /// Whether the process has ended. It stays unreaped, so that its id and its
    /// group's are not reused.
    fn has_ended(&self) -> io::Result<bool> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        Ok(waitid(Id::Pid(self.group), flags)? != WaitStatus::StillAlive)
    }

    /// Records the times in which a signal had stopped the process. The kernel reports each by
    /// SIGCHLD, which wakes the loop.
    fn note_stops(&mut self) {
        let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WCONTINUED | WaitPidFlag::WNOHANG;
        while let Ok(status) = waitid(Id::Pid(self.group), flags) {
            match status {
                WaitStatus::Stopped(..) => {
                    self.stops_ns.push(clock::now());
                    self.stopped_at.get_or_insert_with(Instant::now);
                }
                WaitStatus::Continued(_) => self.end_stop(),
                _ => return,
            }
        }
    }

    fn end_stop(&mut self) {
        self.stopped += self.stopped_at.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    /// Sleeps until the process prints or ends, a signal arrives, or the
    /// deadline passes.
    fn sleep(&self, signals: &Signals) -> io::Result<()> {
        let streams = [self.stdout.fd(), self.stderr.fd()].into_iter().flatten();
        let mut fds: Vec<PollFd> =
            streams.chain(signals.fds()).map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match poll(&mut fds, self.poll_timeout()) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The time until the deadline, rounded up to milliseconds for `poll`.
    fn poll_timeout(&self) -> PollTimeout {
        let Some(deadline) = self.deadline else { return PollTimeout::NONE };
        let left = deadline.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    }

    /// Ends the process if there is a reason; `stops` counts the runner's
    /// interruptions.
    fn end_if_due(&mut self, stops: usize) {
        if self.cause == Cause::Itself && stops > 0 {
            self.cause = Cause::Stopped;
            self.deadline = Some(Instant::now() + GRACE);
            self.signal(Signal::SIGINT);
        }
        let overdue = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if self.stdout.overflowed() {
            self.kill(Cause::Flooded);
        } else if overdue || stops > 1 {
            self.kill(Cause::TimedOut);
        }
    }

    /// Kills the group. An earlier cause is kept.
    fn kill(&mut self, cause: Cause) {
        if self.cause == Cause::Itself {
            self.cause = cause;
        }
        self.deadline = None;
        self.signal(Signal::SIGKILL);
    }

    /// Signals the group; if that fails, nobody is left.
    fn signal(&self, signal: Signal) {
        let _ = killpg(self.group, signal);
    }

    fn finish(mut self, guard: Option<&Guard>) -> io::Result<Ended> {
        let duration = self.started.elapsed();
        self.end_stop();
        self.signal(Signal::SIGKILL);
        guard.inspect(|guard| guard.forget());
        let status = self.child.wait()?;
        guard.inspect(|guard| guard.end_strays());
        Ok(Ended {
            status,
            cause: self.cause,
            duration,
            stopped: self.stopped,
            stops_ns: self.stops_ns,
            stdout: self.stdout.finish()?,
            stderr: self.stderr.finish()?,
        })
    }
}

/// The most bytes taken in one read: the size of a Linux pipe.
const READ_BYTES: usize = 64 * 1024;

/// Reads that empty the largest pipe an unprivileged process may have, 1 MiB.
const READS_TO_EMPTY: usize = 16;

/// Which part of the output to keep if it exceeds the bound.
#[derive(Clone, Copy, Debug)]
pub enum Keep {
    /// The beginning.
    First,
    /// The end.
    Last,
}

/// One output stream of a process.
#[derive(Debug)]
pub struct Capture {
    source: Option<File>,
    keep: Keep,
    bound: usize,
    bytes: Vec<u8>,
    dropped: bool,
}

impl Capture {
    /// Captures at most `bound` bytes from `pipe`; without a pipe the capture
    /// stays empty.
    ///
    /// # Errors
    /// If the pipe cannot be made non-blocking.
    pub fn new(pipe: Option<impl Into<OwnedFd>>, keep: Keep, bound: usize) -> io::Result<Self> {
        let source = pipe.map(|pipe| File::from(pipe.into()));
        if let Some(source) = &source {
            fcntl(source, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self { source, keep, bound, bytes: Vec::new(), dropped: false })
    }

    /// The file descriptor to poll; `None` once the stream has ended.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    /// Whether the process printed more than the bound.
    pub fn overflowed(&self) -> bool {
        self.dropped
    }

    /// The bytes kept so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads once, if anything is available. Only once: a process that prints
    /// endlessly must not keep the caller here.
    ///
    /// # Errors
    /// If reading fails, other than because nothing is available.
    pub fn read_some(&mut self) -> io::Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        let mut buffer = [0; READ_BYTES];
        match source.read(&mut buffer) {
            Ok(0) => self.source = None,
            Ok(length) => self.take(&buffer[..length]),
            Err(error) if is_passing(error.kind()) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads the rest of the pipe after the process has ended, and closes it
    /// even if another process still holds its other end.
    ///
    /// # Errors
    /// As [`Self::read_some`].
    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        for _ in 0..READS_TO_EMPTY {
            self.read_some()?;
        }
        Ok(self.bytes)
    }

    fn take(&mut self, bytes: &[u8]) {
        match self.keep {
            Keep::First => {
                let room = self.bound - self.bytes.len();
                self.dropped |= bytes.len() > room;
                self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Keep::Last => {
                self.bytes.extend_from_slice(bytes);
                let excess = self.bytes.len().saturating_sub(self.bound);
                self.dropped |= excess > 0;
                self.bytes.drain(..excess);
            }
        }
    }
}

fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The last line that is not blank.
pub fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that runs until it is killed.
    fn endless(time_out: Duration) -> Running {
        let mut command = Command::new("sleep");
        let child = command.arg("infinity").process_group(0).spawn().unwrap();
        Running::new(child, Instant::now(), Some(time_out)).unwrap()
    }

    #[test]
    fn a_tool_answers_or_is_killed() {
        let ask =
            |script| ask_for(Command::new("sh").args(["-c", script]), Duration::from_millis(300));
        let answer = ask("echo 1.2; echo no home >&2; exit 3").unwrap();
        assert_eq!((&*answer.stdout, &*answer.stderr), (&b"1.2\n"[..], &b"no home\n"[..]));
        assert_eq!(answer.status.code(), Some(3));
        assert!(ask("exec >&- 2>&-; sleep 0.05").unwrap().status.success());
        for script in ["sleep 1000", "kill -STOP $$", "sleep 1000 & wait"] {
            assert_eq!(ask(script).unwrap_err().kind(), ErrorKind::TimedOut, "{script}");
        }
    }

    #[test]
    fn a_process_past_its_time_is_killed() {
        let mut running = endless(Duration::ZERO);
        running.end_if_due(0);
        let ended = running.finish(None).unwrap();
        assert_eq!((ended.cause, ended.status.code()), (Cause::TimedOut, None));
    }

    #[test]
    fn the_first_stop_gives_time_and_the_second_does_not() {
        let mut running = endless(Duration::from_secs(3600));
        running.end_if_due(1);
        assert_eq!(running.cause, Cause::Stopped);
        let deadline = running.deadline;
        running.end_if_due(1);
        assert_eq!(running.deadline, deadline, "the time is given once");
        running.end_if_due(2);
        assert_eq!(running.deadline, None, "no time is left");
        assert_eq!(running.finish(None).unwrap().cause, Cause::Stopped);
    }
}

#[cfg(test)]
mod capture_tests {
    use std::io::{PipeWriter, Write, pipe};

    use super::*;

    fn captured(keep: Keep, bound: usize) -> (Capture, PipeWriter) {
        let (reader, writer) = pipe().unwrap();
        (Capture::new(Some(reader), keep, bound).unwrap(), writer)
    }

    #[test]
    fn the_beginning_is_kept_up_to_the_bound() {
        let (mut capture, mut writer) = captured(Keep::First, 5);
        for part in ["abc", "de", "f"] {
            assert!(!capture.overflowed());
            writer.write_all(part.as_bytes()).unwrap();
            capture.read_some().unwrap();
        }
        assert!(capture.overflowed());
        assert_eq!(capture.finish().unwrap(), b"abcde");
    }

    #[test]
    fn the_end_is_kept_up_to_the_bound() {
        let (mut capture, mut writer) = captured(Keep::Last, 4);
        for part in ["abc", "de", "f"] {
            writer.write_all(part.as_bytes()).unwrap();
            capture.read_some().unwrap();
        }
        assert_eq!(capture.finish().unwrap(), b"cdef");
    }

    #[test]
    fn nothing_waits_for_a_writer_that_stays_open() {
        let (mut capture, mut writer) = captured(Keep::First, 5);
        capture.read_some().unwrap();
        writer.write_all(b"late").unwrap();
        assert_eq!(capture.finish().unwrap(), b"late");
    }

    #[test]
    fn an_ended_stream_is_no_longer_polled() {
        let (mut capture, writer) = captured(Keep::First, 5);
        drop(writer);
        assert!(capture.fd().is_some());
        capture.read_some().unwrap();
        assert!(capture.fd().is_none());
    }
}
