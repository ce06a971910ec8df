//! Set-up of every command that runs programs: the lock, signals, the machine's capabilities and
//! the binaries. It also assigns pairs of CPUs to cases, from this machine or a saved run.

use std::collections::BTreeSet;
use std::fs::File;
use std::time::SystemTime;

use anyhow::{Context, ensure};
use harness::cpus::CpuList;
use harness::system_files::SystemFiles;
use humantime::format_rfc3339_millis;
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::kill;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::getpid;

use crate::commands::flags::ProgramFlags;
use crate::exit::UsageError;
use crate::manifest::{Case, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::executables::{self, Executables};
use crate::measure::guard::Guard;
use crate::measure::lock::Lock;
use crate::measure::signals::Signals;
use crate::plan::pairs::pairs;
use crate::store::environment::Environment;
use crate::store::results::{self, CaseDetail, RunDescription};

/// Files that the runner, its guard and a program with pipes open, with some to
/// spare.
const FEWEST_FILES: u64 = 64;

/// The right to measure on this machine; dropping it releases the lock.
pub struct Session<'a> {
    pub manifest: &'a Manifest,
    pub capabilities: Capabilities,
    pub signals: Signals,
    builds: bool,
    // Dropped last: the guard has it, too.
    _lock: Lock,
}

impl<'a> Session<'a> {
    /// Takes the lock.
    ///
    /// # Errors
    /// If another process holds it, or the set-up fails.
    pub fn begin(manifest: &'a Manifest, flags: &ProgramFlags) -> anyhow::Result<Self> {
        require_means()?;
        let mut signals = Signals::register().context("setting up signal handlers")?;
        let lock = Lock::take(flags.wait)?;
        signals.guard = Some(Guard::start(lock.file()).context("starting the guard")?);
        let capabilities = Capabilities::detect(manifest)?;
        Ok(Self { manifest, capabilities, signals, builds: !flags.no_build, _lock: lock })
    }

    /// The programs of `cases`, built unless the flags forbid it.
    ///
    /// # Errors
    /// As [`executables::executables`].
    pub fn binaries(&mut self, cases: &[&Case]) -> anyhow::Result<Executables> {
        self.programs(&cases.iter().map(|case| &*case.program).collect())
    }

    /// The programs with these names, likewise.
    ///
    /// # Errors
    /// As [`Session::binaries`].
    pub fn programs(&mut self, names: &BTreeSet<&str>) -> anyhow::Result<Executables> {
        let Self { manifest, capabilities, signals, builds, .. } = self;
        executables::executables(manifest, names, *builds, capabilities, signals)
    }
}

/// Checks the means to start, watch and end a process.
fn require_means() -> anyhow::Result<()> {
    let (files, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    ensure!(
        files >= FEWEST_FILES,
        "{files} files may be open at once, but {FEWEST_FILES} are needed: ulimit -n {FEWEST_FILES}"
    );
    File::open("/dev/null").context("opening /dev/null")?;
    kill(getpid(), None).context("kill is denied, so programs could not be ended")?;
    match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT) {
        Ok(_) | Err(Errno::ECHILD) => Ok(()),
        Err(error) => Err(error).context("waitid is denied, so programs could not be watched"),
    }
}

/// The parts of `run.json` that do not depend on the procedure. The groups are
/// the `chosen` ones.
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

/// Which pairs of this machine's CPUs to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that a run measures.
    Chosen,
    /// All of them.
    All,
    /// One, as an example.
    One,
}

/// Assigns pairs of this machine's CPUs to the cases that need them. On one CPU there are none.
///
/// # Errors
/// [`UsageError`] if two cases get the same name.
pub fn pair_with_machine(manifest: &mut Manifest, which: Which) -> Result<(), UsageError> {
    if !manifest.has_pairs() {
        return Ok(());
    }
    let places = Environment::topology(&SystemFiles::live()).places();
    let mut pairs = pairs(&places, which == Which::All);
    if which == Which::One {
        pairs.truncate(1);
    }
    manifest.pair(&pairs)
}

/// Assigns a run's pairs of CPUs to the cases that need them, in the run's
/// order.
///
/// # Errors
/// [`UsageError`] if two cases get the same name.
pub fn pair_with_run(manifest: &mut Manifest, run: &RunDescription) -> Result<(), UsageError> {
    let mut seen = BTreeSet::new();
    let pair = |text: &String| -> Option<[usize; 2]> {
        text.parse::<CpuList>().ok()?.numbers().try_into().ok()
    };
    let of_cases = run.details.iter().filter_map(|detail| detail.parameters.get("cpus"));
    let pairs: Vec<[usize; 2]> =
        of_cases.filter_map(pair).filter(|pair| seen.insert(*pair)).collect();
    manifest.pair(&pairs)
}
