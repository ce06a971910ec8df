//! The partner as a process: a fork of this one.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use anyhow::{Context as _, bail};
use harness::fork::fork_alone;
use harness::placement::Placement;
use harness::process_stat::reap;
use harness::threads::panic_text;
use harness::{Bench, Work, failure};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;
use nix::unistd::{ForkResult, Pid, alarm, getpid, getppid};

use crate::side::{Alarm, Held, Pair, RoundTrips, Side};

/// How long the driver may take to notice that the child has died.
const PATIENCE_SECONDS: u32 = 2;

/// Measures two processes that hand over to each other: this one, which is
/// task 0, and a child. The child reports over a pipe how it failed, and the
/// end of that pipe is how this process learns of its death.
///
/// # Errors
/// That the child cannot be created or placed, or the failure of either.
pub fn measure(bench: &Bench, trips: RoundTrips, [driver, partner]: Pair) -> anyhow::Result<()> {
    let (report, reporter) = io::pipe().context("opening a pipe for the child's report")?;
    let ring = driver.alarm().context("preparing for the child's death")?;
    let parent = getpid();
    io::stdout().flush().context("flushing standard output")?;
    match fork_alone().map_err(|error| failure::creating(format_args!("task 1"), error))? {
        ForkResult::Child => {
            // Dropped without hanging up, which would be felt by the parent.
            drop((driver, report, ring));
            live(parent, bench.placement(), trips.work, partner, reporter)
        }
        ForkResult::Parent { child } => {
            drop((partner, reporter));
            bench.findings().peer = Some(child.as_raw().unsigned_abs());
            let driven = lead(bench, trips, Held(driver), report, ring);
            end(child).and(driven)
        }
    }
}

/// The driver's part. The child's report comes before any other failure: the
/// driver's is but its consequence.
fn lead(
    bench: &Bench,
    trips: RoundTrips,
    mut driver: Held,
    report: PipeReader,
    ring: Option<Alarm>,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        // A thread that watches makes every system call on a file a little
        // dearer, so there is one only where it is needed.
        let (watcher, report) = match ring {
            None => (None, Some(report)),
            Some(ring) => (Some(scope.spawn(|| watch(report, ring))), None),
        };
        let placed = bench.placement().pin(0).context("placing task 0");
        let driven = placed.and_then(|()| driver.0.drive(bench, trips));
        let driven = driven.and_then(|()| bench.observe());
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

/// Waits for the end of the child, then raises the alarm. One that rings when
/// all is over is not heard; where it wakes nobody, because the child was killed
/// inside the C library's condition variable, SIGALRM ends this process.
fn watch(report: PipeReader, ring: Alarm) -> io::Result<String> {
    let failure = read_report(report);
    alarm::set(PATIENCE_SECONDS);
    ring();
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
fn live(
    parent: Pid,
    placement: &Placement,
    work: Work,
    partner: Box<dyn Side>,
    mut report: PipeWriter,
) -> ! {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        let mut partner = Held(partner);
        die_with(parent)?;
        placement.pin(1)?;
        partner.0.answer(work)
    }));
    let failure = match answered {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(panic) => Some(format!("it panicked: {}", panic_text(&*panic))),
    };
    if let Some(failure) = &failure {
        // Without a reader there is nobody to tell.
        let _ = report.write_all(failure.as_bytes());
    }
    // SAFETY: _exit ends the process and touches nothing in it.
    unsafe { libc::_exit(failure.is_some().into()) }
}

/// Arranges that the kernel kills this process when its parent ends.
fn die_with(parent: Pid) -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    // The parent may have ended before the call.
    if getppid() == parent { Ok(()) } else { Err(io::Error::other("its parent has ended")) }
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
