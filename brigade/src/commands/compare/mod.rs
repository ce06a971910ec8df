//! `brigade compare`: compares a baseline and a candidate case by case. They are two saved runs,
//! two groups of runs, or two builds, commands or sets of flags that run side by side.

mod side_by_side;

use std::path::PathBuf;

use crate::commands::flags::{CompareFlags, ComparisonFormat, FailOn};
use crate::commands::output;
use crate::commands::saved::{Saved, alike};
use crate::exit::{Exit, UsageError};
use crate::judge::compare::{Comparison, Design, Pair, Side, Verdict};
use crate::judge::environment::{Difference, between_machines, same_machine};
use crate::judge::row::Row;
use crate::judge::run::{FiguresByCase, Run};
use crate::manifest::Manifest;
use crate::show;
use crate::show::comparison::{blocks, not_compared, nothing_compared};

/// Runs `brigade compare`.
///
/// # Errors
/// If the flags or the manifest are wrong, a run cannot be read, the programs cannot be built, or
/// the results or standard output cannot be written.
pub fn compare(flags: &CompareFlags, manifest: Manifest) -> anyhow::Result<Exit> {
    let runs = |names: &[String]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
    let most_given = flags.bin.len().max(flags.wrap.len()).max(flags.args.len());
    let folders = match (most_given, &flags.runs[..], &flags.others[..]) {
        (2, ..) => return side_by_side::compare(flags, manifest),
        (0, [_, ..], [_, ..]) => [runs(&flags.runs), runs(&flags.others)],
        (0, [first, second], []) => [vec![first.into()], vec![second.into()]],
        _ => {
            let advice = "compare: name two saved runs, two groups of them (RUN… -- RUN…), or give \
                          --bin, --wrap or --args twice, for the baseline and the candidate";
            return Err(UsageError(advice.to_owned()).into());
        }
    };
    let comparison = of_runs(&manifest, &folders, flags.margin / 100.0)?;
    print(&comparison, flags)?;
    Ok(exit_after(&comparison, flags, Exit::Done))
}

/// Compares the runs in two groups of folders. Unreadable parts are reported on standard error.
///
/// # Errors
/// If a folder contains no run.
fn of_runs(
    manifest: &Manifest,
    folders: &Pair<Vec<PathBuf>>,
    margin: f64,
) -> anyhow::Result<Comparison> {
    let read_all = |folders: &[PathBuf]| {
        folders.iter().map(|folder| Saved::read(folder)).collect::<anyhow::Result<Vec<_>>>()
    };
    let mut groups = [read_all(&folders[0])?, read_all(&folders[1])?];
    let sides = [0, 1].map(|side| described(&folders[side], &groups[side]));
    let mut comparison = match groups.each_mut().map(Vec::as_mut_slice) {
        [[first], [second]] => {
            let earlier = earlier(manifest, [&folders[0][0], &folders[1][0]], [first, second]);
            let correction = correction(&first.run, &second.run);
            let both = [first, second].map(|saved| saved.run.cases(manifest));
            Comparison::new(Design::TwoRuns, sides, both, margin, correction, &earlier)
        }
        groups => {
            // A disturbed run is no sample of its side.
            let [baselines, candidates] = groups;
            let both = [(baselines, &sides[0]), (candidates, &sides[1])].map(|(runs, side)| {
                let runs = runs.iter_mut().zip(&side.states);
                let fit = runs.filter(|(_, state)| state.is_fit);
                over_runs(fit.map(|(saved, _)| saved.run.cases(manifest)))
            });
            Comparison::new(Design::Groups, sides, both, margin, None, &[])
        }
    };
    let mut runs = groups.iter().flatten().map(|saved| &saved.run);
    let first = runs.next();
    comparison.is_one_build = first.is_some_and(|first| runs.all(|run| run.is_of_build_of(first)));
    comparison.environment_differences = differences(&groups);
    Ok(comparison)
}

/// The figure of each case over several runs, each of which is one sample.
fn over_runs(runs: impl Iterator<Item = Vec<Row>>) -> Vec<Row> {
    let mut by_case: Vec<(String, Vec<Row>)> = Vec::new();
    for row in runs.flatten() {
        let key = row.key();
        match by_case.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => rows.push(row),
            None => by_case.push((key, vec![row])),
        }
    }
    by_case.iter().filter_map(|(_, rows)| Row::of_runs(rows)).collect()
}

/// By what to multiply the candidate's times so that both sides had a machine of one speed: only
/// for two runs of one machine.
fn correction(first: &Run, second: &Run) -> Option<f64> {
    let is_one = same_machine(&first.environment, &second.environment);
    let [first, second] = [first, second].map(Run::reference_ns);
    is_one.then_some(first? / second?)
}

/// The figures of earlier runs of either build, which show how much runs of one build differ: of each
/// undisturbed one that began before the later of the two. The two themselves show nothing, since
/// their difference is in question.
fn earlier(
    manifest: &Manifest,
    folders: Pair<&PathBuf>,
    runs: Pair<&Saved>,
) -> Vec<Vec<FiguresByCase>> {
    let own = folders.map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
    let [first, second] = runs.map(|saved| &saved.run.description.started_at);
    let before = first.max(second);
    // If the two are of one build, the runs next to the second are of it, too.
    let mut known = own.to_vec();
    let mut sets = Vec::new();
    for (folder, saved) in own.iter().zip(runs) {
        let mut set = alike(folder, &saved.run, before);
        set.retain(|(folder, _)| !known.contains(folder));
        known.extend(set.iter().map(|(folder, _)| folder.clone()));
        let used = set.into_iter().filter(|(_, saved)| saved.state().is_comparable);
        let figures = used.map(|(_, mut saved)| saved.run.figures(manifest));
        sets.push(figures.collect::<Vec<FiguresByCase>>());
    }
    if runs[0].run.is_of_build_of(&runs[1].run) { vec![sets.concat()] } else { sets }
}

/// Facts that have one value throughout the first group and another throughout the second.
fn differences(groups: &Pair<Vec<Saved>>) -> Vec<Difference> {
    let environment = |saved: &Saved| saved.run.environment_of_processes();
    let [first, second] = groups.each_ref().map(|group| environment(&group[0]));
    let mut found = between_machines(&first, &second);
    let baselines = groups[0].iter().map(|run| between_machines(&environment(run), &second));
    let candidates = groups[1].iter().map(|run| between_machines(&first, &environment(run)));
    for others in baselines.chain(candidates) {
        found.retain(|difference| others.contains(difference));
    }
    found
}

fn described(folders: &[PathBuf], runs: &[Saved]) -> Side {
    let states = runs.iter().map(Saved::state).collect();
    let [folder] = folders else { return Side { states, ..Side::default() } };
    let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    Side {
        records: Some(output::name_of(&absolute)),
        revision: runs[0].run.environment.revision(),
        states,
        ..Side::default()
    }
}

fn print(comparison: &Comparison, flags: &CompareFlags) -> anyhow::Result<()> {
    output::print(&match flags.format {
        ComparisonFormat::Text => show::page::text(&blocks(comparison)),
        ComparisonFormat::Markdown => show::formats::blocks(&blocks(comparison)),
        ComparisonFormat::Json => output::json(comparison)?,
    })
}

/// The exit code of a comparison; `measured` is that of its invocations.
fn exit_after(comparison: &Comparison, flags: &CompareFlags, measured: Exit) -> Exit {
    let failed = if measured == Exit::Done { Exit::Failed } else { measured };
    if comparison.cases.is_empty() {
        output::warn(&nothing_compared(comparison));
        return failed;
    }
    let Some(fail_on) = flags.fail_on else { return measured };
    let count = |verdict| comparison.count(verdict);
    if count(Verdict::Slower) > 0 {
        Exit::Slower
    } else if comparison.cases.iter().all(|case| case.ratio.interval.is_none()) {
        output::warn("--fail-on: nothing was compared");
        Exit::Failed
    } else if let Some(missing) = comparison.missing_in_candidate() {
        output::warn(&format!("--fail-on: {}", not_compared(missing)));
        failed
    } else if fail_on == FailOn::Unresolved && count(Verdict::Unresolved) > 0 {
        output::warn("--fail-on unresolved: some cases are unresolved");
        Exit::Failed
    } else {
        measured
    }
}
