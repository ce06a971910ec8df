//! Set-up of every command that runs programs: the lock, signals, the machine's capabilities and
//! the binaries.

use std::time::SystemTime;

use anyhow::Context;
use harness::limits::{Kind, Need, admit, in_force};
use harness::system_files::SystemFiles;
use humantime::format_rfc3339_millis;

use crate::commands::output;
use crate::manifest::{Case, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::executables::{self, Executables};
use crate::measure::lock::Lock;
use crate::measure::process::Signals;
use crate::store::results::{self, CaseDetail, RunDescription};

/// The right to measure on this machine; dropping it releases the lock.
pub struct Session<'a> {
    pub manifest: &'a Manifest,
    pub capabilities: Capabilities,
    pub signals: Signals,
    _lock: Lock,
}

impl<'a> Session<'a> {
    /// Takes the lock, after any process that holds it.
    ///
    /// # Errors
    /// If the set-up fails.
    pub fn begin(manifest: &'a Manifest) -> anyhow::Result<Self> {
        admit(&Need::new(Kind::Process, 1), &in_force(&SystemFiles::live()))?;
        let signals = Signals::register().context("setting up signal handlers")?;
        let lock = Lock::take(output::warn)?;
        output::note("looking for tools, building guests");
        let capabilities = Capabilities::detect(manifest)?;
        Ok(Self { manifest, capabilities, signals, _lock: lock })
    }

    /// The programs of `cases`, built first.
    ///
    /// # Errors
    /// As [`executables::executables`].
    pub fn binaries(&mut self, cases: &[&Case]) -> anyhow::Result<Executables> {
        let names = cases.iter().map(|case| &*case.program).collect();
        let Self { manifest, capabilities, signals, .. } = self;
        executables::executables(manifest, &names, capabilities, signals)
    }
}

/// The parts of `run.json` that do not depend on the procedure; `chosen` are the groups and cases
/// on the command line.
pub fn described(manifest: &Manifest, cases: &[&Case], chosen: &[String]) -> RunDescription {
    RunDescription {
        schema_version: results::RUN_SCHEMA_VERSION.to_owned(),
        brigade_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: format_rfc3339_millis(SystemTime::now()).to_string(),
        profile: if chosen.is_empty() { "default".to_owned() } else { chosen.join(", ") },
        rounds: 0,
        seed: 0,
        cases: cases.iter().map(|case| case.name.clone()).collect(),
        details: details(manifest, cases, chosen),
        skipped: Vec::new(),
        procedure: None,
        side: None,
    }
}

/// Details of each of `cases`, with its group: the first `chosen` group that
/// contains it, or else the first of all.
fn details(manifest: &Manifest, cases: &[&Case], chosen: &[String]) -> Vec<CaseDetail> {
    let detail = |case: &&Case| {
        let mut groups = manifest.groups.iter().filter(|group| group.cases.contains(&case.name));
        let first = groups.clone().find(|group| chosen.contains(&group.name));
        let group = first.or_else(|| groups.next()).map(|group| group.name.clone());
        let (program, parameters) = (case.program.clone(), case.parameters());
        CaseDetail { case: case.name.clone(), program, parameters, group }
    };
    cases.iter().map(detail).collect()
}
