//! What is kept of a run among many: a folder is reduced to this before the next is
//! read, so that a thousand of them fit into memory.

use std::collections::BTreeMap;

use super::name::names;
use crate::judge::interference::{Verdict, assess};
use crate::judge::sample::sample_of;
use crate::store::invocation::{Invocation, Outcome};
use crate::store::recorded_case::RecordedCase;
use crate::store::saved_run::SavedRun;

/// A run, reduced.
#[derive(Clone, Debug, PartialEq)]
pub struct ReducedRun {
    /// The name of its folder.
    pub folder: String,
    /// When it began: UTC, RFC 3339.
    pub started_at: String,
    /// The type of machine, in words.
    pub machine: String,
    /// Which boot of the machine it was, if that is known.
    pub boot: Option<String>,
    /// The facts of its environment.
    pub facts: BTreeMap<String, String>,
    /// Its cases by key.
    pub cases: BTreeMap<String, CaseSample>,
    /// Processes that were started, those that were interrupted aside.
    pub processes: usize,
    /// Those of them that were disturbed or failed.
    pub disturbed: usize,
}

/// The figures of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseSample {
    /// Its name.
    pub name: String,
    /// The measurement's name.
    pub measurement: String,
    /// What an operation is.
    pub operation: String,
    /// The time of an operation in each process that counts, in nanoseconds.
    pub values: Vec<f64>,
    /// Processes that were disturbed.
    pub disturbed: usize,
    /// Processes that were unusable: they count only where there are no others.
    pub unusable: usize,
    /// Processes that did not measure.
    pub failed: usize,
}

impl ReducedRun {
    /// What is kept of the run in the folder of this name.
    pub fn of(folder: &str, run: &SavedRun) -> Self {
        let ended: Vec<&Invocation> =
            run.invocations.iter().filter(|invocation| !invocation.interrupted).collect();
        let is_disturbed = |invocation: &&&Invocation| {
            invocation.outcome != Outcome::Measured || assess(invocation).verdict > Verdict::Clean
        };
        Self {
            folder: folder.to_owned(),
            started_at: run.description.started_at.clone(),
            machine: run.environment.kind(),
            boot: run.environment.boot.clone(),
            facts: run.environment.facts(),
            cases: cases(&ended),
            processes: ended.len(),
            disturbed: ended.iter().filter(is_disturbed).count(),
        }
    }
}

/// The cases that were measured, by key, of the invocations that reports count.
fn cases(ended: &[&Invocation]) -> BTreeMap<String, CaseSample> {
    let mut by_name: BTreeMap<&str, Vec<&Invocation>> = BTreeMap::new();
    for invocation in ended {
        by_name.entry(&invocation.case).or_default().push(invocation);
    }
    let mut cases: BTreeMap<String, CaseSample> = BTreeMap::new();
    for (name, invocations) in by_name {
        let count = |verdict| {
            let measured = invocations.iter().filter(|of| of.outcome == Outcome::Measured);
            measured.filter(|of| assess(of).verdict == verdict).count()
        };
        let failed = invocations.iter().filter(|of| of.outcome != Outcome::Measured).count();
        for run in sample_of(&invocations) {
            let Some(measured) = run.record.principal() else { continue };
            let ns = measured.ns_per_operation;
            if ns <= 0.0 || !ns.is_finite() {
                continue;
            }
            let case = RecordedCase::of(run.record);
            let (program, parameters) = (&case.program, case.parameters_json());
            let key = format!("{program} {parameters} {} {}", measured.name, measured.operation);
            let sample = cases.entry(key).or_insert_with(|| CaseSample {
                name: name.to_owned(),
                measurement: measured.name.clone(),
                operation: measured.operation.clone(),
                values: Vec::new(),
                disturbed: count(Verdict::Disturbed),
                unusable: count(Verdict::Unusable),
                failed,
            });
            sample.values.push(ns);
        }
    }
    cases
}

impl CaseSample {
    fn take(&mut self, further: Self) {
        self.values.extend(further.values);
        self.disturbed += further.disturbed;
        self.unusable += further.unusable;
        self.failed += further.failed;
    }
}

/// A host, or whatever else runs are joined to.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its folders.
    pub runs: Vec<String>,
    /// The facts of its last run.
    pub facts: BTreeMap<String, String>,
    /// Its cases by key, with the values of all runs.
    pub cases: BTreeMap<String, CaseSample>,
    /// Processes that were started, those that were interrupted aside.
    pub processes: usize,
    /// Those of them that were disturbed or failed.
    pub disturbed: usize,
}

impl Host {
    /// The hosts of these runs, by name.
    pub fn joined(runs: Vec<ReducedRun>) -> Vec<Self> {
        let folders: Vec<&str> = runs.iter().map(|run| run.folder.as_str()).collect();
        let names = names(&folders);
        Self::joined_by(names.into_iter().zip(runs).collect())
    }

    /// Joins the runs of one name.
    pub fn joined_by(mut runs: Vec<(String, ReducedRun)>) -> Vec<Self> {
        runs.sort_by(|(_, a), (_, b)| (&a.started_at, &a.folder).cmp(&(&b.started_at, &b.folder)));
        let mut hosts: BTreeMap<String, Self> = BTreeMap::new();
        for (name, run) in runs {
            let host = hosts.entry(name.clone()).or_insert_with(|| Self::nothing_of(name));
            host.take(run);
        }
        hosts.into_values().collect()
    }

    fn nothing_of(name: String) -> Self {
        Self {
            name,
            runs: Vec::new(),
            facts: BTreeMap::new(),
            cases: BTreeMap::new(),
            processes: 0,
            disturbed: 0,
        }
    }

    fn take(&mut self, run: ReducedRun) {
        self.runs.push(run.folder);
        self.facts = run.facts;
        self.processes += run.processes;
        self.disturbed += run.disturbed;
        for (key, case) in run.cases {
            match self.cases.get_mut(&key) {
                Some(known) => known.take(case),
                None => drop(self.cases.insert(key, case)),
            }
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::store::sample;

    /// Cases of these names and values.
    fn samples(cases: &[(&str, &[f64])]) -> BTreeMap<String, CaseSample> {
        let case = |(name, values): &(&str, &[f64])| {
            let sample = CaseSample {
                name: (*name).to_owned(),
                measurement: "iteration".to_owned(),
                operation: "hop".to_owned(),
                values: values.to_vec(),
                disturbed: 0,
                unusable: 0,
                failed: 0,
            };
            (sample.name.clone(), sample)
        };
        cases.iter().map(case).collect()
    }

    /// A reduced run in a folder of this name.
    pub fn run(folder: &str, cases: &[(&str, &[f64])]) -> ReducedRun {
        ReducedRun {
            folder: folder.to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            machine: "a machine".to_owned(),
            boot: None,
            facts: BTreeMap::new(),
            cases: samples(cases),
            processes: 1,
            disturbed: 0,
        }
    }

    /// A host.
    pub fn host(name: &str, cases: &[(&str, &[f64])]) -> Host {
        Host::joined(vec![run(name, cases)]).remove(0)
    }

    #[test]
    fn a_run_is_reduced_to_the_values_that_reports_count() {
        let beside = |round, wall_ns, others_share| {
            sample::Sample { others_share, ..sample::Sample::hop(wall_ns) }.in_round("ring", round)
        };
        let failed = sample::without_record("ring", 3, Outcome::Failed);
        let all = [beside(1, 30.0, 0.5), beside(1, 20.0, 0.1), beside(2, 10.0, 0.0), failed];
        let found = cases(&all.iter().collect::<Vec<_>>());
        let [case] = found.values().collect::<Vec<_>>()[..] else { panic!("one case: {found:?}") };
        assert_eq!((case.name.as_str(), case.operation.as_str()), ("ring", "hop"));
        assert_eq!(case.values, [20.0, 10.0]);
        assert_eq!((case.disturbed, case.unusable, case.failed), (1, 1, 1));
    }

    #[test]
    fn runs_of_a_host_are_joined_and_the_last_has_its_facts() {
        let with = |folder: &str, day: &str, governor: &str| ReducedRun {
            started_at: day.to_owned(),
            facts: BTreeMap::from([("governor".to_owned(), governor.to_owned())]),
            ..run(folder, &[("ring", &[1.0])])
        };
        let runs = vec![
            with("2026-01-02-a", "2026-01-02", "new"),
            with("2026-01-01-a", "2026-01-01", "old"),
            with("2026-01-01-b", "2026-01-01", "old"),
        ];
        let hosts = Host::joined(runs);
        assert_eq!(hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(hosts[0].runs, ["2026-01-01-a", "2026-01-02-a"]);
        assert_eq!(hosts[0].facts["governor"], "new");
        assert_eq!((hosts[0].cases["ring"].values.len(), hosts[0].processes), (2, 2));
    }
}
