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
/// If a folder contains no run; [`UsageError`] if the runs are not those of a comparison.
fn of_runs(
    manifest: &Manifest,
    folders: &Pair<Vec<PathBuf>>,
    margin: f64,
) -> anyhow::Result<Comparison> {
    let read_all = |folders: &[PathBuf]| {
        folders.iter().map(|folder| Saved::read(folder)).collect::<anyhow::Result<Vec<_>>>()
    };
    let mut groups = [read_all(&folders[0])?, read_all(&folders[1])?];
    check_runs(folders, &groups)?;
    let sides = [0, 1].map(|side| described(&folders[side], &groups[side]));
    let mut comparison = match groups.each_mut().map(Vec::as_mut_slice) {
        [[first], [second]] => {
            let earlier = earlier(manifest, [&folders[0][0], &folders[1][0]], [first, second]);
            let correction = correction(&first.run, &second.run);
            let both = [first, second].map(|saved| saved.run.cases(manifest));
            Comparison::new(Design::TwoRuns, sides, both, margin, correction, &earlier)
        }
        groups => {
            // A run that was disturbed, or whose machine changed its speed, is no sample of its side.
            let [baselines, candidates] = groups;
            let both = [(baselines, &sides[0]), (candidates, &sides[1])].map(|(runs, side)| {
                let runs = runs.iter_mut().zip(&side.states);
                let samples = runs.filter(|(_, state)| state.is_comparable);
                over_runs(samples.map(|(saved, _)| saved.run.cases(manifest)))
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

/// Checks that each run is named once, and that groups contain no side of a comparison: two sides
/// share their rounds, so they are not independent.
///
/// # Errors
/// [`UsageError`] that names the folder.
fn check_runs(folders: &Pair<Vec<PathBuf>>, groups: &Pair<Vec<Saved>>) -> Result<(), UsageError> {
    let folders: Vec<&PathBuf> = folders.iter().flatten().collect();
    let runs: Vec<&Run> = groups.iter().flatten().map(|saved| &saved.run).collect();
    let are_groups = runs.len() > 2;
    for (at, run) in runs.iter().enumerate() {
        let folder = folders[at].display();
        if are_groups && run.description.side.is_some() {
            return Err(UsageError(format!(
                "compare: {folder} is a side of a comparison: name runs of `brigade run`"
            )));
        }
        if let Some(other) = runs[..at].iter().position(|other| is_one_run(other, run)) {
            let other = folders[other].display();
            return Err(UsageError(format!(
                "compare: {other} and {folder} are one run: name each run once"
            )));
        }
    }
    Ok(())
}

/// Whether two folders contain one run, or a copy of it. Hosts of a fleet may start at the same time.
fn is_one_run(first: &Run, second: &Run) -> bool {
    let [one, other] = [&first.description, &second.description];
    let [boot, other_boot] = [first, second].map(|run| run.environment.get("boot"));
    one.started_at == other.started_at
        && one.seed == other.seed
        && one.side == other.side
        && boot == other_boot
}

/// The figure of each case over several runs, each of which is one sample. A case of which runs
/// measured different things has a row for each.
fn over_runs(runs: impl Iterator<Item = Vec<Row>>) -> Vec<Row> {
    let (measured, failed): (Vec<Row>, Vec<Row>) =
        runs.flatten().partition(|row| row.figure.is_some());
    let mut figures: Vec<Vec<Row>> = Vec::new();
    // A run without a figure belongs to those with one, if there are any.
    for row in measured.into_iter().chain(failed) {
        let is_of = |rows: &&mut Vec<Row>| {
            let known = &rows[0];
            known.is_same_case_as(&row) && (row.figure.is_none() || known.measures_same_as(&row))
        };
        match figures.iter_mut().find(is_of) {
            Some(rows) => rows.push(row),
            None => figures.push(vec![row]),
        }
    }
    figures.iter().filter_map(|rows| Row::of_runs(rows)).collect()
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
    let states = folders.iter().zip(runs).map(|(folder, run)| run.state_in(folder)).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::compare::{NotCompared, NotComparedFor};
    use crate::judge::row::ProcessOutcome;
    use crate::judge::statistics::Estimate;

    /// A run of one case, in which each operation took this long.
    fn run(measurement: &str, ns: f64) -> Vec<Row> {
        let row = Row::of_figures([ns]);
        let name = |name: &str| name.to_owned();
        vec![Row {
            case: name("a --tasks 3"),
            program: name("a"),
            parameters: [(name("tasks"), 3.into())].into(),
            measurement: name(measurement),
            figure: Estimate::of(&row.values()),
            ..row
        }]
    }

    /// A run in which the case failed.
    fn failed() -> Vec<Row> {
        let mut row = run("", 0.0).remove(0);
        row.program.clone_from(&row.case);
        row.parameters.clear();
        row.figure = None;
        let mut process = row.processes[0].clone();
        process.outcome = ProcessOutcome::Failed;
        row.processes = vec![process].into();
        row.error = Some("oops".to_owned());
        vec![row]
    }

    fn compared(groups: Pair<Vec<Vec<Row>>>) -> Comparison {
        let rows = groups.map(|runs| over_runs(runs.into_iter()));
        Comparison::new(Design::Groups, Pair::default(), rows, 0.03, None, &[])
    }

    /// As those of a host that cannot read CPU time.
    #[test]
    fn figures_of_another_measurement_are_no_sample() {
        let cpu = || [1.0, 1.0, 1.0].map(|ns| run("cpu", ns)).to_vec();
        let latency = || [9.0, 9.0].map(|ns| run("latency", ns)).to_vec();
        let measured = |name: &str| [name.to_owned(), String::new()];
        let differ = NotComparedFor::OtherOperation([measured("cpu"), measured("latency")]);
        for candidates in [[cpu(), latency()].concat(), [latency(), cpu()].concat()] {
            let found = compared([cpu(), candidates]);
            let ratio = &found.cases[0].ratio;
            assert_eq!((found.cases.len(), ratio.value, ratio.count), (1, 1.0, 3));
            let case = "a --tasks 3".to_owned();
            assert_eq!(found.not_compared, [NotCompared { case, reason: differ.clone() }]);
        }
        let found = compared([cpu(), latency()]);
        assert_eq!((found.cases.len(), found.not_compared.len()), (0, 1));
        assert_eq!(found.not_compared[0].reason, differ);
    }

    #[test]
    fn a_run_in_which_a_case_failed_is_counted_and_has_no_figure() {
        let measured = || [1.0, 2.0].map(|ns| run("iteration", ns)).to_vec();
        let found = compared([measured(), [vec![failed()], measured()].concat()]);
        let [case] = &found.cases[..] else { panic!("{found:?}") };
        assert_eq!((case.rows[1].failures(), case.ratio.count), (1, 2));
        assert_eq!(found.not_compared, []);
        let found = compared([measured(), vec![failed()]]);
        assert!(found.cases.is_empty() && found.missing_in_candidate().is_some(), "{found:?}");
    }
}
