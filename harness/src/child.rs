//! A process that is run to its end, and that an interruption of this one
//! reaches at once.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::SigId;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};

/// How long a process may take to end after it has been asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Runs `command` to its end and gathers what it prints, sleeping meanwhile.
/// On SIGINT or SIGTERM, and if `interrupted` says that one has come before,
/// the process is asked to end as well, and killed when it does not.
///
/// # Errors
/// That it cannot be started, or the kernel's.
pub(crate) fn output(command: &mut Command, interrupted: impl Fn() -> bool) -> io::Result<Output> {
    let mut alarm = Alarm::set()?;
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut stdout = Stream::new(child.stdout.take());
    let mut stderr = Stream::new(child.stderr.take());
    let mut asked = None;
    while stdout.is_open() || stderr.is_open() {
        if asked.is_none() && interrupted() {
            tell(&child, Signal::SIGINT);
            asked = Some(Instant::now());
        }
        if asked.is_some_and(|when| when.elapsed() >= GRACE) {
            tell(&child, Signal::SIGKILL);
        }
        let patience = asked.map_or(PollTimeout::NONE, |_| PollTimeout::from(100_u8));
        wait(&mut [&mut stdout, &mut stderr, &mut alarm.wake], patience)?;
    }
    let status = child.wait()?;
    Ok(Output { status, stdout: stdout.text, stderr: stderr.text })
}

/// Sends a process that has not been reaped a signal.
fn tell(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().cast_signed());
    // It fails only for a process that has ended.
    let _ = kill(pid, signal);
}

/// Waits until one of `streams` can be read or the time is over, and reads
/// what is there.
fn wait(streams: &mut [&mut Stream], patience: PollTimeout) -> io::Result<()> {
    let mut open: Vec<_> = streams.iter_mut().filter(|stream| stream.is_open()).collect();
    let mut files: Vec<_> = open
        .iter()
        .filter_map(|stream| Some(PollFd::new(stream.file.as_ref()?.as_fd(), PollFlags::POLLIN)))
        .collect();
    match poll(&mut files, patience) {
        Err(Errno::EINTR) => return Ok(()),
        ready => ready?,
    };
    let ready: Vec<_> = files.iter().map(|file| file.any().unwrap_or(false)).collect();
    for (stream, _) in open.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
        stream.read()?;
    }
    Ok(())
}

/// Something to read from until its end.
struct Stream {
    file: Option<std::fs::File>,
    text: Vec<u8>,
}

impl Stream {
    fn new(file: Option<impl Into<OwnedFd>>) -> Self {
        Self { file: file.map(|file| file.into().into()), text: Vec::new() }
    }

    fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Reads once, which does not wait where `poll` has found something.
    fn read(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut buffer = [0; 64 << 10];
        match file.read(&mut buffer) {
            Ok(0) => self.file = None,
            Ok(bytes) => self.text.extend_from_slice(&buffer[..bytes]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Can be read from when a signal has come that asks this process to end.
struct Alarm {
    wake: Stream,
    registered: [SigId; 2],
}

impl Alarm {
    fn set() -> io::Result<Self> {
        let (wake, waker) = UnixStream::pair()?;
        let registered =
            [pipe::register(SIGINT, waker.try_clone()?)?, pipe::register(SIGTERM, waker)?];
        Ok(Self { wake: Stream::new(Some(wake)), registered })
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        for id in self.registered {
            unregister(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::output;

    fn shell(script: &str, interrupted: bool) -> std::process::Output {
        output(Command::new("sh").args(["-c", script]), || interrupted).expect("a shell")
    }

    #[test]
    fn both_outputs_are_gathered_however_long_they_are() {
        let found = shell("head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; exit 7", false);
        assert_eq!((found.stdout.len(), found.stderr.len()), (300_000, 200_000));
        assert_eq!(found.status.code(), Some(7));
    }

    /// The shell would wait for an hour; its trap is its answer.
    #[test]
    fn an_interruption_is_passed_on() {
        let script = "trap 'echo told; exit 130' INT; echo ready; while :; do sleep 0.01; done";
        let found = shell(script, true);
        // It may have been told before it had set its trap.
        assert!(matches!(found.status.code(), Some(130) | None), "{found:?}");
    }
}
