//! Known work: what is put into every hop comes out of its time again.
//!
//! A case runs with several amounts of `--work`. Each process times a unit of it
//! itself, so the work at a hop is known without the laps; the slope of the time of
//! a hop over it must be 1. A hop that is counted twice makes it 1/2, one that is
//! not counted makes it 2.
//!
//! What is judged is the mean, which is what reports print: the mean hop over the
//! mean unit, timed between the laps, where whatever else the machine does slows
//! both alike. The slope of the quickest laps over the quickest unit is reported
//! beside it, and judged where a program does not time units between its laps. The
//! slope of a case is the median over rounds.

use std::collections::BTreeMap;

use crate::judge::statistics::{Estimate, Interval, median, slope};
use harness::record::Record;

use super::proof::{Figure, Standing};

/// How far from 1 the slope may be: beyond that for certain it fails. The CPU's
/// clock and caches are not quite the same between the laps and within them.
const TOLERANCE: f64 = 0.02;

/// How far from 1 any end of the interval of a slope that holds may be.
const BAND: f64 = 0.05;

/// What a quiet machine may add to the mean unit over the quickest, and what others
/// may have of its CPUs' time, as a share. Where processes take turns, the scheduler
/// slows a loop and a thread that waits differently, and means prove nothing.
const QUIET: f64 = 0.03;

/// Quartiles of the unit that are less than this apart are those of one loop.
const MOST_SPREAD: f64 = 0.05;

/// A clock that changes its rate does not move them so far apart.
const CERTAIN_SPREAD: f64 = 0.15;

/// One process: the work at a hop, and how long a unit of it and a hop took, all
/// times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    units: u64,
    quickest: Times,
    /// `None` if the program does not time units between its laps.
    mean: Option<Times>,
    /// CPU time of others on its CPUs and all time of these, in nanoseconds.
    others_of_all: Option<(f64, f64)>,
}

/// How long a unit of work and a hop took, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    unit: f64,
    hop: f64,
}

impl Point {
    /// The point of a record with work; `None` if it has none.
    pub fn of(record: &Record) -> Option<Self> {
        let work = record.work.filter(|work| work.units > 0)?;
        let laps = record.principal()?;
        let hop = laps.min_ns as f64 / laps.operations as f64;
        let mean = |unit| Times { unit, hop: laps.ns_per_operation };
        let others = record.interference.others_cpu_ns.zip(record.interference.wall_ns);
        let cpus = record.affinity.len().max(1) as f64;
        Some(Self {
            units: work.units,
            quickest: Times { unit: work.ns_per_unit?, hop },
            mean: work.mean_ns_per_unit.map(mean),
            others_of_all: others.map(|(others, wall)| (others as f64, wall as f64 * cpus)),
        })
    }
}

impl Point {
    /// The mean hop in mean units of work; `None` if the program does not time units
    /// between its laps.
    pub(super) fn hop_in_units(&self) -> Option<f64> {
        self.mean.map(|mean| mean.hop / mean.unit)
    }
}

/// The work and the time of the quickest hop of a round's processes with each
/// amount of work. Work can only add to a lap, and so can whatever else the machine
/// does: the quickest lap has all of the work and least of the rest.
fn quickest(round: &[Point]) -> Option<f64> {
    let unit = round.iter().map(|point| point.quickest.unit).fold(f64::INFINITY, f64::min);
    let mut by_units = BTreeMap::new();
    for Point { units, quickest, .. } in round {
        let least = by_units.entry(*units).or_insert(f64::INFINITY);
        *least = quickest.hop.min(*least);
    }
    let points = by_units.into_iter().map(|(units, hop)| (units as f64 * unit, hop));
    slope(&points.collect::<Vec<_>>())
}

/// Whether the machine was too busy for means, by what did not come from laps: the
/// CPU time of others over all processes, whose ticks say nothing of a single short
/// one, and the units between the laps.
pub(super) fn is_busy(rounds: &[Vec<Point>]) -> bool {
    let points = || rounds.iter().flatten();
    let times = points().filter_map(|point| point.others_of_all);
    let (others, all) =
        times.fold((0.0, 0.0), |(others, all), time| (others + time.0, all + time.1));
    let excess = |point: &Point| Some(point.mean?.unit / point.quickest.unit - 1.0);
    let excess = median(&points().filter_map(excess).collect::<Vec<_>>());
    others > QUIET * all || excess.is_some_and(|excess| excess > QUIET)
}

/// The slope of the mean hop over the mean work of a round's processes.
fn means(round: &[Point]) -> Option<f64> {
    let points = round.iter().map(|point| {
        let Times { unit, hop } = point.mean?;
        Some((point.units as f64 * unit, hop))
    });
    slope(&points.collect::<Option<Vec<_>>>()?)
}

/// The figure of the unit of work itself, over all these processes of any case: the
/// distance of the quartiles of the quickest unit of each. Compiled differently, or laid
/// out badly, a unit takes half as long again in some of them.
pub fn unit_spread<'a>(cases: impl Iterator<Item = &'a [Vec<Point>]>) -> Figure {
    let cases: Vec<&[Vec<Point>]> = cases.collect();
    let points = cases.iter().flat_map(|rounds| rounds.iter().flatten());
    let mut units: Vec<f64> = points.map(|point| point.quickest.unit).collect();
    units.sort_by(f64::total_cmp);
    let what = format!("spread of a unit over {} processes", units.len());
    let (lower, upper) = (&units[..units.len() / 2], &units[units.len().div_ceil(2)..]);
    let [Some(low), Some(middle), Some(high)] = [lower, &units, upper].map(median) else {
        return Figure::missing(what, "no process has work");
    };
    let spread = (high - low) / middle;
    let standing = if spread < MOST_SPREAD {
        Standing::Holds
    } else if spread < CERTAIN_SPREAD || cases.iter().any(|rounds| is_busy(rounds)) {
        Standing::NotShown
    } else {
        Standing::Fails
    };
    let must = format!("below {:.0} %", 100.0 * MOST_SPREAD);
    Figure::new(what, 100.0 * spread, "%").judged(must, standing)
}

/// The figure of one case, whose processes are sorted by round, with an interval of
/// `confidence`, 0 to 1.
pub fn slope_of(case: &str, rounds: &[Vec<Point>], confidence: f64) -> Figure {
    let fitted = |slope: fn(&[Point]) -> Option<f64>| {
        let slopes: Vec<f64> = rounds.iter().filter_map(|round| slope(round)).collect();
        Estimate::at(confidence, &slopes).filter(|estimate| estimate.interval.is_some())
    };
    let of_quickest = fitted(quickest);
    let judged = fitted(means).or(of_quickest);
    let what = format!("{case}: slope over known work, {} rounds", rounds.len());
    let Some(Estimate { value: middle, interval: Some(Interval { low, high }), .. }) = judged
    else {
        return Figure::missing(what, "").must("too few rounds with work", false);
    };
    let quickest = of_quickest.map_or(f64::NAN, |estimate| estimate.value);
    let of_quickest = of_quickest.and_then(|estimate| estimate.interval);
    let standing = match standing(low, high) {
        _ if of_quickest.is_some_and(|of| of.low > 1.0 + BAND || of.high < 1.0 - BAND) => {
            Standing::Fails
        }
        Standing::Fails if is_busy(rounds) => Standing::NotShown,
        standing => standing,
    };
    Figure::new(what, middle, "")
        .between(low, high)
        .judged(format!("1, known to 5 %; of the quickest laps {quickest:.3}"), standing)
}

/// Whether a slope is 1, by its interval.
fn standing(low: f64, high: f64) -> Standing {
    if low > 1.0 + TOLERANCE || high < 1.0 - TOLERANCE {
        Standing::Fails
    } else if low >= 1.0 - BAND && high <= 1.0 + BAND {
        Standing::Holds
    } else {
        Standing::NotShown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight rounds of four amounts of work, of which each nanosecond takes
    /// `longer` times as long, beside a hop of 100 ns. A round slows the mean of
    /// units and hops alike; `scatter` is how far the slopes of rounds lie apart.
    fn rounds(longer: f64, scatter: f64) -> Vec<Vec<Point>> {
        let round = |round: i32| {
            let longer = longer * (1.0 + scatter * f64::from(round - 4));
            let slowed = 1.0 + 0.001 * f64::from(round);
            let point = |units: u64| Point {
                units,
                quickest: Times { unit: 2.0, hop: 100.0 + 2.0 * units as f64 },
                mean: Some(Times {
                    unit: 2.0 * slowed,
                    hop: slowed * (100.0 + longer * 2.0 * units as f64),
                }),
                others_of_all: Some((0.0, 1.0)),
            };
            [250, 500, 1000, 2000].map(point).to_vec()
        };
        (0..8).map(round).collect()
    }

    #[test]
    fn a_unit_that_takes_longer_in_some_programs_fails() {
        let spread = |units: [f64; 3]| {
            let cases = units.map(|unit| {
                let mut rounds = rounds(1.0, 0.001);
                let points = rounds.iter_mut().flatten();
                points.for_each(|point| {
                    point.quickest.unit = unit;
                    point.mean.as_mut().unwrap().unit = unit;
                });
                rounds
            });
            unit_spread(cases.iter().map(Vec::as_slice))
        };
        assert_eq!(spread([1.06, 1.07, 1.06]).standing, Standing::Holds);
        assert_eq!(spread([1.06, 1.15, 1.06]).standing, Standing::NotShown);
        // As an unoptimized harness took in three programs.
        assert_eq!(spread([1.5, 1.9, 2.0]).standing, Standing::Fails);
        assert_eq!(unit_spread([].into_iter()).standing, Standing::Unjudged);
    }

    fn figure(longer: f64, scatter: f64) -> Figure {
        slope_of("x", &rounds(longer, scatter), 0.99)
    }

    #[test]
    fn what_slows_units_and_hops_alike_leaves_the_slope() {
        let exact = figure(1.0, 0.001);
        assert_eq!(exact.standing, Standing::Holds, "{exact:?}");
        assert!(exact.value.is_some_and(|slope| (slope - 1.0).abs() < 1e-3));
        assert!(exact.must.ends_with("of the quickest laps 1.000"), "{exact:?}");
    }

    #[test]
    fn a_program_that_times_no_units_between_laps_is_judged_by_its_quickest() {
        let mut rounds = rounds(1.5, 0.001);
        rounds.iter_mut().flatten().for_each(|point| point.mean = None);
        let figure = slope_of("x", &rounds, 0.99);
        assert_eq!((figure.standing, figure.value), (Standing::Holds, Some(1.0)));
    }

    #[test]
    fn a_process_that_was_slowed_does_not_count_among_the_quickest() {
        let rounds: Vec<_> = (0..8_u32)
            .map(|round| {
                let point = |units: u64, slower: f64| Point {
                    units,
                    quickest: Times {
                        unit: 2.0 * slower,
                        hop: 100.0 + 2.0 * units as f64 * slower,
                    },
                    mean: None,
                    others_of_all: None,
                };
                let slow = |units: u64| point(units, 1.1 + f64::from(round) / 10.0);
                vec![point(250, 1.0), slow(250), slow(2000), point(2000, 1.0)]
            })
            .collect();
        let figure = slope_of("x", &rounds, 0.99);
        assert_eq!((figure.standing, figure.value), (Standing::Holds, Some(1.0)), "{figure:?}");
    }

    #[test]
    fn work_that_comes_out_as_more_or_less_fails() {
        for longer in [0.5, 0.94, 1.06, 2.0] {
            assert_eq!(figure(longer, 0.001).standing, Standing::Fails, "{longer}");
        }
    }

    #[test]
    fn an_interval_that_is_too_wide_shows_nothing() {
        assert_eq!(figure(1.0, 0.03).standing, Standing::NotShown);
        assert_eq!(figure(1.5, 0.03).standing, Standing::Fails, "wide, and 1 is not in it");
        assert_eq!(slope_of("x", &[], 0.99).standing, Standing::Fails);
    }

    #[test]
    fn means_on_a_busy_machine_show_nothing() {
        let mut rounds = rounds(2.0, 0.001);
        let points = rounds.iter_mut().flatten();
        points.filter_map(|point| point.mean.as_mut()).for_each(|mean| mean.unit *= 1.1);
        assert_eq!(slope_of("x", &rounds, 0.99).standing, Standing::NotShown);
    }

    #[test]
    fn means_beside_others_show_nothing_and_quickest_laps_still_do() {
        let mut rounds = rounds(2.0, 0.001);
        rounds.iter_mut().flatten().for_each(|point| point.others_of_all = Some((0.1, 1.0)));
        assert_eq!(slope_of("x", &rounds, 0.99).standing, Standing::NotShown);
        rounds.iter_mut().flatten().for_each(|point| point.quickest.hop *= 1.1);
        assert_eq!(slope_of("x", &rounds, 0.99).standing, Standing::Fails);
    }

    #[test]
    fn a_slope_six_percent_off_never_holds() {
        for half_width in [0.0, 0.01, 0.03, 0.05, 0.1] {
            for slope in [0.94, 1.06] {
                let standing = standing(slope - half_width, slope + half_width);
                assert_ne!(standing, Standing::Holds, "{slope} ± {half_width}");
            }
        }
    }

    // Of 8 rounds the interval is nearly their whole range; of 16 it leaves out two
    // at either end.
    #[test]
    fn further_rounds_make_up_for_those_that_were_disturbed() {
        let round = |slope: f64| {
            let point = |units: u64| {
                let times = Times { unit: 1.0, hop: 100.0 + slope * units as f64 };
                Point { units, quickest: times, mean: Some(times), others_of_all: None }
            };
            vec![point(250), point(500), point(1000)]
        };
        let mut rounds: Vec<_> = (0..7).map(|by| round(1.0 + 0.001 * f64::from(by))).collect();
        rounds.push(round(1.4));
        rounds.push(round(1.6));
        assert_eq!(slope_of("x", &rounds, 0.99).standing, Standing::NotShown);
        rounds.extend((0..7).map(|by| round(1.0 - 0.001 * f64::from(by))));
        let figure = slope_of("x", &rounds, 0.99);
        assert_eq!(figure.standing, Standing::Holds, "{figure:?}");
    }
}
