//! What `run.json` says of the cases of a run, a comparison or a proof.

use std::time::SystemTime;

use humantime::format_rfc3339_millis;

use crate::manifest::{Case, CaseKey, Manifest};
use crate::store::results::{self, CaseDetail, RunDescription};

/// What every run of these `cases` has in its `run.json`; the groups are those
/// that were `chosen`.
pub fn described(
    manifest: &Manifest,
    profile: &str,
    cases: &[&Case],
    chosen: &[String],
) -> RunDescription {
    RunDescription {
        schema_version: results::RUN_SCHEMA_VERSION.to_owned(),
        brigade_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: format_rfc3339_millis(SystemTime::now()).to_string(),
        profile: profile.to_owned(),
        rounds: 0,
        seed: 0,
        cases: cases.iter().map(|case| case.name.clone()).collect(),
        details: details(manifest, cases, chosen),
        skipped: Vec::new(),
        procedure: None,
        side: None,
    }
}

/// What each of `cases` is, and the group that it is run for: of those that
/// were `chosen`, or else of all, the first that has it.
fn details(manifest: &Manifest, cases: &[&Case], chosen: &[String]) -> Vec<CaseDetail> {
    let detail = |case: &&Case| {
        let CaseKey { program, parameters } = case.key();
        let mut groups = manifest.groups.iter().filter(|group| group.cases.contains(&case.name));
        let first = groups.clone().find(|group| chosen.contains(&group.name));
        let group = first.or_else(|| groups.next()).map(|group| group.name.clone());
        CaseDetail { case: case.name.clone(), program, parameters, group }
    };
    cases.iter().map(detail).collect()
}
