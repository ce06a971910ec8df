//! Known work: what is put into every hop comes out of its time again.
//!
//! A case is run with several amounts of `--work`. How long a unit takes, each
//! process measures for itself before its laps and after, so the work at a hop
//! is known without the laps; the slope of the time of a hop over it must be 1.
//! A hop that is counted twice makes it a half, one that nobody counts makes it
//! two.
//!
//! What is fitted is the quickest lap of each process. Work can only add to a
//! lap, and so can whatever else the machine does; the quickest lap has all of
//! the work and least of the rest. The slope of the means, which have the rest in
//! full, is told beside.

use harness::record::Record;
use harness::statistics::{Interval, Shift, slope};

use super::proof::Figure;
use crate::manifest::SLOPE_CONFIDENCE;

/// How far from 1 the slope may be for certain: to some tenths of a percent the
/// unit's length changes with the CPU's clock from when it is measured to the
/// laps.
const TOLERANCE: f64 = 0.01;

/// The widest half of an interval that tells anything.
const WIDEST: f64 = 0.05;

/// One process: the work at a hop, and two times of a hop, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    known: f64,
    quickest: f64,
    mean: f64,
}

impl Point {
    /// What a record tells; `None` if its program does not tell the work.
    #[must_use]
    pub fn of(record: &Record) -> Option<Self> {
        let work = record.work?;
        let known = match work.units {
            0 => 0.0,
            units => units as f64 * work.ns_per_unit?,
        };
        let laps = record.principal()?;
        let quickest = laps.min_ns as f64 / laps.operations as f64;
        Some(Self { known, quickest, mean: laps.ns_per_operation })
    }
}

/// The figure of one case, whose processes are sorted by round.
#[must_use]
pub fn slope_of(case: &str, rounds: &[Vec<Point>]) -> Figure {
    let fitted = |time: fn(&Point) -> f64| {
        let line = |round: &Vec<Point>| {
            slope(&round.iter().map(|point| (point.known, time(point))).collect::<Vec<_>>())
        };
        let slopes: Vec<f64> = rounds.iter().filter_map(line).collect();
        Shift::of_pairs(&slopes, SLOPE_CONFIDENCE)
    };
    let what = format!("{case}: slope over known work");
    let quickest = fitted(|point| point.quickest);
    let Some(Shift { estimate, interval: Some(Interval { low, high }) }) = quickest else {
        return Figure::missing(what, "").must("too few rounds tell the work", false);
    };
    let by_means = fitted(|point| point.mean).map_or(f64::NAN, |shift| shift.estimate);
    let holds = (high - low) / 2.0 <= WIDEST && low <= 1.0 + TOLERANCE && high >= 1.0 - TOLERANCE;
    Figure::new(what, estimate, "")
        .between(low, high)
        .must(format!("1, known to 5 %; of means {by_means:.3}"), holds)
}

#[cfg(test)]
mod tests {
    use super::super::proof::Standing;
    use super::*;

    /// Eight rounds of four amounts of work, of which each nanosecond takes
    /// `longer` times as long, over a hop of 100 ns; `scatter` parts the rounds.
    fn figure(longer: f64, scatter: f64) -> Figure {
        let round = |round: i32| {
            let longer = longer * (1.0 + scatter * f64::from(round - 4));
            let time = |known: f64| 100.0 + longer * known;
            let point = |known| Point { known, quickest: time(known), mean: 2.0 * time(known) };
            [500.0, 1000.0, 2000.0, 4000.0].map(point).to_vec()
        };
        slope_of("x", &(0..8).map(round).collect::<Vec<_>>())
    }

    #[test]
    fn the_slope_is_that_of_the_quickest_laps() {
        let exact = figure(1.0, 0.001);
        assert_eq!(exact.standing, Standing::Holds, "{exact:?}");
        assert!(exact.must.ends_with("of means 1.999"), "{exact:?}");
        assert!(exact.value.is_some_and(|slope| (slope - 1.0).abs() < 1e-3));
    }

    #[test]
    fn work_that_comes_out_as_more_or_less_fails() {
        for longer in [0.5, 0.97, 1.03, 2.0] {
            assert_eq!(figure(longer, 0.001).standing, Standing::Fails, "{longer}");
        }
    }

    #[test]
    fn an_interval_that_tells_nothing_fails() {
        assert_eq!(figure(1.0, 0.03).standing, Standing::Fails);
        assert_eq!(slope_of("x", &[]).standing, Standing::Fails);
    }
}
