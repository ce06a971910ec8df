//! `brigade report RUN…`: what runs say, from what they saved; several side by
//! side.

use crate::commands::documents;
use crate::commands::flags::{Format, ReportFlags};
use crate::commands::output;
use crate::commands::saved;
use crate::exit::Exit;
use crate::manifest::Manifest;
use crate::show;

/// Runs `brigade report`.
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
    let report = saved::report_of(&manifest, &flags.folders)?;
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
        Some(path) => output::write(path, &text)?,
    }
    Ok(Exit::Done)
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
