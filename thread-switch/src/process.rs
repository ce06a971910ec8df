//! The partner as a process: a fork of this one.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use anyhow::{Context as _, bail};
use harness::hand_over::{Closer, Sink, Source};
use harness::process_stat::{die_with, fork_alone, reap};
use harness::threads::panic_text;
use harness::{Bench, failure};
use nix::sys::wait::WaitStatus;
use nix::unistd::{ForkResult, Pid, alarm, getpid};

use crate::pair::{RoundTrips, Side};

/// How long the driver may take to notice that the child has died.
const PATIENCE_SECONDS: u32 = 2;

/// Measures two processes that hand over to each other: this one, which is
/// task 0, and a child. The child reports over a pipe how it failed, and the
/// end of that pipe is how this process learns of its death.
///
/// # Errors
/// That the child cannot be created or placed, or the failure of either.
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
            // Files must be closed here, too; anything else would be closed for the parent.
            match closer {
                None => drop(driver),
                Some(_) => mem::forget(driver),
            }
            live(parent, bench, trips, partner, reporter)
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

/// The driver's part. The child's report comes before any other failure: the
/// driver's is but its consequence.
fn lead<R: Source, S: Sink>(
    bench: &Bench,
    trips: RoundTrips,
    mut driver: Side<R, S>,
    report: PipeReader,
    closer: Option<Closer>,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        // A thread that watches makes every system call on a file a little more
        // expensive, so there is one only where it is needed.
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

/// Waits for the end of the child, then closes what it sent into. Where that wakes nobody,
/// because the child was killed inside the C library's condition variable, SIGALRM ends this
/// process.
fn watch(report: PipeReader, close: Closer) -> io::Result<String> {
    let failure = read_report(report);
    alarm::set(PATIENCE_SECONDS);
    close();
    failure
}

/// What the child reports until it ends.
fn read_report(mut report: PipeReader) -> io::Result<String> {
    let mut text = String::new();
    report.read_to_string(&mut text)?;
    Ok(text)
}

/// The child's life, from its creation to its end. It dies with its parent,
/// and it leaves without what a Rust program does on leaving: the buffers that
/// it has inherited are the parent's to flush.
fn live<R: Source, S: Sink>(
    parent: Pid,
    bench: &Bench,
    trips: RoundTrips,
    mut partner: Side<R, S>,
    mut report: PipeWriter,
) -> ! {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        die_with(parent)?;
        bench.placement().pin(1)?;
        partner.answer(&trips.station(bench))
    }));
    drop(partner);
    let failure = match answered {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(panic) => Some(format!("it panicked: {}", panic_text(&*panic))),
    };
    if let Some(failure) = &failure {
        // Without a reader nobody wants to know.
        let _ = report.write_all(failure.as_bytes());
    }
    // SAFETY: _exit ends the process and touches nothing in it.
    unsafe { libc::_exit(failure.is_some().into()) }
}

/// Waits for the end of the child.
fn end(child: Pid) -> anyhow::Result<()> {
    match reap(child).context("waiting for the end of task 1")? {
        // One that failed by itself has said how.
        WaitStatus::Exited(..) => Ok(()),
        WaitStatus::Signaled(_, signal, _) => bail!("task 1 was killed by {signal}"),
        status => bail!("task 1 ended strangely: {status:?}"),
    }
}
