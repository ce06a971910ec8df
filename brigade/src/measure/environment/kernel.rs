//! The kernel: which one, and how it was set to behave.

use std::collections::BTreeMap;

use super::cgroup::cpu_group_depth;
use crate::store::environment::Kernel;
use harness::system_files::{SystemFiles, recordable};

/// Boot parameters that change how fast tasks switch, start or wake. A command
/// line may hold addresses, names and keys, so all others are left out.
const RECORDED_PARAMETERS: [&str; 41] = [
    "amd_pstate",
    "clocksource",
    "cpuidle.governor",
    "cpuidle.off",
    "cpuidle_haltpoll.force",
    "default_hugepagesz",
    "haltpoll.guest_halt_poll_ns",
    "highres",
    "hugepages",
    "hugepagesz",
    "idle",
    "init_on_alloc",
    "init_on_free",
    "intel_idle.max_cstate",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "kpti",
    "l1tf",
    "maxcpus",
    "mds",
    "mitigations",
    "nohz",
    "nohz_full",
    "nopti",
    "nosmt",
    "nospectre_v2",
    "nr_cpus",
    "preempt",
    "processor.max_cstate",
    "psi",
    "pti",
    "rcu_nocbs",
    "retbleed",
    "skew_tick",
    "spec_rstack_overflow",
    "spec_store_bypass_disable",
    "spectre_v2",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
];

/// The longest value of a boot parameter that is recorded, in characters.
const LONGEST_VALUE: usize = 64;

impl Kernel {
    /// Reads what the running kernel says of itself.
    pub(super) fn read(files: &SystemFiles) -> Self {
        let command_line = files.text("proc/cmdline").unwrap_or_default();
        Self {
            release: files.line("proc/sys/kernel/osrelease"),
            boot_parameters: boot_parameters(&command_line),
            preemption: preemption(files),
            transparent_hugepages: files
                .text("sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|choices| chosen(&choices, '[', ']')),
            timer_hz: timer_hz(files),
            base_slice_ns: files.number("sys/kernel/debug/sched/base_slice_ns"),
            autogroup: files
                .number("proc/sys/kernel/sched_autogroup_enabled")
                .map(|enabled| enabled != 0),
            sched_ext: files.line("sys/kernel/sched_ext/root/ops"),
            cpu_group_depth: cpu_group_depth(files),
        }
    }
}

/// What the kernel was configured with, where its distribution says so.
pub fn timer_hz(files: &SystemFiles) -> Option<u64> {
    let release = files.line("proc/sys/kernel/osrelease")?;
    let places = [format!("boot/config-{release}"), format!("lib/modules/{release}/config")];
    let config = places.iter().find_map(|place| files.text(place))?;
    config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?.trim().parse().ok()
}

/// The mode in force if debugfs may be read, otherwise what the build allows.
fn preemption(files: &SystemFiles) -> Option<String> {
    let in_force =
        files.text("sys/kernel/debug/sched/preempt").and_then(|choices| chosen(&choices, '(', ')'));
    in_force.or_else(|| Some(built_preemption(&files.text("proc/sys/kernel/version")?).to_owned()))
}

/// What a kernel whose `uname -v` is `version` was built to do.
fn built_preemption(version: &str) -> &'static str {
    let has = |word| version.split_whitespace().any(|other| other == word);
    if has("PREEMPT_RT") {
        "rt"
    } else if has("PREEMPT_DYNAMIC") {
        "dynamic"
    } else if has("PREEMPT_LAZY") {
        "lazy"
    } else if has("PREEMPT") {
        "full"
    } else {
        "none or voluntary"
    }
}

/// The marked one of the choices in a line such as `always [madvise] never`.
pub fn chosen(choices: &str, open: char, close: char) -> Option<String> {
    let word =
        choices.split_whitespace().find_map(|word| word.strip_prefix(open)?.strip_suffix(close))?;
    Some(recordable(word))
}

/// The recorded parameters of a kernel command line. As for the kernel, `-`
/// and `_` are the same in a name, a later setting replaces an earlier one,
/// and what follows `--` is not for the kernel.
fn boot_parameters(command_line: &str) -> BTreeMap<String, Option<String>> {
    command_line
        .split_whitespace()
        .take_while(|&word| word != "--")
        .filter_map(|word| {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            let name = name.replace('-', "_");
            let recorded = RECORDED_PARAMETERS.contains(&name.as_str());
            recorded.then(|| (name, value.map(harmless_value)))
        })
        .collect()
}

/// `value` if it is short and made of the characters that lists of CPUs,
/// numbers and mode names need; otherwise a word that says it was withheld.
fn harmless_value(value: &str) -> String {
    let needed = |c: char| c.is_ascii_alphanumeric() || matches!(c, ',' | '-' | '_' | ':');
    if value.len() <= LONGEST_VALUE && value.chars().all(needed) {
        value.to_owned()
    } else {
        "withheld".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn parameters_that_change_performance_are_kept() {
        let kept = boot_parameters(
            "quiet mitigations=off isolcpus=domain,managed_irq,2-3 nosmt intel-pstate=disable \
             processor.max_cstate=1 mitigations=auto",
        );
        let expected = [
            ("intel_pstate", some("disable")),
            ("isolcpus", some("domain,managed_irq,2-3")),
            ("mitigations", some("auto")),
            ("nosmt", None),
            ("processor.max_cstate", some("1")),
        ];
        assert_eq!(kept, expected.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn a_hostile_command_line_leaves_nothing_behind() {
        let long = format!("nohz_full={}", "1,".repeat(400));
        let kept = boot_parameters(&format!(
            "root=UUID=0af3 ip=10.0.0.7::10.0.0.1:255.255.255.0:db1.example.com \
             luks.key=/root/secret systemd.hostname=db1 password=hunter2 \
             mitigations=/home/alice isolcpus=alice@db1 idle=\"poll preempt=$(id) \
             \u{1b}]0;x clocksource=ts\u{7}c {long} -- tsc=token"
        ));
        let text = serde_json::to_string(&kept).expect("serializes");
        for secret in ["0af3", "10.0", "secret", "db1", "hunter2", "alice", "home", "(id", "token"]
        {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
        assert_eq!(kept["mitigations"], some("withheld"));
        assert_eq!(kept["nohz_full"], some("withheld"));
        assert!(text.len() < 400, "{text}");
    }

    #[test]
    fn an_empty_command_line_has_no_parameters() {
        assert!(boot_parameters("").is_empty());
        assert_eq!(boot_parameters("tsc=")["tsc"], some(""));
    }

    #[test]
    fn the_marked_choice_is_the_one_in_force() {
        assert_eq!(chosen("always [madvise] never\n", '[', ']'), some("madvise"));
        assert_eq!(chosen("none voluntary (full) lazy\n", '(', ')'), some("full"));
        assert_eq!(chosen("always madvise never", '[', ']'), None);
    }

    #[test]
    fn preemption_in_force_goes_before_what_was_built() {
        let built = ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Thu Jan 1");
        let in_force = ("sys/kernel/debug/sched/preempt", "none (voluntary) full\n");
        assert_eq!(preemption(&SystemFiles::made_up(&[built])), some("dynamic"));
        assert_eq!(preemption(&SystemFiles::made_up(&[built, in_force])), some("voluntary"));
        assert_eq!(preemption(&SystemFiles::made_up(&[])), None);
        assert_eq!(built_preemption("#1 SMP PREEMPT_RT Debian"), "rt");
        assert_eq!(built_preemption("#1 SMP Debian 6.1.0"), "none or voluntary");
    }
}
