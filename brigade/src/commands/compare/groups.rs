//! Two groups of runs: of hosts, or of boots of a machine.

use crate::commands::flags::CompareFlags;
use crate::commands::hosts::{complain_of, read};
use crate::exit::UsageError;
use crate::judge::compare::comparison::{Comparison, Design};
use crate::judge::compare::groups;
use crate::judge::compare::verdict::Pair;
use crate::judge::hosts::model::LeftOut;
use crate::judge::hosts::reduced::{Host, ReducedRun};
use crate::judge::hosts::{machine_of, of_machine};

/// Compares the runs before `--` with those behind it.
///
/// # Errors
/// When one of the groups has no folder, or none that can be read.
pub fn compare(design: Design, flags: &CompareFlags, margin: f64) -> anyhow::Result<Comparison> {
    if flags.runs.is_empty() || flags.others.is_empty() {
        let advice = "compare: name the folders of both groups: RUN… -- RUN…";
        return Err(UsageError(advice.to_owned()).into());
    }
    let groups = [read(&flags.runs)?.runs, read(&flags.others)?.runs];
    let machine = machine_of(groups.iter().flatten());
    let mut group = |runs: Vec<ReducedRun>| {
        let (runs, others) = of_machine(&machine, runs);
        complain_of(&others);
        match design {
            Design::Boots => of_boots(runs),
            _ => Host::joined(runs),
        }
    };
    let groups: Pair<Vec<Host>> = groups.map(&mut group);
    Ok(groups::compare(design, groups.each_ref().map(Vec::as_slice), margin))
}

/// The boots of these runs; one whose boot is not known is complained of.
fn of_boots(runs: Vec<ReducedRun>) -> Vec<Host> {
    let (known, others): (Vec<ReducedRun>, Vec<_>) =
        runs.into_iter().partition(|run| run.boot.is_some());
    if !others.is_empty() {
        complain_of(&[LeftOut {
            folders: others.into_iter().map(|run| run.folder).collect(),
            reason: "environment.json does not say which boot it was".to_owned(),
        }]);
    }
    let named = known.into_iter().map(|run| (run.boot.clone().unwrap_or_default(), run));
    Host::joined_by(named.collect())
}
