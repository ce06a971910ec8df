//! `brigade limits`: predicts how many tasks of each kind fit and which limit to raise.

use clap::ValueEnum as _;
use harness::limits::{Forecast, Kind, Need, admit, in_force};
use harness::system_files::SystemFiles;

use crate::commands::flags::LimitsFlags;
use crate::commands::output;
use crate::commands::report::{fullest_here, savings_here};
use crate::exit::Exit;
use crate::manifest::Manifest;
use crate::show::json::Limits;
use crate::show::limits::{connections, kind_page, kinds_page};

/// The kinds with a connection for each task: threads, and async tasks.
const CONNECTIONS: [Kind; 2] = [Kind::ThreadTcp, Kind::TokioTcp];

/// Runs `brigade limits`.
///
/// # Errors
/// If standard output cannot be written.
pub fn limits(flags: &LimitsFlags, manifest: &Manifest) -> anyhow::Result<Exit> {
    let limits = in_force(&SystemFiles::live());
    let forecast = |kind| Forecast::new(kind, flags.tasks, &limits);
    let kinds = match flags.kind {
        Some(kind) => vec![kind],
        None if flags.tasks.is_some() => CONNECTIONS.to_vec(),
        None => Kind::value_variants().to_vec(),
    };
    let kinds: Vec<Forecast> = kinds.into_iter().map(forecast).collect();
    let none_fit = flags.tasks.is_some_and(|tasks| !kinds.iter().any(|kind| kind.allows(tasks)));
    output::print(&match (&kinds[..], flags.tasks) {
        _ if flags.json => output::json(&Limits::new(flags.tasks, &kinds))?,
        ([kind], tasks) => kind_page(kind, tasks),
        ([threads, async_tasks], Some(tasks)) => {
            let report = fullest_here(manifest);
            let sides = [threads, async_tasks];
            let answer = connections(tasks, sides, report.as_ref(), &savings_here(manifest));
            kinds_page(&kinds, Some(tasks), answer)
        }
        (_, tasks) => kinds_page(&kinds, tasks, Vec::new()),
    })?;
    if let Some(kind) = flags.kind
        && let Some(tasks) = flags.tasks
        && let Err(refusal) = admit(&Need::new(kind, tasks), &limits)
    {
        // The same words as a program's.
        output::warn(&refusal.to_string());
    }
    Ok(if none_fit { Exit::Limit } else { Exit::Done })
}
