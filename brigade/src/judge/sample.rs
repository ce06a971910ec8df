//! Which invocations of a case its figures are made from: those that measured,
//! one a round, the least disturbed.

use std::collections::BTreeMap;

use crate::judge::statistics::median;
use harness::record::Record;

use crate::judge::interference::{Verdict, assess};
use crate::store::invocation::{Invocation, Outcome};

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
/// rounds: of each round the least disturbed, the first of several; of those
/// the usable ones, or all where none is.
pub fn sample_of<'a>(invocations: &[&'a Invocation]) -> Vec<Run<'a>> {
    let mut rounds: BTreeMap<u32, Run> = BTreeMap::new();
    for run in invocations.iter().filter_map(|invocation| run(invocation)) {
        let best = rounds.entry(run.round).or_insert(run);
        if run.verdict < best.verdict {
            *best = run;
        }
    }
    let all: Vec<Run> = rounds.into_values().collect();
    let usable: Vec<Run> =
        all.iter().copied().filter(|run| run.verdict < Verdict::Unusable).collect();
    if usable.is_empty() { all } else { usable }
}

fn run(invocation: &Invocation) -> Option<Run<'_>> {
    let record = invocation.record.as_ref()?;
    let run = Run { round: invocation.round, record, verdict: assess(invocation).verdict };
    (invocation.outcome == Outcome::Measured).then_some(run)
}

/// The median over the runs whose record has the figure.
pub fn median_of(runs: &[Run], figure: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    median(&runs.iter().filter_map(|run| figure(run.record)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sample::Sample;

    /// The rounds and times of the sample of invocations, each of a round, a
    /// time and the share of the CPUs' time that others had.
    fn sampled(invocations: &[(u32, f64, f64)]) -> Vec<(u32, f64)> {
        let invocations: Vec<Invocation> = invocations
            .iter()
            .map(|&(round, wall_ns, others_share)| {
                Sample { others_share, ..Sample::hop(wall_ns) }.in_round("ring", round)
            })
            .collect();
        let sample = sample_of(&invocations.iter().collect::<Vec<_>>());
        let time = |run: &Run| run.record.principal().unwrap().ns_per_operation;
        sample.iter().map(|run| (run.round, time(run))).collect()
    }

    #[test]
    fn a_round_is_represented_by_its_least_disturbed_invocation() {
        let again = [(1, 30.0, 0.5), (1, 20.0, 0.1), (1, 10.0, 0.0), (1, 5.0, 0.0)];
        assert_eq!(sampled(&again), [(1, 10.0)]);
        assert_eq!(sampled(&again[..2]), [(1, 20.0)]);
    }

    #[test]
    fn unusable_invocations_are_estimated_from_only_for_want_of_others() {
        let mixed = [(1, 10.0, 0.0), (2, 30.0, 0.5), (3, 12.0, 0.1)];
        assert_eq!(sampled(&mixed), [(1, 10.0), (3, 12.0)]);
        assert_eq!(sampled(&[(1, 40.0, 0.4), (2, 50.0, 0.5)]), [(1, 40.0), (2, 50.0)]);
    }
}
