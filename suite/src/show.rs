//! `brigade report DIR`: what a run printed at its end, from what it saved.

use crate::account::Account;
use crate::exit::Exit;
use crate::flags::ReportFlags;
use crate::manifest::Manifest;
use crate::output;
use crate::saved_run::SavedRun;

/// Obeys `brigade report`.
///
/// # Errors
/// When a folder is not that of a run, the manifest that `--manifest` names is
/// wrong, or standard output cannot be written.
pub fn show(flags: &ReportFlags) -> anyhow::Result<Exit> {
    let manifest = manifest(flags)?;
    for (index, path) in flags.folders.iter().enumerate() {
        let saved = SavedRun::read(path)?;
        for warning in &saved.warnings {
            output::complain(&format!("{}: {warning}", path.display()));
        }
        let SavedRun { description, environment, invocations, proof, .. } = &saved;
        let account = Account::new(&manifest, description, environment, invocations, path)
            .proven_by(proof.as_ref());
        let gap = if index == 0 { "" } else { "\n" };
        output::print(&format!("{gap}{}", account.text()))?;
    }
    Ok(Exit::Done)
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
