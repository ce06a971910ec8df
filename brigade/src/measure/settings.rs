//! Reads and writes the settings in `settings.toml`, which change the results, and restores those
//! that are only tried.

use std::collections::{BTreeMap, BTreeSet};

use harness::control_groups::{Group, of_process};
use harness::system_files::SystemFiles;
use serde::{Deserialize, Serialize};

use crate::manifest::{AdvicePlan, Cost};
use crate::measure::environment::{chosen, cpu_group_depth, timer_hz};

/// Version of [`Advice`]'s schema.
pub const SCHEMA_VERSION: &str = "1.0";

/// How much a setting is expected to change the cases it affects. It only orders settings; it is
/// not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Several-fold.
    Factor,
    /// By 10 % or more.
    Tenths,
    /// By a few percent.
    Percents,
}

/// All settings that exist on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Advice {
    /// Schema version.
    pub schema_version: String,
    /// The settings, largest expected effect first.
    pub settings: Vec<Setting>,
}

/// A setting of this machine that could be different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Setting {
    /// Its description.
    #[serde(flatten)]
    pub about: About,
    /// Its current value.
    pub value: String,
    /// The value that may lower the costs.
    pub advised: String,
    /// The cases it affects, from the manifest.
    pub cases: Vec<String>,
    /// The command that changes it.
    pub change: String,
    /// Its files and their contents, if it can be changed at run time.
    pub files: BTreeMap<String, String>,
}

/// A setting: its file, values and expected effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct About {
    /// Its name.
    pub name: String,
    /// Its expected effect.
    pub effect: Effect,
    /// The cost it affects.
    pub cost: Cost,
    /// What it does.
    pub does: String,
    /// Where it is documented.
    pub source: String,
}

/// An entry of `settings.toml`, which explains the keys.
#[derive(Debug, Deserialize)]
struct Known {
    #[serde(flatten)]
    about: About,
    file: Option<String>,
    advised: Vec<String>,
    only: Option<String>,
    #[serde(default)]
    below: bool,
    value: Option<String>,
    choices: Option<String>,
    #[serde(default)]
    needs: BTreeMap<String, String>,
    change: Option<String>,
}

impl Advice {
    /// The settings of this machine, with the plan's cases.
    ///
    /// # Panics
    /// Never: `settings.toml` is part of this program.
    pub fn of(files: &SystemFiles, plan: &AdvicePlan) -> Self {
        let table: BTreeMap<String, Vec<Known>> =
            toml::from_str(include_str!("settings.toml")).expect("a table that is tested");
        let known = table.into_values().flatten();
        let mut settings: Vec<Setting> =
            known.filter_map(|known| known.applied(files, plan)).collect();
        settings.sort_by_key(|setting| setting.about.effect);
        Self { schema_version: SCHEMA_VERSION.to_owned(), settings }
    }
}

impl Known {
    /// The setting on this machine; `None` if it does not apply.
    fn applied(self, files: &SystemFiles, plan: &AdvicePlan) -> Option<Setting> {
        let is_met = |(file, value): (&String, &String)| match files.line(file) {
            None => value.is_empty(),
            Some(line) => value.strip_prefix('!').map_or(line == *value, |other| line != other),
        };
        if !self.needs.iter().all(is_met) {
            return None;
        }
        let pattern = self.pattern(files);
        let mut found = match &pattern {
            None => fact(files, &self.about.name).into_iter().collect(),
            Some(pattern) => self.in_files(files, pattern),
        };
        let marked = found.values().next().filter(|text| choice(text).is_some());
        let choices = match &self.choices {
            Some(file) => Some(files.line(file)?),
            None => marked.map(|text| text.replace(['[', ']', '(', ')'], "")),
        };
        found.values_mut().for_each(|text| *text = choice(text).unwrap_or(text.clone()));
        let can_be = |value: &&String| {
            let has = |choices: &String| choices.split_whitespace().any(|word| word == *value);
            choices.as_ref().is_none_or(has) && found.values().any(|now| now != *value)
        };
        let mut advised = self.advised.iter().find(can_be)?.clone();
        // Control groups of version 1 have a different word for no limit.
        if found.keys().any(|path| path.ends_with("cpu.cfs_quota_us")) {
            advised = "-1".to_owned();
        }
        let applies = |now: &str| match &self.only {
            Some(only) => now.contains(only),
            None if self.below => now.parse::<u64>().ok() < advised.parse().ok(),
            None => now != advised,
        };
        if !found.values().any(|now| applies(now)) {
            return None;
        }
        // For any file in a folder, the file's name is the value.
        let values: BTreeSet<&str> = if pattern.as_ref().is_some_and(|of| of.ends_with("/*")) {
            let applying = found.iter().filter(|(_, now)| applies(now));
            applying.filter_map(|(path, _)| path.rsplit('/').next()).collect()
        } else {
            found.values().map(String::as_str).collect()
        };
        let value = values.into_iter().collect::<Vec<_>>().join(", ");
        let change = self.change.clone().unwrap_or_else(|| match found.keys().next() {
            Some(path) if found.len() == 1 => format!("echo {advised} > /{path}"),
            _ => format!("echo {advised} | tee /{}", pattern.unwrap_or_default()),
        });
        let cases = plan.get(&self.about.cost).cloned().unwrap_or_default();
        let files = if self.change.is_none() { found } else { BTreeMap::new() };
        Some(Setting { about: self.about, value, advised, cases, change, files })
    }

    /// The pattern of its files; `None` for a fact. If it needs an idle state that is missing, it
    /// matches no file.
    fn pattern(&self, files: &SystemFiles) -> Option<String> {
        let states = files.names("sys/devices/system/cpu/cpu0/cpuidle");
        let deepest = states.iter().rfind(|name| name.starts_with("state") && *name != "state0");
        Some(self.file.as_ref()?.replace("{deepest}", deepest.map_or("none", String::as_str)))
    }

    /// The files that match a pattern, and their lines.
    fn in_files(&self, files: &SystemFiles, pattern: &str) -> BTreeMap<String, String> {
        let mut paths = vec![String::new()];
        for part in pattern.split('/') {
            let below = |folder: &String| {
                let mut names = vec![part.to_owned()];
                if let Some(start) = part.strip_suffix('*') {
                    names = files.names(folder);
                    names.retain(|name| name.starts_with(start));
                }
                let path = |name: &String| format!("{folder}/{name}").trim_matches('/').to_owned();
                names.iter().map(path).collect::<Vec<_>>()
            };
            paths = paths.iter().flat_map(below).collect();
        }
        let line = |path: &str| match &self.value {
            None => files.line(path),
            Some(value) => {
                let (folder, name) = path.rsplit_once('/')?;
                files.names(folder).iter().any(|found| found == name).then(|| value.clone())
            }
        };
        paths.into_iter().filter_map(|path| Some((path.clone(), line(&path)?))).collect()
    }
}

/// The selected word in a list of choices.
fn choice(text: &str) -> Option<String> {
    chosen(text, '[', ']').or_else(|| chosen(text, '(', ')'))
}

/// A setting that is not simply the content of a file, and its file, if any; `None` if it does not
/// apply.
fn fact(files: &SystemFiles, name: &str) -> Option<(String, String)> {
    let contains = |path: &str, text: &str| files.text(path).is_some_and(|of| of.contains(text));
    let value = match name {
        "cpu-quota" => {
            let quota = |group: &Group| {
                let (name, none) = group.by_version(("cpu.cfs_quota_us", "-1"), ("cpu.max", "max"));
                let file = group.path(name);
                let quota = files.line(&file).filter(|quota| !quota.starts_with(none))?;
                Some((file, quota))
            };
            return of_process(files, "cpu").iter().find_map(quota);
        }
        "cgroup-depth" => cpu_group_depth(files)?.to_string(),
        "timer-frequency" => timer_hz(files)?.to_string(),
        "preemption" if contains("proc/sys/kernel/version", "PREEMPT_DYNAMIC") => {
            "dynamic; debugfs would show which".to_owned()
        }
        "cgroup.memory" if !contains("proc/cmdline", "nokmem") => {
            let groups = files.text("proc/cgroups")?;
            let memory = groups.lines().find(|line| line.starts_with("memory"))?;
            memory.ends_with('1').then(|| "kernel memory is charged".to_owned())?
        }
        _ => return None,
    };
    Some((String::new(), value))
}

impl Setting {
    /// The commands that test it.
    pub fn test(&self) -> String {
        if self.files.is_empty() {
            let cases = self.cases.join(" ");
            format!("brigade run --case {cases}, before and after; brigade compare BEFORE AFTER")
        } else {
            format!("brigade advise --try {}={}", self.about.name, self.advised)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: &str = "sys/devices/system/cpu";

    /// A machine with every setting except `guest_halt_poll_ns`.
    fn machine() -> SystemFiles {
        let files = [
            ("cpuidle/current_driver", "intel_idle"),
            ("cpuidle/current_governor", "menu"),
            ("cpuidle/available_governors", "ladder menu teo"),
            ("cpu0/power/pm_qos_resume_latency_us", "0"),
            ("cpu1/power/pm_qos_resume_latency_us", "n/a"),
            ("cpu0/cpuidle/state0/disable", "0"),
            ("cpu0/cpuidle/state1/disable", "0"),
            ("cpu1/cpuidle/state1/disable", "1"),
            ("cpu0/cpufreq/scaling_governor", "schedutil"),
            ("cpu0/cpufreq/energy_performance_preference", "power"),
            ("vulnerabilities/spectre_v2", "Mitigation: Retpolines"),
            ("vulnerabilities/l1tf", "Mitigation: PTE Inversion"),
            ("vulnerabilities/meltdown", "Not affected"),
            ("smt/control", "on"),
        ];
        let files = files.map(|(file, text)| (format!("{CPU}/{file}"), text));
        let machine = files
            .iter()
            .fold(SystemFiles::simulated(&[]), |machine, (file, text)| machine.with(file, text));
        machine
            .with("dev/cpu_dma_latency", "")
            .with("sys/kernel/debug/sched/preempt", "none voluntary (full)\n")
            .with("proc/sys/kernel/sched_autogroup_enabled", "1")
            .with("proc/pressure/cpu", "some avg10=0.00")
            .with("proc/cgroups", "#name\thierarchy\tnumber\tenabled\nmemory\t0\t5\t1\n")
            .with("proc/sys/kernel/osrelease", "6.1")
            .with("boot/config-6.1", "CONFIG_HZ=250\n")
            .with("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never")
            .with("sys/kernel/sched_ext/state", "enabled")
            .with("sys/kernel/sched_ext/root/ops", "scx_rusty")
            .with("proc/self/cgroup", "0::/a")
            .with("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
            .with("sys/fs/cgroup/a/cpu.max", "50000 100000")
            .with("sys/fs/cgroup/a/cpu.weight", "100")
    }

    fn found(machine: &SystemFiles, name: &str) -> Option<Setting> {
        let settings = Advice::of(machine, &AdvicePlan::new()).settings;
        settings.into_iter().find(|setting| setting.about.name == name)
    }

    #[test]
    fn each_setting_is_found_with_its_value() {
        let expected = [
            ("pm_qos_resume_latency_us", "0, n/a"),
            ("cpu_dma_latency", "unknown; it cannot be read without setting it"),
            ("deepest-idle-state-disable", "0, 1"),
            ("cpu-quota", "50000 100000"),
            ("sched_ext", "scx_rusty"),
            ("idle-governor", "menu"),
            ("frequency-governor", "schedutil"),
            ("energy-preference", "power"),
            ("mitigations", "l1tf, spectre_v2"),
            ("smt", "on"),
            ("transparent_hugepage", "always"),
            ("preemption", "full"),
            ("sched_autogroup_enabled", "1"),
            ("psi", "1"),
            ("cgroup.memory", "kernel memory is charged"),
            ("timer-frequency", "250"),
            ("cgroup-depth", "1"),
        ];
        let settings = Advice::of(&machine(), &AdvicePlan::new()).settings;
        let settings: Vec<_> = settings.iter().map(|of| (&*of.about.name, &*of.value)).collect();
        assert_eq!(settings, expected, "largest effect first");
        assert!(Advice::of(&SystemFiles::simulated(&[]), &AdvicePlan::new()).settings.is_empty());
        for (name, change) in [
            ("cpu-quota", "echo max > /sys/fs/cgroup/a/cpu.max".to_owned()),
            ("idle-governor", format!("echo teo > /{CPU}/cpuidle/current_governor")),
            (
                "deepest-idle-state-disable",
                format!("echo 1 | tee /{CPU}/cpu*/cpuidle/state1/disable"),
            ),
            ("psi", "boot with psi=0".to_owned()),
        ] {
            assert_eq!(found(&machine(), name).map(|of| of.change), Some(change));
        }
    }

    #[test]
    fn a_setting_depends_on_its_value_and_on_others() {
        let with = |file: &str, text: &str, name| found(&machine().with(file, text), name);
        let driver = format!("{CPU}/cpuidle/current_driver");
        assert_eq!(with(&driver, "none", "pm_qos_resume_latency_us"), None);
        assert_eq!(with("boot/config-6.1", "CONFIG_HZ=100\n", "timer-frequency"), None);
        assert_eq!(with("sys/fs/cgroup/a/cpu.max", "max 100000", "cpu-quota"), None);
        assert_eq!(with("proc/cmdline", "quiet cgroup.memory=nokmem", "cgroup.memory"), None);
        let preempt = with("sys/kernel/debug/sched/preempt", "(none) full", "preemption");
        assert_eq!(preempt.map(|of| of.advised).as_deref(), Some("full"));
        let poll = "sys/module/haltpoll/parameters/guest_halt_poll_ns";
        let guest = machine().with(&driver, "haltpoll");
        for (now, applies) in [("0", true), ("199999", true), ("200000", false), ("300000", false)]
        {
            assert_eq!(
                found(&guest.clone().with(poll, now), "guest_halt_poll_ns").is_some(),
                applies
            );
        }
    }
}
