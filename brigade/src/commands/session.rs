//! What every command that runs programs begins with: the lock, the signals,
//! what this machine can do, and the programs' binaries.
//!
//! Also the pairs of CPUs that the cases of a manifest are of: those of this machine, or of a
//! saved run.

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
use crate::manifest::{Case, CaseKey, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::executables::{self, Executables};
use crate::measure::guard::Guard;
use crate::measure::lock::Lock;
use crate::measure::signals::Signals;
use crate::plan::pairs::pairs;
use crate::store::environment::Environment;
use crate::store::results::{self, CaseDetail, RunDescription};

/// What the runner, its guard and a program with pipes have open, and room.
const FEWEST_FILES: u64 = 64;

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

    /// The programs of these names, likewise.
    ///
    /// # Errors
    /// As [`Session::binaries`].
    pub fn programs(&mut self, names: &BTreeSet<&str>) -> anyhow::Result<Executables> {
        let Self { manifest, capabilities, signals, builds, .. } = self;
        executables::executables(manifest, names, *builds, capabilities, signals)
    }
}

/// Checks what no process is started, watched and ended without.
fn require_means() -> anyhow::Result<()> {
    let (files, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    ensure!(
        files >= FEWEST_FILES,
        "{files} files may be open at once and {FEWEST_FILES} are needed: ulimit -n {FEWEST_FILES}"
    );
    File::open("/dev/null").context("opening /dev/null")?;
    kill(getpid(), None).context("kill is denied, by which programs are ended")?;
    match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT) {
        Ok(_) | Err(Errno::ECHILD) => Ok(()),
        Err(error) => Err(error).context("waitid is denied, by which programs are watched"),
    }
}

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

/// Which pairs of this machine's CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that a run measures.
    Chosen,
    /// All of them.
    All,
    /// One, which stands for all.
    One,
}

/// Has the cases of pairs of CPUs be of pairs of this machine. There are none on one CPU.
///
/// # Errors
/// [`UsageError`] when a case has the name of another.
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

/// Has the cases of pairs of CPUs be of those that a run has, in their order.
///
/// # Errors
/// [`UsageError`] when a case has the name of another.
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
