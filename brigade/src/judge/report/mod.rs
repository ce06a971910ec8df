//! The report of one run, or of several side by side: from what their folders
//! hold to one value that renderers show.

pub mod attribution;
pub mod estimate;
mod findings;
mod growth;
mod kinds;
pub mod model;
mod notes;
mod pairs;
mod quality;
pub mod series;
mod unlike;

use std::collections::{HashMap, HashSet};

use crate::judge::statistics::{Estimate, difference, ratio};

use crate::judge::environment::{Difference, between_machines};
use crate::judge::prove::proof::Proof;
use crate::judge::sample::{Run as Measured, sample_of};
use crate::manifest::Manifest;
use crate::manifest::headline;
use crate::store::environment::Environment;
use crate::store::invocation::Invocation;
use crate::store::recorded_case::RecordedCase;
use crate::store::results::RunDescription;
use estimate::{estimate, shown};
pub use findings::MARGIN;
use model::{
    Case, Group, Headline, MinusBaseline, Progress, Quantity, Report, Run, SCHEMA_VERSION, Unlike,
};
use unlike::Conditions;

/// A run to report.
#[derive(Clone, Debug)]
pub struct RunData<'a> {
    /// The name of its folder.
    pub name: String,
    /// What was run.
    pub description: &'a RunDescription,
    /// The machine.
    pub environment: &'a Environment,
    /// The invocations, in the order in which they ended.
    pub invocations: &'a [Invocation],
    /// The proof of the instrument that it ended with, if it did.
    pub proof: Option<&'a Proof>,
    /// How far it came.
    pub progress: Progress,
}

/// The report of these runs; groups, baselines, findings and headline are those
/// of `manifest`.
pub fn report(manifest: &Manifest, runs: &[RunData]) -> Report {
    let mut cases = Cases::of(manifest, runs);
    cases.subtract_baselines(manifest);
    let described =
        runs.iter().enumerate().map(|(index, run)| describe(manifest, &cases, index, run));
    let described = described.collect();
    let headline = manifest.headline.iter().filter_map(|row| cases.headline(row));
    let headline = headline.collect();
    let kinds = kinds::kinds(manifest, &cases, runs);
    let groups = groups(manifest, runs, cases.cases);
    Report {
        schema_version: SCHEMA_VERSION.to_owned(),
        runs: described,
        environment_differences: environment_differences(runs),
        headline,
        kinds,
        pairs: pairs::maps(runs, &groups),
        groups,
    }
}

/// In what the conditions of each run but the first differ from the first's.
fn environment_differences(runs: &[RunData]) -> Vec<Vec<Difference>> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    others.iter().map(|run| between_machines(first.environment, run.environment)).collect()
}

fn describe(manifest: &Manifest, cases: &Cases, index: usize, run: &RunData) -> Run {
    let RunDescription { started_at, profile, procedure, seed, skipped, .. } = run.description;
    let (findings, caches) = (manifest.findings.iter(), run.environment.caches());
    Run {
        name: shown(&run.name),
        label: run.environment.label(),
        machine: shown(&run.environment.machine()),
        environment: shown(&run.environment.sentence()),
        started_at: shown(started_at),
        profile: shown(profile),
        command: procedure.as_ref().map_or(Vec::new(), |procedure| procedure.command.clone()),
        seed: *seed,
        progress: run.progress.clone(),
        skipped: skipped.clone(),
        quality: quality::quality(cases.cases.iter(), index, run.description, run.invocations),
        notes: notes::notes(cases.cases.iter(), index),
        findings: findings.filter_map(|of| findings::finding(of, cases, index, &caches)).collect(),
        proof: run.proof.cloned(),
    }
}

/// All cases of all runs, and what each name means in each run.
struct Cases<'a> {
    cases: Vec<Case>,
    /// The runs that each estimate is made from.
    samples: HashMap<(usize, usize), Vec<Measured<'a>>>,
    /// The index of the case of this name.
    named: HashMap<String, usize>,
}

impl<'a> Cases<'a> {
    fn of(manifest: &Manifest, runs: &[RunData<'a>]) -> Self {
        let mut all = Self { cases: Vec::new(), samples: HashMap::new(), named: HashMap::new() };
        let mut keyed: HashMap<String, usize> = HashMap::new();
        for (run, data) in runs.iter().enumerate() {
            let mut taken = HashSet::new();
            for (name, invocations) in by_name(data) {
                let key = all.key(name, &invocations, &mut taken);
                let id = format!("{} {}", key.program, key.parameters_json());
                let index = *keyed.entry(id).or_insert(all.cases.len());
                if index == all.cases.len() {
                    let estimates = vec![None; runs.len()];
                    let kind = manifest.kind_of(name, &key.program);
                    all.cases.push(Case { key, name: shown(name), kind, estimates });
                }
                all.cases[index].estimates[run] = Some(estimate(&invocations));
                let ended: Vec<_> =
                    invocations.into_iter().filter(|invocation| !invocation.interrupted).collect();
                all.samples.insert((index, run), sample_of(&ended));
                all.named.insert(name.to_owned(), index);
            }
        }
        all
    }

    /// What the case of this name is, by its first record. Without one it is the
    /// case of this name in another run, or one that only its name tells, as are
    /// further cases of the same run with the same record.
    fn key(
        &self,
        name: &str,
        invocations: &[&Invocation],
        taken: &mut HashSet<String>,
    ) -> RecordedCase {
        let record = invocations.iter().find_map(|invocation| invocation.record.as_ref());
        let known = || Some(self.cases[*self.named.get(name)?].key.clone());
        let unknown = || RecordedCase { program: name.to_owned(), parameters: Default::default() };
        let mut key = record.map(RecordedCase::of).or_else(known).unwrap_or_else(unknown);
        if !taken.insert(format!("{} {}", key.program, key.parameters_json())) {
            key.parameters.insert("case".to_owned(), name.into());
        }
        key
    }

    /// The case of this name, and the runs that its estimate in the run of this
    /// index is made from.
    fn find(&self, name: &str, run: usize) -> Option<(&Case, &[Measured<'a>])> {
        let index = *self.named.get(name)?;
        Some((&self.cases[index], self.samples.get(&(index, run))?))
    }

    fn subtract_baselines(&mut self, manifest: &Manifest) {
        for of in &manifest.cases {
            let Some(&index) = self.named.get(&of.name) else { continue };
            for run in 0..self.cases[index].estimates.len() {
                let minus = self.minus_baseline(
                    index,
                    run,
                    of.baseline.as_deref(),
                    of.baseline_measurement.as_deref(),
                );
                if let Some(estimate) = &mut self.cases[index].estimates[run] {
                    estimate.minus_baseline = minus;
                }
            }
        }
    }

    fn minus_baseline(
        &self,
        index: usize,
        run: usize,
        baseline: Option<&str>,
        measurement: Option<&str>,
    ) -> Option<MinusBaseline> {
        let whole = self.cases[index].estimates[run].as_ref()?;
        let (name, of, part) = match (baseline, measurement) {
            (Some(name), _) => {
                let of = self.cases[*self.named.get(name)?].estimates[run].as_ref()?;
                (name, of, of.measurement(None)?)
            }
            (None, Some(name)) => (name, whole, whole.measurement(Some(name))?),
            (None, None) => return None,
        };
        let difference_ns =
            difference(&whole.by_round(whole.measurement(None)?), &of.by_round(part))?;
        Some(MinusBaseline { baseline: shown(name), difference_ns })
    }

    /// A row to read first, if a run has it.
    fn headline(&self, row: &headline::Headline) -> Option<Headline> {
        let index = *self.named.get(&row.case)?;
        let case = &self.cases[index];
        let over = row.over.as_ref().map(|over| self.named.get(over).map(|&at| &self.cases[at]));
        let figure = |run: usize| -> Option<Estimate> {
            let estimate = case.estimates[run].as_ref()?;
            let measurement = estimate.measurement(row.measurement.as_deref())?;
            match &over {
                None if row.memory => estimate.held(),
                None => Some(measurement.time_ns),
                Some(over) => {
                    let below = (*over)?.estimates[run].as_ref()?;
                    let time = below.by_round(below.measurement(None)?);
                    ratio(&estimate.by_round(measurement), &time)
                }
            }
        };
        let figures: Vec<Option<Estimate>> = (0..case.estimates.len()).map(figure).collect();
        let unit = match () {
            () if over.is_some() => Quantity::Ratio,
            () if row.memory => Quantity::Bytes,
            () => Quantity::Nanoseconds,
        };
        let any = figures.iter().any(Option::is_some);
        let below = row.over.as_ref().and_then(|over| self.named.get(over));
        let unlike = below.map_or(Vec::new(), |below| self.unlike(index, *below));
        any.then(|| Headline { text: row.text.clone(), unit, figures, unlike })
    }

    /// In what two cases were not measured alike in the first run that has both.
    fn unlike(&self, first: usize, second: usize) -> Vec<Unlike> {
        let conditions = |index: usize, run: usize| {
            let runs = self.samples.get(&(index, run)).filter(|runs| !runs.is_empty())?;
            Some(Conditions::of(&self.cases[index], runs))
        };
        let runs = 0..self.cases[first].estimates.len();
        let both = |run| conditions(first, run).zip(conditions(second, run));
        runs.filter_map(both).next().map_or(Vec::new(), |(first, second)| first.unlike(&second))
    }
}

/// The invocations of each case of a run: its cases in the order of `run.json`,
/// then any others.
fn by_name<'a>(run: &RunData<'a>) -> Vec<(&'a str, Vec<&'a Invocation>)> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut found: Vec<(&str, Vec<&Invocation>)> = Vec::new();
    for name in &run.description.cases {
        places.entry(name).or_insert_with(|| {
            found.push((name, Vec::new()));
            found.len() - 1
        });
    }
    for invocation in run.invocations {
        let place = *places.entry(&invocation.case).or_insert_with(|| {
            found.push((&invocation.case, Vec::new()));
            found.len() - 1
        });
        found[place].1.push(invocation);
    }
    found.retain(|(_, invocations)| !invocations.is_empty());
    found
}

/// The cases by the group that a run was for, or else that names them first, and
/// at last those that no group names.
fn groups(manifest: &Manifest, runs: &[RunData], cases: Vec<Case>) -> Vec<Group> {
    let recorded = runs.iter().flat_map(|run| &run.description.details).filter_map(|detail| {
        let group = detail.group.as_ref()?;
        let index = manifest.groups.iter().position(|stated| stated.name == *group)?;
        Some((&*detail.case, index))
    });
    let stated = manifest.groups.iter().enumerate();
    let stated =
        stated.flat_map(|(index, group)| group.cases.iter().map(move |case| (&**case, index)));
    let mut of_case: HashMap<&str, usize> = HashMap::new();
    for (case, index) in recorded.chain(stated) {
        of_case.entry(case).or_insert(index);
    }
    let questions =
        manifest.groups.iter().map(|group| (&*group.name, &*group.question, group.tails));
    let mut groups: Vec<Group> = questions
        .chain([("", "What do other cases take?", false)])
        .map(|(name, question, tails)| Group {
            name: name.to_owned(),
            question: question.to_owned(),
            tails,
            cases: Vec::new(),
        })
        .collect();
    let last = groups.len() - 1;
    for case in cases {
        let group = of_case.get(&*case.name).copied().unwrap_or(last);
        groups[group].cases.push(case);
    }
    groups.retain(|group| !group.cases.is_empty());
    groups
}
