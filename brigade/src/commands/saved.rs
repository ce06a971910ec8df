//! Saved runs, as the commands that show, update or resume them read them.

use std::path::{Path, PathBuf};

use crate::commands::output;
use crate::commands::summary::Summary;
use crate::judge::prove::Proof;
use crate::judge::report::model::Report;
use crate::judge::report::{RunData, report};
use crate::manifest::Manifest;
use crate::store::results;
use crate::store::saved_run::{SavedRun, optional};

/// The report of the runs in these folders, side by side.
///
/// # Errors
/// When one of them is not the folder of a run.
pub fn report_of(manifest: &Manifest, folders: &[PathBuf]) -> anyhow::Result<Report> {
    let saved: Vec<(SavedRun, Option<Proof>)> =
        folders.iter().map(|folder| read(folder)).collect::<anyhow::Result<_>>()?;
    let runs = saved.iter().zip(folders).map(|((saved, proof), folder)| {
        let SavedRun { description, environment, invocations, .. } = saved;
        Summary::new(manifest, description, environment, invocations, folder, proof.as_ref()).data()
    });
    Ok(report(manifest, &runs.collect::<Vec<RunData>>()))
}

/// A saved run and the proof that it ended with, if it did. What is left out of
/// either is complained of.
///
/// # Errors
/// When `path` is not the folder of a run.
pub fn read(path: &Path) -> anyhow::Result<(SavedRun, Option<Proof>)> {
    Ok(with_proof(path, SavedRun::read(path)?))
}

/// What was read of `path`, and the proof, likewise.
pub fn with_proof(path: &Path, mut saved: SavedRun) -> (SavedRun, Option<Proof>) {
    let warnings = &mut saved.warnings;
    let proof = optional(path, results::PROOF, warnings);
    for warning in warnings {
        output::complain(&format!("{}: {warning}", path.display()));
    }
    (saved, proof)
}
