//! The settings of this machine that move what is measured: `settings.toml` lists them,
//! this reads and writes them, and puts back what is only tried.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use harness::control_groups::{Group, Version, of_process};
use harness::process_stat::reap;
use harness::system_files::SystemFiles;
use nix::unistd::{ForkResult, fork};
use serde::{Deserialize, Serialize};

use super::guard::leave_alone;
use crate::manifest::{AdvicePlan, Cost};
use crate::measure::environment::{chosen, cpu_group_depth, timer_hz};

/// Version of [`Advice`]'s schema.
pub const SCHEMA_VERSION: &str = "1.0";

/// A file and what is written to it.
pub type Content = (PathBuf, String);

/// How much a setting is expected to move the cases that show it: what orders settings,
/// and no measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// By a factor.
    Factor,
    /// By a tenth or more.
    Tenths,
    /// By some percent.
    Percents,
}

/// All settings that apply to a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Advice {
    /// Schema version.
    pub schema_version: String,
    /// The settings, the greatest expected effect first.
    pub settings: Vec<Setting>,
}

/// A setting of this machine that could be another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value now.
    pub value: String,
    /// The value with which the costs may be lower.
    pub advised: String,
    /// How much that is expected to move.
    pub effect: Effect,
    /// What it does.
    pub does: String,
    /// Where that is documented.
    pub source: String,
    /// The cost that it moves.
    pub cost: Cost,
    /// The cases that show it, as the manifest has them.
    pub cases: Vec<String>,
    /// The command that changes it.
    pub change: String,
    /// The files that contain it, if it can be changed while the machine runs.
    pub files: Vec<String>,
}

/// An entry of `settings.toml`, which explains the keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    name: String,
    file: Option<String>,
    fact: Option<String>,
    advised: Vec<String>,
    only: Option<String>,
    #[serde(default)]
    below: bool,
    value: Option<String>,
    choices: Option<String>,
    #[serde(default)]
    needs: BTreeMap<String, String>,
    change: Option<String>,
    effect: Effect,
    cost: Cost,
    does: String,
    source: String,
}

/// A value, and the file that contains it if there is one.
type Found = (Option<String>, String);

impl Advice {
    /// The settings that apply here, with the plan's cases.
    ///
    /// # Panics
    /// Never: `settings.toml` is part of this program.
    pub fn of(files: &SystemFiles, plan: &AdvicePlan) -> Self {
        let table: BTreeMap<String, Vec<Known>> =
            toml::from_str(include_str!("settings.toml")).expect("a table that is tested");
        let known = table.into_values().flatten();
        let mut settings: Vec<Setting> =
            known.filter_map(|known| known.applied(files, plan)).collect();
        settings.sort_by_key(|setting| setting.effect);
        Self { schema_version: SCHEMA_VERSION.to_owned(), settings }
    }
}

impl Known {
    /// The setting as it is here; `None` where it does not apply.
    fn applied(self, files: &SystemFiles, plan: &AdvicePlan) -> Option<Setting> {
        let is_met = |(file, value): (&String, &String)| match files.line(file) {
            None => value.is_empty(),
            Some(line) => match value.strip_prefix('!') {
                Some(other) => line != other,
                None => line == *value,
            },
        };
        if !self.needs.iter().all(is_met) {
            return None;
        }
        let found = match &self.fact {
            Some(fact) => fact_of(files, fact).into_iter().collect(),
            None => self.in_files(files),
        };
        let text = match &self.choices {
            Some(file) => Some(files.line(file)?),
            None => {
                let (_, text) = found.first()?;
                choice(text).map(|_| text.replace(['[', ']', '(', ')'], ""))
            }
        };
        let is_choice = |value: &&String| {
            text.as_ref().is_none_or(|text| text.split_whitespace().any(|word| word == *value))
        };
        let found: Vec<Found> =
            found.into_iter().map(|(file, text)| (file, choice(&text).unwrap_or(text))).collect();
        let is_set = |value: &String| found.iter().all(|(_, now)| now == value);
        let advised = self.advised.iter().filter(is_choice).find(|value| !is_set(value))?.clone();
        let applies = |now: &str| match &self.only {
            Some(only) => now.contains(only),
            None if self.below => now.parse::<u64>().ok() < advised.parse().ok(),
            None => now != advised,
        };
        let applying: Vec<&Found> = found.iter().filter(|(_, now)| applies(now)).collect();
        if applying.is_empty() {
            return None;
        }
        let paths: Vec<String> = found.iter().filter_map(|(path, _)| path.clone()).collect();
        // Of any file of a folder, the name tells more than what is in it.
        let is_any = self.file.as_ref().is_some_and(|file| file.ends_with("/*"));
        let name = |(path, _): &&Found| Some(path.as_ref()?.rsplit('/').next()?.to_owned());
        let mut values: Vec<String> = if is_any {
            applying.iter().filter_map(name).collect()
        } else {
            found.iter().map(|(_, now)| now.clone()).collect()
        };
        values.sort_unstable();
        values.dedup();
        // Of a control group without a file of this form, the older one's word.
        let advised = match &paths[..] {
            [path] if path.ends_with("cpu.cfs_quota_us") => "-1".to_owned(),
            _ => advised,
        };
        let written = if self.change.is_none() { paths } else { Vec::new() };
        Some(Setting {
            change: self.change.clone().unwrap_or_else(|| match &written[..] {
                [path] => format!("echo {advised} > /{path}"),
                _ => format!("echo {advised} | tee /{}", self.pattern(files).unwrap_or_default()),
            }),
            name: self.name,
            value: values.join(", "),
            advised,
            effect: self.effect,
            does: self.does,
            source: self.source,
            cost: self.cost,
            cases: plan.get(&self.cost).cloned().unwrap_or_default(),
            files: written,
        })
    }

    /// The pattern of its files, without `{deepest}`.
    fn pattern(&self, files: &SystemFiles) -> Option<String> {
        let states = files.names("sys/devices/system/cpu/cpu0/cpuidle");
        let deepest = states.iter().rfind(|name| name.starts_with("state") && *name != "state0");
        let file = self.file.as_ref()?;
        match deepest {
            Some(deepest) => Some(file.replace("{deepest}", deepest)),
            None => Some(file.clone()).filter(|file| !file.contains("{deepest}")),
        }
    }

    /// Its files and their lines.
    fn in_files(&self, files: &SystemFiles) -> Vec<Found> {
        let Some(pattern) = self.pattern(files) else { return Vec::new() };
        let mut paths = vec![String::new()];
        for part in pattern.split('/') {
            let below = |folder: &String| -> Vec<String> {
                let names = match part.strip_suffix('*') {
                    None => vec![part.to_owned()],
                    Some(start) => {
                        let mut names = files.names(folder);
                        names.retain(|name| name.starts_with(start));
                        names
                    }
                };
                let path = |name: &String| format!("{folder}/{name}").trim_matches('/').to_owned();
                names.iter().map(path).collect()
            };
            paths = paths.iter().flat_map(below).collect();
        }
        let found = |path: String| match &self.value {
            None => files.line(&path).map(|line| (Some(path), line)),
            Some(value) => {
                let (folder, name) = path.rsplit_once('/')?;
                let is_there = files.names(folder).iter().any(|found| found == name);
                is_there.then(|| (Some(path.clone()), value.clone()))
            }
        };
        paths.into_iter().filter_map(found).collect()
    }
}

/// The word that is marked in a list of choices.
fn choice(text: &str) -> Option<String> {
    chosen(text, '[', ']').or_else(|| chosen(text, '(', ')'))
}

/// A setting that is not simply in a file; `None` where it does not apply.
fn fact_of(files: &SystemFiles, fact: &str) -> Option<Found> {
    let contains = |path: &str, text: &str| files.text(path).is_some_and(|of| of.contains(text));
    match fact {
        "cpu-quota" => {
            let quota = |group: &Group| {
                let (file, none) = match group.version {
                    Version::One => (group.path("cpu.cfs_quota_us"), "-1"),
                    Version::Two => (group.path("cpu.max"), "max"),
                };
                let quota = files.line(&file).filter(|quota| !quota.starts_with(none))?;
                Some((Some(file), quota))
            };
            of_process(files, "cpu").iter().find_map(quota)
        }
        "cgroup-depth" => cpu_group_depth(files).map(|depth| (None, depth.to_string())),
        "timer-frequency" => timer_hz(files).map(|hertz| (None, hertz.to_string())),
        "dynamic-preemption" => contains("proc/sys/kernel/version", "PREEMPT_DYNAMIC")
            .then(|| (None, "dynamic; debugfs would tell which".to_owned())),
        "kernel-memory" => {
            let groups = files.text("proc/cgroups")?;
            let words: Vec<_> = groups.lines().map(str::split_whitespace).collect();
            let is_memory = |words: &std::str::SplitWhitespace| {
                let mut words = words.clone();
                words.next() == Some("memory") && words.last() == Some("1")
            };
            let is_charged = words.iter().any(is_memory) && !contains("proc/cmdline", "nokmem");
            is_charged.then(|| (None, "kernel memory is charged".to_owned()))
        }
        _ => None,
    }
}

impl Setting {
    /// The commands that test it.
    pub fn test(&self) -> String {
        if self.files.is_empty() {
            let cases = self.cases.join(" ");
            format!("brigade run --case {cases}, before and after; brigade compare BEFORE AFTER")
        } else {
            format!("brigade advise --try {}={}", self.name, self.advised)
        }
    }

    /// Its files below `root` and their values, each as it would be written.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn contents(&self, root: &Path) -> anyhow::Result<Vec<Content>> {
        let content = |file: &String| {
            let path = root.join(file);
            let text =
                fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            Ok((path, choice(&text).unwrap_or_else(|| text.trim().to_owned())))
        };
        self.files.iter().map(content).collect()
    }
}

/// Writes to each of these files.
///
/// # Errors
/// When one cannot be written.
pub fn write(contents: &[Content]) -> anyhow::Result<()> {
    contents.iter().try_for_each(|(path, text)| {
        fs::write(path, text).with_context(|| format!("writing {text} to {}", path.display()))
    })
}

/// A detached process that puts files back when it is asked to, or even if the runner is
/// killed.
#[derive(Debug)]
pub struct Restorer {
    /// Closed by the kernel when the runner and its guard have ended.
    alive: PipeWriter,
    /// Why a file could not be put back; empty if all were.
    failure: PipeReader,
}

impl Restorer {
    /// Begins to watch over files that contain `contents` now. This process must have no
    /// other thread, and no guard yet, which would end what it does not know.
    ///
    /// # Errors
    /// When the kernel refuses a process or a pipe.
    pub fn start(contents: &[Content]) -> io::Result<Self> {
        let (runner, alive) = io::pipe()?;
        let (failure, report) = io::pipe()?;
        // SAFETY: there is no other thread, whose locks would stay locked.
        match unsafe { fork() }? {
            ForkResult::Child => {
                drop((alive, failure));
                // Its parent ends at once, so that the runner is not its parent.
                // SAFETY: as above.
                if let Ok(ForkResult::Child) = unsafe { fork() } {
                    keep(runner, report, contents);
                }
                // SAFETY: this ends the process, and nothing of the runner's is run.
                unsafe { libc::_exit(0) }
            }
            ForkResult::Parent { child } => {
                reap(child)?;
                Ok(Self { alive, failure })
            }
        }
    }

    /// Puts the files back now.
    ///
    /// # Errors
    /// Why one was not.
    pub fn restore(self) -> anyhow::Result<()> {
        drop(self.alive);
        let mut failure = String::new();
        let mut report = self.failure;
        report.read_to_string(&mut failure).context("waiting for settings to be put back")?;
        ensure!(failure.is_empty(), "putting back what was: {failure}");
        Ok(())
    }
}

/// Sleeps until the runner has ended, then writes.
fn keep(mut runner: PipeReader, mut report: PipeWriter, contents: &[Content]) {
    leave_alone(c"brigade-restore");
    let _ = runner.read(&mut [0]);
    for content in contents {
        if let Err(error) = write(std::slice::from_ref(content)) {
            let _ = write!(report, "{error:#}; ");
        }
    }
}
