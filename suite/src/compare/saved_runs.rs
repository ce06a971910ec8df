//! Two saved runs, one against the other.

use std::path::{Path, PathBuf};

use crate::output;
use crate::saved_run::SavedRun;

use super::comparison::{
    Comparison, Described, Design, Judgement, Method, NotCompared, SCHEMA_VERSION, values,
};
use super::differences::differences;
use super::looks::{CONFIDENCE, confidence_of_one};
use super::sample::Sample;
use super::verdict::{Arms, drift};

/// Compares the runs in two folders. What of them could not be read is told on
/// standard error.
///
/// # Errors
/// When a folder is not that of a run.
pub fn compare(folders: Arms<&PathBuf>, margin: f64) -> anyhow::Result<Comparison> {
    let runs = [read(folders[0])?, read(folders[1])?];
    let [first, second] = &runs;
    let names = case_names([first, second]);
    let mut pairs = Vec::new();
    let mut not_compared = Vec::new();
    for name in names {
        let [first, second] = runs.each_ref().map(|run| Sample::of(name, &run.invocations));
        match obstacle([&first, &second]) {
            None => pairs.push((name, [first, second])),
            Some(reason) => not_compared.push(NotCompared { case: name.to_owned(), reason }),
        }
    }
    let judgement = judgement(&pairs, margin);
    let mut cases = Vec::new();
    for (name, [first, second]) in &pairs {
        match judgement.compare(name, [first, second]) {
            Ok(case) => cases.push(case),
            Err(reason) => not_compared.push(NotCompared { case: (*name).to_owned(), reason }),
        }
    }
    let Method::Runs { drift } = judgement.method else { unreachable!("these are runs") };
    Ok(Comparison {
        schema_version: SCHEMA_VERSION.to_owned(),
        design: Design::SavedRuns,
        arms: [described(folders[0], first), described(folders[1], second)],
        confidence: CONFIDENCE,
        confidence_of_each: judgement.confidence,
        margin,
        drift: Some(drift),
        environment_differences: differences([&first.environment, &second.environment])?,
        cases,
        not_compared,
    })
}

fn read(folder: &Path) -> anyhow::Result<SavedRun> {
    let run = SavedRun::read(folder)?;
    for warning in &run.warnings {
        output::complain(&format!("{}: {warning}", folder.display()));
    }
    Ok(run)
}

/// The cases of both runs, in the order of the first.
fn case_names(runs: Arms<&SavedRun>) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in runs.into_iter().flat_map(|run| &run.description.cases) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// Why a case cannot be compared, if it cannot.
fn obstacle(arms: Arms<&Sample>) -> Option<String> {
    if let Some((name, [first, second])) = Sample::differing_parameter(arms)
        && arms.iter().all(|arm| arm.principal().is_some())
    {
        let flag = name.replace('_', "-");
        return Some(format!("--{flag} is {first} in A and {second} in B"));
    }
    let missing = arms.iter().position(|arm| arm.principal().is_none())?;
    let name = ["A", "B"][missing];
    Some(match arms[missing].first_error {
        Some(error) => format!("{name} has not measured it: {error}"),
        None => format!("{name} has not measured it"),
    })
}

/// How the cases are judged: together, with the drift that all of them show.
fn judgement(pairs: &[(&str, Arms<Sample>)], margin: f64) -> Judgement {
    let runs: Vec<Vec<f64>> =
        pairs.iter().flat_map(|(_, arms)| arms).map(|arm| values(&arm.time_ns())).collect();
    let drift = drift(runs.iter().map(Vec::as_slice));
    let confidence = confidence_of_one(pairs.len());
    Judgement { method: Method::Runs { drift }, confidence, margin }
}

fn described(folder: &Path, run: &SavedRun) -> Described {
    let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    Described {
        records: absolute.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        revision: run.environment.software.revision(),
        ..Described::default()
    }
}
