//! Set-up of every command that runs programs: the lock, signals, what the machine lacks, and the
//! binaries.

use std::time::SystemTime;

use anyhow::Context;
use harness::limits::{Kind, Need, admit, in_force};
use harness::system_files::SystemFiles;
use humantime::format_rfc3339_millis;

use crate::commands::output::{self, Live};
use crate::manifest::{Case, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::executables::{self, Executables};
use crate::measure::lock::Lock;
use crate::measure::process::Signals;
use crate::show::screen::BUILDING;
use crate::store::results::{self, CaseDetail, RunDescription};

/// The right to measure on this machine; dropping it releases the lock.
pub struct Session<'a> {
    manifest: &'a Manifest,
    pub signals: Signals,
    /// The screen while the session lasts.
    pub live: Live,
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
        Ok(Self { manifest, signals, live: Live::default(), _lock: lock })
    }

    /// Builds the programs of `cases`. Returns those that can run here, and why others cannot.
    ///
    /// # Errors
    /// As [`executables::executables`].
    pub fn build(&mut self, cases: &[&Case]) -> anyhow::Result<(Executables, Capabilities)> {
        self.live.note(BUILDING);
        let mut capabilities = Capabilities::detect(self.manifest)?;
        let names = cases.iter().map(|case| &*case.program).collect();
        let signals = &mut self.signals;
        let binaries = executables::executables(self.manifest, &names, &mut capabilities, signals)?;
        Ok((binaries, capabilities))
    }
}

/// The parts of `run.json` that do not depend on the procedure; `chosen` are the groups and cases
/// on the command line.
pub fn described(manifest: &Manifest, cases: &[&Case], chosen: &[String]) -> RunDescription {
    // The group is the first chosen one that has the case, or else the first of all.
    let detail = |case: &&Case| {
        let mut groups = manifest.groups.iter().filter(|group| group.cases.contains(&case.name));
        let first = groups.clone().find(|group| chosen.contains(&group.name));
        let group = first.or_else(|| groups.next()).map(|group| group.name.clone());
        let (program, parameters) = (case.program.clone(), case.parameters());
        CaseDetail { case: case.name.clone(), program, parameters, group }
    };
    RunDescription {
        schema_version: results::RUN_SCHEMA_VERSION.to_owned(),
        brigade_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: format_rfc3339_millis(SystemTime::now()).to_string(),
        profile: if chosen.is_empty() { "default".to_owned() } else { chosen.join(", ") },
        cases: cases.iter().map(|case| case.name.clone()).collect(),
        details: cases.iter().map(detail).collect(),
        ..RunDescription::default()
    }
}
