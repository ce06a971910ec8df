//! The partner as a process: a fork of this one.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use anyhow::{Context as _, bail};
use harness::hand_over::{Closer, Sink, Source};
use harness::placement::Placement;
use harness::process_stat::{die_with, fork_alone, reap};
use harness::threads::panic_text;
use harness::{Bench, Work, failure};
use nix::sys::wait::WaitStatus;
use nix::unistd::{ForkResult, Pid, alarm, getpid};

use crate::pair::{RoundTrips, Side};

/// How long the driver may take to notice that the child has died.
const PATIENCE_SECONDS: u32 = 2;

/// Measures two processes that hand over to each other: this one, which is task
/// 0, and a child. The child reports failures over a pipe; the end of that pipe
/// tells this process that it has died.
///
/// # Errors
/// If the child cannot be created or placed, or either fails.
pub fn measure<R: Source, S: Sink>(
    bench: &Bench,
    trips: RoundTrips,
    [driver, partner]: [Side<R, S>; 2],
) -> anyhow::Result<()> {
    let (report, reporter) = io::pipe().context("opening a pipe for the child's report")?;
    let closer = driver.source.closer();
    let parent = getpid();
    io::stdout().flush().context("flushing standard output")?;
    match fork_alone().map_err(|error| failure::creating(format_args!("task 1"), error))? {
        ForkResult::Child => {
            drop(report);
            // Close files here, too; closing anything else would close it for the parent.
            match closer {
                None => drop(driver),
                Some(_) => mem::forget(driver),
            }
            live(parent, bench.placement(), trips.work, partner, reporter)
        }
        ForkResult::Parent { child } => {
            bench.findings().peers = vec![child.as_raw().unsigned_abs()];
            drop(reporter);
            match closer {
                None => drop(partner),
                Some(_) => mem::forget(partner),
            }
            let driven = lead(bench, trips, driver, report, closer);
            end(child).and(driven)
        }
    }
}

/// The driver's part. The child's report takes precedence: a failure of the
/// driver is only its consequence.
fn lead<R: Source, S: Sink>(
    bench: &Bench,
    trips: RoundTrips,
    mut driver: Side<R, S>,
    report: PipeReader,
    closer: Option<Closer>,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        // A watching thread makes every system call on a file slightly more
        // expensive, so there is one only if it is needed.
        let (watcher, report) = match closer {
            None => (None, Some(report)),
            Some(close) => (Some(scope.spawn(|| watch(report, close))), None),
        };
        let placed = bench.placement().pin(0).context("placing task 0");
        let driven = placed.and_then(|()| driver.drive(bench, trips));
        drop(driver);
        let reported = match (watcher, report) {
            (Some(watcher), _) => watcher.join().expect("the watcher does not panic"),
            (None, report) => report.map_or(Ok(String::new()), read_report),
        };
        alarm::cancel();
        match reported.context("reading the child's report")? {
            nothing if nothing.is_empty() => driven,
            failure => bail!("task 1 failed: {failure}"),
        }
    })
}

/// Waits for the child to end, then closes its sink. If that wakes nobody, because the child was
/// killed inside the C library's condition variable, SIGALRM ends this process.
fn watch(report: PipeReader, close: Closer) -> io::Result<String> {
    let failure = read_report(report);
    alarm::set(PATIENCE_SECONDS);
    close();
    failure
}

/// The child's report, up to its end.
fn read_report(mut report: PipeReader) -> io::Result<String> {
    let mut text = String::new();
    report.read_to_string(&mut text)?;
    Ok(text)
}

/// The child's main function. It dies with its parent, and skips the usual
/// clean-up of a Rust program: inherited buffers are the parent's to flush.
fn live<R: Source, S: Sink>(
    parent: Pid,
    placement: &Placement,
    work: Work,
    mut partner: Side<R, S>,
    mut report: PipeWriter,
) -> ! {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        die_with(parent)?;
        placement.pin(1)?;
        partner.answer(work)
    }));
    drop(partner);
    let failure = match answered {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(panic) => Some(format!("it panicked: {}", panic_text(&*panic))),
    };
    if let Some(failure) = &failure {
        // Without a reader, nobody needs the report.
        let _ = report.write_all(failure.as_bytes());
    }
    // SAFETY: _exit ends the process and touches nothing in it.
    unsafe { libc::_exit(failure.is_some().into()) }
}

fn end(child: Pid) -> anyhow::Result<()> {
    match reap(child).context("waiting for the end of task 1")? {
        // If it failed by itself, it has reported why.
        WaitStatus::Exited(..) => Ok(()),
        WaitStatus::Signaled(_, signal, _) => bail!("task 1 was killed by {signal}"),
        status => bail!("task 1 ended in an unknown way: {status:?}"),
    }
}
