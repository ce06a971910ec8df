//! `brigade compare`: compares a baseline and a candidate case by case. They are two saved runs,
//! two groups of runs, or two builds, commands or sets of flags that run side by side.

mod side_by_side;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::commands::flags::{CompareFlags, ComparisonFormat, FailOn};
use crate::commands::output;
use crate::commands::report::read;
use crate::exit::{Exit, UsageError};
use crate::judge::compare::sample::Sample;
use crate::judge::compare::{BetweenRuns, Comparison, Described, Design, Pair, Verdict};
use crate::judge::environment::{Difference, between_machines};
use crate::judge::repeat::{Levels, Spread, State, levels};
use crate::show;
use crate::show::comparison::blocks;
use crate::store::saved_run::SavedRun;

pub use side_by_side::Side;
pub use side_by_side::side_by_side;

/// Runs `brigade compare`.
///
/// # Errors
/// If the flags or the manifest are wrong, a run cannot be read, the programs cannot be built, or
/// the results or standard output cannot be written.
pub fn compare(flags: &CompareFlags) -> anyhow::Result<Exit> {
    let folders = match (&flags.runs[..], &flags.others[..]) {
        ([], []) => return side_by_side(flags, Side::both(flags)?),
        ([_, ..], [_, ..]) => [&flags.runs[..], &flags.others],
        ([first, second], []) => [std::slice::from_ref(first), std::slice::from_ref(second)],
        _ => {
            let advice = "compare: name two saved runs, or two groups of them: RUN… -- RUN…";
            return Err(UsageError(advice.to_owned()).into());
        }
    };
    let comparison = of_runs(folders, margin(flags))?.titled(str::to_owned);
    print(&comparison, flags)?;
    Ok(exit_after(&comparison, flags, Exit::Done))
}

/// Compares the runs in two groups of folders. Unreadable parts are reported on standard error.
///
/// # Errors
/// If a folder contains no run.
fn of_runs(folders: Pair<&[PathBuf]>, margin: f64) -> anyhow::Result<Comparison> {
    let group = |folders: &[PathBuf]| -> anyhow::Result<Vec<SavedRun>> {
        folders.iter().map(|folder| read(folder)).collect()
    };
    let groups = [group(folders[0])?, group(folders[1])?];
    let cases = case_names(groups.iter().flatten()).into_iter().map(|name| {
        (
            name,
            groups
                .each_ref()
                .map(|group| Sample::of(name, group.iter().map(|run| &run.invocations[..]))),
        )
    });
    let (design, between) = match groups.each_ref().map(Vec::as_slice) {
        [[first], [second]] => (Design::TwoRuns, Some(between(folders, [first, second]))),
        _ => (Design::Groups, None),
    };
    let described = [0, 1].map(|side| described(folders[side], &groups[side]));
    let mut comparison = Comparison::of(design, described, cases.collect(), margin, between);
    comparison.environment_differences = differences(&groups);
    Ok(comparison)
}

/// How much two runs differ for other reasons, estimated from runs of the same build and machine in
/// the folders next to them.
fn between(folders: Pair<&[PathBuf]>, runs: Pair<&SavedRun>) -> BetweenRuns {
    let invocations = runs.map(|run| &run.invocations[..]);
    let spreads = folders.iter().filter_map(|of| {
        let alike = SavedRun::alike(of.first()?);
        let levels: Vec<Levels> = alike.iter().map(|run| levels(&run.invocations)).collect();
        Spread::of(&levels.iter().collect::<Vec<_>>())
    });
    BetweenRuns {
        states: invocations.map(State::of),
        spread: spreads.max_by(|a, b| {
            (a.runs, a.deviation).partial_cmp(&(b.runs, b.deviation)).unwrap_or(Ordering::Equal)
        }),
        levels: invocations.map(levels),
    }
}

/// The cases of all runs, in the first run's order.
fn case_names<'a>(runs: impl Iterator<Item = &'a SavedRun>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let names = runs.flat_map(|run| &run.description.cases).map(String::as_str);
    names.filter(|name| seen.insert(*name)).collect()
}

/// Facts that have one value throughout the first group and another throughout the second.
fn differences(groups: &Pair<Vec<SavedRun>>) -> Vec<Difference> {
    let [first, second] = groups.each_ref().map(|group| &group[0].environment);
    let mut found = between_machines(first, second);
    let baselines = groups[0].iter().map(|run| between_machines(&run.environment, second));
    let candidates = groups[1].iter().map(|run| between_machines(first, &run.environment));
    for others in baselines.chain(candidates) {
        found.retain(|difference| others.contains(difference));
    }
    found
}

fn described(folders: &[PathBuf], runs: &[SavedRun]) -> Described {
    let ([folder], [run]) = (folders, runs) else {
        return Described { records: format!("{} runs", folders.len()), ..Described::default() };
    };
    let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    Described {
        records: absolute.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        revision: run.environment.revision(),
        ..Described::default()
    }
}

/// The largest difference that does not matter, as a share.
fn margin(flags: &CompareFlags) -> f64 {
    flags.margin / 100.0
}

fn print(comparison: &Comparison, flags: &CompareFlags) -> anyhow::Result<()> {
    output::print(&match flags.format {
        ComparisonFormat::Text => show::text::blocks(&blocks(comparison)),
        ComparisonFormat::Html => show::html::comparison(comparison),
        ComparisonFormat::Markdown => show::markdown::blocks(&blocks(comparison)),
        ComparisonFormat::Json => serde_json::to_string(comparison)? + "\n",
    })
}

/// The exit code of a comparison; `measured` is that of its invocations.
fn exit_after(comparison: &Comparison, flags: &CompareFlags, measured: Exit) -> Exit {
    let Some(fail_on) = flags.fail_on else { return measured };
    let count = |verdict| comparison.count(verdict);
    if count(Verdict::Slower) > 0 {
        Exit::Slower
    } else if comparison.cases.iter().all(|case| case.ratio.interval.is_none()) {
        output::warn("--fail-on: nothing was compared");
        Exit::Failed
    } else if fail_on == FailOn::Unresolved && count(Verdict::Unresolved) > 0 {
        output::warn("--fail-on unresolved: some cases are unresolved");
        Exit::Failed
    } else {
        measured
    }
}
