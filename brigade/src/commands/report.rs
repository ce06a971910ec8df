//! `brigade report RUN…`: what runs say, from what they saved; several side by
//! side.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::commands::documents;
use crate::commands::flags::{Format, ReportFlags};
use crate::commands::output;
use crate::commands::saved;
use crate::exit::{Exit, UsageError};
use crate::judge::report::model::Report;
use crate::manifest::Manifest;
use crate::show;
use crate::store::results;

/// Runs `brigade report`.
///
/// # Errors
/// When a folder is not that of a run, the manifest that `--manifest` names is
/// wrong, or what is asked for cannot be written.
pub fn show(flags: &ReportFlags) -> anyhow::Result<Exit> {
    let format = format(flags)?;
    let manifest = manifest(flags)?;
    if !flags.update.is_empty() {
        documents::update(&manifest, &flags.update)?;
        return Ok(Exit::Done);
    }
    let page = page(flags)?;
    let page = page.as_deref();
    let report = saved::report_of(&manifest, &flags.folders)?;
    let text = rendered(&report, format, &flags.folders)?;
    let page = match (&flags.output, page) {
        (Some(path), _) => {
            output::write(path, &text)?;
            path
        }
        (None, Some(path)) => {
            output::replace(path, &text)?;
            path
        }
        (None, None) => {
            output::print(&text)?;
            return Ok(Exit::Done);
        }
    };
    if flags.open {
        output::print(&output::page_at(page))?;
        open(page);
    }
    Ok(Exit::Done)
}

/// The format that is asked for. Only a page is opened.
fn format(flags: &ReportFlags) -> Result<Format, UsageError> {
    match flags.format {
        None if flags.open => Ok(Format::Html),
        Some(format) if flags.open && format != Format::Html => {
            Err(UsageError("--open is for --format html".to_owned()))
        }
        format => Ok(format.unwrap_or(Format::Text)),
    }
}

fn rendered(report: &Report, format: Format, folders: &[PathBuf]) -> anyhow::Result<String> {
    Ok(match format {
        Format::Text => {
            let folders = folders.iter().map(|folder| folder.display().to_string());
            show::text::text(report, &folders.collect::<Vec<_>>(), output::bars())
        }
        Format::Html => show::html::html(report),
        Format::Markdown => show::markdown::markdown(report),
        Format::Json => serde_json::to_string(report)? + "\n",
        Format::Csv => show::formats::csv(report)?,
        Format::Benchstat => show::formats::benchstat(report),
        Format::Bmf => show::formats::bmf(report)?,
    })
}

/// The page to open where no file is named: that of the run.
fn page(flags: &ReportFlags) -> Result<Option<PathBuf>, UsageError> {
    match (&flags.output, &flags.folders[..]) {
        (None, [folder]) if flags.open => Ok(Some(folder.join(results::HTML_PAGE))),
        (None, _) if flags.open => {
            Err(UsageError("--open of several runs needs --output FILE".to_owned()))
        }
        _ => Ok(None),
    }
}

/// Opens a page with what this desktop opens pages with; its path is printed where
/// there is none.
fn open(path: &Path) {
    let mut command = Command::new("xdg-open");
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => output::complain(&format!("xdg-open did not open the page: {status}")),
        Err(error) => output::complain(&format!("the page is not opened: xdg-open: {error}")),
    }
}

/// The manifest, which has groups, baselines, headline and findings. A run can
/// be shown without them: one that is not named need not be there.
fn manifest(flags: &ReportFlags) -> anyhow::Result<Manifest> {
    match Manifest::load(flags.manifest.as_deref()) {
        Err(error) if flags.manifest.is_none() => {
            output::complain(&format!("the report has tables and no sentences: {error:#}"));
            Ok(Manifest::default())
        }
        loaded => loaded,
    }
}
