//! Work of a known length, which `--work` adds to every hop.
//!
//! A unit is one turn of a loop in which each step waits for the one before:
//! its speed is that of one multiplication and one rotation in a row. A loop
//! that is bound by how much the core can do at once, such as an empty one,
//! takes twice as long while a hidden neighbour has the core's other hardware
//! thread; this one does not.

use std::hint::black_box;

use crate::clock;

/// An odd number with bits everywhere, that of Knuth's MMIX generator.
const FACTOR: u64 = 6_364_136_223_846_793_005;

/// The two amounts whose times make the slope, in units: long enough that
/// reading the clock vanishes, short enough that some are not interrupted.
const SHORT: u64 = 2_000;
const LONG: u64 = 12_000;

/// How often each of them is done: 2 ms in all.
const TIMES: usize = 101;

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

/// The work that belongs to a hop. Whoever sends the token does it before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    units: u64,
}

impl Work {
    /// This many units.
    #[must_use]
    pub(crate) fn of(units: u64) -> Self {
        Self { units }
    }

    /// Does it. Without units it is one comparison.
    #[inline]
    pub fn perform(self) {
        if self.units > 0 {
            spend(self.units);
        }
    }
}

/// How long a unit takes on the CPU that this thread is on, in nanoseconds: the
/// slope between the quickest of many short runs and the quickest of as many
/// long ones. What is common to both, such as reading the clock, drops out, and
/// whatever else the machine does can only make a run slower.
#[must_use]
pub fn ns_per_unit() -> f64 {
    let (mut short, mut long) = (u64::MAX, u64::MAX);
    for _ in 0..TIMES {
        short = short.min(timed(SHORT));
        long = long.min(timed(LONG));
    }
    slope(short, long)
}

/// Nanoseconds that this many units take, with reading the clock once.
fn timed(units: u64) -> u64 {
    let begun = clock::now();
    spend(units);
    clock::now() - begun
}

fn slope(short_ns: u64, long_ns: u64) -> f64 {
    (long_ns as f64 - short_ns as f64) / (LONG - SHORT) as f64
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::{FACTOR, LONG, SHORT, TIMES, ns_per_unit, slope};
    use crate::clock;

    #[test]
    fn a_slope_is_free_of_what_both_runs_have_in_common() {
        assert_eq!(slope(50 + 3 * SHORT, 50 + 3 * LONG), 3.0);
        assert!(slope(10, 9) < 0.0, "no figure is made nicer");
    }

    /// Work that the compiler has removed, or found a formula for, would take
    /// next to no time beside the same steps, each of which it is kept from
    /// looking through.
    #[test]
    fn the_compiler_takes_no_step_away() {
        let steps = || {
            let begun = clock::now();
            let (mut state, mut left) = (1_u64, LONG);
            while left > 0 {
                state = black_box(state.wrapping_mul(FACTOR));
                left -= 1;
            }
            clock::now() - begun
        };
        let quickest_ns = (0..TIMES).map(|_| steps()).min().expect("some");
        let step_ns = quickest_ns as f64 / LONG as f64;
        let unit_ns = ns_per_unit();
        assert!(unit_ns > step_ns / 5.0, "{unit_ns} ns beside {step_ns} ns");
    }
}
