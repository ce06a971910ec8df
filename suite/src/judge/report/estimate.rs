//! From the lines of `records.jsonl` to one estimate per case and
//! measurement. The sample is the invocations that measured, one a round; the
//! others are counted, so that a report can say what is missing from it.

use std::collections::BTreeMap;

use harness::record::{CpuTime, Measurement, Record, Switches};
use harness::terminal;

use crate::judge::interference::{Verdict, assess};
use crate::judge::report::attribution::Attribution;
use crate::store::invocation::{Invocation, Outcome};
use harness::statistics::{ByRound, Estimate, Modes, median, outlier};

/// What the invocations of one case say.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseEstimate {
    /// The case's name in `suite.toml`.
    pub case: String,
    /// The placement that the programs recorded, if any recorded one.
    pub placement: Option<String>,
    /// What came of the invocations.
    pub outcomes: OutcomeCounts,
    /// What went wrong first, if anything did and it left a message.
    pub first_error: Option<String>,
    /// What disturbed those that measured.
    pub disturbances: Disturbances,
    /// One estimate per measurement, the principal one first; none if nothing
    /// was measured.
    pub operations: Vec<OperationEstimate>,
    /// Where the time of the principal measurement's operation goes; `None`
    /// if no record tells the CPU time.
    pub attribution: Option<Attribution>,
}

impl CaseEstimate {
    /// The estimate of the named measurement, or of the principal one.
    #[must_use]
    pub fn operation(&self, measurement: Option<&str>) -> Option<&OperationEstimate> {
        match measurement {
            Some(name) => self.operations.iter().find(|operation| operation.measurement == name),
            None => self.operations.first(),
        }
    }
}

/// How many invocations of a case came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// Measured: the sample of every estimate.
    pub measured: usize,
    /// Failed.
    pub failed: usize,
    /// Killed at the case's time-out.
    pub timed_out: usize,
    /// Refused for a limit.
    pub refused: usize,
}

impl OutcomeCounts {
    fn of(invocations: &[&Invocation]) -> Self {
        let mut counts = Self::default();
        for invocation in invocations {
            *match invocation.outcome {
                Outcome::Measured => &mut counts.measured,
                Outcome::Failed => &mut counts.failed,
                Outcome::TimedOut => &mut counts.timed_out,
                Outcome::Refused => &mut counts.refused,
            } += 1;
        }
        counts
    }
}

/// What disturbed the invocations of a case that measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disturbances {
    /// How many were disturbed; all of them are estimated from, unless their
    /// round has a clean one.
    pub disturbed: usize,
    /// How many were unusable.
    pub unusable: usize,
    /// Whether the estimate is from unusable ones, for want of others.
    pub unusable_are_used: bool,
    /// What was over its threshold in one of the worst of them.
    pub worst: Vec<String>,
}

/// The estimate of one measurement of a case, per operation.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationEstimate {
    /// The measurement's name in the record, such as `iteration`.
    pub measurement: String,
    /// What one operation is, such as `hop`.
    pub operation: String,
    /// The mean time per operation of each invocation, in nanoseconds.
    pub by_round: ByRound,
    /// The median of `by_round` and its interval, in nanoseconds.
    pub time_ns: Estimate,
    /// The two modes that `by_round` falls into, if it does.
    pub modes: Option<TwoModes>,
    /// The one figure of too few that lies far from all others, if one does,
    /// in nanoseconds.
    pub outlier_ns: Option<f64>,
    /// Median over invocations of the median sample, divided by its
    /// operations, in nanoseconds.
    pub p50_ns: f64,
    /// The same of the 99th percentile. A sample of many operations averages
    /// over them: this is no percentile of single operations.
    pub p99_ns: f64,
    /// CPU time, user and kernel, of the whole process per operation, in
    /// nanoseconds: median over invocations. Only the principal measurement
    /// has one.
    pub cpu_ns: Option<f64>,
    /// Kernel context switches per operation: median over invocations. Only
    /// the principal measurement has one.
    pub switches: Option<f64>,
}

/// Two modes, and what goes with each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoModes {
    /// The modes, in nanoseconds.
    pub modes: Modes,
    /// Share of traced hops whose ends ran on different CPUs, 0 to 1, in the
    /// fast mode and in the slow one: medians over invocations.
    pub crossing_shares: Option<[f64; 2]>,
}

/// Estimates every case that `invocations` name, in the order of the names.
#[must_use]
pub fn estimate(invocations: &[Invocation]) -> Vec<CaseEstimate> {
    let mut cases: BTreeMap<&str, Vec<&Invocation>> = BTreeMap::new();
    for invocation in invocations {
        cases.entry(&invocation.case).or_default().push(invocation);
    }
    cases.into_iter().map(|(case, invocations)| estimate_case(case, &invocations)).collect()
}

/// An invocation that measured.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The round, counted from 1.
    pub round: u32,
    /// What it measured.
    pub record: &'a Record,
    /// How far it can be trusted.
    pub verdict: Verdict,
}

/// The invocations of one case that it is estimated from, in the order of
/// rounds.
#[must_use]
pub fn sample_of<'a>(invocations: &[&'a Invocation]) -> Vec<Run<'a>> {
    let measured: Vec<Run> = invocations.iter().filter_map(|invocation| run(invocation)).collect();
    sample(&measured)
}

fn estimate_case(case: &str, invocations: &[&Invocation]) -> CaseEstimate {
    let runs = sample_of(invocations);
    CaseEstimate {
        case: shown(case),
        placement: runs.iter().find_map(placement),
        outcomes: OutcomeCounts::of(invocations),
        first_error: invocations
            .iter()
            .find_map(|invocation| invocation.error.as_deref().map(shown)),
        disturbances: disturbances(invocations, &runs),
        operations: measurements(&runs).filter_map(|like| operation(like, &runs)).collect(),
        attribution: Attribution::of(&runs),
    }
}

/// A record's word in a form fit for a line of a report.
fn shown(word: &str) -> String {
    terminal::line(word).into_owned()
}

fn run(invocation: &Invocation) -> Option<Run<'_>> {
    let record = invocation.record.as_ref()?;
    let verdict = assess(invocation).verdict;
    let run = Run { round: invocation.round, record, verdict };
    (invocation.outcome == Outcome::Measured).then_some(run)
}

/// What is estimated from: of each round the least disturbed run, the first
/// of several; of those the usable ones, or all where none is.
fn sample<'a>(measured: &[Run<'a>]) -> Vec<Run<'a>> {
    let mut rounds: BTreeMap<u32, Run> = BTreeMap::new();
    for run in measured {
        let best = rounds.entry(run.round).or_insert(*run);
        if run.verdict < best.verdict {
            *best = *run;
        }
    }
    let all: Vec<Run> = rounds.into_values().collect();
    let usable: Vec<Run> =
        all.iter().copied().filter(|run| run.verdict < Verdict::Unusable).collect();
    if usable.is_empty() { all } else { usable }
}

fn disturbances(invocations: &[&Invocation], sample: &[Run]) -> Disturbances {
    let measured = |invocation: &&&Invocation| invocation.outcome == Outcome::Measured;
    let assessments: Vec<_> =
        invocations.iter().filter(measured).map(|invocation| assess(invocation)).collect();
    let count = |verdict| assessments.iter().filter(|found| found.verdict == verdict).count();
    Disturbances {
        disturbed: count(Verdict::Disturbed),
        unusable: count(Verdict::Unusable),
        unusable_are_used: sample.iter().any(|run| run.verdict == Verdict::Unusable),
        worst: assessments
            .into_iter()
            .max_by_key(|found| found.verdict)
            .map_or(Vec::new(), |worst| worst.reasons),
    }
}

fn placement(run: &Run) -> Option<String> {
    run.record.parameters.get("placement")?.as_str().map(shown)
}

/// The measurements of the first record: every record of a case has them.
fn measurements<'a>(runs: &[Run<'a>]) -> impl Iterator<Item = &'a Measurement> {
    runs.first().into_iter().flat_map(|run| &run.record.measurements)
}

fn operation(like: &Measurement, runs: &[Run]) -> Option<OperationEstimate> {
    let samples = samples(like, runs);
    let by_round: ByRound =
        samples.iter().map(|(round, sample)| (*round, sample.ns_per_operation)).collect();
    let times: Vec<f64> = by_round.values().copied().collect();
    let percentile = |of: fn(&Measurement) -> u64| {
        let per_operation =
            |(_, sample): &(u32, &Measurement)| of(sample) as f64 / sample.operations as f64;
        median(&samples.iter().map(per_operation).collect::<Vec<_>>())
    };
    let principal: &[Run] = if is_principal(like, runs) { runs } else { &[] };
    Some(OperationEstimate {
        measurement: shown(&like.name),
        operation: shown(&like.operation),
        time_ns: Estimate::cautious(&times)?,
        modes: Modes::of(&times).map(|modes| two_modes(modes, &by_round, runs)),
        outlier_ns: outlier(&times),
        by_round,
        p50_ns: percentile(|sample| sample.p50_ns)?,
        p99_ns: percentile(|sample| sample.p99_ns)?,
        cpu_ns: median_of(principal, |record| record.cpu.as_ref().map(cpu_ns)),
        switches: median_of(principal, |record| record.switches.as_ref().map(switches)),
    })
}

fn two_modes(modes: Modes, by_round: &ByRound, runs: &[Run]) -> TwoModes {
    let crossing_share = |is_slow: bool| {
        let of_mode = |run: &&Run| {
            let time = by_round.get(&run.round);
            time.is_some_and(|time| (*time > modes.boundary) == is_slow)
        };
        let members: Vec<Run> = runs.iter().filter(of_mode).copied().collect();
        median_of(&members, |record| record.switches?.cross_cpu_share)
    };
    let crossing_shares = crossing_share(false).zip(crossing_share(true));
    TwoModes { modes, crossing_shares: crossing_shares.map(Into::into) }
}

/// The measurement of the same name in every run that has it, with its round.
fn samples<'a>(like: &Measurement, runs: &[Run<'a>]) -> Vec<(u32, &'a Measurement)> {
    let of = |run: &Run<'a>| {
        let sample = run.record.measurements.iter().find(|sample| sample.name == like.name)?;
        Some((run.round, sample))
    };
    runs.iter().filter_map(of).collect()
}

fn is_principal(like: &Measurement, runs: &[Run]) -> bool {
    let principal = runs.first().and_then(|run| run.record.principal());
    principal.is_some_and(|principal| principal.name == like.name)
}

/// The median over the runs whose record has the figure.
pub(super) fn median_of(runs: &[Run], figure: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    median(&runs.iter().filter_map(|run| figure(run.record)).collect::<Vec<_>>())
}

/// CPU time per operation, user and kernel.
pub(super) fn cpu_ns(cpu: &CpuTime) -> f64 {
    cpu.user_ns_per_operation + cpu.system_ns_per_operation
}

fn switches(switches: &Switches) -> f64 {
    switches.voluntary_per_operation + switches.involuntary_per_operation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sample::{self, Sample};

    #[test]
    fn no_invocations_give_no_estimates() {
        assert_eq!(estimate(&[]), []);
    }

    #[test]
    fn an_estimate_is_the_median_over_invocations_per_operation() {
        let [case] = &estimate(&sample::case("ring", [30.0, 10.0, 20.0]))[..] else { panic!() };
        let hop = case.operation(None).unwrap();
        assert_eq!((hop.measurement.as_str(), hop.operation.as_str()), ("iteration", "hop"));
        assert_eq!((hop.time_ns.median, hop.time_ns.count), (20.0, 3));
        assert_eq!(hop.by_round, ByRound::from([(1, 30.0), (2, 10.0), (3, 20.0)]));
        // The percentiles of a sample of 10 hops are 0.9 and 2 times its mean.
        assert_eq!((hop.p50_ns, hop.p99_ns), (18.0, 40.0));
        assert_eq!(case.placement.as_deref(), Some("free"));
    }

    #[test]
    fn cpu_time_and_switches_belong_to_the_principal_measurement_alone() {
        let sample = Sample { user_ns: 3.0, system_ns: 4.0, switches: 1.5, ..Sample::hop(10.0) };
        let invocation = sample::and_measurement(sample.in_round("make", 1), "join", "join", 5.0);
        let [case] = &estimate(&[invocation])[..] else { panic!() };
        let figures = |name| case.operation(Some(name)).map(|found| (found.cpu_ns, found.switches));
        assert_eq!(figures("iteration"), Some((Some(7.0), Some(1.5))));
        assert_eq!(figures("join"), Some((None, None)));
        assert_eq!(figures("start"), None);
    }

    #[test]
    fn what_did_not_measure_is_counted_and_not_estimated() {
        let mut invocations = sample::case("ring", [10.0, 999.0]);
        invocations[1].outcome = Outcome::Failed;
        invocations.push(sample::without_record("ring", 3, Outcome::TimedOut));
        invocations.push(sample::without_record("ring", 4, Outcome::Refused));
        let [case] = &estimate(&invocations)[..] else { panic!() };
        let expected = OutcomeCounts { measured: 1, failed: 1, timed_out: 1, refused: 1 };
        assert_eq!(case.outcomes, expected);
        assert_eq!(case.operation(None).unwrap().time_ns.median, 10.0);
    }

    #[test]
    fn a_case_that_never_measured_has_counts_and_no_operations() {
        let [case] = &estimate(&[sample::without_record("ring", 1, Outcome::Refused)])[..] else {
            panic!()
        };
        assert_eq!(case.outcomes.refused, 1);
        assert_eq!((case.operations.len(), &case.attribution, &case.placement), (0, &None, &None));
    }

    /// The time per hop of `case`, and what disturbed it.
    fn estimated(invocations: &[Invocation]) -> (f64, Disturbances) {
        let [case] = &estimate(invocations)[..] else { panic!() };
        (case.operation(None).unwrap().time_ns.median, case.disturbances.clone())
    }

    /// Hops of `wall_ns` in round `round` while others had so much of the CPUs.
    fn beside(round: u32, wall_ns: f64, others_share: f64) -> Invocation {
        Sample { others_share, ..Sample::hop(wall_ns) }.in_round("ring", round)
    }

    #[test]
    fn a_round_is_told_by_its_least_disturbed_invocation() {
        let again = [beside(1, 30.0, 0.5), beside(1, 20.0, 0.1), beside(1, 10.0, 0.0)];
        let (hop_ns, Disturbances { disturbed, unusable, unusable_are_used, worst }) =
            estimated(&again);
        assert_eq!((hop_ns, disturbed, unusable, unusable_are_used), (10.0, 1, 1, false));
        assert_eq!(worst, ["others had 50 % of its CPUs' time"]);
        assert_eq!(estimated(&again[..2]).0, 20.0);
    }

    #[test]
    fn unusable_invocations_are_estimated_from_only_for_want_of_others() {
        let mixed = [beside(1, 10.0, 0.0), beside(2, 30.0, 0.5), beside(3, 12.0, 0.1)];
        let (hop_ns, found) = estimated(&mixed);
        assert_eq!((hop_ns, found.unusable_are_used), (11.0, false));
        let (hop_ns, found) = estimated(&[beside(1, 40.0, 0.4), beside(2, 50.0, 0.5)]);
        assert_eq!((hop_ns, found.unusable, found.unusable_are_used), (45.0, 2, true));
    }

    #[test]
    fn two_modes_are_noticed() {
        let samples = [(26.0, 0.02), (25.0, 0.01), (220.0, 0.97), (27.0, 0.04), (200.0, 0.95)]
            .map(|(ns, share)| Sample { cross_cpu_share: share, ..Sample::hop(ns) });
        let mut invocations = sample::samples("ring", samples);
        let modes = |invocations: &[Invocation]| {
            let [case] = &estimate(invocations)[..] else { panic!() };
            case.operation(None).unwrap().modes.unwrap()
        };
        let TwoModes { modes: found, crossing_shares } = modes(&invocations);
        assert_eq!((found.fast.median, found.slow.median, found.slow.share), (26.0, 210.0, 0.4));
        assert_eq!(crossing_shares, Some([0.02, 0.96]));
        for invocation in &mut invocations {
            invocation.record.as_mut().unwrap().switches = None;
        }
        assert_eq!(modes(&invocations).crossing_shares, None);
    }

    #[test]
    fn one_of_too_few_that_lies_far_away_widens_the_interval() {
        let ns = [10.0, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7, 10.8, 90.0];
        let [case] = &estimate(&sample::case("ring", ns))[..] else { panic!() };
        let hop = case.operation(None).unwrap();
        assert_eq!(hop.outlier_ns, Some(90.0));
        assert_eq!(hop.time_ns.interval.unwrap().high, 90.0);
    }
}
