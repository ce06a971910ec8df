//! Measures Brigade itself: the cost of reading the clock and of a lap, and
//! whether the CPUs' clocks agree. Laps are measured as compiled in the
//! harness; programs inline them, and they cost no more.

use std::hint::{black_box, spin_loop};
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;
use std::time::{Duration, Instant};

use crate::bench::Bench;
use crate::samples::Measured;
use crate::{clock, cpus};

/// Alternating blocks of clock reads and of laps.
const BLOCKS: usize = 41;
/// Reads or laps per block: enough to make the overhead around them negligible.
const PER_BLOCK: u64 = 100_000;

/// Hand-overs between two CPUs, and a time limit for a busy machine.
const HAND_OVERS: u64 = 100_000;
const LONGEST: Duration = Duration::from_millis(500);

/// The cost of an empty lap, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmptyLap {
    /// One read of the clock.
    pub read_ns: f64,
    /// The duration that the median lap reports: included in every lap.
    pub timed_ns: f64,
    /// From one lap to the next, including the bookkeeping between them.
    pub whole_ns: f64,
}

/// Measures empty laps. Blocks of laps and of clock reads alternate, and the
/// block with the median ratio of the two is reported, so that a slow moment of
/// the machine affects both alike.
///
/// # Errors
/// If the CPUs that this process may use cannot be read.
pub fn empty_lap() -> anyhow::Result<EmptyLap> {
    let mut blocks = Vec::with_capacity(BLOCKS);
    for _ in 0..BLOCKS {
        let read_ns = clock_reads();
        let (timed_ns, whole_ns) = laps()?;
        blocks.push(EmptyLap { read_ns, timed_ns, whole_ns });
    }
    let reads = |block: &EmptyLap| block.whole_ns / block.read_ns;
    blocks.sort_by(|a, b| reads(a).total_cmp(&reads(b)));
    Ok(blocks[BLOCKS / 2])
}

/// One read of the clock, in nanoseconds.
fn clock_reads() -> f64 {
    let begun = clock::now();
    for _ in 0..PER_BLOCK {
        black_box(clock::now());
    }
    (clock::now() - begun) as f64 / PER_BLOCK as f64
}

/// One empty lap, in nanoseconds: its reported duration, and its whole
/// duration.
fn laps() -> anyhow::Result<(f64, f64)> {
    let bench = Bench::standalone(1, PER_BLOCK, 0, None)?;
    let begun = clock::now();
    for lap in bench.laps(&[Measured::single("empty", "lap")]) {
        lap.finish();
    }
    let whole = (clock::now() - begun) as f64 / PER_BLOCK as f64;
    let timed = bench.findings().samples[0].measurement(1).map_or(0.0, |laps| laps.p50_ns as f64);
    Ok((timed, whole))
}

/// The smallest difference between two reads of the clock, in nanoseconds.
pub fn clock_step() -> u64 {
    let mut smallest = u64::MAX;
    let mut last = clock::now();
    for _ in 0..PER_BLOCK {
        let next = clock::now();
        if next != last {
            smallest = smallest.min(next.abs_diff(last));
        }
        last = next;
    }
    smallest
}

/// Readings of several CPUs' clocks, made in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossings {
    /// How often a CPU read the clock after another had.
    pub hand_overs: u64,
    /// How often its reading was smaller.
    pub backwards: u64,
    /// The smallest difference, in nanoseconds, negative if the clock went
    /// backwards; `None` without a hand-over.
    pub least_ns: Option<i64>,
}

/// Reads the clock on the first of `cpus` and on each of the others in turn,
/// back and forth: each reader has seen the other's reading. On a single CPU
/// there are no hand-overs.
///
/// # Errors
/// If a CPU cannot be used.
pub fn clock_across(cpus: &[usize]) -> io::Result<Crossings> {
    across(cpus, |_| clock::now())
}

/// As [`clock_across`], with the caller's clock, which receives the side of the
/// pair, 0 or 1.
fn across(cpus: &[usize], now: fn(u64) -> u64) -> io::Result<Crossings> {
    let mut steps: Vec<i64> = Vec::new();
    for &other in cpus.iter().skip(1) {
        let word = Word::default();
        let (one, two) = thread::scope(|scope| {
            let two = scope.spawn(|| word.pass(1, other, now));
            // Two threads, so that the caller's affinity does not change.
            let one = scope.spawn(|| word.pass(0, cpus[0], now));
            (one.join().expect("no panic"), two.join().expect("no panic"))
        });
        steps.extend(one?);
        steps.extend(two?);
    }
    Ok(Crossings {
        hand_overs: steps.len() as u64,
        backwards: steps.iter().filter(|ns| **ns < 0).count() as u64,
        least_ns: steps.into_iter().min(),
    })
}

/// Passed back and forth.
#[derive(Default)]
struct Word {
    /// Readings so far; its parity tells whose turn it is.
    readings: AtomicU64,
    /// The last reading; 0 before the first.
    last: AtomicU64,
    over: AtomicBool,
}

impl Word {
    /// One side, on a separate CPU: returns how many nanoseconds each of its readings is after the
    /// other side's.
    fn pass(&self, side: u64, cpu: usize, now: fn(u64) -> u64) -> io::Result<Vec<i64>> {
        if let Err(error) = cpus::confine(&[cpu]) {
            self.over.store(true, Relaxed);
            return Err(error.into());
        }
        let deadline = Instant::now() + LONGEST;
        let mut steps = Vec::with_capacity(HAND_OVERS as usize);
        while let Some(readings) = self.turn(side) {
            let before = self.last.load(Relaxed);
            let read = now(side);
            if before > 0 {
                steps.push(read.cast_signed() - before.cast_signed());
            }
            self.last.store(read, Relaxed);
            self.readings.store(readings + 1, Release);
            if readings >= HAND_OVERS || (readings % 1000 < 2 && Instant::now() > deadline) {
                self.over.store(true, Relaxed);
            }
        }
        Ok(steps)
    }

    /// Waits for the turn of `side`; `None` if the other side has failed.
    fn turn(&self, side: u64) -> Option<u64> {
        loop {
            let readings = self.readings.load(Acquire);
            if self.over.load(Relaxed) {
                return None;
            }
            if readings % 2 == side {
                return Some(readings);
            }
            spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_of_all_cpus_agree() {
        let cpus = cpus::allowed().expect("the mask of this process");
        let seen = clock_across(&cpus).expect("own CPUs");
        assert_eq!(seen.backwards, 0, "{seen:?}");
        assert_eq!(seen.hand_overs > 0, cpus.len() > 1, "{seen:?}");
    }

    #[test]
    fn a_clock_that_is_behind_on_one_cpu_is_found() {
        let cpus = cpus::allowed().expect("the mask of this process");
        if cpus.len() < 2 {
            return;
        }
        let behind = |side| clock::now() - 1_000_000_000 * side;
        let seen = across(&cpus[..2], behind).expect("own CPUs");
        assert!(seen.backwards > 0 && seen.least_ns.is_some_and(|least| least < 0), "{seen:?}");
    }

    #[test]
    fn an_unusable_cpu_is_an_error_and_does_not_hang() {
        let cpus = cpus::allowed().expect("the mask of this process");
        assert!(clock_across(&[cpus[0], 100_000]).is_err());
    }
}
