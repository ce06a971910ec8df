//! Work of known duration, which `--work` adds to every hop. [`spend`] is the work itself, in units.

pub use known_work::spend;
use serde::Serialize;

use crate::measure::{clock, trace};

/// The two amounts whose times give the slope, in units: long enough to make
/// reading the clock negligible, short enough that some are not interrupted.
const SHORT: u64 = 2_000;
const LONG: u64 = 12_000;

/// How often each amount is done, before and after the laps: 3 ms each.
const TIMES: usize = 151;

/// A bit of `Work::units`: the thread also notes for `--trace` that the token passes.
const NOTES: u32 = 1 << 31;

/// The work per hop. Each sender does it before sending the token.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    units: u32,
}

impl Work {
    /// Work of this many units; `--work` limits them to what fits.
    pub(crate) fn new(units: u64) -> Self {
        Self { units: u32::try_from(units).expect("the flag's range") }
    }

    /// Whether there is any.
    pub(crate) fn is_some(self) -> bool {
        self.units > 0
    }

    /// Does the work. Without units this is one comparison.
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

/// The fastest of many short runs and of as many long ones, in nanoseconds.
/// Disturbances only make a run slower, and last for tens of milliseconds: so
/// it samples before and after the laps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calibration {
    short_ns: u64,
    long_ns: u64,
    /// All the long runs.
    pub(crate) long: Pieces,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { short_ns: u64::MAX, long_ns: u64::MAX, long: Pieces::default() }
    }
}

impl Calibration {
    /// Runs both amounts in turn on this thread's CPU.
    pub(crate) fn look(&mut self) {
        for _ in 0..TIMES {
            self.short_ns = self.short_ns.min(timed(SHORT));
            self.long_ns = self.long_ns.min(self.long.time_one());
        }
    }

    /// The duration of a unit: the slope between the two amounts, which cancels
    /// common costs such as reading the clock. Call it after [`Self::look`].
    pub(crate) fn ns_per_unit(self) -> f64 {
        (self.long_ns as f64 - self.short_ns as f64) / (LONG - SHORT) as f64
    }
}

/// Work timed between laps, so that disturbances slow it as they slow the laps:
/// its mean relates to theirs as [`Calibration`] relates to the fastest lap. Programs
/// without laps time it right before and after their operations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pieces {
    pieces: u64,
    total_ns: u64,
}

impl Pieces {
    /// Times one more piece and returns its duration, in nanoseconds.
    pub(crate) fn time_one(&mut self) -> u64 {
        let piece_ns = timed(LONG);
        self.total_ns += piece_ns;
        self.pieces += 1;
        piece_ns
    }

    /// The mean time of a unit, in nanoseconds; `None` before the first piece.
    pub(crate) fn mean_ns_per_unit(&self) -> Option<f64> {
        (self.pieces > 0).then(|| self.total_ns as f64 / (self.pieces * LONG) as f64)
    }
}

/// How many readings of a thread's CPU time show what one costs.
const READINGS: usize = 100;

/// Pieces between laps, and the CPU time that they took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PiecesBetweenLaps {
    pub(crate) pieces: Pieces,
    /// The CPU time of the pieces and of reading it, in nanoseconds.
    pub(crate) cpu_ns: u64,
    /// The CPU time of one reading.
    reading_ns: u64,
}

impl PiecesBetweenLaps {
    /// No pieces yet. It measures what it costs to read CPU time.
    pub(crate) fn new() -> Self {
        let reading = || {
            let begun_ns = clock::cpu_time_of_this_thread();
            clock::cpu_time_of_this_thread() - begun_ns
        };
        // Disturbances only make a reading slower.
        let reading_ns = (0..READINGS).map(|_| reading()).min().unwrap_or(0);
        Self { pieces: Pieces::default(), cpu_ns: 0, reading_ns }
    }

    /// Times one more piece.
    pub(crate) fn time_one(&mut self) {
        let begun_ns = clock::cpu_time_of_this_thread();
        self.pieces.time_one();
        // The first reading's beginning and the last one's end are one more reading.
        self.cpu_ns += clock::cpu_time_of_this_thread() - begun_ns + self.reading_ns;
    }
}

/// Nanoseconds that this many units take, including one read of the clock.
fn timed(units: u64) -> u64 {
    let begun = clock::now();
    spend(units);
    clock::now() - begun
}

/// The most units of work per hop.
pub const MOST_WORK: u64 = 1_000_000_000;

/// `--work`, for programs whose tasks hand a token over.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
#[group(skip)]
pub struct WorkFlag {
    /// Units of work before each send; a unit is timed before and after the laps
    #[arg(long, value_name = "UNITS", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MOST_WORK))]
    pub work: u64,
}

impl WorkFlag {
    /// The work per hop.
    pub fn work(self) -> Work {
        let Work { units } = Work::new(self.work);
        Work { units: if trace::is_on() { units | NOTES } else { units } }
    }
}

#[cfg(test)]
mod tests {
    use super::{Calibration, LONG, SHORT};

    #[test]
    fn a_slope_cancels_the_common_cost_of_both_runs() {
        let unit_ns = |short_ns, long_ns| {
            Calibration { short_ns, long_ns, ..Calibration::default() }.ns_per_unit()
        };
        assert_eq!(unit_ns(50 + 3 * SHORT, 50 + 3 * LONG), 3.0);
        assert!(unit_ns(10, 9) < 0.0, "no figure is embellished");
    }
}
