//! What the kernel tells of a process, or of a thread, in its `stat` file and at
//! its end.

use std::{fs, io};

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getppid};

use crate::system_files::SystemFiles;

/// Waits for the end of a child, whatever signal it sends then. A signal that is
/// caught meanwhile does not cut the wait short.
///
/// # Errors
/// The kernel's, when it is no child of this process.
pub fn reap(child: Pid) -> nix::Result<WaitStatus> {
    loop {
        match waitpid(child, Some(WaitPidFlag::__WALL)) {
            Err(Errno::EINTR) => {}
            status => return status,
        }
    }
}

/// Fields of `/proc/PID/stat`, or of `/proc/PID/task/TID/stat`; see
/// `proc_pid_stat(5)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// What it is doing, by the kernel's letter: `R` runs, `S` sleeps.
    pub state: char,
    /// CPU time in user space, in clock ticks.
    pub user_ticks: u64,
    /// CPU time in the kernel, in clock ticks.
    pub system_ticks: u64,
    /// Its nice value, from −20 to 19.
    pub nice: i64,
    /// When it started, in clock ticks since boot.
    pub started_ticks: u64,
    /// Its scheduling policy, by its number in `sched(7)`.
    pub policy: u64,
}

impl ProcessStat {
    /// That of the process or thread whose folder this is, such as `proc/17`;
    /// `None` if there is none, or its file is not one.
    pub fn read(files: &SystemFiles, folder: &str) -> Option<Self> {
        Self::parse(&files.text(&format!("{folder}/stat"))?)
    }

    /// The name, in parentheses, may hold anything, parentheses too: what
    /// follows the last one begins with the third field.
    fn parse(text: &str) -> Option<Self> {
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse().ok();
        Some(Self {
            state: fields.first()?.chars().next()?,
            user_ticks: number(14)?,
            system_ticks: number(15)?,
            nice: fields.get(19 - 3)?.parse().ok()?,
            started_ticks: number(22)?,
            policy: number(41)?,
        })
    }
}

/// Forks this process, whose child is then as able as itself.
///
/// # Errors
/// That it has several threads, or the kernel's refusal.
pub fn fork_alone() -> io::Result<ForkResult> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process of several threads cannot be forked"));
    }
    // SAFETY: this process has one thread, so no lock is held by another one
    // that the child lacks.
    Ok(unsafe { fork() }?)
}

/// Arranges that the kernel kills this process when its parent ends.
///
/// # Errors
/// That the parent has ended already.
pub fn die_with(parent: Pid) -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    if getppid() == parent { Ok(()) } else { Err(io::Error::other("its parent has ended")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::thread;

    /// A line of Linux 6.1, as far as the field after the start.
    /// Field 41 is the policy.
    const LINE: &str = "71 (cat) R 70 71 70 34816 71 4194304 103 0 0 0 5 7 0 0 20 -3 1 0 98765 0 \
                        0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1";

    #[test]
    fn fields_are_counted_from_the_end_of_the_name() {
        let stat = ProcessStat {
            state: 'R',
            user_ticks: 5,
            system_ticks: 7,
            nice: -3,
            started_ticks: 98_765,
            policy: 1,
        };
        for name in ["(cat)", "(a b)", "()", "(1) R 2 (3)", "(\n)"] {
            assert_eq!(ProcessStat::parse(&LINE.replace("(cat)", name)), Some(stat), "{name}");
        }
    }

    #[test]
    fn what_is_no_such_line_is_none() {
        for text in ["", "71", "71 (cat)", "71 (cat) R 70", &LINE.replace('5', "x")] {
            assert_eq!(ProcessStat::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_process_of_several_threads_is_not_forked() {
        // Whoever runs the tests waits for this thread, and is another one.
        let error = thread::spawn(|| fork_alone().map(|_| ())).join().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "a process of several threads cannot be forked");
    }
}
