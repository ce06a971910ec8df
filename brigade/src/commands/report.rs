//! `brigade report RUN…`: shows saved runs side by side.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use harness::terminal;

use crate::commands::flags::{Format, ReportFlags, ShowFlags};
use crate::commands::output;
use crate::exit::{Exit, UsageError};
use crate::judge::report::model::{Report, RunProgress};
use crate::judge::report::{RunData, report};
use crate::manifest::Manifest;
use crate::plan::Schedule;
use crate::show;
use crate::show::markdown;
use crate::show::screen::Style;
use crate::store::results::{self, RunDescription};
use crate::store::saved_run::SavedRun;

/// Runs `brigade report`.
///
/// # Errors
/// If a folder contains no run, the `--manifest` is wrong, or the output cannot
/// be written.
pub fn show(flags: &ReportFlags) -> anyhow::Result<Exit> {
    let format = format(flags)?;
    let manifest = Manifest::load(flags.manifest.as_deref())?;
    let folders = match &flags.folders[..] {
        [] => vec![latest(&manifest)?],
        folders => folders.to_vec(),
    };
    let file = file(flags, &folders)?;
    let report = report_of(&manifest, &folders)?;
    let mut style = output::style();
    style.colours &= flags.output.is_none();
    let text = rendered(&report, format, &folders, flags.show, style)?;
    match &file {
        Some(path) if flags.output.is_some() => output::write(path, &text)?,
        // A recorded run keeps its page: it is part of the record.
        Some(path) if path.symlink_metadata().is_ok_and(|file| file.is_file()) => {}
        Some(path) => output::replace(path, &text)?,
        None if format == Format::Text => output::print_coloured(&text)?,
        None => output::print(&text)?,
    }
    match file {
        Some(path) if flags.open => open(&path),
        _ => Ok(Exit::Done),
    }
}

/// The requested format. Only a page can be opened.
fn format(flags: &ReportFlags) -> Result<Format, UsageError> {
    match flags.format {
        None if flags.open => Ok(Format::Html),
        Some(format) if flags.open && format != Format::Html => {
            Err(UsageError("--open is for --format html".to_owned()))
        }
        format => Ok(format.unwrap_or(Format::Text)),
    }
}

fn rendered(
    report: &Report,
    format: Format,
    folders: &[PathBuf],
    what: ShowFlags,
    style: Style,
) -> anyhow::Result<String> {
    Ok(match format {
        Format::Text => {
            let folders = folders.iter().map(|folder| folder.display().to_string());
            text_of(report, &folders.collect::<Vec<_>>(), what, style)
        }
        Format::Html => show::html::html(report),
        Format::Svg => picture(report)?,
        Format::Markdown => markdown::markdown(report),
        Format::Json => serde_json::to_string(report)? + "\n",
        Format::Csv => show::formats::csv(report)?,
        Format::Benchstat => show::formats::benchstat(report),
        Format::Bmf => show::formats::bmf(report)?,
        Format::Github => show::formats::github(report)?,
    })
}

/// The picture of a run.
fn picture(report: &Report) -> anyhow::Result<String> {
    show::picture::svg(report)
        .context("there is no picture: the run has no case of the first screen")
}

/// The first screen of one run, or everything for several runs or `--full`.
fn text_of(report: &Report, folders: &[String], what: ShowFlags, style: Style) -> String {
    match folders {
        [folder] if !what.full => show::screen::screen(report, folder, style),
        folders => show::report::as_text(report, folders),
    }
}

/// The folder of the latest run.
fn latest(manifest: &Manifest) -> anyhow::Result<PathBuf> {
    let parent = manifest.results();
    let latest = SavedRun::latest_first(&parent, None).into_iter().next();
    latest.with_context(|| format!("{} contains no run: brigade run makes one", parent.display()))
}

/// The run before this folder's, on a machine with this label, with its name.
fn previous(folder: &Path, label: &str) -> Option<(String, SavedRun)> {
    let folder = folder.canonicalize().ok()?;
    let runs = SavedRun::latest_first(folder.parent()?, Some(label));
    let before = runs.iter().skip_while(|run| **run != folder).nth(1)?;
    let name = before.file_name()?.to_string_lossy().into_owned();
    Some((name, SavedRun::read(before).ok()?))
}

/// The file to write; by default `--open` writes the page of one run into its folder.
fn file(flags: &ReportFlags, folders: &[PathBuf]) -> Result<Option<PathBuf>, UsageError> {
    match folders {
        _ if flags.output.is_some() || !flags.open => Ok(flags.output.clone()),
        [folder] => Ok(Some(folder.join(results::HTML_PAGE))),
        _ => Err(UsageError("--open of several runs needs --output FILE".to_owned())),
    }
}

/// Opens a page in the desktop's browser. Over SSH it prints how to fetch the page.
fn open(path: &Path) -> anyhow::Result<Exit> {
    output::print(&format!("{}\n", path.display()))?;
    let connection = std::env::var("SSH_CONNECTION").unwrap_or_default();
    if let Some(server) = connection.split(' ').nth(2) {
        let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        output::print(&format!("scp {server}:{} .\n", absolute.display()))?;
        return Ok(Exit::Done);
    }
    let mut command = Command::new("xdg-open");
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => return Ok(Exit::Done),
        Ok(status) => output::warn(&format!("xdg-open did not open the page: {status}")),
        Err(error) => output::warn(&format!("the page is not opened: xdg-open: {error}")),
    }
    Ok(Exit::Failed)
}

/// A run and the schedule that it followed.
pub struct Summary<'a> {
    manifest: &'a Manifest,
    saved: &'a SavedRun,
    folder: &'a Path,
    complete: bool,
}

impl<'a> Summary<'a> {
    /// Summarizes a run. Its records are in `folder`.
    pub fn new(manifest: &'a Manifest, saved: &'a SavedRun, folder: &'a Path) -> Self {
        let run = &saved.description;
        let mut schedule = Schedule::of(run, &saved.invocations);
        // A comparison ends when its cases are resolved.
        let complete = run.side.is_some() || schedule.next_turn().is_none();
        Self { manifest, saved, folder, complete }
    }

    /// The input of a report.
    pub fn data(&self) -> RunData<'a> {
        let SavedRun { description, environment, invocations, .. } = self.saved;
        let RunDescription { procedure, rounds, side, cases, .. } = description;
        let interrupted = invocations.iter().filter(|of| of.interrupted).count();
        let label = environment.label();
        let previous = side.is_none().then(|| previous(self.folder, &label)).flatten();
        let (since, previous) = previous.unzip();
        RunData {
            name: self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            saved: self.saved,
            progress: RunProgress {
                ended: invocations.len() - interrupted,
                interrupted,
                planned: cases.len() * *rounds as usize,
                remaining: 0,
                is_complete: self.complete,
                rounds: *rounds,
                adaptive: *rounds == 0,
                side: side.clone(),
                resumable: procedure.is_some(),
            },
            alike: SavedRun::alike(self.folder),
            previous,
            since: since.unwrap_or_default(),
        }
    }

    /// The report of this run alone.
    pub fn report(&self) -> Report {
        report(self.manifest, &[self.data()])
    }

    /// Printed after an interruption: progress, how to resume, and the folder.
    pub fn interrupted(&self) -> String {
        let RunProgress { ended, .. } = self.data().progress;
        let folder = self.folder.display().to_string();
        format!(
            "interrupted: {ended} invocations done\n{}records in {}\n",
            show::report::to_go_on(&folder),
            terminal::line(&folder),
        )
    }

    /// The report as text.
    pub fn text(&self, report: &Report, what: ShowFlags) -> String {
        text_of(report, &[self.folder.display().to_string()], what, output::style())
    }
}

/// The report of the runs in these folders, side by side.
///
/// # Errors
/// If a folder contains no run.
pub fn report_of(manifest: &Manifest, folders: &[PathBuf]) -> anyhow::Result<Report> {
    let saved: Vec<SavedRun> =
        folders.iter().map(|folder| read(folder)).collect::<anyhow::Result<_>>()?;
    let runs = saved.iter().zip(folders);
    let runs = runs.map(|(saved, folder)| Summary::new(manifest, saved, folder).data());
    Ok(report(manifest, &runs.collect::<Vec<RunData>>()))
}

/// Reads a saved run. Warns of what cannot be used.
///
/// # Errors
/// If `path` contains no run, or no record of it can be used.
pub fn read(path: &Path) -> anyhow::Result<SavedRun> {
    let read = warned(path, SavedRun::read(path)?);
    let is_usable = read.rejected == 0 || !read.invocations.is_empty();
    ensure!(is_usable, "{}: none of its records can be used", path.display());
    Ok(read)
}

/// Prints the warnings about a run read from `path`.
pub fn warned(path: &Path, saved: SavedRun) -> SavedRun {
    for warning in &saved.warnings {
        output::warn(&format!("{}: {warning}", path.display()));
    }
    saved
}
