//! Ends processes that programs leave behind, even if the runner is killed.
//!
//! Every program and its children inherit the lock's open file, so the lock is held as long as one
//! of them lives. While the runner lives, it adopts orphans and kills them after each invocation.
//! If the runner is killed, its guard takes over: a process that sleeps until the runner has ended,
//! then kills the running program's process group and every other holder of the lock.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use harness::hand_over::{Reach, place};
use harness::process_stat::reap;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::prctl::{set_child_subreaper, set_name, set_pdeathsig};
use nix::sys::signal::{SigHandler, Signal, kill, killpg, signal};
use nix::unistd::{
    ForkResult, Pid, dup2_stderr, dup2_stdin, dup2_stdout, fork, getpid, getppid, setsid,
};

/// Signals that a guard may receive with others of its terminal, or because it shares the runner's
/// name.
const IGNORED: [Signal; 5] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGCHLD];

/// How long the guard waits after killing before it looks again.
const PAUSE: Duration = Duration::from_millis(5);

/// The guard of this process. Dropping it ends the guard.
#[derive(Debug)]
pub struct Guard {
    process: Pid,
    target: Target,
    /// The kernel closes it when the runner ends, which wakes the guard.
    _alive: PipeWriter,
}

/// What a program inherits.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// The running program's process group, or 0; shared memory of runner, guard and program, until
    /// the program's exec.
    group: &'static AtomicI32,
    lock: RawFd,
}

impl Guard {
    /// Starts the guard of this process, which must have no other thread, and makes this process
    /// adopt its programs' orphans.
    ///
    /// # Errors
    /// If the kernel refuses a process, a pipe or a page.
    pub fn start(lock: &File) -> io::Result<Self> {
        let target =
            Target { group: place(AtomicI32::new(0), Reach::Process)?, lock: lock.as_raw_fd() };
        let (reader, alive) = io::pipe()?;
        // SAFETY: there is no other thread, whose locks would stay locked.
        match unsafe { fork() }? {
            ForkResult::Child => {
                drop(alive);
                keep(reader, target, lock)
            }
            ForkResult::Parent { child } => {
                let guard = Self { process: child, target, _alive: alive };
                set_child_subreaper(true)?;
                Ok(guard)
            }
        }
    }

    /// Makes `command` start a process that cannot outlive this one.
    pub fn watch(&self, command: &mut Command) {
        let Target { group, lock } = self.target;
        let attach = move || {
            group.store(getpid().as_raw(), Ordering::SeqCst);
            // SAFETY: the lock is open as long as the runner measures.
            let lock = unsafe { BorrowedFd::borrow_raw(lock) };
            fcntl(lock, FcntlArg::F_SETFD(FdFlag::empty()))?;
            Ok(())
        };
        // SAFETY: between fork and exec, this makes system calls and no more.
        unsafe { command.pre_exec(attach) };
    }

    /// Forgets the group of a program that has ended: after the wait, its number may be reused.
    pub fn forget(&self) {
        self.target.group.store(0, Ordering::SeqCst);
    }

    /// Kills what a program left outside its group.
    pub fn end_strays(&self) {
        loop {
            let children = children();
            let mut strays = children.into_iter().filter(|child| *child != self.process).peekable();
            if strays.peek().is_none() {
                return;
            }
            for stray in strays {
                let _ = kill(stray, Signal::SIGKILL);
                let _ = reap(stray);
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = kill(self.process, Signal::SIGKILL);
        let _ = reap(self.process);
    }
}

/// Makes `command` start a process that is killed when this one ends, even if that happens during
/// the start.
pub fn end_with_this(command: &mut Command) {
    let runner = getpid();
    let tie = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() == runner { Ok(()) } else { Err(Errno::ECHILD.into()) }
    };
    // SAFETY: between fork and exec, this makes two system calls and no more.
    unsafe { command.pre_exec(tie) };
}

/// Other visible processes that hold the lock of `file`: those that have the locked file open, even
/// if its name now leads to another.
pub fn holders(file: &File) -> Vec<Pid> {
    let Ok(place) = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) else {
        return Vec::new();
    };
    let others = processes().map(Pid::from_raw).filter(|process| *process != getpid());
    others.filter(|process| holds(*process, &place)).collect()
}

fn holds(process: Pid, place: &Path) -> bool {
    let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let mut open = files.filter(|file| fs::read_link(file.path()).is_ok_and(|link| link == place));
    open.any(|file| {
        let about = Path::new("/proc").join(process.to_string()).join("fdinfo");
        let about = fs::read_to_string(about.join(file.file_name()));
        about.is_ok_and(|text| text.lines().any(|line| line.starts_with("lock:")))
    })
}

/// The children of this process: from the kernel's list, or without
/// `CONFIG_PROC_CHILDREN` from every process's parent.
fn children() -> Vec<Pid> {
    match fs::read_to_string(format!("/proc/self/task/{}/children", getpid())) {
        Ok(text) => text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>(),
        Err(_) => processes().filter(|pid| parent_of(*pid) == Some(getpid().as_raw())).collect(),
    }
    .into_iter()
    .map(Pid::from_raw)
    .collect()
}

/// The ids of all visible processes.
fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The fourth field of `/proc/PID/stat`; the second, a name, may contain
/// anything.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The guard's main function: sleeps until the runner has ended, then kills what is left.
fn keep(mut runner: PipeReader, target: Target, lock: &File) -> ! {
    leave_alone(c"brigade-guard");
    let _ = runner.read(&mut [0]);
    let group = target.group.load(Ordering::SeqCst);
    if group > 0 {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    loop {
        let left = holders(lock);
        if left.is_empty() {
            // SAFETY: this ends the process, and nothing of the runner's is run.
            unsafe { libc::_exit(0) };
        }
        for process in left {
            let _ = kill(process, Signal::SIGKILL);
        }
        thread::sleep(PAUSE);
    }
}

/// Names this process, detaches it from the terminal and ignores its signals, as far as
/// possible.
pub(super) fn leave_alone(name: &CStr) {
    for ignored in IGNORED {
        // SAFETY: no handler is installed.
        let _ = unsafe { signal(ignored, SigHandler::SigIgn) };
    }
    let _ = setsid();
    let _ = set_name(name);
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = dup2_stdin(null.as_fd());
        let _ = dup2_stdout(null.as_fd());
        let _ = dup2_stderr(null.as_fd());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_a_process_is_found() {
        assert_eq!(parent_of(getpid().as_raw()), Some(getppid().as_raw()));
        assert_eq!(parent_of(i32::MAX), None);
        assert!(processes().any(|pid| pid == getpid().as_raw()));
    }
}
