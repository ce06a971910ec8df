//! `brigade limits`: predicts how many tasks of each kind fit and which limit to raise.

use clap::ValueEnum as _;
use harness::limits::{Forecast, Kind, Need, Resource, admit, in_force};
use harness::system_files::SystemFiles;

use crate::commands::flags::LimitsFlags;
use crate::commands::output;
use crate::commands::report::fullest_here;
use crate::exit::Exit;
use crate::manifest::Manifest;
use crate::show::limits::{KindForecast, LimitsReport, connections, page};

/// Runs `brigade limits`.
///
/// # Errors
/// If standard output cannot be written.
pub fn limits(flags: &LimitsFlags, manifest: &Manifest) -> anyhow::Result<Exit> {
    let limits = in_force(&SystemFiles::live());
    let kinds = flags.kind.map_or_else(|| Kind::value_variants().to_vec(), |kind| vec![kind]);
    // The same words as a program's refusal.
    let refusal = |kind: &Kind| {
        let refusal = admit(&Need::new(*kind, flags.tasks?), &limits).err()?;
        Some(if flags.kind.is_some() { refusal.to_string() } else { format!("{kind}: {refusal}") })
    };
    let refusals: Vec<String> = kinds.iter().filter_map(refusal).collect();
    let (all, none_fit) = (kinds.len(), refusals.len() == kinds.len());
    let forecast = |kind| KindForecast {
        kind,
        forecast: Forecast::new(&Need::new(kind, 0), limits.clone(), flags.tasks),
        memory_bytes: flags.tasks.map(|tasks| Need::new(kind, tasks).of(Resource::Memory)),
    };
    let kinds = kinds.into_iter().map(forecast).collect();
    let report = LimitsReport { tasks: flags.tasks, kinds };
    let answer = || match (flags.tasks, all) {
        (None, _) | (_, 1) => Vec::new(),
        (Some(tasks), _) => connections(tasks, &report.kinds, fullest_here(manifest).as_ref()),
    };
    output::print(&if flags.json { output::json(&report)? } else { page(&report, answer()) })?;
    // The table of all kinds already shows which fit.
    if all == 1 || flags.json {
        refusals.iter().for_each(|refusal| output::warn(refusal));
    }
    Ok(if none_fit { Exit::Limit } else { Exit::Done })
}
