//! The instrument, measured: what reading the clock and a lap cost, and whether
//! the clocks of the CPUs agree. Laps are measured here as the harness is
//! compiled; in a program, which inlines them, they cost no more.

use std::hint::{black_box, spin_loop};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;
use std::time::{Duration, Instant};

use crate::bench::Bench;
use crate::samples::Measured;
use crate::{clock, cpus};

/// Blocks of clock reads and of laps, which take turns.
const BLOCKS: usize = 41;
/// Reads or laps in a block: enough that what is around them does not show.
const PER_BLOCK: u64 = 100_000;

/// Hand-overs between two CPUs, and how long they may take where the machine
/// has others to run.
const HAND_OVERS: u64 = 100_000;
const LONGEST: Duration = Duration::from_millis(500);

/// What a lap that holds nothing costs, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmptyLap {
    /// One read of the clock.
    pub read_ns: f64,
    /// What the median lap says of itself: what is added to every lap.
    pub timed_ns: f64,
    /// From one lap to the next, with the bookkeeping between them.
    pub whole_ns: f64,
}

/// Measures empty laps. Blocks of them and of clock reads are interleaved, and
/// the block in whose moment a lap cost the median number of reads is told, so
/// that a slow moment of the machine meets both alike.
///
/// # Errors
/// When the CPUs that this process may use cannot be read.
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

/// One empty lap, in nanoseconds: what it says of itself, and all of it.
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

/// The smallest step between two reads of the clock that differ, in
/// nanoseconds.
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

/// What the clocks of several CPUs read as a word went to and fro between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossings {
    /// Times that a CPU read the clock after another had.
    pub hand_overs: u64,
    /// Times that it read less.
    pub backwards: u64,
    /// The least that it read more, in nanoseconds, or below 0 less; `None`
    /// without a hand-over.
    pub least_ns: Option<i64>,
}

/// Reads the clock on the first of `cpus` and on each of the others in turn,
/// to and fro: who reads has seen that the other one has read. Nothing comes of
/// a single CPU.
///
/// # Errors
/// When a CPU cannot be used.
pub fn clock_across(cpus: &[usize]) -> io::Result<Crossings> {
    across(cpus, |_| clock::now())
}

/// As [`clock_across`], with a clock of the caller's, which is told on which
/// side of a pair it is read, 0 or 1.
fn across(cpus: &[usize], now: fn(u64) -> u64) -> io::Result<Crossings> {
    let mut steps: Vec<i64> = Vec::new();
    for &other in cpus.iter().skip(1) {
        let word = Word::default();
        let (one, two) = thread::scope(|scope| {
            let two = scope.spawn(|| word.pass(1, other, now));
            // Two threads, so that the caller's CPUs remain what they are.
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

/// What goes to and fro.
#[derive(Default)]
struct Word {
    /// Readings so far: the side of its parity is next.
    readings: AtomicU64,
    /// The last reading; 0 before the first.
    last: AtomicU64,
    over: AtomicBool,
}

impl Word {
    /// The part of one side, on a CPU of its own: by how many nanoseconds each of its readings
    /// is after the other side's.
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

    /// Waits for the turn of `side`; `None` when it will not come.
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
    fn a_cpu_that_cannot_be_used_is_an_error_and_no_hang() {
        let cpus = cpus::allowed().expect("the mask of this process");
        assert!(clock_across(&[cpus[0], 100_000]).is_err());
    }
}
