//! The runs in a folder such as `results/`, in which anybody may have put anything: one that cannot
//! be read costs a warning.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::results::{RUN, SavedRun};
use super::warnings::Warnings;

/// The most runs that [`Neighbours::alike`] reads.
const MOST_ALIKE: usize = 8;

/// The most folders that are looked into, the last ones by name: names begin with a date.
const MOST_FOLDERS: usize = 1000;

/// The longest records of another run, in bytes: as many as two hours of measuring fill.
const LONGEST_OF_ANOTHER: u64 = 64 << 20;

/// Runs in one folder, except the sides of comparisons.
#[derive(Debug, Default)]
pub struct Neighbours {
    /// Their folders, the latest first.
    pub folders: Vec<PathBuf>,
    /// The folders that were not used, and why.
    pub warnings: Warnings,
}

impl Neighbours {
    /// The runs in `parent`. A folder without a run is skipped.
    pub fn of(parent: &Path) -> Self {
        let entries = parent.read_dir().into_iter().flatten().flatten();
        let mut names: Vec<Reverse<OsString>> =
            entries.map(|entry| Reverse(entry.file_name())).collect();
        names.sort_unstable();
        let mut found = Self::default();
        if names.len() > MOST_FOLDERS {
            let (parent, all) = (parent.display(), names.len());
            found.warnings.push(&format!(
                "{parent}: only the last {MOST_FOLDERS} of {all} names are looked into"
            ));
            names.truncate(MOST_FOLDERS);
        }
        let mut latest = BTreeMap::new();
        for Reverse(name) in names {
            let folder = parent.join(name);
            if folder.join(RUN).symlink_metadata().is_err() {
                continue;
            }
            match SavedRun::described(&folder) {
                Ok(run) if run.description.side.is_some() => {}
                Ok(run) => _ = latest.insert((run.description.started_at, folder.clone()), folder),
                Err(error) => found.warn(&error),
            }
        }
        found.folders = latest.into_values().rev().collect();
        found
    }

    /// The runs, the latest first, without their records, which are long.
    pub fn runs(&self) -> impl Iterator<Item = (&Path, SavedRun)> {
        self.folders
            .iter()
            .filter_map(|folder| Some((&**folder, SavedRun::described(folder).ok()?)))
    }

    /// The newest [`MOST_ALIKE`] runs of the same build on the same machine as `own_folder`, one of
    /// these runs, that began before `before`, RFC 3339: all facts of their environments, and those
    /// that their processes inherited, are equal except the boot and tools. `read` gets each when it
    /// has been read, so that no two are in memory.
    pub fn alike<T>(
        &mut self,
        own_folder: &Path,
        before: &str,
        mut read: impl FnMut(&Path, SavedRun) -> T,
    ) -> Vec<T> {
        let facts = |run: &SavedRun| {
            let of_another = |name: &str| name == "boot" || name.starts_with("software.tools.");
            let mut facts = run.environment.facts.clone();
            facts.retain(|name, _| !of_another(name));
            facts
        };
        let own = SavedRun::read_bounded(own_folder, LONGEST_OF_ANOTHER)
            .or_else(|_| SavedRun::described(own_folder));
        let Ok(own) = own else { return Vec::new() };
        let is_alike = |(folder, run): (&Path, SavedRun)| {
            let is_earlier = run.description.started_at.as_str() < before;
            let is_other = is_earlier && folder != own_folder;
            let is_alike = is_other && facts(&run) == facts(&own) && run.is_of_build_of(&own);
            is_alike.then(|| folder.to_owned())
        };
        let alike: Vec<PathBuf> = self.runs().filter_map(is_alike).take(MOST_ALIKE).collect();
        let inherited = own.inherited();
        let mut found = Vec::new();
        for folder in alike {
            match SavedRun::read_bounded(&folder, LONGEST_OF_ANOTHER) {
                Ok(run) => {
                    if run.warnings.count() > 0 {
                        let lines = run.warnings.count();
                        let folder = folder.display();
                        self.warnings.push(&format!("{folder}: {lines} of its lines are not used"));
                    }
                    // Before its first process a run has inherited nothing.
                    if own.invocations.is_empty() || run.inherited() == inherited {
                        found.push(read(&folder, run));
                    }
                }
                Err(error) => self.warn(&error),
            }
        }
        found
    }

    fn warn(&mut self, error: &anyhow::Error) {
        self.warnings.push(&format!("{error:#}: not used"));
    }
}

impl SavedRun {
    /// Whether its programs are those of another run: of one revision, and the same binaries, as far
    /// as both ran them.
    pub fn is_of_build_of(&self, other: &Self) -> bool {
        let revision = |run: &Self| {
            let name = |name: &str| run.environment.get(name).map(str::to_owned);
            ["software.git_revision", "software.git_dirty", "software.brigade"].map(name)
        };
        let [own, others] = [self, other]
            .map(|run| run.description.procedure.as_ref().map(|procedure| &procedure.binaries));
        let are_equal = own.into_iter().flatten().all(|(program, fingerprint)| {
            let other = others.and_then(|others| others.get(program));
            other.is_none_or(|other| other == fingerprint)
        });
        revision(self) == revision(other) && are_equal
    }

    /// The values of each fact that its processes inherited.
    fn inherited(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut values = BTreeMap::<&str, BTreeSet<&str>>::new();
        let records = self.invocations.iter().filter_map(|invocation| invocation.record.as_ref());
        for (name, value) in records.flat_map(|record| &record.inherited) {
            values.entry(name).or_default().insert(value);
        }
        values
    }
}
