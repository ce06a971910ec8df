//! A run as commands read it from its folder: what its report needs, and how far it is.

use std::path::{Path, PathBuf};

use crate::commands::output::{warn_of, warn_once};
use crate::judge::report::{quiet_reference_ns, state_next_to};
use crate::judge::run::Run;
use crate::judge::state::State;
use crate::plan::Schedule;
use crate::store::neighbours::Neighbours;
use crate::store::results::{Environment, Folder, Invocation, Repair, RunDescription, SavedRun};

/// A run.
pub struct Saved {
    pub run: Run,
    /// What remains to run.
    pub schedule: Schedule,
}

impl Saved {
    /// A run that has not begun.
    pub fn new(description: RunDescription, environment: Environment) -> Self {
        let schedule = Schedule::of(&description, &[]);
        Self { run: Run::new(description, environment), schedule }
    }

    fn described(saved: &SavedRun) -> Self {
        Self::new(saved.description.clone(), saved.environment.clone())
    }

    fn add(&mut self, invocation: &Invocation) {
        let case = self.run.add(invocation);
        self.schedule.record(case, 0, invocation);
    }

    /// The state of the run by itself. What is printed of a run is [`Saved::state_in`].
    pub fn state(&self) -> State {
        State::of_run(&self.run, self.schedule.rounds())
    }

    /// The state of the run in this folder, next to the earlier runs there.
    pub fn state_in(&self, folder: &Path) -> State {
        let earlier = alike(folder, &self.run, &self.run.description.started_at);
        let quiet_ns = earlier
            .iter()
            .filter_map(|(_, saved)| quiet_reference_ns(&saved.run, saved.schedule.rounds()));
        state_next_to(&self.run, self.schedule.rounds(), &quiet_ns.collect::<Vec<_>>())
    }

    /// Reads the folder of a run. Warns of what cannot be used.
    ///
    /// # Errors
    /// If `path` contains no run.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let mut read = Self::described(&SavedRun::described(path)?);
        let saved = SavedRun::read(path, |invocation| read.add(&invocation))?;
        warn_of(path, &saved.warnings);
        Ok(read)
    }

    /// Reads the folder of a run to add to it.
    ///
    /// # Errors
    /// If its files cannot be read.
    pub fn to_resume(folder: &Folder, repair: Repair) -> anyhow::Result<Self> {
        let mut read = Self::described(&SavedRun::described(&folder.path)?);
        let saved = folder.read(repair, |invocation| read.add(&invocation))?;
        warn_of(&folder.path, &saved.warnings);
        Ok(read)
    }
}

/// The runs in a folder such as `results/`. Warns of those that cannot be read, once.
pub fn neighbours(parent: &Path) -> Neighbours {
    let neighbours = Neighbours::read(parent);
    neighbours.warnings.lines().for_each(|warning| warn_once(&warning));
    neighbours
}

/// The runs of the same build on the same machine as `own`, the one in `folder`, next to it, that
/// began before `before`, with their folders. Warns of those that cannot be read, once.
pub fn alike(folder: &Path, own: &Run, before: &str) -> Vec<(PathBuf, Saved)> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let Some(parent) = folder.parent() else { return Vec::new() };
    let mut neighbours = Neighbours::read(parent);
    let add = |saved: &mut Saved, invocation| saved.add(&invocation);
    let mut alike = neighbours.alike(&folder, before, Saved::described, add);
    neighbours.warnings.lines().for_each(|warning| warn_once(&warning));
    alike.retain(|(_, other)| own.inherited_like(&other.run));
    alike
}

#[cfg(test)]
mod tests {
    use std::fs;

    use contract::repository::recorded_runs;

    use super::*;
    use crate::store::results::{ENVIRONMENT, RECORDS, RUN};

    /// Before its first process a run may be like any of them. What one process inherited otherwise is
    /// not used; facts of the network matter to servers only.
    #[test]
    fn runs_alike_inherited_the_same() {
        let parent = tempfile::tempdir().unwrap();
        let recorded = &recorded_runs()[0];
        let read = |name: &str| fs::read_to_string(recorded.join(name)).unwrap();
        let lines: String = read(RECORDS).split_inclusive('\n').take(2).collect();
        let nice = |lines: &str| lines.replace("\"scheduling.nice\":\"", "\"scheduling.nice\":\"1");
        let niced = nice(&lines);
        let (first, second) = lines.split_once('\n').unwrap();
        let changed = format!("{first}\n{}", nice(second));
        assert!(lines != changed && changed != niced);
        let over = |control: &str| {
            let fact = format!("\"inherited\":{{\"net.congestion_control\":\"{control}\",");
            lines.replace("\"inherited\":{", &fact)
        };
        let earlier = read(RUN).replace("\"started_at\": \"2", "\"started_at\": \"1");
        for (name, run, records) in [
            ("own", &read(RUN), &*lines),
            ("begun", &read(RUN), ""),
            ("serving", &read(RUN), &over("reno")),
            ("changed", &earlier, &changed),
            ("cubic", &earlier, &over("cubic")),
            ("like", &earlier, &lines),
            ("niced", &earlier, &niced),
        ] {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(RUN), run).unwrap();
            fs::write(folder.join(ENVIRONMENT), read(ENVIRONMENT)).unwrap();
            fs::write(folder.join(RECORDS), records).unwrap();
        }
        let alike = |own: &str| {
            let folder = parent.path().join(own);
            let own = Saved::read(&folder).unwrap().run;
            let found = alike(&folder, &own, &own.description.started_at).into_iter();
            let name = |folder: PathBuf| folder.file_name().unwrap().to_owned();
            let mut names: Vec<_> = found.map(|(folder, _)| name(folder)).collect();
            names.sort();
            names
        };
        assert_eq!(alike("own"), ["changed", "cubic", "like"]);
        assert_eq!(alike("begun"), ["changed", "cubic", "like", "niced"]);
        assert_eq!(alike("serving"), ["changed", "like"]);
    }
}
