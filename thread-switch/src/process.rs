//! The partner as a process: a fork of this one.

use std::time::Duration;
use std::{mem, process, thread};

use anyhow::Context as _;
use harness::hand_over::{Closer, Sink, Source};
use harness::process_stat::spawn;
use harness::threads::outcome_of_process;
use harness::{Bench, failure};
use nix::unistd::Pid;

use crate::pair::{RoundTrips, Side};

/// How long the driver may take to notice that the child has died.
const PATIENCE: Duration = Duration::from_secs(2);

/// Measures two processes that hand over to each other: this one, which is task
/// 0, and a child.
///
/// # Errors
/// If the child cannot be created or placed, or either fails.
pub fn measure<R: Source, S: Sink>(
    bench: &Bench,
    trips: RoundTrips,
    [driver, mut partner]: [Side<R, S>; 2],
) -> anyhow::Result<()> {
    let closer = driver.source.closer();
    let mut driver = Some(driver);
    let child = spawn(|| {
        leave(driver.take(), closer.is_none());
        bench.placement().pin(1)?;
        partner.answer(trips.work)
    });
    let child = child.map_err(failure::to_create("task 1"))?;
    bench.findings().peers = vec![child.as_raw().unsigned_abs()];
    leave(partner, closer.is_none());
    let mut driver = driver.expect("only the child leaves it");
    thread::scope(|scope| {
        // A watching thread makes every system call on a file slightly more
        // expensive, so there is one only if it is needed.
        let watcher = closer.map(|close| scope.spawn(move || watch(child, close)));
        let placed = bench.placement().pin(0).context("placing task 0");
        let driven = placed.and_then(|()| driver.drive(bench, trips));
        drop(driver);
        let ended = match watcher {
            Some(watcher) => watcher.join().expect("the watcher does not panic"),
            None => ended(child),
        };
        // The driver's failure is only a consequence of the child's.
        ended.and(driven)
    })
}

/// Closes the other process's side here, too, if it is files; closing anything else would close it
/// for the other process.
fn leave<T>(side: T, is_files: bool) {
    if is_files { drop(side) } else { mem::forget(side) }
}

/// Waits for the child to end.
fn ended(child: Pid) -> anyhow::Result<()> {
    outcome_of_process(child).map_err(|error| error.of_task(1))
}

/// Waits for the child to end, then closes its sink. If that wakes nobody, because the child was
/// killed inside the C library's condition variable, ends this process, too.
fn watch(child: Pid, close: Closer) -> anyhow::Result<()> {
    let ended = ended(child);
    if let Err(error) = &ended {
        let text = format!("{error:#}");
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            eprintln!("thread-switch: {text}");
            process::exit(failure::FAILED.into());
        });
    }
    close();
    ended
}
