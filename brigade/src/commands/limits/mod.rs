//! `brigade limits`: how many tasks of each kind fit, which limit binds, what
//! raises it, and whether that is true.

mod verify;

use clap::ValueEnum as _;
use harness::limits::{self, Forecast, Kind, Limit, Need, in_force, may_raise_hard_limits};
use harness::system_files::SystemFiles;

use nix::unistd::geteuid;

use crate::judge::limits::LimitsReport;
use crate::show::limits as page;

use crate::commands::flags::LimitsFlags;
use crate::commands::output;
use crate::exit::Exit;

/// Runs `brigade limits`.
///
/// # Errors
/// When the program that is to make tasks cannot be run, or standard output
/// cannot be written.
pub fn limits(flags: &LimitsFlags) -> anyhow::Result<Exit> {
    let limits = in_force(&SystemFiles::live());
    let kinds = flags.kind.map_or_else(|| Kind::value_variants().to_vec(), |kind| vec![kind]);
    let refusals = refusals(&kinds, flags.tasks, &limits);
    let verified = match flags.kind.filter(|_| flags.verify) {
        Some(kind) => Some(verify::verify(kind, &forecast(kind, &limits), &flags.programs)?),
        None => None,
    };
    let wrong = verified.as_ref().is_some_and(|verified| !verified.confirms());
    let forecasts: Vec<_> = kinds.iter().map(|kind| (*kind, forecast(*kind, &limits))).collect();
    let text = if flags.json {
        let report = LimitsReport::new(&forecasts, flags.tasks, verified);
        serde_json::to_string(&report)? + "\n"
    } else {
        match forecasts.as_slice() {
            [(kind, forecast)] => {
                let prlimit_fails =
                    geteuid().is_root() && !may_raise_hard_limits(&SystemFiles::live());
                page::of_kind(*kind, forecast, flags.tasks, verified.as_ref(), prlimit_fails)
            }
            several => page::of_kinds(several),
        }
    };
    output::print(&text)?;
    refusals.iter().for_each(|refusal| output::complain(refusal));
    Ok(match () {
        () if !refusals.is_empty() => Exit::Limit,
        () if wrong => Exit::Failed,
        () => Exit::Done,
    })
}

/// What the limits say of a kind of task.
fn forecast(kind: Kind, limits: &[Limit]) -> Forecast {
    Forecast::new(kind.per_task(), kind.fixed(), limits.to_vec())
}

/// The sentences of the limits that `tasks` tasks do not fit into, one for each
/// kind: what a program would say.
fn refusals(kinds: &[Kind], tasks: Option<u64>, limits: &[Limit]) -> Vec<String> {
    let Some(tasks) = tasks else { return Vec::new() };
    let refusal = |kind: &Kind| {
        let need = Need { tasks, per_task: kind.per_task(), fixed: kind.fixed() };
        limits::admit(&need, limits).err().map(|refusal| match kinds {
            [_] => refusal.to_string(),
            _ => format!("{kind}: {refusal}"),
        })
    };
    kinds.iter().filter_map(refusal).collect()
}
