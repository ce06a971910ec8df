//! `brigade report DIR`: what a run printed at its end, from what it saved.

use std::path::Path;

use crate::commands::account::Account;
use crate::commands::flags::ReportFlags;
use crate::commands::output;
use crate::exit::Exit;
use crate::judge::prove::proof::{self, Proof};
use crate::manifest::Manifest;
use crate::store::results;
use crate::store::saved_run::{SavedRun, optional};

/// Obeys `brigade report`.
///
/// # Errors
/// When a folder is not that of a run, the manifest that `--manifest` names is
/// wrong, or standard output cannot be written.
pub fn show(flags: &ReportFlags) -> anyhow::Result<Exit> {
    let manifest = manifest(flags)?;
    for (index, path) in flags.folders.iter().enumerate() {
        let (saved, proof) = read(path)?;
        let SavedRun { description, environment, invocations, .. } = &saved;
        let account = Account::new(&manifest, description, environment, invocations, path)
            .proven_by(proof.as_ref());
        let gap = if index == 0 { "" } else { "\n" };
        output::print(&format!("{gap}{}", account.text()))?;
    }
    Ok(Exit::Done)
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

/// The manifest, which has baselines and findings. A run can be shown without
/// them: one that is not named need not be there.
fn manifest(flags: &ReportFlags) -> anyhow::Result<Manifest> {
    match Manifest::load(flags.manifest.as_deref()) {
        Err(error) if flags.manifest.is_none() => {
            output::complain(&format!("the table goes without sentences: {error:#}"));
            Ok(Manifest::default())
        }
        loaded => loaded,
    }
}
