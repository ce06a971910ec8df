//! Two saved runs, the second compared with the first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::commands::saved::read;
use crate::judge::environment::between_machines;
use crate::store::results::Skipped;
use crate::store::saved_run::SavedRun;

use crate::judge::compare::comparison::{
    Comparison, Described, Design, Judgement, Method, RatioRecord, SCHEMA_VERSION, values,
};
use crate::judge::compare::interim::{CONFIDENCE, MOST_ROUNDS, step_down};
use crate::judge::compare::machine::Machine;
use crate::judge::compare::sample::Sample;
use crate::judge::compare::verdict::{Pair, drift};

/// Compares the runs in two folders. Unreadable parts are reported on standard
/// error.
///
/// # Errors
/// When a folder is not that of a run.
pub fn compare(folders: Pair<&PathBuf>, margin: f64) -> anyhow::Result<Comparison> {
    let runs = [read(folders[0])?.0, read(folders[1])?.0];
    let [first, second] = &runs;
    let mut pairs = Vec::new();
    let mut not_compared = Vec::new();
    for name in case_names([first, second]) {
        let sides = runs.each_ref().map(|run| Sample::of(name, &run.invocations));
        match reason_against(sides.each_ref()) {
            None => pairs.push((name, sides)),
            Some(reason) => not_compared.push(Skipped { case: name.to_owned(), reason }),
        }
    }
    let drift = drift_of(&pairs);
    let machine = Machine::of([&first.invocations, &second.invocations]);
    let judgements = judgements(&pairs, Method::Runs { drift, machine }, margin);
    let each = judgements.into_iter().zip(pairs);
    let each = each.map(|(judgement, (name, sides))| (judgement, name, sides));
    let (cases, others) = Judgement::of_each(each);
    not_compared.extend(others);
    let environment_differences = between_machines(&first.environment, &second.environment);
    Ok(Comparison {
        schema_version: SCHEMA_VERSION.to_owned(),
        design: Design::SavedRuns,
        baseline: described(folders[0], first),
        candidate: described(folders[1], second),
        confidence: CONFIDENCE,
        margin,
        drift: Some(drift),
        machine,
        environment_differences,
        cases,
        not_compared,
    })
}

/// The cases of both runs, in the order of the first.
fn case_names(runs: Pair<&SavedRun>) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let names = runs.into_iter().flat_map(|run| &run.description.cases).map(String::as_str);
    names.filter(|name| seen.insert(*name)).collect()
}

/// Why a case cannot be compared, if it cannot.
fn reason_against(sides: Pair<&Sample>) -> Option<String> {
    if let Some(missing) = Sample::missing(sides) {
        return Some(missing);
    }
    if let Some((name, [first, second])) = Sample::differing_parameter(sides) {
        let flag = name.replace('_', "-");
        return Some(format!("--{flag} is {first} in the baseline and {second} in the candidate"));
    }
    let rounds = sides.iter().map(|side| side.rounds()).max()?;
    (rounds > MOST_ROUNDS)
        .then(|| format!("it has {rounds} rounds; at most {MOST_ROUNDS} are compared"))
}

/// How much the runs drift, all cases together.
fn drift_of(pairs: &[(&str, Pair<Sample>)]) -> f64 {
    let runs: Vec<Vec<f64>> =
        pairs.iter().flat_map(|(_, sides)| sides).map(|side| values(&side.time_ns())).collect();
    drift(runs.iter().map(Vec::as_slice))
}

/// How each case is judged: intervals are of 95 % each, and differences hold
/// together with 95 %.
fn judgements(pairs: &[(&str, Pair<Sample>)], method: Method, margin: f64) -> Vec<Judgement> {
    let judgement =
        |of_difference| Judgement { method, confidence: CONFIDENCE, of_difference, margin };
    let differs = |case: usize, confidence: f64| {
        let sure = Judgement { confidence, ..judgement(confidence) };
        let ratio = sure.ratio(pairs[case].1.each_ref());
        ratio.is_some_and(|ratio| RatioRecord::from(ratio).excludes_one())
    };
    step_down(pairs.len(), differs).into_iter().map(judgement).collect()
}

fn described(folder: &Path, run: &SavedRun) -> Described {
    let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    Described {
        records: absolute.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        revision: run.environment.revision(),
        ..Described::default()
    }
}
