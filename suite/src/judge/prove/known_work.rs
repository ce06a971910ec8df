//! Known work: what is put into every hop comes out of its time again.
//!
//! A case is run with several amounts of `--work`. How long a unit takes, each
//! process measures for itself before its laps and after, so the work at a hop
//! is known without the laps; the slope of the time of a hop over it must be 1.
//! A hop that is counted twice makes it a half, one that nobody counts makes it
//! two.
//!
//! What is fitted, in each round, is the quickest lap and the quickest unit of
//! several processes with the same work. Work can only add to a lap, and so can
//! whatever else the machine does; the quickest lap has all of the work and least
//! of the rest. The slope of the means, which have the rest in full, is told
//! beside. The slope of a case is the median over rounds: in some of them the
//! machine was slow during all processes with the most work, and that does not
//! average out.

use std::collections::BTreeMap;

use harness::record::Record;
use harness::statistics::{Estimate, Interval, slope};

use super::proof::{Figure, Standing};
use crate::manifest::SLOPE_CONFIDENCE;

/// How far from 1 the slope may be for certain: to some tenths of a percent the
/// unit's length changes with the CPU's clock from when it is measured to the
/// laps.
const TOLERANCE: f64 = 0.01;

/// The widest half of an interval that tells anything.
const WIDEST: f64 = 0.05;

/// One process: the work at a hop, how long a unit of it took, and two times of
/// a hop, all times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    units: u64,
    unit: f64,
    quickest: f64,
    mean: f64,
}

impl Point {
    /// What a record tells; `None` if its program does not tell the work.
    #[must_use]
    pub fn of(record: &Record) -> Option<Self> {
        let work = record.work?;
        let unit = if work.units == 0 { 0.0 } else { work.ns_per_unit? };
        let laps = record.principal()?;
        let quickest = laps.min_ns as f64 / laps.operations as f64;
        Some(Self { units: work.units, unit, quickest, mean: laps.ns_per_operation })
    }
}

/// The work and the time of a hop, of the quickest of a round's processes with
/// each amount of work.
fn quickest(round: &[Point]) -> Vec<(f64, f64)> {
    let working = round.iter().filter(|point| point.units > 0);
    let unit = working.map(|point| point.unit).fold(f64::INFINITY, f64::min);
    let mut by_units = BTreeMap::new();
    for point in round {
        let least = by_units.entry(point.units).or_insert(f64::INFINITY);
        *least = point.quickest.min(*least);
    }
    let known = |units| if units == 0 { 0.0 } else { units as f64 * unit };
    by_units.into_iter().map(|(units, time)| (known(units), time)).collect()
}

/// The work and the mean time of a hop, of every process.
fn means(round: &[Point]) -> Vec<(f64, f64)> {
    round.iter().map(|point| (point.units as f64 * point.unit, point.mean)).collect()
}

/// Whether the slope of a case is not known well enough yet, and further rounds
/// may tell.
#[must_use]
pub fn is_blunt(rounds: &[Vec<Point>]) -> bool {
    slope_of("", rounds).standing == Standing::NotShown
}

/// The figure of one case, whose processes are sorted by round.
#[must_use]
pub fn slope_of(case: &str, rounds: &[Vec<Point>]) -> Figure {
    let fitted = |points: fn(&[Point]) -> Vec<(f64, f64)>| {
        let slopes: Vec<f64> = rounds.iter().filter_map(|round| slope(&points(round))).collect();
        Estimate::at(SLOPE_CONFIDENCE, &slopes)
    };
    let what = format!("{case}: slope over known work");
    let Some(Estimate { median, interval: Some(Interval { low, high }), .. }) = fitted(quickest)
    else {
        return Figure::missing(what, "").must("too few rounds tell the work", false);
    };
    let by_means = fitted(means).map_or(f64::NAN, |estimate| estimate.median);
    let standing = if low > 1.0 + TOLERANCE || high < 1.0 - TOLERANCE {
        Standing::Fails
    } else if (high - low) / 2.0 > WIDEST {
        Standing::NotShown
    } else {
        Standing::Holds
    };
    Figure::new(what, median, "")
        .between(low, high)
        .judged(format!("1, known to 5 %; of means {by_means:.3}"), standing)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight rounds of four amounts of work, of which each nanosecond takes
    /// `longer` times as long, over a hop of 100 ns; `scatter` parts the rounds.
    fn figure(longer: f64, scatter: f64) -> Figure {
        let round = |round: i32| {
            let longer = longer * (1.0 + scatter * f64::from(round - 4));
            let time = |known: f64| 100.0 + longer * known;
            let point = |units: u64| {
                let time = time(2.0 * units as f64);
                Point { units, unit: 2.0, quickest: time, mean: 2.0 * time }
            };
            [250, 500, 1000, 2000].map(point).to_vec()
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
    fn a_process_that_was_slowed_does_not_count_beside_one_that_was_not() {
        let rounds: Vec<_> = (0..8_u32)
            .map(|round| {
                let point = |units: u64, slower: f64| Point {
                    units,
                    unit: 2.0 * slower,
                    quickest: 100.0 + 2.0 * units as f64 * slower,
                    mean: 1.0,
                };
                let slow = |units: u64| point(units, 1.1 + f64::from(round) / 10.0);
                vec![point(250, 1.0), slow(250), slow(2000), point(2000, 1.0)]
            })
            .collect();
        let figure = slope_of("x", &rounds);
        assert_eq!(figure.standing, Standing::Holds, "{figure:?}");
        assert_eq!(figure.value, Some(1.0));
    }

    #[test]
    fn work_that_comes_out_as_more_or_less_fails() {
        for longer in [0.5, 0.97, 1.03, 2.0] {
            assert_eq!(figure(longer, 0.001).standing, Standing::Fails, "{longer}");
        }
    }

    #[test]
    fn an_interval_that_tells_nothing_shows_nothing() {
        assert_eq!(figure(1.0, 0.03).standing, Standing::NotShown);
        assert_eq!(figure(1.5, 0.03).standing, Standing::Fails, "wide, and 1 is not in it");
        assert_eq!(slope_of("x", &[]).standing, Standing::Fails);
    }

    // Of 8 rounds the interval is nearly their whole range; of 16 it leaves out two
    // at either end.
    #[test]
    fn further_rounds_make_up_for_those_that_were_disturbed() {
        let round = |slope: f64| {
            let point = |units: u64| {
                let time = 100.0 + slope * units as f64;
                Point { units, unit: 1.0, quickest: time, mean: time }
            };
            vec![point(250), point(500), point(1000)]
        };
        let mut rounds: Vec<_> = (0..7).map(|by| round(1.0 + 0.001 * f64::from(by))).collect();
        rounds.push(round(1.4));
        rounds.push(round(1.6));
        assert!(is_blunt(&rounds));
        rounds.extend((0..7).map(|by| round(1.0 - 0.001 * f64::from(by))));
        assert!(!is_blunt(&rounds), "{:?}", slope_of("x", &rounds));
    }
}
