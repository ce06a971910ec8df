//! The two sides that hand over in turn, as threads or as processes.

use std::io::{self, ErrorKind};
use std::time::Duration;
use std::{mem, process, thread};

use anyhow::Context as _;
use harness::hand_over::{Closer, Sink, Source};
use harness::threads::{outcome, outcome_of_process, root_cause, spawn};
use harness::{Bench, Measured, Work, failure, process_stat};
use nix::unistd::Pid;

use crate::{Flags, SPEC};

/// One of two sides that alternate: where it receives its turn, and how it hands over. Dropping it
/// ends the other's turns.
pub type Side<R, S> = (R, S);

/// The driver's loop: hands over and waits for its turn, lap after lap.
///
/// # Errors
/// The kernel's, or that the partner is gone.
fn drive(
    flags: &Flags,
    bench: &Bench,
    (source, sink): &mut Side<impl Source, impl Sink>,
) -> anyhow::Result<()> {
    let round_trips = flags.batch();
    let work = flags.work.work();
    for lap in bench.laps(&[Measured::per_task("iteration", "switch", 2 * round_trips)]) {
        for _ in 0..round_trips {
            work.perform();
            sink.send(0).context("handing over to task 1")?;
            let turn = source.receive();
            let turn = turn.and_then(|turn| turn.ok_or(ErrorKind::UnexpectedEof.into()));
            turn.context("waiting for task 1 to hand over")?;
        }
        lap.finish();
    }
    bench.observe()
}

/// The partner's loop: answers every turn until the driver is gone.
///
/// # Errors
/// The kernel's.
fn answer(work: Work, (source, sink): &mut Side<impl Source, impl Sink>) -> io::Result<()> {
    while source.receive()?.is_some() {
        work.perform();
        sink.send(0)?;
    }
    Ok(())
}

/// Measures two threads that hand over to each other: this one, which is task 0, and a new one.
///
/// # Errors
/// If a thread cannot be created or placed, or either fails.
pub fn measure_threads<R: Source, S: Sink>(
    flags: &Flags,
    bench: &Bench,
    [mut driver, mut partner]: [Side<R, S>; 2],
) -> anyhow::Result<()> {
    let placement = bench.placement();
    thread::scope(|scope| {
        let body = move || {
            placement.pin(1)?;
            answer(flags.work.work(), &mut partner)
        };
        let thread = spawn(scope, 1, SPEC.stack_bytes as usize, body)?;
        let placed = placement.pin(0).context("placing task 0");
        let driven = placed.and_then(|()| drive(flags, bench, &mut driver));
        drop(driver);
        root_cause([Ok(()), outcome(thread)]).and(driven)
    })
}

/// Measures the control: one thread writes, then reads what it wrote. It makes the system calls of
/// a hand-over without a switch.
///
/// # Errors
/// The kernel's.
pub fn measure_alone<R: Source, S: Sink>(
    flags: &Flags,
    bench: &Bench,
    channel: io::Result<(R, S)>,
) -> anyhow::Result<()> {
    let (mut source, mut sink) = channel.context("opening the channel")?;
    let passes = flags.batch();
    let work = flags.work.work();
    let operations = passes as u64;
    let measured = Measured { operations, ..Measured::single("self", "write and read") };
    for lap in bench.laps(&[measured]) {
        for _ in 0..passes {
            work.perform();
            sink.send(0).context("writing by one thread")?;
            source.receive().context("reading by one thread")?;
        }
        lap.finish();
    }
    bench.observe()
}

/// How long the driver may take to notice that the child has died.
const PATIENCE: Duration = Duration::from_secs(2);

/// Measures two processes that hand over to each other: this one, which is task
/// 0, and a child.
///
/// # Errors
/// If the child cannot be created or placed, or either fails.
pub fn measure_processes<R: Source, S: Sink>(
    flags: &Flags,
    bench: &Bench,
    [driver, mut partner]: [Side<R, S>; 2],
) -> anyhow::Result<()> {
    let closer = driver.0.closer();
    let mut driver = Some(driver);
    let child = process_stat::spawn(|| {
        leave(driver.take(), closer.is_none());
        bench.placement().pin(1)?;
        answer(flags.work.work(), &mut partner)
    });
    let child = child.map_err(failure::to_create("task 1"))?;
    bench.count_peers(vec![child.as_raw().unsigned_abs()]);
    leave(partner, closer.is_none());
    let mut driver = driver.expect("only the child leaves it");
    thread::scope(|scope| {
        // A watching thread makes every system call on a file slightly more
        // expensive, so there is one only if it is needed.
        let watcher = closer.map(|close| scope.spawn(move || watch(child, close)));
        let placed = bench.placement().pin(0).context("placing task 0");
        let driven = placed.and_then(|()| drive(flags, bench, &mut driver));
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
