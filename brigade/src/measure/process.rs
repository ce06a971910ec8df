//! Runs one process in a group of its own: a time-out, bounded output, and an orderly end when the
//! runner is interrupted. If the runner is killed, the kernel kills the group. A user's command runs
//! in the runner's group instead, with its terminal.

use std::fs::File;
use std::io::{self, ErrorKind, PipeWriter, Read};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use harness::process_stat::{die_in_group_with, die_with};
use harness::system_files::{SystemFiles, field};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc::c_int;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, getpid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use signal_hook::low_level::{pipe, unregister};

use crate::exit::Exit;
use crate::measure::complaint;
use crate::measure::guest::Guest;

/// The most that a process may print to standard output, in bytes. A record is a few KiB; this
/// bounds the memory that a broken program can use.
pub const STDOUT_BOUND: usize = 16 * 1024 * 1024;

/// How much of the beginning of standard error is kept, and of its end, in bytes.
const STDERR_BOUND: usize = 16 * 1024;

/// How long a tool may take to print its version.
pub const LONGEST_ANSWER: Duration = Duration::from_secs(10);

/// Grace period between SIGINT and SIGKILL.
const GRACE: Duration = Duration::from_secs(3);

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub cause: Cause,
    /// Time from its start to its end.
    pub duration: Duration,
    /// How much of that time a signal had stopped it.
    pub stopped: Duration,
    /// Its standard output; more than [`STDOUT_BOUND`] if it was killed for that.
    pub stdout: Vec<u8>,
    /// The beginning and the end of its standard error.
    pub stderr: Vec<u8>,
    /// Whether the kernel killed some process meanwhile, since memory ran out.
    pub memory_ran_out: bool,
}

impl Ended {
    /// Why it failed, from its standard error.
    pub fn complaint(&self) -> Option<String> {
        complaint::reason(&String::from_utf8_lossy(&self.stderr))
    }

    /// What it printed on standard error, if that is more than its complaint.
    pub fn rest(&self) -> Option<String> {
        complaint::rest(&String::from_utf8_lossy(&self.stderr))
    }

    /// Why it failed: what it printed, or else its exit code or signal.
    pub fn reason(&self) -> String {
        self.complaint().unwrap_or_else(|| self.status.to_string())
    }
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

/// Runs `command` without input to its end, and kills what it leaves in its process group. A `guest`
/// is answered. On a signal to stop, the group gets SIGINT; 3 s later, or at the second signal,
/// SIGKILL.
///
/// # Errors
/// If the process cannot be started or waited for.
pub fn run(
    command: &mut Command,
    time_out: Option<Duration>,
    signals: &mut Signals,
    mut guest: Option<&mut Guest>,
) -> io::Result<Ended> {
    signals.exit_at_once(false);
    let input = if guest.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut running = Running::start(command.stdin(input), time_out)?;
    if let Some((guest, answers)) = guest.as_mut().zip(running.child.stdin.take()) {
        guest.started(running.child.id(), answers);
    }
    running.wait(Some(signals), guest)
}

/// Runs `command` to its end in this process's group, so that it can use the terminal. Signals to stop
/// are passed on to it, and the kernel kills it if the runner is killed.
///
/// # Errors
/// If the process cannot be started or waited for.
pub fn run_with_terminal(command: &mut Command, signals: &mut Signals) -> io::Result<ExitStatus> {
    let runner = getpid();
    // SAFETY: between fork and exec, this makes system calls and no more.
    unsafe { command.pre_exec(move || die_with(runner)) };
    let mut running = command.spawn()?;
    let pid = Pid::from_raw(running.id().cast_signed());
    // Readable when a child has ended.
    let (mut child, writer) = waking_pair()?;
    let registered = pipe::register(SIGCHLD, writer)?;
    let mut passed_on = 0;
    loop {
        // Before the check, so that the end of the child is not missed.
        drain(&mut child);
        if let Some(status) = running.try_wait()? {
            unregister(registered);
            return Ok(status);
        }
        sleep([child.as_fd(), signals.stop.as_fd()].into_iter(), None)?;
        let stops = signals.stops();
        if stops > passed_on {
            passed_on = stops;
            signals.pass_on(pid);
        }
    }
}

/// The short output of a command in `folder`, such as a tool's version: some print it to standard
/// error. If it does not end, because it waits for a network or was stopped, it is killed.
///
/// # Errors
/// If it cannot be started, or fails; of kind `TimedOut` if it has not ended in time.
pub fn ask(words: &[String], folder: &Path, patience: Duration) -> io::Result<String> {
    let (program, arguments) = words.split_first().ok_or(ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    let ended = Running::start(&mut command, Some(patience))?.wait(None, None)?;
    if ended.cause != Cause::Itself {
        let reason = format!("it did not end in {} s", patience.as_secs());
        return Err(io::Error::new(ErrorKind::TimedOut, reason));
    }
    if !ended.status.success() {
        return Err(io::Error::other(ended.reason()));
    }
    Ok(String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned())
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
    stdout: Capture,
    stderr: Capture,
    /// How many processes the kernel had killed for memory.
    killed_before: Option<u64>,
    job_control: JobControl,
    /// See [`tie_to_runner`].
    _alive: PipeWriter,
}

impl Running {
    fn start(command: &mut Command, time_out: Option<Duration>) -> io::Result<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let alive = tie_to_runner(command)?;
        let job_control = JobControl::begin(command)?;
        let killed_before = killed_for_memory();
        let started = Instant::now();
        let mut child = command.spawn()?;
        Ok(Self {
            group: Pid::from_raw(child.id().cast_signed()),
            started,
            deadline: time_out.and_then(|time_out| started.checked_add(time_out)),
            cause: Cause::Itself,
            stopped_at: None,
            stopped: Duration::ZERO,
            stdout: Capture::new(child.stdout.take())?,
            stderr: Capture::new(child.stderr.take())?,
            child,
            killed_before,
            job_control,
            _alive: alive,
        })
    }

    fn wait(
        mut self,
        mut signals: Option<&mut Signals>,
        mut guest: Option<&mut Guest>,
    ) -> io::Result<Ended> {
        // Readable when a child has ended or stopped.
        let (mut child, writer) = waking_pair()?;
        let registered = pipe::register(SIGCHLD, writer)?;
        loop {
            // Before the check, so that no signal of a child is missed.
            drain(&mut child);
            self.note_stops();
            if self.has_ended()? {
                unregister(registered);
                return self.finish();
            }
            let stop = signals.as_ref().map(|signals| signals.stop.as_fd());
            let job = Some(self.job_control.signals.as_fd());
            let fds = [self.stdout.fd(), self.stderr.fd(), Some(child.as_fd()), stop, job];
            sleep(fds.into_iter().flatten(), self.deadline)?;
            // Before reading: what a guest printed while the runner was stopped is read late.
            let was_stopped = self.follow_runner()?;
            // A process that prints endlessly must not keep the caller here.
            self.stdout.read()?;
            self.stderr.read()?;
            self.stderr.drop_middle(STDERR_BOUND);
            if let Some(guest) = &mut guest {
                guest.hear(&self.stdout.bytes, was_stopped);
            }
            self.end_if_due(signals.as_mut().map_or(0, |signals| signals.stops()))?;
        }
    }

    /// Whether the process has ended. It stays unreaped, so that its id and its group's are not
    /// reused.
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

    /// Stops the group while a signal stops the runner. Returns whether the runner was continued,
    /// also after a stop that it could not see coming.
    fn follow_runner(&mut self) -> io::Result<bool> {
        let mut was_continued = false;
        while let Some(signal) = self.job_control.next_signal()? {
            if signal == Signal::SIGCONT {
                was_continued = true;
                continue;
            }
            let since = Instant::now();
            self.stopped_at.get_or_insert(since);
            self.signal(Signal::SIGSTOP);
            self.job_control.stop_runner()?;
            self.signal(Signal::SIGCONT);
            self.end_stop();
            if let Some(deadline) = &mut self.deadline {
                *deadline += since.elapsed();
            }
        }
        Ok(was_continued)
    }

    /// Ends the process if there is a reason; `stops` counts the runner's interruptions. One that has
    /// ended in time is not late because the runner was.
    fn end_if_due(&mut self, stops: usize) -> io::Result<()> {
        if self.cause == Cause::Itself && stops > 0 {
            self.cause = Cause::Stopped;
            self.deadline = Some(Instant::now() + GRACE);
            self.signal(Signal::SIGINT);
        }
        let overdue = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if self.stdout.bytes.len() > STDOUT_BOUND {
            self.kill(Cause::Flooded);
        } else if (overdue || stops > 1) && !self.has_ended()? {
            self.kill(Cause::TimedOut);
        }
        Ok(())
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

    fn finish(mut self) -> io::Result<Ended> {
        let duration = self.started.elapsed();
        self.end_stop();
        self.signal(Signal::SIGKILL);
        self.stdout.read()?;
        self.stderr.read()?;
        let status = self.child.wait()?;
        let killed_since = || Some(killed_for_memory()? > self.killed_before?);
        Ok(Ended {
            memory_ran_out: !status.success() && killed_since().unwrap_or(false),
            status,
            cause: self.cause,
            duration,
            stopped: self.stopped,
            stdout: self.stdout.bytes,
            stderr: self.stderr.bytes,
        })
    }
}

/// How many processes the kernel has killed since memory ran out, of the machine or of a control
/// group; `None` if it does not report that.
fn killed_for_memory() -> Option<u64> {
    let counts = SystemFiles::live().text("proc/vmstat")?;
    counts.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse().ok())
}

/// Sleeps until one of `fds` is readable, or until `end`.
fn sleep<'a>(fds: impl Iterator<Item = BorrowedFd<'a>>, end: Option<Instant>) -> io::Result<()> {
    let mut fds: Vec<PollFd> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    // `poll` counts in milliseconds.
    let left = |end: Instant| {
        let left = end.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    };
    match poll(&mut fds, end.map_or(PollTimeout::NONE, left)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes the kernel kill the process of `command` and its group when this one ends, even if that
/// happens during the start. Only the runner has the other end of the pipe, which is returned.
fn tie_to_runner(command: &mut Command) -> io::Result<PipeWriter> {
    let (reader, alive) = io::pipe()?;
    let runner = getpid();
    let tie = move || die_in_group_with(runner, reader.as_raw_fd());
    // SAFETY: between fork and exec, this makes system calls and no more.
    unsafe { command.pre_exec(tie) };
    Ok(alive)
}

/// How much to read at once: the largest pipe that an unprivileged process may have.
const PIPE_BYTES: u64 = 1024 * 1024;

/// One output stream of a process.
#[derive(Debug)]
struct Capture {
    /// `None` once the stream has ended.
    source: Option<File>,
    bytes: Vec<u8>,
}

impl Capture {
    /// Captures from `pipe`; without one the capture stays empty.
    fn new(pipe: Option<impl Into<OwnedFd>>) -> io::Result<Self> {
        let source = pipe.map(|pipe| File::from(pipe.into()));
        if let Some(source) = &source {
            fcntl(source, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self { source, bytes: Vec::new() })
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    /// Keeps this many bytes of the beginning and of the end.
    fn drop_middle(&mut self, bound: usize) {
        if let Some(excess) = self.bytes.len().checked_sub(2 * bound) {
            self.bytes.drain(bound..bound + excess);
        }
    }

    /// Reads what is available, at most [`PIPE_BYTES`].
    fn read(&mut self) -> io::Result<()> {
        let Some(source) = &self.source else { return Ok(()) };
        match source.take(PIPE_BYTES).read_to_end(&mut self.bytes) {
            Ok(length) if length as u64 == PIPE_BYTES => {}
            Ok(_) => self.source = None,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Signals that ask the runner to stop.
const STOPPING: [c_int; 4] = [SIGHUP, SIGINT, SIGTERM, SIGXCPU];

/// Signals to stop received since registration, as a file descriptor, so that the runner sleeps in
/// one `poll` while a program measures.
pub struct Signals {
    /// Readable when a stop was requested.
    stop: UnixStream,
    stops: usize,
    /// The number of the last signal to stop.
    last: Arc<AtomicUsize>,
    exit_at_once: Arc<AtomicBool>,
}

impl Signals {
    /// Handles the signals to stop for the rest of the process's life. Until the first
    /// child starts, signals to stop end the process directly. An ignored hang-up, as under
    /// `nohup`, stays ignored; reaching a file size limit is an error, not a signal.
    ///
    /// # Errors
    /// If the kernel refuses a socket pair or a handler.
    pub fn register() -> io::Result<Self> {
        let exit_at_once = Arc::new(AtomicBool::new(true));
        let last = Arc::new(AtomicUsize::new(0));
        let (stop, stop_writer) = waking_pair()?;
        flag::register(SIGXFSZ, Arc::default())?;
        let heeded = STOPPING.into_iter().filter(|signal| *signal != SIGHUP || !ignores(SIGHUP));
        for signal in heeded {
            let code = Exit::Interrupted.code().into();
            flag::register_conditional_shutdown(signal, code, Arc::clone(&exit_at_once))?;
            flag::register_usize(signal, Arc::clone(&last), signal as usize)?;
            pipe::register(signal, stop_writer.try_clone()?)?;
        }
        Ok(Self { stop, stops: 0, last, exit_at_once })
    }

    /// The number of signals to stop so far.
    pub fn stops(&mut self) -> usize {
        self.stops += drain(&mut self.stop);
        self.stops
    }

    /// Sends the last signal to stop to a child in this process's group. A terminal sends Ctrl-C to
    /// the whole group: twice, it might end a child that is ending.
    fn pass_on(&self, child: Pid) {
        let last = self.last.load(Ordering::Relaxed) as c_int;
        if last == SIGINT && is_in_foreground() {
            return;
        }
        // It may have ended.
        let _ = Signal::try_from(last).and_then(|signal| kill(child, signal));
    }

    /// Sleeps until `end`, or until a stop is requested.
    pub fn sleep_until(&mut self, end: Instant) {
        while self.stops() == 0 && Instant::now() < end {
            let _ = sleep([self.stop.as_fd()].into_iter(), Some(end));
        }
    }

    /// Whether signals to stop end the process directly from now on: not if there is a child, which
    /// must be ended first.
    pub fn exit_at_once(&self, at_once: bool) {
        self.exit_at_once.store(at_once, Ordering::Relaxed);
    }
}

/// The signals that stop the runner (Ctrl-Z) and continue it, held back while a program runs: the
/// terminal sends them to the runner's group only.
struct JobControl {
    /// Readable when one arrived.
    signals: SignalFd,
    mask_before: SigSet,
}

impl JobControl {
    /// Begins before `command` starts, which does not inherit what is held back.
    fn begin(command: &mut Command) -> nix::Result<Self> {
        let set = SigSet::from_iter([Signal::SIGTSTP, Signal::SIGCONT]);
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        let mask_before = set.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        // SAFETY: between fork and exec, this makes one system call.
        unsafe { command.pre_exec(move || Ok(mask_before.thread_set_mask()?)) };
        Ok(Self { signals, mask_before })
    }

    fn next_signal(&self) -> nix::Result<Option<Signal>> {
        let Some(arrived) = self.signals.read_signal()? else { return Ok(None) };
        Signal::try_from(arrived.ssi_signo.cast_signed()).map(Some)
    }

    /// Stops the runner until somebody continues it. The kernel ignores this if nobody could, or if
    /// the runner was started to ignore it.
    fn stop_runner(&self) -> nix::Result<()> {
        let stop = SigSet::from(Signal::SIGTSTP);
        raise(Signal::SIGTSTP)?;
        stop.thread_unblock()?;
        stop.thread_block()
    }
}

impl Drop for JobControl {
    fn drop(&mut self) {
        let _ = self.mask_before.thread_set_mask();
    }
}

/// Whether this process was started to ignore a signal.
fn ignores(signal: c_int) -> bool {
    let status = SystemFiles::live().text("proc/self/status").unwrap_or_default();
    let mask = field(&status, "SigIgn").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    mask.unwrap_or(0) >> (signal - 1) & 1 == 1
}

/// Whether this process's group is in the foreground of its terminal.
fn is_in_foreground() -> bool {
    let stat = SystemFiles::live().text("proc/self/stat").unwrap_or_default();
    // After the name come the state, the parent, the group, the session, the terminal and the
    // group in its foreground; see `proc_pid_stat(5)`.
    let Some((_, fields)) = stat.rsplit_once(')') else { return false };
    let fields: Vec<&str> = fields.split_whitespace().collect();
    matches!(fields[..], [_, _, group, _, _, foreground, ..] if group == foreground)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stop_gives_time_and_the_second_does_not() {
        let mut sleep = Command::new("sleep");
        let hour = Some(Duration::from_secs(3600));
        let mut running = Running::start(sleep.arg("infinity"), hour).unwrap();
        running.end_if_due(1).unwrap();
        assert_eq!(running.cause, Cause::Stopped);
        let deadline = running.deadline;
        running.end_if_due(1).unwrap();
        assert_eq!(running.deadline, deadline, "the time is given once");
        running.end_if_due(2).unwrap();
        assert_eq!(running.deadline, None, "no time is left");
        let ended = running.finish().unwrap();
        assert_eq!((ended.cause, ended.status.code()), (Cause::Stopped, None));
    }

    #[test]
    fn a_tool_answers_or_is_killed() {
        let words = |script: &str| ["sh", "-c", script].map(str::to_owned);
        let ask_for = |script, patience| ask(&words(script), Path::new("/"), patience);
        let ask = |script| ask_for(script, Duration::from_secs(600));
        assert_eq!(ask("echo 1.2; echo no home >&2").unwrap(), "1.2\nno home\n");
        assert_eq!(ask("echo 1.2; echo no home >&2; exit 3").unwrap_err().to_string(), "no home");
        assert_eq!(ask("exec >&- 2>&-; sleep 0.05").unwrap(), "");
        let answer = ask("yes | head -c 300000 >&2; printf end >&2").unwrap();
        assert!(answer.ends_with("y\nend") && answer.len() < 200_000);
        for script in ["sleep 1000", "kill -STOP $$", "sleep 1000 & wait"] {
            let error = ask_for(script, Duration::from_millis(300)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{script}");
        }
    }
}
