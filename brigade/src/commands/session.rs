//! What every command that runs programs begins with: the lock, the signals,
//! what this machine can do, and the programs' binaries.

use std::collections::BTreeSet;

use anyhow::Context;

use crate::commands::flags::ProgramFlags;
use crate::exit::Interrupted;
use crate::manifest::{Case, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::build::{self, Binaries};
use crate::measure::guard::Guard;
use crate::measure::lock::Lock;
use crate::measure::signals::Signals;

/// The right to measure on this machine, as long as it lives.
pub struct Session<'a> {
    /// Of the programs.
    pub manifest: &'a Manifest,
    /// What this machine has of what they need.
    pub capabilities: Capabilities,
    /// Whether to stop.
    pub signals: Signals,
    builds: bool,
    // The last to go: the guard has it too.
    _lock: Lock,
}

impl<'a> Session<'a> {
    /// Takes the lock.
    ///
    /// # Errors
    /// When another process holds it, or this one cannot be set up.
    pub fn begin(manifest: &'a Manifest, flags: &ProgramFlags) -> anyhow::Result<Self> {
        let mut signals = Signals::register().context("setting up signal handlers")?;
        let lock = Lock::take()?;
        signals.guard = Some(Guard::start(lock.file()).context("starting the guard")?);
        let capabilities = Capabilities::detect(manifest)?;
        Ok(Self { manifest, capabilities, signals, builds: !flags.no_build, _lock: lock })
    }

    /// The programs of `cases`, built unless the flags forbid it.
    ///
    /// # Errors
    /// As [`build::binaries`], and [`Interrupted`].
    pub fn binaries(&mut self, cases: &[&Case]) -> anyhow::Result<Binaries> {
        self.programs(&cases.iter().map(|case| &*case.program).collect())
    }

    /// The programs of these names, likewise.
    ///
    /// # Errors
    /// As [`Session::binaries`].
    pub fn programs(&mut self, names: &BTreeSet<&str>) -> anyhow::Result<Binaries> {
        let Self { manifest, capabilities, signals, builds, .. } = self;
        let built = build::binaries(manifest, names, *builds, capabilities, signals)?;
        Ok(built.ok_or(Interrupted)?)
    }
}
