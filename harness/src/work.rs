//! Work of a known length, which `--work` adds to every hop.
//!
//! A unit is one turn of a loop in which each step waits for the one before:
//! its speed is that of one multiplication and one rotation in a row. A loop
//! that is bound by how much the core can do at once, such as an empty one,
//! takes twice as long while a hidden neighbour has the core's other hardware
//! thread; this one does not.

use std::hint::black_box;

use serde::Serialize;

use crate::{clock, trace};

/// An odd number with bits everywhere, that of Knuth's MMIX generator.
const FACTOR: u64 = 6_364_136_223_846_793_005;

/// The two amounts whose times make the slope, in units: long enough that
/// reading the clock vanishes, short enough that some are not interrupted.
const SHORT: u64 = 2_000;
const LONG: u64 = 12_000;

/// How often each of them is done, before the laps and after: 11 ms each.
const TIMES: usize = 501;

/// Does `units` of work. Compiled once, so that nobody has a faster loop, and
/// written so that little optimization makes the same of it as much does.
#[inline(never)]
pub fn spend(units: u64) {
    let mut state = units;
    let mut left = units;
    while left > 0 {
        state = state.wrapping_mul(FACTOR).rotate_left(7);
        left -= 1;
    }
    black_box(state);
}

/// Of units: the thread also notes, for `--trace`, that the token passes.
const NOTES: u32 = 1 << 31;

/// The work that belongs to a hop. Whoever sends the token does it before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    units: u32,
}

impl Work {
    /// This many units, which `--work` limits to what fits.
    pub(crate) fn of(units: u64) -> Self {
        Self { units: u32::try_from(units).expect("the flag's range") }
    }

    /// Whether there is any.
    pub(crate) fn is_some(self) -> bool {
        self.units > 0
    }

    /// Does it. Without units it is one comparison.
    #[inline]
    pub fn perform(self) {
        if self.units > 0 {
            self.spend();
        }
    }

    #[inline(never)]
    fn spend(self) {
        if self.units & NOTES != 0 {
            trace::pass();
        }
        spend((self.units & !NOTES).into());
    }
}

/// The quickest of many short runs and of as many long ones, in nanoseconds.
/// Whatever else the machine does can only make a run slower, and does so for
/// tens of milliseconds on end: so there are looks before the laps and after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calibration {
    short_ns: u64,
    long_ns: u64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { short_ns: u64::MAX, long_ns: u64::MAX }
    }
}

impl Calibration {
    /// Runs both amounts in turn on the CPU that this thread is on.
    pub(crate) fn look(&mut self) {
        for _ in 0..TIMES {
            self.short_ns = self.short_ns.min(timed(SHORT));
            self.long_ns = self.long_ns.min(timed(LONG));
        }
    }

    /// How long a unit takes: the slope between the two amounts, in which what
    /// is common to both, such as reading the clock, drops out. To be asked
    /// after a look.
    pub(crate) fn ns_per_unit(self) -> f64 {
        (self.long_ns as f64 - self.short_ns as f64) / (LONG - SHORT) as f64
    }
}

/// Work that is timed between laps, so that whatever slows the laps slows it
/// alike: its mean is to theirs as [`Calibration`] is to the quickest lap.
#[derive(Debug, Default)]
pub(crate) struct BetweenLaps {
    pieces: u64,
    total_ns: u64,
}

impl BetweenLaps {
    /// Times one more piece.
    pub(crate) fn time_one(&mut self) {
        self.total_ns += timed(LONG);
        self.pieces += 1;
    }

    /// The mean time of a unit, in nanoseconds; `None` before the first piece.
    pub(crate) fn mean_ns_per_unit(&self) -> Option<f64> {
        (self.pieces > 0).then(|| self.total_ns as f64 / (self.pieces * LONG) as f64)
    }
}

/// Nanoseconds that this many units take, with reading the clock once.
fn timed(units: u64) -> u64 {
    let begun = clock::now();
    spend(units);
    clock::now() - begun
}

/// The most units of work at a hop.
const MOST_WORK: u64 = 1_000_000_000;

/// The flag for work at every hop, of programs whose tasks hand a token over.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
#[group(skip)]
pub struct WorkFlag {
    /// Units of work done before each send; how long a unit takes is measured
    /// before the laps and after
    #[arg(long, value_name = "UNITS", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MOST_WORK))]
    pub work: u64,
}

impl WorkFlag {
    /// The work of one hop.
    pub fn work(self) -> Work {
        let Work { units } = Work::of(self.work);
        Work { units: if trace::is_on() { units | NOTES } else { units } }
    }
}

#[cfg(test)]
mod tests {
    use super::{BetweenLaps, Calibration, LONG, SHORT};

    #[test]
    fn a_slope_is_free_of_what_both_runs_have_in_common() {
        let unit_ns = |short_ns, long_ns| Calibration { short_ns, long_ns }.ns_per_unit();
        assert_eq!(unit_ns(50 + 3 * SHORT, 50 + 3 * LONG), 3.0);
        assert!(unit_ns(10, 9) < 0.0, "no figure is made nicer");
    }

    #[test]
    fn units_between_laps_have_a_mean() {
        let mut between = BetweenLaps::default();
        assert_eq!(between.mean_ns_per_unit(), None);
        between.pieces = 3;
        between.total_ns = 6 * LONG;
        assert_eq!(between.mean_ns_per_unit(), Some(2.0));
    }
}
