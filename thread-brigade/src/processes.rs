//! The tasks as processes: forks of this one, each with only its two channels open.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::Context as _;
use harness::process_stat::{die_with, fork_alone, reap};
use harness::threads::{TaskError, root_cause};
use harness::{Bench, Line, failure};
use nix::sys::wait::WaitStatus;
use nix::unistd::{ForkResult, Pid, getpid};

/// The exit code of a process that failed without a kernel error, or panicked.
const FAILED: i32 = 254;
const PANICKED: i32 = 255;

/// Sets up the brigade, with channels that `open` opens, and measures it.
///
/// # Errors
/// Those of channels and tasks. A process returns its error number as its exit code.
pub fn brigade(
    bench: &Bench,
    open: impl FnMut() -> io::Result<(File, File)>,
) -> anyhow::Result<()> {
    io::stdout().flush().context("flushing standard output")?;
    let parent = getpid();
    let start = |task, upstream, downstream| match fork_alone()
        .map_err(|error| failure::creating(format_args!("task {task}"), error))?
    {
        ForkResult::Child => live(bench, parent, task, upstream, downstream),
        ForkResult::Parent { child } => Ok(child),
    };
    let mut line = Line::create(bench.creation(), open, start)?;
    bench.findings().peers = line.tasks.iter().map(|task| task.as_raw().unsigned_abs()).collect();
    let result = crate::drive(bench, &mut line.first, &mut line.last);
    let observed = result.and_then(|()| bench.observe());
    drop(line.first);
    root_cause(line.tasks.into_iter().map(outcome)).and(observed)
}

/// A task's main function. It skips the usual clean-up of a Rust program: inherited objects are its
/// parent's.
fn live(bench: &Bench, parent: Pid, task: usize, upstream: File, downstream: File) -> ! {
    let relayed = catch_unwind(AssertUnwindSafe(|| {
        die_with(parent)?;
        close_all_but(&[&upstream, &downstream])?;
        crate::relay(bench, task, upstream, downstream)
    }));
    let code = match relayed {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            error.raw_os_error().filter(|code| (1..FAILED).contains(code)).unwrap_or(FAILED)
        }
        Err(_) => PANICKED,
    };
    // SAFETY: it ends the process and touches nothing in it.
    unsafe { libc::_exit(code) }
}

/// Closes every file except the standard ones and these. An open end of another channel would hide
/// from its reader that its writer has ended.
fn close_all_but(kept: &[&File]) -> io::Result<()> {
    let names = fs::read_dir("/proc/self/fd")?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<_>>>()?;
    let open = names.iter().filter_map(|name| name.to_str()?.parse::<i32>().ok());
    for file in open.filter(|file| *file > 2 && kept.iter().all(|kept| kept.as_raw_fd() != *file)) {
        // SAFETY: nothing in this process uses it any more: it ends without destructors.
        unsafe { libc::close(file) };
    }
    Ok(())
}

fn outcome(task: Pid) -> Result<(), TaskError> {
    let failed = |error| Err(TaskError::Failed(error));
    match reap(task) {
        Ok(WaitStatus::Exited(_, 0)) => Ok(()),
        Ok(WaitStatus::Exited(_, PANICKED)) => {
            Err(TaskError::Panicked("its message is above".to_owned()))
        }
        Ok(WaitStatus::Exited(_, FAILED)) => failed(io::Error::other("it gave no reason")),
        Ok(WaitStatus::Exited(_, code)) => failed(io::Error::from_raw_os_error(code)),
        Ok(WaitStatus::Signaled(_, signal, _)) => {
            failed(io::Error::other(format!("it was killed by {signal}")))
        }
        Ok(status) => failed(io::Error::other(format!("{status:?}"))),
        Err(error) => failed(error.into()),
    }
}
