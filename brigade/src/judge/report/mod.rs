//! The report of one run, or of several side by side: turns the contents of
//! their folders into one value for the renderers.

pub mod attribution;
pub mod estimate;
pub mod model;
pub mod pairs;
mod rows;

use std::collections::{HashMap, HashSet};

use estimate::{estimate, shown, widen};
use model::{
    Case, CaseEstimate, Group, JudgedOutcome, Quality, Report, RunProgress, RunSummary,
    SCHEMA_VERSION,
};

use crate::judge::environment::{Difference, between_machines};
use crate::judge::interference::{Sampled, sample_of};
use crate::judge::repeat::{Repeat, State};
use crate::judge::statistics::{Dependence, Estimate, FEWEST_TIMES, Series, median};
use crate::judge::taken::Taken;
use crate::manifest::Manifest;
use crate::store::invocation::{Invocation, RecordedCase};
use crate::store::results::RunDescription;
use crate::store::saved_run::SavedRun;

/// A run to report.
#[derive(Debug)]
pub struct RunData<'a> {
    /// Its folder's name.
    pub name: String,
    /// Its description, its machine, and its invocations in the order in which they ended.
    pub saved: &'a SavedRun,
    /// How complete it is.
    pub progress: RunProgress,
    /// Runs of the same build on the same machine, including this one.
    pub alike: Vec<SavedRun>,
    /// The run before it on a machine of this kind.
    pub previous: Option<SavedRun>,
    /// That run's folder.
    pub since: String,
}

/// The report of these runs; `manifest` defines groups, comparisons, baselines and the first
/// screen.
pub fn report(manifest: &Manifest, runs: &[RunData]) -> Report {
    let cases = Cases::of(manifest, runs);
    let mut groups = groups(manifest, runs, &cases.cases);
    for group in &mut groups {
        group.comparisons = rows::comparisons(manifest, group, &cases);
    }
    let screen = rows::screen(manifest, &cases);
    Report {
        schema_version: SCHEMA_VERSION.to_owned(),
        runs: runs.iter().enumerate().map(|(at, run)| describe(&cases, at, run)).collect(),
        environment_differences: environment_differences(runs),
        recorded: None,
        screen,
        sentences: rows::sentences(manifest, &cases),
        headline: Vec::new(),
        kinds: Vec::new(),
        pairs: pairs::maps(runs, &groups),
        groups,
    }
}

/// How the conditions of each run but the first differ from the first's.
fn environment_differences(runs: &[RunData]) -> Vec<Vec<Difference>> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    others
        .iter()
        .map(|run| between_machines(&first.saved.environment, &run.saved.environment))
        .collect()
}

fn describe(cases: &Cases, index: usize, run: &RunData) -> RunSummary {
    let RunDescription { started_at, profile, procedure, seed, skipped, .. } =
        &run.saved.description;
    RunSummary {
        name: shown(&run.name),
        label: run.saved.environment.label(),
        machine: shown(&run.saved.environment.machine()),
        environment: shown(&run.saved.environment.sentence()),
        started_at: shown(started_at),
        version: shown(&run.saved.description.brigade_version),
        profile: shown(profile),
        command: procedure.as_ref().map_or(Vec::new(), |procedure| procedure.command.clone()),
        seed: *seed,
        progress: run.progress.clone(),
        skipped: skipped.clone(),
        quality: quality(cases, index, run.saved),
        state: State::of(&run.saved.invocations),
        repeat: Repeat::of(&run.saved.invocations, &run.alike),
        moved: rows::moved(run),
    }
}

/// All cases of all runs, and which case each name means in each run.
struct Cases<'a> {
    /// The number of runs.
    runs: usize,
    cases: Vec<Case>,
    /// The invocations that each estimate uses.
    samples: HashMap<(usize, usize), Vec<Sampled<'a>>>,
    /// The index of the case with this name.
    named: HashMap<String, usize>,
    /// How much the processes of each run depend on one another.
    dependence: Vec<Dependence>,
}

impl<'a> Cases<'a> {
    fn of(manifest: &Manifest, runs: &[RunData<'a>]) -> Self {
        let mut all = Self {
            runs: runs.len(),
            cases: Vec::new(),
            samples: HashMap::new(),
            named: HashMap::new(),
            dependence: Vec::new(),
        };
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
                    let title = shown(name);
                    all.cases.push(Case { key, name: shown(name), title, kind, estimates });
                }
                all.cases[index].estimates[run] = Some(estimate(&invocations));
                let ended: Vec<_> =
                    invocations.into_iter().filter(|invocation| !invocation.interrupted).collect();
                all.samples.insert((index, run), sample_of(&ended));
                all.named.insert(name.to_owned(), index);
            }
            let of_run = all.cases.iter_mut().filter_map(|case| case.estimates[run].as_mut());
            let mut of_run: Vec<&mut CaseEstimate> = of_run.collect();
            let dependence = widen(&mut of_run);
            for estimate in of_run {
                let whole = rows::created_and_ended(estimate, &dependence);
                estimate.whole_ns = whole.map(|whole| whole.time_ns);
            }
            all.dependence.push(dependence);
        }
        all
    }

    /// Identifies the case with this name, by its first record. Without a record it is the case
    /// with this name in another run, or one known only by its name, as are further cases of the
    /// same run with the same record.
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

    /// The case with this name, its estimate in the run with this index, and the invocations that
    /// it uses.
    fn find(&self, name: &str, run: usize) -> Option<(&Case, &CaseEstimate, &[Sampled<'a>])> {
        let index = *self.named.get(name)?;
        let case = &self.cases[index];
        Some((case, case.estimates[run].as_ref()?, self.samples.get(&(index, run))?))
    }
}

/// A run's invocations by case: its cases in the order of `run.json`, then any
/// others.
fn by_name<'a>(run: &RunData<'a>) -> Vec<(&'a str, Vec<&'a Invocation>)> {
    let mut by_name: HashMap<&str, Vec<&Invocation>> = HashMap::new();
    for invocation in &run.saved.invocations {
        by_name.entry(&invocation.case).or_default().push(invocation);
    }
    let others = run.saved.invocations.iter().map(|invocation| &invocation.case);
    let names = run.saved.description.cases.iter().chain(others);
    names.filter_map(|name| Some((&**name, by_name.remove(&**name)?))).collect()
}

/// The cases by group: the one that a run was for, or else the first that lists them; at the end
/// the cases in no group. Comparisons are added later.
fn groups(manifest: &Manifest, runs: &[RunData], cases: &[Case]) -> Vec<Group> {
    let index_of = |name: &String| manifest.groups.iter().position(|stated| stated.name == *name);
    let recorded = runs.iter().flat_map(|run| &run.saved.description.details);
    let recorded =
        recorded.filter_map(|detail| Some((&*detail.case, index_of(detail.group.as_ref()?)?)));
    let stated = manifest.groups.iter().enumerate();
    let stated =
        stated.flat_map(|(index, group)| group.cases.iter().map(move |case| (&**case, index)));
    let mut of_case: HashMap<&str, usize> = HashMap::new();
    for (case, index) in recorded.chain(stated) {
        of_case.entry(case).or_insert(index);
    }
    let mut groups: Vec<Group> = manifest
        .groups
        .iter()
        .map(|stated| Group {
            name: stated.name.clone(),
            question: stated.question.clone(),
            note: stated.note.clone(),
            tails: stated.tails,
            ..Group::default()
        })
        .collect();
    groups.push(Group { question: "What do other cases take?".to_owned(), ..Group::default() });
    let last = groups.len() - 1;
    for case in cases {
        let group = of_case.get(&*case.name).copied().unwrap_or(last);
        let (mut case, group) = (case.clone(), &mut groups[group]);
        if group.tails {
            // Operations are due at given times: how long one takes says when, not what for.
            case.estimates.iter_mut().flatten().for_each(|estimate| estimate.attribution = None);
        }
        group.cases.push(case);
    }
    groups.retain(|group| !group.cases.is_empty());
    groups
}

/// An advised budget is a multiple of this, in seconds.
const STEP_SECONDS: f64 = 60.0;

/// No longer budget is advised, in seconds.
const LONGEST_SECONDS: f64 = 6.0 * 3600.0;

/// The target half-width, in percent.
const TARGET_PERCENT: f64 = 3.0;

/// The quality of the run with this index.
fn quality(cases: &Cases, run: usize, saved: &SavedRun) -> Quality {
    let SavedRun { invocations, .. } = saved;
    let target_percent = TARGET_PERCENT;
    let estimates: Vec<(&str, &CaseEstimate)> = cases
        .cases
        .iter()
        .filter_map(|case| Some((case.name.as_str(), case.estimates[run].as_ref()?)))
        .collect();
    let times: Vec<(&str, Estimate)> =
        estimates.iter().filter_map(|(name, case)| Some((*name, case.principal()?))).collect();
    let mut wide = times.clone();
    wide.retain(|(_, time)| half_width_percent(time).is_none_or(|of| of > target_percent));
    let widths = times.iter().filter_map(|(_, time)| half_width_percent(time));
    let mut widths: Vec<f64> = widths.collect();
    let most_have_one = widths.len() * 2 > times.len();
    // A time without an interval is not known better than any other.
    let widest = widths.iter().copied().fold(0.0, f64::max);
    widths.resize(times.len(), widest);
    let series: Vec<Series> = estimates
        .iter()
        .filter_map(|(_, case)| Some(case.series(case.measurement(None)?)))
        .collect();
    let counts = |count: &dyn Fn(&Series) -> f64| series.iter().map(count).collect::<Vec<_>>();
    let stolen = |invocation: &Invocation| invocation.record.as_ref()?.interference.steal_ns;
    let steal: Vec<f64> = invocations.iter().filter_map(stolen).map(|ns| ns as f64 / 1e9).collect();
    let samples = cases.samples.iter().filter(|((_, of), _)| *of == run);
    Quality {
        target_percent,
        cases: times.len(),
        within_target: times.len() - wide.len(),
        median_half_width_percent: median(&widths).filter(|_| most_have_one),
        processes: median(&counts(&|case| case.len() as f64)),
        independent_processes: median(&counts(&|case| {
            case.len() as f64 / cases.dependence[run].inflation(case)
        })),
        disturbed: estimates
            .iter()
            .map(|(_, case)| {
                case.count(JudgedOutcome::Disturbed) + case.count(JudgedOutcome::Unusable)
            })
            .sum(),
        taken: Taken::from(samples.map(|(_, runs)| runs.as_slice())),
        steal_seconds: (!steal.is_empty()).then(|| steal.iter().sum()),
        remedy: remedy(&wide, target_percent, invocations),
        wide: wide.into_iter().map(|(name, _)| name.to_owned()).collect(),
    }
}

/// Half the width of an interval, in percent of its figure.
fn half_width_percent(time: &Estimate) -> Option<f64> {
    Some(time.half_width()? * 100.0)
}

/// The budget that reaches the target for the cases: an interval narrows with the square root of
/// the number of processes. Assumes that processes take as long as before, and counts all that ran.
fn remedy(
    wide: &[(&str, Estimate)],
    target_percent: f64,
    invocations: &[Invocation],
) -> Option<String> {
    let seconds = |of: &Invocation| of.duration_ns as f64 / 1e9;
    let further = |(case, time): &(&str, Estimate)| {
        let times: Vec<f64> =
            invocations.iter().filter(|of| of.case == *case).map(seconds).collect();
        let count = time.count as f64;
        let needed = match half_width_percent(time) {
            Some(percent) => count * (percent / target_percent).powi(2),
            None => FEWEST_TIMES as f64,
        };
        Some((needed - count).max(1.0) * median(&times)?)
    };
    let further: f64 = wide.iter().filter_map(further).sum();
    let budget = invocations.iter().map(seconds).sum::<f64>() + further;
    let budget = (budget / STEP_SECONDS).ceil() * STEP_SECONDS;
    (!wide.is_empty() && budget <= LONGEST_SECONDS).then(|| format!("--budget {budget:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::statistics::Interval;
    use crate::store::fixtures as sample;

    /// Ten processes of a case with this half-width.
    fn wide(percent: Option<f64>) -> (&'static str, Estimate) {
        let mut time = Estimate::of(&[100.0; 10]).unwrap();
        let ends = percent.map(|of| Interval { low: 100.0 - of, high: 100.0 + of });
        time.interval = ends;
        ("ring", time)
    }

    #[test]
    fn a_budget_grows_with_the_square_of_the_excess_width() {
        let mut invocations = sample::case("ring", [1.0; 10]);
        invocations.iter_mut().for_each(|of| of.duration_ns = 2_000_000_000);
        let advised = |wide: &[(&str, Estimate)]| remedy(wide, 3.0, &invocations);
        assert_eq!(advised(&[]), None);
        // 20 s, plus 30 more processes than the ten so far.
        assert_eq!(advised(&[wide(Some(6.0))]).as_deref(), Some("--budget 120"));
        assert_eq!(advised(&[wide(Some(30.0))]).as_deref(), Some("--budget 2040"));
        assert_eq!(advised(&[wide(None)]).as_deref(), Some("--budget 60"));
        assert_eq!(advised(&[wide(Some(300.0))]), None);
    }
}
