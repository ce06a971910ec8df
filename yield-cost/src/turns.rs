//! Turns that threads take: counted, timed and verified.

use std::io;
use std::iter;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::thread::ScopedJoinHandle;

use anyhow::{Context as _, ensure};
use harness::Bench;
use harness::threads::{outcome, root_cause};
use harness::usage::Start;
use harness::work::spend;

use crate::event::AutoResetEvent;
use crate::{CYCLES, block};

/// Stack that the standard library gives a thread, in bytes.
pub const STACK: u64 = 2 << 20;

/// The share of cycles that must have given another thread its turn: a
/// scheduler may let one run on.
const LEAST_TURNS: f64 = 0.9;

/// The share of cycles for which the kernel must have counted a switch. With
/// two idle CPUs, a thread that is woken before it is asleep needs none; how
/// many there were stands in the record.
const LEAST_SWITCHES: f64 = 0.5;

/// The cycles of a lap, which several threads work off together.
#[derive(Debug, Default)]
pub struct Turns {
    /// Cycles of this lap that nobody has begun.
    left: AtomicI64,
    /// Whether no lap will follow.
    pub over: AtomicBool,
    /// The thread that had the last turn.
    last: AtomicU64,
    /// Turns that went to another thread than the one before.
    switched: AtomicU64,
}

impl Turns {
    fn begin(&self) {
        self.left.store(CYCLES as i64, Relaxed);
    }

    fn are_left(&self) -> bool {
        self.left.load(Relaxed) > 0
    }

    /// Does the work of one cycle, if one is left, as thread `own`.
    pub fn take(&self, own: u64, units: u64) {
        if self.left.fetch_sub(1, Relaxed) > 0 {
            if self.last.swap(own, Relaxed) != own {
                self.switched.fetch_add(1, Relaxed);
            }
            spend(units);
        }
    }
}

/// Waits for tasks 1, 2, …; task 0 is the driver.
pub fn join(others: Vec<ScopedJoinHandle<'_, io::Result<()>>>) -> anyhow::Result<()> {
    root_cause(iter::once(Ok(())).chain(others.into_iter().map(outcome)))
}

/// Ends the turns when it is dropped, for whatever reason: threads that wait for
/// the event are let through, one after the other, and leave.
pub struct EndOfTurns<'a> {
    pub turns: &'a Turns,
    pub event: Option<&'a AutoResetEvent>,
}

impl Drop for EndOfTurns<'_> {
    fn drop(&mut self) {
        self.turns.over.store(true, Relaxed);
        self.event.inspect(|event| event.set());
    }
}

/// The laps, in the first of the threads. Each ends when the cycles are worked
/// off and it is this thread's turn again.
pub fn drive(bench: &Bench, turns: &Turns, units: u64, switch: impl Fn()) -> anyhow::Result<()> {
    let usage = Start::now(None, bench.placement().cpus(), Vec::new());
    let mut cycles = 0;
    for lap in bench.laps(&[block()]) {
        turns.begin();
        while turns.are_left() {
            turns.take(0, units);
            switch();
        }
        lap.finish();
        cycles += CYCLES;
    }
    let span = usage.end().context("reading the counters of this process")?;
    if !bench.is_interrupted() {
        let switches = span.voluntary + span.involuntary;
        verify("turns changed threads", turns.switched.load(Relaxed), cycles, LEAST_TURNS)?;
        verify("switches were counted", switches, cycles, LEAST_SWITCHES)?;
    }
    bench.observe()
}

/// Fails when too small a share of the cycles switched threads.
fn verify(what: &str, switched: u64, cycles: u64, least: f64) -> anyhow::Result<()> {
    let enough = switched as f64 >= least * cycles as f64;
    ensure!(enough, "only {switched} {what} in {cycles} cycles: this did not measure switches");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_that_did_not_switch_threads_fail_the_run() {
        assert!(verify("turns changed threads", 950, 1000, LEAST_TURNS).is_ok());
        assert!(verify("turns changed threads", 890, 1000, LEAST_TURNS).is_err());
        assert!(verify("switches were counted", 820, 1000, LEAST_SWITCHES).is_ok());
        let error = verify("turns changed threads", 40, 1000, LEAST_TURNS).expect_err("too few");
        assert!(error.to_string().contains("only 40 turns changed threads in 1000 cycles"));
    }

    #[test]
    fn turns_of_one_thread_alone_are_no_switches() {
        let turns = Turns::default();
        turns.begin();
        turns.take(1, 0);
        turns.take(1, 0);
        turns.take(2, 0);
        assert_eq!(turns.switched.into_inner(), 2);
        assert_eq!(turns.left.into_inner(), CYCLES as i64 - 3);
    }
}
