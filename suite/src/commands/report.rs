//! `brigade report RUN…`: what runs say, from what they saved; several side by
//! side.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::commands::documents;
use crate::commands::flags::{Format, ReportFlags};
use crate::commands::output;
use crate::commands::summary::Summary;
use crate::exit::Exit;
use crate::judge::prove::proof::{self, Proof};
use crate::judge::report::model::Report;
use crate::judge::report::{RunData, report};
use crate::manifest::Manifest;
use crate::show;
use crate::store::results;
use crate::store::saved_run::{SavedRun, optional};

/// Obeys `brigade report`.
///
/// # Errors
/// When a folder is not that of a run, the manifest that `--manifest` names is
/// wrong, or what is asked for cannot be written.
pub fn show(flags: &ReportFlags) -> anyhow::Result<Exit> {
    let manifest = manifest(flags)?;
    if !flags.update.is_empty() {
        documents::update(&manifest, &flags.update)?;
        return Ok(Exit::Done);
    }
    let report = of(&manifest, &flags.folders)?;
    let text = match flags.format {
        Format::Text => {
            let folders = flags.folders.iter().map(|folder| folder.display().to_string());
            show::text::text(&report, &folders.collect::<Vec<_>>())
        }
        Format::Markdown => show::markdown::markdown(&report),
        Format::Json => serde_json::to_string(&report)? + "\n",
        Format::Csv => show::csv::csv(&report)?,
    };
    match &flags.output {
        None => output::print(&text)?,
        Some(path) => {
            fs::write(path, text).with_context(|| format!("--output {}", path.display()))?;
        }
    }
    Ok(Exit::Done)
}

/// The report of the runs in these folders, side by side.
///
/// # Errors
/// When one of them is not the folder of a run.
pub fn of(manifest: &Manifest, folders: &[PathBuf]) -> anyhow::Result<Report> {
    let saved: Vec<(SavedRun, Option<Proof>)> =
        folders.iter().map(|folder| read(folder)).collect::<anyhow::Result<_>>()?;
    let runs = saved.iter().zip(folders).map(|((saved, proof), folder)| {
        let SavedRun { description, environment, invocations, .. } = saved;
        Summary::new(description, environment, invocations, folder, proof.as_ref()).data()
    });
    Ok(report(manifest, &runs.collect::<Vec<RunData>>()))
}

/// A saved run and the proof that it ended with, if it did. What is left out of
/// either is complained of.
///
/// # Errors
/// When `path` is not the folder of a run.
pub fn read(path: &Path) -> anyhow::Result<(SavedRun, Option<Proof>)> {
    let mut saved = SavedRun::read(path)?;
    let warnings = &mut saved.warnings;
    let proof = optional(path, results::PROOF, proof::SCHEMA_VERSION, warnings);
    for warning in warnings {
        output::complain(&format!("{}: {warning}", path.display()));
    }
    Ok((saved, proof))
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
