//! The figures of one case on one side of a comparison, by round.

use std::collections::BTreeMap;

use crate::judge::statistics::{ByRound, Modes, median};
use harness::record::{Measurement, Record};
use serde_json::Value;

use crate::judge::interference::{Sampled, Trust, assess, sample_of};
use crate::store::invocation::{Invocation, Outcome, given_parameters};

use super::verdict::Pair;

/// Parameters that change how an invocation reports and not what it measures, and
/// the CPU, which is another one in every round.
const NOT_MEASURED: [&str; 4] = ["cpus", "histogram", "json", "quiet"];

/// A percentile of a measurement, in nanoseconds.
pub type Percentile = fn(&Measurement) -> u64;

/// One case of the baseline or of the candidate. Times are of its principal measurement, per operation.
#[derive(Debug)]
pub struct Sample<'a> {
    records: Vec<(u32, &'a Record)>,
    /// When each of its rounds began, RFC 3339.
    began: BTreeMap<u32, &'a str>,
    /// Invocations that were disturbed.
    pub disturbed: usize,
    /// Invocations that were unusable; they count only if there are no others.
    pub unusable: usize,
    /// Invocations that did not measure and were not interrupted.
    pub failed: usize,
    /// Whether an invocation met a limit: every further one would too.
    pub refused: bool,
    /// The first error, if any.
    pub first_error: Option<&'a str>,
}

impl<'a> Sample<'a> {
    /// The figures of those `invocations` that are of `case`.
    pub fn of(case: &str, invocations: impl IntoIterator<Item = &'a Invocation>) -> Self {
        let invocations: Vec<&Invocation> =
            invocations.into_iter().filter(|invocation| invocation.case == case).collect();
        let measured: Vec<&Invocation> = invocations
            .iter()
            .copied()
            .filter(|invocation| invocation.outcome == Outcome::Measured)
            .collect();
        let count =
            |trust| measured.iter().filter(|invocation| assess(invocation).trust == trust).count();
        let failures = || {
            invocations.iter().filter(|invocation| {
                invocation.outcome != Outcome::Measured && !invocation.interrupted
            })
        };
        let with_figures = |run: &Sampled<'a>| run.record.principal().is_some();
        let runs = sample_of(&invocations).into_iter().filter(with_figures);
        Self {
            records: runs.map(|run| (run.round, run.record)).collect(),
            began: measured
                .iter()
                .map(|invocation| (invocation.round, invocation.started_at.as_str()))
                .collect(),
            disturbed: count(Trust::Disturbed),
            unusable: count(Trust::Unusable),
            failed: failures().count(),
            refused: failures().any(|failure| failure.outcome == Outcome::Refused),
            first_error: failures().find_map(|failure| failure.error.as_deref()),
        }
    }

    /// The principal measurement of the first record: all of a case have it.
    pub fn principal(&self) -> Option<&'a Measurement> {
        self.first()?.principal()
    }

    /// Which side has not measured the case and why, if one has not.
    pub fn missing(sides: Pair<&Self>) -> Option<String> {
        let missing = sides.iter().position(|side| side.principal().is_none())?;
        let name = ["baseline", "candidate"][missing];
        Some(match sides[missing].first_error {
            Some(error) => format!("the {name} has not measured it: {error}"),
            None => format!("the {name} has not measured it"),
        })
    }

    /// Rounds that can be compared.
    pub fn rounds(&self) -> usize {
        self.records.len()
    }

    /// The placement that the program recorded, if it did.
    pub fn placement(&self) -> Option<&'a str> {
        self.first()?.parameters.get("placement")?.as_str()
    }

    fn first(&self) -> Option<&'a Record> {
        self.records.first().map(|(_, record)| *record)
    }

    /// The mean time by round, in nanoseconds.
    pub fn time_ns(&self) -> ByRound {
        self.by_round(|principal| principal.ns_per_operation)
    }

    /// A percentile of the samples by round, divided by their operations, in
    /// nanoseconds.
    pub fn percentile_ns(&self, percentile: Percentile) -> ByRound {
        self.by_round(|principal| percentile(principal) as f64 / principal.operations as f64)
    }

    fn by_round(&self, figure: impl Fn(&Measurement) -> f64) -> ByRound {
        let figures = self.records.iter();
        figures.filter_map(|(round, record)| Some((*round, figure(record.principal()?)))).collect()
    }

    /// The share of hops whose ends ran on different CPUs: median over
    /// invocations, 0 to 1.
    pub fn crossing_share(&self) -> Option<f64> {
        let shares = self.records.iter().filter_map(|(_, record)| record.switches?.cross_cpu_share);
        median(&shares.collect::<Vec<_>>())
    }

    /// The name and both values of the first parameter in which the sides
    /// differ, if they do. A flag that an older program does not know counts as
    /// not given.
    pub fn differing_parameter(sides: Pair<&Self>) -> Option<(String, Pair<Value>)> {
        let [first, second] = sides.map(|side| side.first().map(parameters).unwrap_or_default());
        let mut names: Vec<&String> = first.keys().chain(second.keys()).collect();
        names.sort();
        let values = |name: &String| {
            [&first, &second].map(|side| side.get(name).cloned().unwrap_or_default())
        };
        let differing = names.into_iter().find(|name| {
            let [first, second] = values(name);
            first != second
        })?;
        Some((differing.clone(), values(differing)))
    }

    /// The times of the side that ran first and of the one that ran second, by
    /// pairs of rounds (1 and 2, 3 and 4 …) in which the order was opposite. The
    /// geometric mean over a pair has both sides in it, so that the difference
    /// between them cancels.
    pub fn by_place(sides: Pair<&Self>) -> Pair<ByRound> {
        let places = |round: u32| {
            let mut runs = [0, 1].map(|side| Some((sides[side].began.get(&round)?, side)));
            runs.sort();
            let [Some((_, early)), Some((_, late))] = runs else { return None };
            let time = |side: usize| sides[side].time_ns_in(round);
            Some((early, [time(early)?, time(late)?]))
        };
        let mut by_pair = Pair::<ByRound>::default();
        let last = sides[0].began.keys().next_back().copied().unwrap_or_default();
        for pair in 1..=last / 2 {
            let rounds = [places(2 * pair - 1), places(2 * pair)];
            let [Some((first, odd)), Some((other_first, even))] = rounds else { continue };
            if first != other_first {
                for (place, by_pair) in by_pair.iter_mut().enumerate() {
                    by_pair.insert(pair, (odd[place] * even[place]).sqrt());
                }
            }
        }
        by_pair
    }

    fn time_ns_in(&self, round: u32) -> Option<f64> {
        let (_, record) = self.records.iter().find(|(of, _)| *of == round)?;
        Some(record.principal()?.ns_per_operation)
    }
}

/// What an invocation was asked to measure.
fn parameters(record: &Record) -> BTreeMap<String, Value> {
    let mut parameters = given_parameters(record, &NOT_MEASURED);
    parameters.insert("program".to_owned(), record.program.as_str().into());
    parameters.insert("tasks".to_owned(), record.tasks.into());
    parameters
}

/// Two modes of a case, and how often each side was in the slow one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModesOfSides {
    /// The two modes of the side that has them, the baseline if both have.
    pub modes: Modes,
    /// The share of each side's invocations in the slow one, 0 to 1.
    pub slow_share: Pair<f64>,
}

impl ModesOfSides {
    /// The modes of either side, if one has two. Those of both together could be
    /// the difference between the sides.
    pub fn of(times: Pair<&[f64]>) -> Option<Self> {
        let modes = times.into_iter().find_map(Modes::of)?;
        let between = (modes.fast.median * modes.slow.median).sqrt();
        let slow_share = times.map(|times| {
            times.iter().filter(|time| **time > between).count() as f64 / times.len() as f64
        });
        Some(Self { modes, slow_share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sample::{self, Sample as Hop};

    fn with_parameter(name: &str, value: Value) -> Vec<Invocation> {
        let mut invocations = sample::case("ring", [10.0]);
        let record = invocations[0].record.as_mut().unwrap();
        record.parameters.insert(name.to_owned(), value);
        invocations
    }

    fn difference(first: &[Invocation], second: &[Invocation]) -> Option<String> {
        let sides = [first, second].map(|side| Sample::of("ring", side));
        Sample::differing_parameter([&sides[0], &sides[1]]).map(|(name, _)| name)
    }

    #[test]
    fn the_figures_are_those_of_the_case_by_round() {
        let mut invocations = sample::case("ring", [10.0, 30.0, 20.0]);
        invocations.extend(sample::case("other", [1.0]));
        let ring = Sample::of("ring", &invocations);
        assert_eq!(ring.time_ns(), ByRound::from([(1, 10.0), (2, 30.0), (3, 20.0)]));
        // The samples of 10 hops have a median of 0.9 times their mean.
        let medians = ByRound::from([(1, 9.0), (2, 27.0), (3, 18.0)]);
        assert_eq!(ring.percentile_ns(|principal| principal.p50_ns), medians);
        assert_eq!((ring.placement(), ring.crossing_share()), (Some("free"), Some(0.0)));
        assert_eq!(Sample::of("none", &invocations).principal(), None);
    }

    #[test]
    fn what_did_not_measure_is_counted() {
        let mut invocations = sample::case("ring", [10.0]);
        let failed = sample::without_record("ring", 2, Outcome::TimedOut);
        invocations.push(Invocation { error: Some("too slow".to_owned()), ..failed });
        let ring = Sample::of("ring", &invocations);
        assert_eq!((ring.time_ns().len(), ring.failed), (1, 1));
        assert_eq!(ring.first_error, Some("too slow"));
    }

    #[test]
    fn parameters_that_differ_are_found_and_those_of_the_report_are_not() {
        let plain = sample::case("ring", [10.0]);
        let tenth = with_parameter("max_time", 0.1.into());
        assert_eq!(difference(&plain, &plain), None);
        assert_eq!(difference(&plain, &tenth), Some("max_time".to_owned()));
        assert_eq!(difference(&tenth, &with_parameter("max_time", 0.1.into())), None);
        assert_eq!(difference(&plain, &with_parameter("quiet", true.into())), None);
    }

    #[test]
    fn a_flag_that_an_older_program_does_not_know_is_one_not_given() {
        let plain = sample::case("ring", [10.0]);
        for not_given in [Value::Null, false.into(), 0.into()] {
            assert_eq!(difference(&plain, &with_parameter("work", not_given)), None);
        }
        let worked = with_parameter("work", 5.into());
        assert_eq!(difference(&plain, &worked), Some("work".to_owned()));
    }

    #[test]
    fn another_number_of_tasks_is_another_parameter() {
        let plain = sample::case("ring", [10.0]);
        let mut more = plain.clone();
        more[0].record.as_mut().unwrap().tasks = 500;
        assert_eq!(difference(&plain, &more), Some("tasks".to_owned()));
    }

    #[test]
    fn a_difference_between_the_sides_is_none_between_the_places() {
        let at = |round: u32, second: u32, ns: f64| {
            let started_at = format!("2026-01-01T00:00:{second:02}Z");
            Invocation { started_at, ..Hop::hop(ns).in_round("ring", round) }
        };
        // The candidate takes 4 times as long, and whichever runs second twice.
        // Rounds 3 and 4 are not in opposite order; round 6 is missing.
        let first = [at(1, 1, 10.0), at(2, 4, 20.0), at(3, 5, 1.0), at(4, 7, 1.0), at(5, 9, 1.0)];
        let second = [at(1, 2, 80.0), at(2, 3, 40.0), at(3, 6, 1.0), at(4, 8, 1.0), at(5, 10, 1.0)];
        let sides = [&first[..], &second].map(|side| Sample::of("ring", side));
        let [early, late] = Sample::by_place([&sides[0], &sides[1]]);
        assert_eq!(early, ByRound::from([(1, 20.0)]));
        assert_eq!(late, ByRound::from([(1, 40.0)]));
    }

    #[test]
    fn modes_are_sought_in_each_arm_and_counted_in_both() {
        let mixed = [2.0, 2.1, 20.0, 21.0, 2.2];
        let fast = [2.0, 2.1, 2.0, 2.1];
        let found = ModesOfSides::of([&fast, &mixed]).unwrap();
        assert_eq!(found.slow_share, [0.0, 0.4]);
        let slow = fast.map(|time| time * 10.0);
        assert_eq!(ModesOfSides::of([&fast, &slow]), None, "the sides differ, not the modes");
    }
}
