//! A process's or thread's `stat` file, its children, and its end.

use std::os::fd::RawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use std::{io, process, thread};

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

use crate::machine::emulation;
use crate::machine::system_files::SystemFiles;

/// Waits for a child to end, whatever signal it sends then. A caught signal does not end the wait.
///
/// # Errors
/// The kernel's, if it is no child of this process.
pub fn reap(child: Pid) -> nix::Result<WaitStatus> {
    loop {
        match waitpid(child, Some(WaitPidFlag::__WALL)) {
            Err(Errno::EINTR) => {}
            status => return status,
        }
    }
}

/// The first pause between looks whether a child has ended. Each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The longest pause between looks whether a child has ended.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Waits until a child has ended, or until `is_enough`, and returns whether it has. It is left to
/// be reaped.
///
/// # Errors
/// The kernel's, if it is no child of this process.
pub fn has_ended(child: Pid, mut is_enough: impl FnMut() -> bool) -> nix::Result<bool> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let mut pause = FIRST_PAUSE;
    loop {
        if waitid(Id::Pid(child), flags)? != WaitStatus::StillAlive {
            return Ok(true);
        }
        if is_enough() {
            return Ok(false);
        }
        thread::sleep(pause);
        pause = LONGEST_PAUSE.min(2 * pause);
    }
}

/// A process's unreaped children.
pub fn children_of(pid: u32) -> Vec<u32> {
    let files = SystemFiles::live();
    let folder = format!("proc/{pid}/task");
    let threads = files.names(&folder).into_iter();
    let started = threads.filter_map(|tid| files.text(&format!("{folder}/{tid}/children")));
    let numbers = |text: String| text.split_whitespace().map(str::parse).collect::<Vec<_>>();
    started.flat_map(numbers).flatten().collect()
}

/// A process and its descendants; those of an ended one are no longer known.
pub fn family_of(pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    let mut next = 0;
    while let Some(pid) = family.get(next) {
        family.extend(children_of(*pid));
        next += 1;
    }
    family
}

/// Kills a child and its descendants, as a script without `exec` has. The child is left to be
/// reaped.
pub fn kill_family(child: Pid) {
    for pid in family_of(child.as_raw().unsigned_abs()) {
        // It may have ended.
        let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
    }
}

/// Fields of `/proc/PID/stat`, or of `/proc/PID/task/TID/stat`; see
/// `proc_pid_stat(5)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its state, by the kernel's letter: `R` runs, `S` sleeps.
    pub state: char,
    /// CPU time in user space, in clock ticks.
    pub user_ticks: u64,
    /// CPU time in the kernel, in clock ticks.
    pub system_ticks: u64,
    /// CPU time of children that have ended and were waited for, in clock ticks.
    pub children_ticks: u64,
    /// The process that waits for its end.
    pub parent: u32,
    /// The CPU on which it was last.
    pub cpu: usize,
}

impl ProcessStat {
    /// Reads the file of the process or thread with this folder, such as `proc/17`; `None` if it does
    /// not exist or is malformed.
    pub fn read(files: &SystemFiles, folder: &str) -> Option<Self> {
        Self::parse(&files.text(&format!("{folder}/stat"))?)
    }

    /// Parses the file. The name, in parentheses, may contain anything, even parentheses; the third
    /// field follows the last one.
    fn parse(text: &str) -> Option<Self> {
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse().ok();
        Some(Self {
            state: fields.first()?.chars().next()?,
            user_ticks: number(14)?,
            system_ticks: number(15)?,
            children_ticks: number(16)? + number(17)?,
            parent: fields.get(4 - 3)?.parse().ok()?,
            cpu: fields.get(39 - 3)?.parse().ok()?,
        })
    }
}

/// Forks a task of this process: since that has a single thread, the child can do anything it can.
/// The child runs `body`, ends, and dies with its parent. Threads of an emulator do not count: they
/// run no code of the program, and each emulator forks as its threads need it.
///
/// # Errors
/// If this process has several threads, or the kernel refuses.
pub fn spawn(body: impl FnOnce() -> io::Result<()>) -> io::Result<Pid> {
    if emulation::threads_of(&SystemFiles::live(), process::id()).len() != 1 {
        return Err(io::Error::other("a process with several threads cannot be forked"));
    }
    let parent = getpid();
    // SAFETY: this process has one thread, so no other one can hold a lock.
    match unsafe { fork() }? {
        ForkResult::Child => live(parent, body),
        ForkResult::Parent { child } => Ok(child),
    }
}

/// The exit code of a child that failed without a kernel error.
pub const FAILED: i32 = 254;
/// The exit code of a child that panicked.
pub(crate) const PANICKED: i32 = 255;

/// Makes this new process die with its parent, which may already have ended.
///
/// # Errors
/// If it has.
pub fn die_with(parent: Pid) -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    if getppid() == parent { Ok(()) } else { Err(Errno::ECHILD.into()) }
}

/// The kernel's number of the operation; see `fcntl(2)`.
const F_SETSIG: libc::c_int = 10;

/// Makes this new process, which leads a group, and its group die with its parent, which may already
/// have ended. The parent's death reaches the process itself, and what it executes. Its children
/// inherit `reader`, the reading end of a pipe: the kernel kills the group when the last writing end
/// is closed. Only the parent may have one, and no other group an open file of this `reader`. Makes
/// system calls only, as needed between fork and exec.
///
/// # Errors
/// If the parent has ended, or the kernel's.
pub fn die_in_group_with(parent: Pid, reader: RawFd) -> io::Result<()> {
    for (operation, value) in [
        (libc::F_SETOWN, -getpid().as_raw()),
        (F_SETSIG, libc::SIGKILL),
        (libc::F_SETFL, libc::O_ASYNC),
        // Kept open by exec.
        (libc::F_SETFD, 0),
    ] {
        // SAFETY: these operations take a number, and touch no memory.
        Errno::result(unsafe { libc::fcntl(reader, operation, value) })?;
    }
    die_with(parent)
}

/// The main function of a task: runs `body`, and returns its error number as exit code. It skips the
/// usual clean-up of a Rust program: inherited objects and buffers are the parent's.
fn live(parent: Pid, body: impl FnOnce() -> io::Result<()>) -> ! {
    let lived = catch_unwind(AssertUnwindSafe(|| {
        die_with(parent)?;
        emulation::note_threads();
        body()
    }));
    let code = match lived {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            error.raw_os_error().filter(|code| (1..FAILED).contains(code)).unwrap_or(FAILED)
        }
        Err(_) => PANICKED,
    };
    // SAFETY: it ends the process and touches nothing in it.
    unsafe { libc::_exit(code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line from Linux 6.1, up to field 41.
    const LINE: &str = "71 (cat) R 70 71 70 34816 71 4194304 103 0 0 0 5 7 1 2 20 -3 1 0 98765 0 \
                        0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 6 0 1";

    #[test]
    fn fields_are_counted_from_the_end_of_the_name() {
        let stat = ProcessStat {
            state: 'R',
            user_ticks: 5,
            system_ticks: 7,
            children_ticks: 3,
            parent: 70,
            cpu: 6,
        };
        for name in ["(cat)", "(a b)", "()", "(1) R 2 (3)", "(\n)"] {
            assert_eq!(ProcessStat::parse(&LINE.replace("(cat)", name)), Some(stat), "{name}");
        }
    }
}
