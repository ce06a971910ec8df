//! What each kind of task costs: a hand-over, creation and memory side by side.

use super::estimate::shown;
use super::model::KindFigures;
use super::{Cases, RunData};
use crate::manifest::Manifest;
use crate::manifest::kind::Kind;
use crate::manifest::program::Form;

/// The kinds of which the first run has a figure, in the manifest's order.
pub fn kinds(manifest: &Manifest, cases: &Cases, runs: &[RunData]) -> Vec<KindFigures> {
    let Some(run) = runs.first() else { return Vec::new() };
    manifest.kinds.iter().filter_map(|kind| figures(manifest, cases, run, kind)).collect()
}

fn figures(manifest: &Manifest, cases: &Cases, run: &RunData, kind: &Kind) -> Option<KindFigures> {
    let estimate = |name: &Option<String>| {
        let (case, _) = cases.find(name.as_deref()?, 0)?;
        case.estimates[0].as_ref()
    };
    let principal = |name| estimate(name).and_then(|estimate| estimate.measurement(None));
    let (hop, create) = (principal(&kind.hop), principal(&kind.create));
    let memory_bytes = estimate(&kind.memory).and_then(|estimate| estimate.held());
    let known = hop.is_some() || create.is_some() || memory_bytes.is_some();
    let of_crate = kind.crate_name.as_ref();
    let of_crate = of_crate
        .and_then(|name| run.environment.get(&format!("software.measured_crates.{name}")))
        .map(str::to_owned);
    known.then(|| KindFigures {
        text: kind.text.clone(),
        version: of_crate.or_else(|| told(manifest, cases, kind)).map(|version| shown(&version)),
        hop_ns: hop.map(|hop| hop.time_ns),
        switches_per_hop: hop.and_then(|hop| hop.switches),
        create_ns: create.map(|create| create.time_ns),
        memory_bytes,
    })
}

/// The version of its runtime that a guest tells.
fn told(manifest: &Manifest, cases: &Cases, kind: &Kind) -> Option<String> {
    kind.cases().find_map(|(_, name)| {
        let (case, sample) = cases.find(name, 0)?;
        let program = manifest.programs.get(&case.key.program)?;
        let version = sample.first()?.record.parameters.get("runtime")?.as_str()?;
        (program.form == Form::Laps).then(|| version.to_owned())
    })
}
