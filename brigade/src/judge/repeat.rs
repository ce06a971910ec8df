//! The machine's state during a run, and how much runs of one build differ on one machine.
//!
//! A busy neighbour slows all programs for minutes, and reference work with them. Divided by the
//! time of that work, the times of two runs of one build differ half as much (docs/STATISTICS.md,
//! "Comparing a baseline and a candidate").

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::interference::sample_of;
use super::ledger::{Quantity, principal_figure};
use super::statistics::{Dependence, Estimate, Series};
use crate::store::invocation::{Invocation, RecordedCase, seconds};
use crate::store::saved_run::SavedRun;

/// The share of figures of two runs of one build that differ by less than the spread.
const CONFIDENCE: f64 = 0.95;

/// The normal deviate for [`CONFIDENCE`].
const DEVIATE: f64 = 1.96;

/// The largest difference between two runs that does not matter, as a share.
const MARGIN: f64 = 0.03;

/// The time of the reference work before an invocation, in nanoseconds.
fn reference_ns(invocation: &Invocation) -> Option<f64> {
    invocation.reference.map(|of| of.kernel_ns).filter(|ns| *ns > 0.0 && ns.is_finite())
}

/// The state of the machine during a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct State {
    /// The lower quartile of the time per unit of reference work, in nanoseconds.
    pub reference_ns: f64,
    /// The same of the run's later half divided by that of its earlier half.
    pub change: f64,
}

impl State {
    /// The state during a run; `None` for a run without references.
    pub fn of(invocations: &[Invocation]) -> Option<Self> {
        let speeds: Vec<f64> = invocations.iter().filter_map(reference_ns).collect();
        let quartile = |of: &[f64]| Some(Estimate::lower_quartile(of)?.value);
        let (early, late) = speeds.split_at(speeds.len() / 2);
        let change = quartile(late)? / quartile(early)?;
        Some(Self { reference_ns: quartile(&speeds)?, change })
    }
}

/// The figure of each case of a run: the lower quartile over processes.
pub type Levels = BTreeMap<String, Estimate>;

/// A run's figures at the speed of the reference: times divided by that of the reference work
/// before each. Empty for a run without references.
pub fn levels(invocations: &[Invocation]) -> Levels {
    levels_by(invocations, |of, quantity| match quantity {
        // Memory does not depend on the machine's speed.
        Quantity::Bytes => Some(1.0),
        _ => reference_ns(of),
    })
}

/// A run's figures divided by what `divisor` returns.
fn levels_by(
    invocations: &[Invocation],
    divisor: impl Fn(&Invocation, Quantity) -> Option<f64>,
) -> Levels {
    let mut by_case: BTreeMap<&str, Vec<&Invocation>> = BTreeMap::new();
    for invocation in invocations.iter().filter(|of| !of.interrupted) {
        by_case.entry(&invocation.case).or_default().push(invocation);
    }
    let series = by_case.into_iter().map(|(case, invocations)| {
        let used = sample_of(&invocations);
        let level = |of: &&Invocation| {
            let record = of.record.as_ref()?;
            let is_used = used.iter().any(|used| std::ptr::eq(used.invocation, *of));
            let (figure, unit) = principal_figure(record).filter(|_| is_used)?;
            Some((seconds(&of.started_at)?, figure / divisor(of, unit)?))
        };
        (case, invocations.iter().filter_map(level).collect())
    });
    let series: Vec<(&str, Series)> = series.collect();
    let dependence = Dependence::of(&series.iter().map(|(_, of)| of.clone()).collect::<Vec<_>>());
    let level = |(case, series): &(&str, Series)| {
        let values: Vec<f64> = series.iter().map(|(_, level)| *level).collect();
        let level = Estimate::lower_quartile(&values)?.widened(dependence.inflation(series));
        Some(((*case).to_owned(), level))
    };
    series.iter().filter_map(level).collect()
}

/// How much the figures of runs of one build on one machine differ beyond their intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spread {
    /// The number of runs compared.
    pub runs: usize,
    /// The standard deviation of the logarithm of a figure between runs.
    pub deviation: f64,
}

impl Spread {
    /// The smallest deviation with which 95 % of the differences between two runs, over all pairs
    /// of runs and all cases, are within 1.96 standard errors. `None` without two runs that share a
    /// case.
    pub fn of(runs: &[&Levels]) -> Option<Self> {
        let mut differences = Vec::new();
        for (index, first) in runs.iter().enumerate() {
            for second in &runs[index + 1..] {
                let pairs = first.iter().filter_map(|(case, first)| {
                    let second = second.get(case)?;
                    let difference = (second.value / first.value).ln();
                    Some((difference, error(first)?.hypot(error(second)?)))
                });
                differences.extend(pairs);
            }
        }
        let share = |deviation: f64| {
            let is_within = |(difference, error): &&(f64, f64)| {
                let between = deviation * 2_f64.sqrt();
                difference.abs() <= DEVIATE * error.hypot(between)
            };
            differences.iter().filter(is_within).count() as f64 / differences.len() as f64
        };
        let (mut low, mut high) = (0.0, 10.0);
        while high - low > 1e-6 {
            let middle = f64::midpoint(low, high);
            if share(middle) >= CONFIDENCE { high = middle } else { low = middle }
        }
        let deviation = if share(0.0) >= CONFIDENCE { 0.0 } else { high };
        (!differences.is_empty()).then_some(Self { runs: runs.len(), deviation })
    }

    /// The largest difference between the logarithms of two figures, with 95 %
    /// confidence.
    pub fn distance(&self) -> f64 {
        DEVIATE * 2_f64.sqrt() * self.deviation
    }
}

/// How a run compares with others of its build on its machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Repeat {
    /// How much the runs differ.
    pub spread: Spread,
    /// How many times as slow the reference was as in the quietest run.
    pub slowness: f64,
}

impl Repeat {
    /// `None` without another run, or if this one has no references.
    pub fn of(invocations: &[Invocation], alike: &[SavedRun]) -> Option<Self> {
        if alike.len() < 2 {
            return None;
        }
        let runs = alike.iter().map(|run| &run.invocations[..]);
        let quietest = runs.clone().filter_map(State::of).map(|of| of.reference_ns);
        let quietest = quietest.fold(f64::INFINITY, f64::min);
        // As the report prints them.
        let figures: Vec<Levels> = runs.map(|run| levels_by(run, |_, _| Some(1.0))).collect();
        let spread = Spread::of(&figures.iter().collect::<Vec<_>>())?;
        Some(Self { spread, slowness: State::of(invocations)?.reference_ns / quietest })
    }
}

/// The cases whose figure moved between two runs, at the speed of the reference, by more than runs
/// of one build differ (known from `alike`), with the ratio. All intervals together have the
/// confidence [`CONFIDENCE`].
pub fn moved_since<'a>(
    before: &[Invocation],
    now: &'a [Invocation],
    alike: &[&[Invocation]],
) -> Vec<(&'a str, Estimate)> {
    let known: Vec<Levels> = alike.iter().map(|run| levels(run)).collect();
    let spread = Spread::of(&known.iter().collect::<Vec<_>>());
    let Some(spread) = spread.filter(|_| !before.is_empty()) else { return Vec::new() };
    let [first, second] = [before, now].map(levels);
    let key = |run: &[Invocation], case: &str| {
        let of_case = run.iter().filter(|of| of.case == *case);
        of_case.filter_map(|of| of.record.as_ref()).map(RecordedCase::of).next()
    };
    let mut cases: Vec<&str> = now.iter().map(|of| of.case.as_str()).collect();
    let mut seen = BTreeSet::new();
    cases.retain(|case| seen.insert(*case) && first.contains_key(*case));
    cases.retain(|case| second.contains_key(*case) && key(before, case) == key(now, case));
    let each = 1.0 - (1.0 - CONFIDENCE) / cases.len().max(1) as f64;
    let ratio = |case: &'a str| {
        let ratio = second[case].over(first[case], 0.0, each)?;
        let ratio = ratio.allowing(spread.distance());
        let ends = ratio.interval?;
        let is_moved = ends.low > 1.0 + MARGIN || ends.high < 1.0 / (1.0 + MARGIN);
        is_moved.then_some((case, ratio))
    };
    cases.into_iter().filter_map(ratio).collect()
}

/// The standard error of the logarithm of a figure.
fn error(figure: &Estimate) -> Option<f64> {
    let ends = figure.interval.filter(|ends| ends.low > 0.0)?;
    Some((ends.high / ends.low).ln() / 2.0 / DEVIATE)
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::judge::statistics::tests::standard_normal;
    use crate::store::fixtures::Sample;
    use crate::store::invocation::Reference;

    /// A run with 20 rounds of cases with these times, on a machine `slow` times as slow.
    fn run(times: &[f64], slow: f64, rng: &mut Rng) -> Vec<Invocation> {
        let mut run = Vec::new();
        for round in 1..=20 {
            for (case, time) in times.iter().enumerate() {
                let time = time * slow * (0.02 * standard_normal(rng)).exp();
                let mut invocation = Sample::hop(time).in_round(&format!("case-{case}"), round);
                let kernel_ns = 1000.0 * slow * (0.02 * standard_normal(rng)).exp();
                invocation.reference = Some(Reference { cpu: 0, kernel_ns });
                invocation.started_at = format!("2026-01-01T00:{round:02}:{case:02}Z");
                run.push(invocation);
            }
        }
        run
    }

    #[test]
    fn the_state_is_the_speed_of_the_reference_and_how_it_changed() {
        let mut rng = Rng::with_seed(1);
        let mut invocations = run(&[10.0], 1.0, &mut rng);
        let quiet = State::of(&invocations).unwrap();
        assert!((quiet.reference_ns / 985.0 - 1.0).abs() < 0.02, "{quiet:?}");
        assert!((quiet.change - 1.0).abs() < 0.05, "{quiet:?}");
        invocations.extend(run(&[10.0], 1.5, &mut rng));
        assert!((State::of(&invocations).unwrap().change - 1.5).abs() < 0.1);
        invocations.iter_mut().for_each(|of| of.reference = None);
        assert_eq!(State::of(&invocations), None);
    }

    #[test]
    fn levels_of_a_quiet_and_a_busy_state_agree_and_their_times_do_not() {
        let mut rng = Rng::with_seed(2);
        let runs = [1.0, 1.3].map(|slow| run(&[10.0, 70.0], slow, &mut rng));
        let [quiet, busy] = [0, 1].map(|index| levels(&runs[index]));
        assert_eq!(quiet.len(), 2);
        for (case, level) in &quiet {
            let ratio = busy[case].over(*level, 0.0, 0.99).unwrap();
            assert!(!ratio.excludes(1.0), "{case}: {ratio:?}");
            let times = runs.each_ref().map(|run| {
                let of_case = run.iter().filter(|of| of.case == *case);
                let times = of_case.filter_map(|of| principal_figure(of.record.as_ref()?));
                Estimate::lower_quartile(&times.map(|(ns, _)| ns).collect::<Vec<_>>()).unwrap()
            });
            let ratio = times[1].over(times[0], 0.0, 0.99).unwrap();
            assert!(ratio.excludes(1.0), "{case}: {ratio:?}");
        }
    }

    #[test]
    fn a_case_has_moved_if_it_differs_by_more_than_runs_of_one_build() {
        let mut rng = Rng::with_seed(4);
        let [one, other, now] =
            [70.0, 77.0, 140.0].map(|second| run(&[10.0, second], 1.0, &mut rng));
        let alike = [&one[..], &other];
        let found = moved_since(&one, &now, &alike);
        let [("case-1", ratio)] = &found[..] else { panic!("{found:?}") };
        assert!((ratio.value - 2.0).abs() < 0.1, "{ratio:?}");
        assert!(moved_since(&one, &other, &alike).is_empty());
        assert!(moved_since(&[], &now, &alike).is_empty());
        assert!(moved_since(&one, &now, &alike[..1]).is_empty());
    }

    // The simulated deviation between runs, beyond the figures' errors, is found again.
    #[test]
    fn the_spread_is_what_intervals_do_not_explain() {
        for deviation in [0.0, 0.05, 0.2] {
            let mut rng = Rng::with_seed(3);
            let runs: Vec<_> = (0..5)
                .map(|_| {
                    let times: Vec<f64> = (0..30)
                        .map(|_| 10.0 * (deviation * standard_normal(&mut rng)).exp())
                        .collect();
                    run(&times, 1.0, &mut rng)
                })
                .collect();
            let levels: Vec<Levels> = runs.iter().map(|run| levels(run)).collect();
            let spread = Spread::of(&levels.iter().collect::<Vec<_>>()).unwrap();
            assert_eq!(spread.runs, 5);
            let within = 0.2 * deviation + 0.003;
            assert!((spread.deviation - deviation).abs() < within, "{deviation}: {spread:?}");
        }
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[&Levels::new(), &Levels::new()]), None);
    }
}
