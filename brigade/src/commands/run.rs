//! `brigade run`: runs every case once per round, each time in a fresh process, and saves every
//! record.

use std::path::Path;
use std::slice;

use anyhow::{Context, ensure};
use harness::anonymous;
use harness::system_files::SystemFiles;

use crate::commands::flags::{MeasureFlags, RunFlags};
use crate::commands::report::Reporter;
use crate::commands::saved::Saved;
use crate::commands::session::{
    Built, NO_CASES, Series, Session, check_flags, described, require_processes,
};
use crate::commands::{exit_after, output};
use crate::exit::Exit;
use crate::judge::report::{OTHER_MANIFEST, Report};
use crate::judge::run::Run;
use crate::manifest::{Case, Manifest};
use crate::measure::executables::fingerprints;
use crate::measure::invoke::command;
use crate::plan::Schedule;
use crate::shell::quoted_path;
use crate::show::formats::markdown;
use crate::show::html::html;
use crate::show::report::failures;
use crate::show::screen::announcement;
use crate::store::results::{self, Environment, Folder, Procedure, RunDescription, Skipped};

/// Runs `brigade run`.
///
/// # Errors
/// If the flags or the manifest are wrong, the programs cannot be built, or the results or standard
/// output cannot be written. A failing program is a result, not an error.
pub fn run(names: &[String], flags: &RunFlags, mut manifest: Manifest) -> anyhow::Result<Exit> {
    let measure = &flags.measure;
    manifest.admit(names);
    let chosen = manifest.chosen(names)?;
    ensure!(!chosen.is_empty(), NO_CASES);
    let typed = manifest.typed(names);
    check_flags(&manifest, &chosen, &typed, &manifest.flags())?;
    measure.check_folder(&manifest)?;
    if names.is_empty() && output::is_read() {
        let seconds = measure.seconds(manifest.seconds(names, chosen.len()));
        output::warn(&announcement(seconds, measure.rounds));
    }
    let mut session = Session::begin(&manifest)?;
    session.typed = typed;
    // Rows have their places from the beginning.
    let planned = described(&manifest, &chosen, names, measure);
    let mut planned = Saved::new(planned, Environment::of_machine(&SystemFiles::live()));
    session.live.draw(|| {
        let Saved { run, schedule } = &mut planned;
        Reporter::alone(&manifest, Path::new("")).running(run, schedule, &[])
    });
    let Built { cases, binaries, skipped } = session.build(chosen)?;

    let environment = Environment::capture(&manifest);
    let mut partners = manifest.partners();
    partners.retain(|pair| pair.iter().all(|name| cases.iter().any(|case| case.name == *name)));
    let mut described = described(&manifest, &cases, names, measure);
    if names.is_empty() {
        for (detail, case) in described.details.iter_mut().zip(&cases) {
            detail.rounds = case.rounds;
        }
    }
    let description = RunDescription {
        skipped: skipped.into_iter().map(Skipped::anonymous).collect(),
        procedure: Some(Procedure {
            command: command_line(&manifest, names, measure, described.seed),
            flags: manifest.flags(),
            seconds: measure.seconds(manifest.seconds(names, cases.len())),
            partners,
            commands: cases.iter().map(|case| command_of(&manifest, case)).collect(),
            binaries: fingerprints(&binaries)?,
        }),
        ..described
    };
    let Saved { run, schedule } = Saved::new(description, environment);
    let folder = measure.folder(&manifest, &run)?;
    let series = Series { folder, run, binaries, wrap: Vec::new(), flags: manifest.flags() };
    finish(&manifest, &mut session, flags.full, &cases, series, schedule)
}

/// A case's name and its command, as they are recorded.
pub fn command_of(manifest: &Manifest, case: &Case) -> (String, Vec<String>) {
    let words = command(manifest.program_of(case).form, case, &manifest.flags());
    (case.name.clone(), words.iter().map(|word| anonymous::command(word)).collect())
}

/// The command that repeats this run.
fn command_line(
    manifest: &Manifest,
    names: &[String],
    flags: &MeasureFlags,
    seed: u64,
) -> Vec<String> {
    let values = [
        ("--rounds", flags.rounds.map(|rounds| rounds.to_string())),
        ("--time", flags.time.map(|seconds| seconds.to_string())),
        ("--seed", Some(seed.to_string())),
    ];
    let values = values.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
    let begin = ["brigade", "run"].map(str::to_owned);
    let names = names.iter().map(|name| anonymous::command(name));
    let mut words: Vec<String> = begin.into_iter().chain(names).chain(values.flatten()).collect();
    if manifest.is_file {
        words.extend(OTHER_MANIFEST.map(str::to_owned));
    }
    words
}

/// Writes the pages of a run into its folder.
///
/// # Errors
/// If they cannot be written.
pub fn write_pages(folder: &Folder, report: &Report) -> anyhow::Result<()> {
    folder.write(results::PAGE, &markdown(report))?;
    folder.write(results::HTML_PAGE, &html(report))
}

/// Runs the remaining invocations, then reports and saves.
///
/// # Errors
/// If the results or standard output cannot be written.
pub fn finish(
    manifest: &Manifest,
    session: &mut Session,
    full: bool,
    cases: &[&Case],
    mut series: Series,
    mut schedule: Schedule,
) -> anyhow::Result<Exit> {
    let path = series.folder.path.clone();
    // It reads earlier runs, which the loop must not.
    let reporter = Reporter::new(manifest, &path, &series.run);
    let screen = |schedule: &Schedule, _, run: &mut Run, programs: &[String]| {
        reporter.running(run, schedule, programs)
    };
    session.measure(&mut schedule, cases, slice::from_mut(&mut series), screen)?;
    let Series { folder, mut run, .. } = series;
    let mut report = reporter.report(&mut run, &mut schedule);
    let exit = require_processes(&run).map(|()| exit_after(run.samples()));
    // The pages take as much memory.
    drop(run);
    // The screen names the page, and is printed even if that cannot be written.
    let written = write_pages(&folder, &report);
    // Nothing that is saved names them.
    if output::height().is_some() {
        report.run.state.programs = session.programs();
    }
    reporter
        .print(&report, full)
        .with_context(|| format!("showing the results in {}", path.display()))?;
    written?;
    failures(&report, &quoted_path(&path)).iter().for_each(|line| output::warn(line));
    if session.signals.stops() > 0 {
        return Ok(Exit::Interrupted);
    }
    exit
}
