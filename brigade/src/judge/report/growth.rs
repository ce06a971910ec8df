//! Findings about how a cost grows: with a number in which the cases of a series differ,
//! and with the memory that tasks touch. All are made round by round.

use std::collections::BTreeSet;

use crate::judge::sample::median_of;
use crate::judge::statistics::{ByRound, Estimate, Knee, excess, slope};
use crate::manifest::finding::{self, Subject};

use super::model::{Case, Finding, Outcome};
use super::{Cases, series};

/// By how much the slope among logarithms has to be greater from the knee on: a doubling
/// then adds 3.5 % more.
const LEAST_BEND: f64 = 0.05;

/// A case of a series with its times.
struct Point<'a> {
    number: f64,
    case: &'a Case,
    time_ns: ByRound,
}

/// The series that a case belongs to, over the rounds that all of its cases measured.
fn points<'a>(case: &str, parameter: &str, cases: &'a Cases, run: usize) -> Option<Vec<Point<'a>>> {
    let (first, _) = cases.find(case, run)?;
    let measured = cases.cases.iter().filter(|case| case.estimates[run].is_some());
    let all = series::of(parameter, measured);
    let series = all.into_iter().find(|of| of.iter().any(|(_, case)| case.key == first.key))?;
    let point = |(number, case): (f64, &'a Case)| {
        let estimate = case.estimates[run].as_ref()?;
        let time_ns = estimate.by_round(estimate.measurement(None)?);
        Some(Point { number, case, time_ns })
    };
    let mut points: Vec<Point> = series.into_iter().filter_map(point).collect();
    let has_all = |round: &u32| points.iter().all(|point| point.time_ns.contains_key(round));
    let rounds: BTreeSet<u32> = points.first()?.time_ns.keys().copied().filter(has_all).collect();
    points.iter_mut().for_each(|point| point.time_ns.retain(|round, _| rounds.contains(round)));
    Some(points)
}

/// The number and the time of every point, round by round.
fn by_round(points: &[Point]) -> Vec<Vec<(f64, f64)>> {
    let rounds = points.first().into_iter().flat_map(|point| point.time_ns.keys());
    let curve = |round| points.iter().map(|of| (of.number, of.time_ns[round])).collect();
    rounds.map(curve).collect()
}

fn time(point: &Point) -> Option<Estimate> {
    Estimate::cautious(&point.time_ns.values().copied().collect::<Vec<_>>())
}

/// Where the cost of an operation begins to grow, or grows faster.
pub fn knee(of: &finding::Knee, cases: &Cases, run: usize, caches: &[String]) -> Option<Finding> {
    let mut points = points(&of.case, &of.parameter, cases, run)?;
    points.retain(|point| point.number > 0.0);
    let knees: Vec<Knee> =
        by_round(&points).iter().map(|curve| Knee::of(curve)).collect::<Option<_>>()?;
    let figure = |of: fn(&Knee) -> f64| knees.iter().map(of).collect::<Vec<f64>>();
    let at = Estimate::cautious(&figure(|knee| knee.at))?;
    let doubling = |slope: f64| slope.exp2() - 1.0;
    let before = Estimate::centre(&figure(|knee| knee.before))?;
    let after = Estimate::centre(&figure(|knee| knee.after))?;
    let bend = Estimate::centre(&figure(|knee| knee.after - knee.before))?;
    let outcome = match bend.interval {
        None => Outcome::TooFewRounds,
        Some(interval) if interval.low > LEAST_BEND => Outcome::Differ,
        Some(interval) if interval.high < LEAST_BEND => Outcome::Same,
        Some(_) => Outcome::TooNoisy,
    };
    let (first, last) = (points.first()?, points.last()?);
    let held = |point: &Point| {
        let (_, runs) = cases.find(&point.case.name, run)?;
        let rss = median_of(runs, |record| Some(record.memory?.rss_bytes as f64))?;
        Some((point.number, rss))
    };
    let held: Option<Vec<(f64, f64)>> = points.iter().map(held).collect();
    Some(Finding::Knee {
        case: of.case.clone(),
        text: of.text.clone(),
        unit: of.unit.clone(),
        outcome,
        at,
        doubling_before: doubling(before.value),
        doubling_after: doubling(after.value),
        ends: [first.number, last.number],
        end_times_ns: [time(first)?, time(last)?],
        bytes_each: held.and_then(|held| slope(&held)).filter(|bytes| *bytes > 0.0),
        caches: caches.to_vec(),
    })
}

/// What each more of a number adds to an operation: the slope of the line that fits best.
pub fn slope_of(of: &finding::Slope, cases: &Cases, run: usize) -> Option<Finding> {
    let points = points(&of.case, &of.parameter, cases, run)?;
    let slopes: Vec<f64> =
        by_round(&points).iter().map(|curve| slope(curve)).collect::<Option<_>>()?;
    let each_ns = Estimate::centre(&slopes)?;
    Some(Finding::Slope {
        case: of.case.clone(),
        text: of.text.clone(),
        unit: of.unit.clone(),
        outcome: match each_ns.interval {
            None => Outcome::TooFewRounds,
            Some(interval) if interval.contains(0.0) => Outcome::TooNoisy,
            Some(_) => Outcome::Differ,
        },
        each_ns,
        ends: [points.first()?.number, points.last()?.number],
    })
}

/// What switching adds to an operation that touches memory, directly and afterwards: above
/// the same touching by one thread, and that less what it adds without memory.
pub fn aftermath(of: &finding::Aftermath, cases: &Cases, run: usize) -> Option<Finding> {
    let times = |subject: &Subject| {
        let (case, _) = cases.find(&subject.case, run)?;
        let estimate = case.estimates[run].as_ref()?;
        Some(estimate.by_round(estimate.measurement(subject.measurement.as_deref())?))
    };
    let [whole, alone] = [times(&of.of)?, times(&of.alone)?];
    let [bare, bare_alone] = [times(&of.bare)?, times(&of.bare_alone)?];
    let [added_ns, direct_ns, after_ns] = excess([&whole, &alone], [&bare, &bare_alone])?;
    Some(Finding::Aftermath {
        case: of.of.case.clone(),
        text: of.of.text.clone(),
        outcome: match after_ns.interval {
            None => Outcome::TooFewRounds,
            Some(interval) if interval.contains(0.0) => Outcome::TooNoisy,
            Some(_) => Outcome::Differ,
        },
        added_ns,
        direct_ns,
        after_ns,
    })
}
