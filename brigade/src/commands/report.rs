//! `brigade report`: shows a saved run. Every other command that shows one makes its report here.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use anyhow::Context;
use harness::system_files::SystemFiles;

use crate::commands::flags::{Format, ReportFlags};
use crate::commands::output;
use crate::commands::saved::{Saved, alike, neighbours};
use crate::exit::Exit;
use crate::judge::report::{OtherRun, Report, RunData, RunProgress, report};
use crate::judge::run::Run;
use crate::judge::savings::Savings;
use crate::judge::state::State;
use crate::manifest::Manifest;
use crate::plan::Schedule;
use crate::show;
use crate::show::screen::{Place, screen, wide};
use crate::store::results::{Environment, HTML_PAGE, RunDescription, SavedRun};

/// Runs `brigade report`.
///
/// # Errors
/// If the folder contains no run, the `--manifest` is wrong, or the output cannot be written.
pub fn show(flags: &ReportFlags, manifest: &Manifest) -> anyhow::Result<Exit> {
    let folder = flags.folder.clone().map_or_else(|| latest(manifest), Ok)?;
    let Saved { mut run, mut schedule } = Saved::read(&folder)?;
    let reporter = Reporter::new(manifest, &folder, &run);
    let report = reporter.report(&mut run, &mut schedule);
    drop(run);
    if let Some(folder) = &flags.pictures {
        for group in &report.groups {
            let names = show::names::Names::new(&report, group);
            for picture in show::plot::group(group, &names) {
                // A group's name leads to no other folder.
                let [name, title] =
                    [&group.name, &picture.title].map(|text| show::html::fragment(text));
                let name = format!("{name}-{title}.svg");
                output::write(&folder.join(name), &picture.file())?;
            }
        }
    }
    output::print(&match flags.format {
        Format::Text => return reporter.print(&report, flags.full).map(|()| Exit::Done),
        Format::Html => show::html::html(&report),
        Format::Svg => show::picture::picture(&report)
            .context("the run has no case of the first screen: measure them with brigade run")?,
        Format::Markdown => show::formats::markdown(&report),
        Format::Json => output::json(&report)?,
        Format::Csv => show::formats::csv(&report)?,
    })?;
    Ok(Exit::Done)
}

/// The folder of the latest run.
fn latest(manifest: &Manifest) -> anyhow::Result<PathBuf> {
    let parent = manifest.results();
    let latest = neighbours(&parent).folders.into_iter().next();
    latest.with_context(|| format!("{} contains no run: brigade run makes one", parent.display()))
}

/// Makes reports of a run, which may be going on. It reads other runs only once.
pub struct Reporter<'a> {
    manifest: &'a Manifest,
    folder: &'a Path,
    /// Other runs of this build on this machine.
    others: Vec<OtherRun>,
}

impl<'a> Reporter<'a> {
    /// A reporter that reads no other runs.
    pub fn alone(manifest: &'a Manifest, folder: &'a Path) -> Self {
        Self { manifest, folder, others: Vec::new() }
    }

    /// Reads the other runs next to this folder, which has the run `own`.
    pub fn new(manifest: &'a Manifest, folder: &'a Path, own: &Run) -> Self {
        let others = alike(folder, own, &own.description.started_at).into_iter();
        let other = |mut saved: Saved| {
            let rounds = saved.schedule.rounds();
            OtherRun::new(manifest, &mut saved.run, rounds)
        };
        let others = others.map(|(_, saved)| other(saved)).collect();
        Self { others, ..Self::alone(manifest, folder) }
    }

    /// The report of a run that has ended.
    pub fn report(&self, run: &mut Run, schedule: &mut Schedule) -> Report {
        let side = run.description.side.is_some();
        let is_complete = side || schedule.next_turn().is_none();
        self.report_at(run, RunProgress { is_complete, ..progress(&run.description, schedule) })
    }

    fn report_at(&self, run: &mut Run, progress: RunProgress) -> Report {
        let name = output::name_of(self.folder);
        report(self.manifest, RunData { name, run, progress, alike: &self.others })
    }

    /// The screen of a run that goes on; `programs` are the names of others that use the CPUs.
    pub fn running(&self, run: &mut Run, schedule: &Schedule, programs: &[String]) -> String {
        let seconds_left = Some(schedule.time_left().as_secs_f64());
        let progress = RunProgress { seconds_left, ..progress(&run.description, schedule) };
        let mut report = self.report_at(run, progress);
        report.run.state.programs = programs.to_vec();
        self.screen(&report, output::lines_of_terminal())
    }

    fn screen(&self, report: &Report, height: Option<usize>) -> String {
        let page = self.folder.join(HTML_PAGE);
        let has_page = page.is_file();
        let page = page.display().to_string();
        let place = Place {
            folder: &self.folder.display().to_string(),
            page: has_page.then_some(&page),
            bold: output::has_colours(),
            height,
        };
        screen(report, place)
    }

    /// Prints the screen of a report, or all its tables and notes.
    pub fn print(&self, report: &Report, full: bool) -> anyhow::Result<()> {
        let text = if full {
            let mut page = show::report::page(report, false);
            page.extend(show::report::repeating(&report.run));
            let text = show::page::text(&page);
            let columns = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            let folder = self.folder.display().to_string();
            let wide = output::width().and_then(|width| wide(columns, width, &folder));
            text + &wide.unwrap_or_default()
        } else {
            self.screen(report, output::height())
        };
        output::print_coloured(&text)
    }
}

/// How far a run is.
fn progress(description: &RunDescription, schedule: &Schedule) -> RunProgress {
    RunProgress {
        share: schedule.share(),
        seconds_left: None,
        ended: schedule.ended(),
        rounds: schedule.rounds(),
        planned: (description.rounds > 0).then_some(description.rounds),
        is_complete: false,
        side: description.side.clone(),
        resumable: description.procedure.is_some() && description.side.is_none(),
    }
}

/// The report of the run in this folder, without what other runs say about the next one. Its state is
/// that of the run by itself.
///
/// # Errors
/// If [`Saved::read`] fails.
fn report_alone(manifest: &Manifest, folder: &Path) -> anyhow::Result<Report> {
    let Saved { mut run, mut schedule } = Saved::read(folder)?;
    Ok(Reporter::alone(manifest, folder).report(&mut run, &mut schedule))
}

/// The report of the run in this folder, without what other runs say about the next one.
///
/// # Errors
/// If [`Saved::read`] fails.
pub fn report_of(manifest: &Manifest, folder: &Path) -> anyhow::Result<Report> {
    let saved = Saved::read(folder)?;
    let state = saved.state_in(folder);
    let Saved { mut run, mut schedule } = saved;
    let mut report = Reporter::alone(manifest, folder).report(&mut run, &mut schedule);
    report.run.state = state;
    Ok(report)
}

/// The label of this machine.
pub fn label_here() -> String {
    Environment::of_machine(&SystemFiles::live()).label()
}

/// The reports of the runs of this machine with their folders, the latest first, made as they are
/// asked for. Their states are those of the runs by themselves, since earlier ones take time to read:
/// what is printed of a run is [`report_of`] its folder.
pub fn reports_here(manifest: &Manifest) -> impl Iterator<Item = (PathBuf, Report)> {
    let label = label_here();
    let folders = neighbours(&manifest.results()).folders.into_iter();
    let is_here = move |folder: &PathBuf| {
        SavedRun::described(folder).is_ok_and(|run| run.environment.label() == label)
    };
    folders.filter(is_here).filter_map(|folder| {
        let report = report_alone(manifest, &folder).ok()?;
        Some((folder, report))
    })
}

/// How many of the latest runs of this machine are read.
pub const LATEST: usize = 6;

/// The report with the most figures of the first screen among the last runs of this machine, since a
/// run of one group has few; that of a disturbed run only if there is no other.
pub fn fullest_here(manifest: &Manifest) -> Option<Report> {
    let figures = |report: &Report| {
        let rows = report.screen.iter().flat_map(|part| &part.blocks).flat_map(|block| &block.rows);
        rows.filter(|row| row.figure.is_some()).count()
    };
    let reports = reports_here(manifest).take(LATEST).filter(|(_, report)| figures(report) > 0);
    let (folder, _) = reports.min_by_key(|(_, report)| {
        let State { is_fit, is_comparable, .. } = report.run.state;
        Reverse((is_fit, is_comparable, figures(report)))
    })?;
    report_of(manifest, &folder).ok()
}

/// What the latest undisturbed run of this machine with such cases shows of savings by work; empty
/// without one.
pub fn savings_here(manifest: &Manifest) -> Vec<Savings> {
    let groups = reports_here(manifest).take(LATEST).flat_map(|(_, report)| report.groups);
    let mut savings = groups.filter(|group| group.is_fit).map(|group| group.savings);
    savings.find(|savings| !savings.is_empty()).unwrap_or_default()
}
