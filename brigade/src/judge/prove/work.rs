//! Known work: work added to every hop appears in its time, with any number of tasks; and two
//! programs that do the same take equally long.
//!
//! A case runs with several amounts of `--work`. Each process times a unit of work itself, so the
//! work per hop is known independently of the laps. The slope of a hop's time over it must be 1: it
//! would be 1/2 if hops were counted twice, 2 if every other one were missed.
//!
//! The mean is judged, since reports print it: the mean hop over the mean unit, which is timed
//! between the laps, so that disturbances slow both alike. The fastest laps over the fastest unit
//! replace it if there is no such unit, and must always be close.

use std::collections::BTreeMap;

use harness::record::Record;

use super::{Experiment, Figure, Probe, Status};
use crate::judge::statistics::{ByRound, Estimate, Interval, median, ratio_at, ratios, slope};
use crate::manifest::ProvePlan;

/// Confidence of the interval of a slope or a ratio, 0 to 1.
const CONFIDENCE: f64 = 0.99;

/// A slope fails if its whole interval is farther from 1. The CPU's clock and caches differ
/// slightly between laps and the time between them.
const SLOPE_TOLERANCE: f64 = 0.02;

/// A slope or a ratio holds if its whole interval is this close to 1.
const BAND: f64 = 0.05;

/// On a quiet machine, how far the mean unit may exceed the fastest, and the largest share of CPU
/// time that others use. If processes take turns, the scheduler slows a loop and a waiting thread
/// differently, and means prove nothing.
const QUIET: f64 = 0.03;

/// Units with quartiles this close together come from one loop: even a changing clock rate does not
/// move them farther apart.
const MOST_SPREAD: f64 = 0.05;
const CERTAIN_SPREAD: f64 = 0.15;

/// The slope of a round's mean hops over its mean work, both in nanoseconds; `None` without units
/// between the laps.
fn slope_of_means(round: &[&Record]) -> Option<f64> {
    let points = round.iter().map(|record| {
        let work = record.work?;
        let hop_ns = record.principal()?.ns_per_operation;
        Some((work.units as f64 * work.mean_ns_per_unit?, hop_ns))
    });
    slope(&points.collect::<Option<Vec<_>>>()?)
}

/// The slope of a round's fastest hops, by its fastest unit.
fn slope_of_quickest(round: &[&Record]) -> Option<f64> {
    let unit_ns = round.iter().filter_map(|record| record.work?.ns_per_unit).reduce(f64::min)?;
    let points = round.iter().filter_map(|record| {
        let laps = record.principal()?;
        let hop_ns = laps.min_ns as f64 / laps.operations as f64;
        Some((record.work?.units as f64 * unit_ns, hop_ns))
    });
    slope(&points.collect::<Vec<_>>())
}

/// The median of the slopes of all rounds, with an interval.
fn fitted(of: &Experiment, slope: fn(&[&Record]) -> Option<f64>) -> Option<(f64, Interval)> {
    let mut rounds = BTreeMap::<u32, Vec<&Record>>::new();
    for probe in of.probes().filter(|probe| probe.trouble.is_none()) {
        rounds.entry(probe.round).or_default().extend(probe.record());
    }
    let slopes: Vec<f64> = rounds.values().filter_map(|records| slope(records)).collect();
    let Estimate { value, interval, .. } = Estimate::at(CONFIDENCE, &slopes)?;
    Some((value, interval?))
}

/// Whether the machine was too busy for means, judged without the laps: by the CPU time of others
/// over all processes, and by the units between the laps.
pub(super) fn is_busy(of: &Experiment) -> bool {
    let (mut others, mut all) = (0.0, 0.0);
    for record in of.records() {
        let found = &record.interference;
        if let Some((others_ns, wall_ns)) = found.others_cpu_ns.zip(found.wall_ns) {
            others += others_ns as f64;
            all += wall_ns as f64 * record.affinity.len().max(1) as f64;
        }
    }
    let excess = |record: &Record| {
        let work = record.work?;
        Some(work.mean_ns_per_unit? / work.ns_per_unit? - 1.0)
    };
    let excess = median(&of.records().filter_map(excess).collect::<Vec<_>>());
    others > QUIET * all || excess.is_some_and(|excess| excess > QUIET)
}

/// The slope of each case, and the spread of a unit of work over all of them.
pub fn known_work(experiments: &[Experiment]) -> Vec<Figure> {
    experiments.iter().map(slope_of).chain([unit_spread(experiments)]).collect()
}

fn slope_of(of: &Experiment) -> Figure {
    let of_quickest = fitted(of, slope_of_quickest);
    let what = format!("{}: slope over known work", of.case.name);
    let Some((middle, ends)) = fitted(of, slope_of_means).or(of_quickest) else {
        return Figure::failed(what, "too few rounds with work");
    };
    let status = Status::near_one(ends, SLOPE_TOLERANCE, BAND).unless_busy(is_busy(of));
    let (quickest, status) = match of_quickest {
        Some((quickest, ends)) if Status::near_one(ends, BAND, BAND) == Status::Fails => {
            (quickest, Status::Fails)
        }
        Some((quickest, _)) => (quickest, status),
        None => (f64::NAN, status),
    };
    Figure::new(what, middle, "")
        .between(ends)
        .judged(format!("1 ± 5 %; fastest laps: {quickest:.3}"), status)
}

/// The fastest units of all processes come from one loop. Compiled or aligned differently, a unit
/// takes half as long again in some programs. A program without units between its laps has a
/// separate loop.
fn unit_spread(experiments: &[Experiment]) -> Figure {
    let unit = |record: &Record| record.work.filter(|work| work.mean_ns_per_unit.is_some());
    let units = experiments.iter().flat_map(Experiment::records).filter_map(unit);
    let mut units: Vec<f64> = units.filter_map(|work| work.ns_per_unit).collect();
    units.sort_by(f64::total_cmp);
    let what = format!("spread of a unit over {} processes", units.len());
    let (lower, upper) = (&units[..units.len() / 2], &units[units.len().div_ceil(2)..]);
    let [Some(low), Some(middle), Some(high)] = [lower, &units, upper].map(median) else {
        return Figure::missing(what, "no process has work");
    };
    let spread = (high - low) / middle;
    let status = if spread < MOST_SPREAD {
        Status::Holds
    } else if spread < CERTAIN_SPREAD || experiments.iter().any(is_busy) {
        Status::NotShown
    } else {
        Status::Fails
    };
    Figure::new(what, 100.0 * spread, "%").judged("below 5 %", status)
}

/// With the same work before every hop, a hop takes as long with more tasks (one arm each) as with
/// the fewest. Its unit is the mean work unit of the same process.
pub fn linearity(experiments: &[Experiment]) -> Vec<Figure> {
    let figures = |of: &Experiment| {
        let tasks = |arm: &Vec<Probe>| arm.iter().find_map(|probe| Some(probe.record()?.tasks));
        let name = |arm: usize| tasks(&of.arms[arm]).map_or("?".to_owned(), |of| of.to_string());
        let in_units = |record: &Record| {
            Some(record.principal()?.ns_per_operation / record.work?.mean_ns_per_unit?)
        };
        let figure = |arm: usize| {
            let what = format!("{}: a hop of {} tasks / of {}", of.case.name, name(arm), name(0));
            let hops = [of.by_round(0, in_units), of.by_round(arm, in_units)];
            let figure = ratio(what, hops, [1.0 - BAND, 1.0 + BAND]);
            Figure { status: figure.status.unless_busy(is_busy(of)), ..figure }
        };
        (1..of.arms.len()).map(figure).collect::<Vec<_>>()
    };
    experiments.iter().flat_map(figures).collect()
}

/// Opponents: the second arm, a case, takes as long as the first, an independent implementation.
/// Page placement makes one process in four a tenth slower, so lower quartiles over processes are
/// compared instead of pairs.
pub fn opponents(experiments: &[Experiment], plan: &ProvePlan) -> Vec<Figure> {
    let figure = |of: &Experiment| {
        let opponent = plan.opponent(of.case)?;
        let times = [0, 1].map(|arm| of.times(arm).into_values().collect::<Vec<f64>>());
        let what = format!("{} / {}", of.case.name, opponent.name());
        let what = format!("{what}, {} processes each", times[0].len());
        let [first, second] = times.map(|times| Estimate::lower_quartile(&times));
        Some(bounded(what, second?.over(first?, 0.0, CONFIDENCE), opponent.ratio))
    };
    experiments.iter().filter_map(figure).collect()
}

/// The ratio of two times, the second over the first, paired by round, and its bounds.
fn ratio(what: String, times: [ByRound; 2], bounds: [f64; 2]) -> Figure {
    let what = format!("{what}, {} pairs", ratios(&times[0], &times[1]).len());
    bounded(what, ratio_at(CONFIDENCE, &times[1], &times[0]), bounds)
}

fn bounded(what: String, ratio: Option<Estimate>, bounds: [f64; 2]) -> Figure {
    match ratio {
        Some(Estimate { value, interval: Some(ends), .. }) => Figure::new(what, value, "")
            .between(ends)
            .judged(format!("{} to {}", bounds[0], bounds[1]), Status::within(ends, bounds)),
        _ => Figure::failed(what, "too few rounds"),
    }
}
