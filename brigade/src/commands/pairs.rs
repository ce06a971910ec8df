//! The pairs of CPUs that the cases of a manifest are of: those of this machine, or those
//! of a run that was made before.

use std::collections::BTreeSet;

use harness::cpus::CpuList;
use harness::system_files::SystemFiles;

use crate::exit::UsageError;
use crate::manifest::Manifest;
use crate::plan::pairs::pairs;
use crate::store::environment::Environment;
use crate::store::results::RunDescription;

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
pub fn of_machine(manifest: &mut Manifest, which: Which) -> Result<(), UsageError> {
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
pub fn of_run(manifest: &mut Manifest, run: &RunDescription) -> Result<(), UsageError> {
    let mut seen = BTreeSet::new();
    let pair = |text: &String| -> Option<[usize; 2]> {
        text.parse::<CpuList>().ok()?.numbers().try_into().ok()
    };
    let of_cases = run.details.iter().filter_map(|detail| detail.parameters.get("cpus"));
    let pairs: Vec<[usize; 2]> =
        of_cases.filter_map(pair).filter(|pair| seen.insert(*pair)).collect();
    manifest.pair(&pairs)
}
