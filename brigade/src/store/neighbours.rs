//! The runs in a folder such as `results/`, in which anybody may have put anything: one that cannot
//! be read costs a warning.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::results::{Environment, Invocation, RUN, RunDescription, SavedRun};
use super::warnings::Warnings;

/// The most runs that [`Neighbours::alike`] reads.
const MOST_ALIKE: usize = 8;

/// The most folders that are looked into, the last ones by name: names begin with a date.
const MOST_FOLDERS: usize = 1000;

/// The longest records of another run, in bytes: as many as two hours and a half of `brigade run` fill.
const LONGEST_OF_ANOTHER: u64 = 256 << 20;

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
    pub fn read(parent: &Path) -> Self {
        let entries = parent.read_dir().into_iter().flatten().flatten();
        let mut names: Vec<Reverse<OsString>> =
            entries.map(|entry| Reverse(entry.file_name())).collect();
        names.sort_unstable();
        let mut found = Self::default();
        if names.len() > MOST_FOLDERS {
            found.warnings.push(&format!(
                "{}: only the last {MOST_FOLDERS} of {} names are looked into",
                parent.display(),
                names.len()
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
                Ok(run) => {
                    latest.insert((run.description.started_at, folder.clone()), folder);
                }
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

    /// The newest [`MOST_ALIKE`] runs of the same build on the same machine as the one in
    /// `own_folder` that began before `before`, RFC 3339, and their folders: all facts of their
    /// environments are equal except the boot and tools. `begin` makes of each what its invocations
    /// are added to with `add`.
    pub fn alike<T>(
        &mut self,
        own_folder: &Path,
        before: &str,
        begin: impl Fn(&SavedRun) -> T,
        add: impl Fn(&mut T, Invocation),
    ) -> Vec<(PathBuf, T)> {
        let facts = |run: &SavedRun| {
            let of_another = |name: &str| name == "boot" || name.starts_with("software.tools.");
            let mut facts = run.environment.facts.clone();
            facts.retain(|name, _| !of_another(name));
            facts
        };
        let Ok(own) = SavedRun::described(own_folder) else { return Vec::new() };
        let is_alike = |(folder, run): &(&Path, SavedRun)| {
            let is_earlier = run.description.started_at.as_str() < before;
            let is_other = is_earlier && *folder != own_folder;
            is_other && facts(run) == facts(&own) && run.is_of_build_of(&own)
        };
        let alike = self.runs().filter(is_alike).take(MOST_ALIKE);
        let alike: Vec<_> = alike.map(|(folder, run)| (folder.to_owned(), run)).collect();
        let mut found = Vec::new();
        for (folder, run) in alike {
            let mut begun = begin(&run);
            let add = |invocation| add(&mut begun, invocation);
            match run.with_records_in(&folder, LONGEST_OF_ANOTHER, add) {
                Ok(run) => {
                    if run.warnings.count() > 0 {
                        let lines = run.warnings.count();
                        let folder = folder.display();
                        self.warnings.push(&format!("{folder}: {lines} of its lines are not used"));
                    }
                    found.push((folder, begun));
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
    /// Whether its programs are those of another run.
    pub fn is_of_build_of(&self, other: &Self) -> bool {
        let [own, other] = [self, other].map(|run| Build::new(&run.description, &run.environment));
        own.is_same_as(&other)
    }
}

/// What identifies the programs of a run.
pub struct Build<'a> {
    /// The commit, whether files differed from it, and Brigade's version.
    revision: [Option<&'a str>; 3],
    binaries: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Build<'a> {
    /// The build of the run with this description in this environment.
    pub fn new(description: &'a RunDescription, environment: &'a Environment) -> Self {
        let facts = ["software.git_revision", "software.git_dirty", "software.brigade"];
        Self {
            revision: facts.map(|name| environment.get(name)),
            binaries: description.procedure.as_ref().map(|procedure| &procedure.binaries),
        }
    }

    /// Whether both are of one revision, and the same binaries, as far as both runs ran them.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let mut own = self.binaries.into_iter().flatten();
        let are_equal = own.all(|(program, fingerprint)| {
            let other = other.binaries.and_then(|others| others.get(program));
            other.is_none_or(|other| other == fingerprint)
        });
        self.revision == other.revision && are_equal
    }
}
