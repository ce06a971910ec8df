//! The settings of this machine that are known to move what is measured: one function
//! each, which returns nothing where the setting does not apply.

use harness::control_groups::{Group, Version, of_process};
use harness::system_files::SystemFiles;

use crate::manifest::{Cost, Effect, Setting};
use crate::measure::environment::{chosen, cpu_group_depth, timer_hz};

const CPUIDLE: &str = "sys/devices/system/cpu/cpuidle";
const HALT_POLL: &str = "sys/module/haltpoll/parameters/guest_halt_poll_ns";
/// Longer than a sleeping CPU of a guest needs to wake, in nanoseconds.
const LONG_POLL: u64 = 200_000;

/// The settings that apply here.
pub fn settings(files: &SystemFiles) -> Vec<Setting> {
    let all: [fn(&SystemFiles) -> Option<Setting>; 14] = [
        halt_poll,
        resume_latency,
        dma_latency,
        idle_states,
        idle_governor,
        frequency_governor,
        energy_preference,
        mitigations,
        preemption,
        autogroup,
        pressure,
        cpu_quota,
        kernel_memory,
        timer_frequency,
    ];
    let more: [fn(&SystemFiles) -> Option<Setting>; 4] = [smt, huge_pages, group_depth, sched_ext];
    all.iter().chain(&more).filter_map(|setting| setting(files)).collect()
}

/// What is the same in most settings.
struct Known<'a> {
    name: &'a str,
    value: String,
    advised: &'a str,
    effect: Effect,
    does: &'a str,
    source: &'a str,
    cost: Cost,
}

impl Known<'_> {
    /// One that `files`, below the root, hold.
    fn in_files(self, files: &[String]) -> Setting {
        let advised = self.advised;
        let paths: Vec<String> = files.iter().map(|file| format!("/{file}")).collect();
        let change = match &paths[..] {
            [path] => format!("echo {advised} > {path}"),
            paths => format!("echo {advised} | tee {}", pattern_of(paths)),
        };
        Setting { files: files.to_vec(), ..self.by(&change) }
    }

    /// One that is a parameter of the kernel's command line.
    fn at_boot(self, parameter: &str) -> Setting {
        self.by(&format!("boot with {parameter}"))
    }

    /// One that something else changes.
    fn by(self, change: &str) -> Setting {
        Setting {
            name: self.name.to_owned(),
            value: self.value,
            advised: self.advised.to_owned(),
            effect: self.effect,
            does: self.does.to_owned(),
            source: self.source.to_owned(),
            cost: self.cost,
            cases: Vec::new(),
            change: change.to_owned(),
            files: Vec::new(),
        }
    }
}

/// Paths that differ in the number of a CPU as one pattern of a shell.
fn pattern_of(paths: &[String]) -> String {
    let pattern = |path: &String| {
        let (before, after) = path.split_once("/cpu/cpu")?;
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
        Some(format!("{before}/cpu/cpu*{after}"))
    };
    match paths.first().and_then(pattern) {
        Some(one) if paths.iter().all(|path| pattern(path).as_ref() == Some(&one)) => one,
        _ => paths.join(" "),
    }
}

/// The files of this name of all CPUs, and their values.
fn of_cpus(files: &SystemFiles, name: &str) -> Vec<(String, String)> {
    let cpus = files.names("sys/devices/system/cpu");
    let numbered = |cpu: &&String| {
        let number = cpu.strip_prefix("cpu");
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let file = |cpu: &String| {
        let file = format!("sys/devices/system/cpu/{cpu}/{name}");
        files.line(&file).map(|value| (file, value))
    };
    cpus.iter().filter(numbered).filter_map(file).collect()
}

/// The values of several files, each once.
fn values(files: &[(String, String)]) -> String {
    let mut values: Vec<&str> = files.iter().map(|(_, value)| value.as_str()).collect();
    values.sort_unstable();
    values.dedup();
    values.join(", ")
}

fn paths(files: Vec<(String, String)>) -> Vec<String> {
    files.into_iter().map(|(file, _)| file).collect()
}

fn has_idle_driver(files: &SystemFiles) -> bool {
    files.line(&format!("{CPUIDLE}/current_driver")).is_some_and(|driver| driver != "none")
}

fn halt_poll(files: &SystemFiles) -> Option<Setting> {
    let polls_ns = files.number(HALT_POLL)?;
    let is_driver = files.line(&format!("{CPUIDLE}/current_driver"))? == "haltpoll";
    (is_driver && polls_ns < LONG_POLL).then(|| {
        Known {
            name: "guest_halt_poll_ns",
            value: polls_ns.to_string(),
            advised: "200000",
            effect: Effect::Factor,
            does: "How long an idle CPU of a guest polls before it halts, in nanoseconds. One \
                   that polls wakes by itself; one that has halted is woken by the hypervisor. \
                   Polling takes CPU time from other guests.",
            source: "Linux, Documentation/virt/guest-halt-polling.rst",
            cost: Cost::Waking,
        }
        .in_files(&[HALT_POLL.to_owned()])
    })
}

fn resume_latency(files: &SystemFiles) -> Option<Setting> {
    let of_cpus = of_cpus(files, "power/pm_qos_resume_latency_us");
    let unbounded = of_cpus.iter().any(|(_, value)| value != "n/a");
    (has_idle_driver(files) && unbounded).then(|| {
        Known {
            name: "pm_qos_resume_latency_us",
            value: values(&of_cpus),
            advised: "n/a",
            effect: Effect::Factor,
            does: "How long each CPU may take to wake, in microseconds; 0 is no bound. With n/a \
                   it may not sleep at all: idle CPUs poll, and use power.",
            source: "Linux, Documentation/admin-guide/pm/cpuidle.rst",
            cost: Cost::Waking,
        }
        .in_files(&paths(of_cpus))
    })
}

fn dma_latency(files: &SystemFiles) -> Option<Setting> {
    let is_there = files.names("dev").iter().any(|name| name == "cpu_dma_latency");
    (has_idle_driver(files) && is_there).then(|| {
        Known {
            name: "cpu_dma_latency",
            value: "no bound that can be read without setting one".to_owned(),
            advised: "0",
            effect: Effect::Factor,
            does: "How long any CPU may take to wake, in microseconds, as long as some process \
                   keeps this file open. With 0, idle CPUs poll, and use power.",
            source: "Linux, Documentation/admin-guide/pm/cpuidle.rst",
            cost: Cost::Waking,
        }
        .by("exec 3<>/dev/cpu_dma_latency; printf '\\0\\0\\0\\0' >&3")
    })
}

fn idle_states(files: &SystemFiles) -> Option<Setting> {
    // That governor chooses among two states and asks nobody.
    if files.line(&format!("{CPUIDLE}/current_governor"))? == "haltpoll" {
        return None;
    }
    let states = files.names("sys/devices/system/cpu/cpu0/cpuidle");
    let deepest = states.iter().rfind(|state| state.starts_with("state"))?;
    let of_cpus = of_cpus(files, &format!("cpuidle/{deepest}/disable"));
    let is_enabled = of_cpus.iter().any(|(_, value)| value == "0");
    (deepest != "state0" && is_enabled).then(|| {
        Known {
            name: "deepest-idle-state-disable",
            value: values(&of_cpus),
            advised: "1",
            effect: Effect::Factor,
            does: "Whether the deepest idle state is left out. The deeper a CPU sleeps, the \
                   longer it takes to wake.",
            source: "Linux, Documentation/admin-guide/pm/cpuidle.rst",
            cost: Cost::Waking,
        }
        .in_files(&paths(of_cpus))
    })
}

fn idle_governor(files: &SystemFiles) -> Option<Setting> {
    let file = format!("{CPUIDLE}/current_governor");
    let now = files.line(&file)?;
    let available = files.line(&format!("{CPUIDLE}/available_governors"))?;
    let other = ["teo", "menu"].into_iter().find(|governor| {
        *governor != now && available.split_whitespace().any(|word| word == *governor)
    })?;
    has_idle_driver(files).then(|| {
        Known {
            name: "idle-governor",
            value: now,
            advised: other,
            effect: Effect::Tenths,
            does: "What chooses the idle state of a CPU: menu and teo expect a next wake-up and \
                   avoid a sleep that is too short for it, haltpoll polls and then halts.",
            source: "Linux, Documentation/admin-guide/pm/cpuidle.rst",
            cost: Cost::Waking,
        }
        .in_files(&[file])
    })
}

fn frequency_governor(files: &SystemFiles) -> Option<Setting> {
    let of_cpus = of_cpus(files, "cpufreq/scaling_governor");
    of_cpus.iter().any(|(_, value)| value != "performance").then(|| {
        Known {
            name: "frequency-governor",
            value: values(&of_cpus),
            advised: "performance",
            effect: Effect::Tenths,
            does: "What chooses the frequency of a CPU. One that is often idle for a moment, as \
                   in a hand-over, may be thought to need little.",
            source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
            cost: Cost::Switching,
        }
        .in_files(&paths(of_cpus))
    })
}

fn energy_preference(files: &SystemFiles) -> Option<Setting> {
    let of_cpus = of_cpus(files, "cpufreq/energy_performance_preference");
    of_cpus.iter().any(|(_, value)| value != "performance").then(|| {
        Known {
            name: "energy-preference",
            value: values(&of_cpus),
            advised: "performance",
            effect: Effect::Tenths,
            does: "What the processor itself prefers where it chooses its frequency.",
            source: "Linux, Documentation/admin-guide/pm/intel_pstate.rst",
            cost: Cost::Switching,
        }
        .in_files(&paths(of_cpus))
    })
}

fn mitigations(files: &SystemFiles) -> Option<Setting> {
    let folder = "sys/devices/system/cpu/vulnerabilities";
    let names = files.names(folder);
    let mitigated = |name: &&String| {
        let state = files.line(&format!("{folder}/{name}"));
        state.is_some_and(|state| state.starts_with("Mitigation"))
    };
    let active: Vec<&str> = names.iter().filter(mitigated).map(String::as_str).collect();
    (!active.is_empty()).then(|| {
        Known {
            name: "mitigations",
            value: active.join(", "),
            advised: "off",
            effect: Effect::Tenths,
            does: "What the kernel does at system calls and switches against attacks through the \
                   processor. Without it, a machine that runs code of several owners is not safe.",
            source: "Linux, Documentation/admin-guide/kernel-parameters.txt: mitigations=",
            cost: Cost::Switching,
        }
        .at_boot("mitigations=off")
    })
}

fn preemption(files: &SystemFiles) -> Option<Setting> {
    let file = "sys/kernel/debug/sched/preempt";
    let does = "Whether a thread is preempted inside the kernel. A thread that wakes another one \
                on its own CPU then goes on for longer before that one runs.";
    let known = |value: String, advised| Known {
        name: "preemption",
        value,
        advised,
        effect: Effect::Percents,
        does,
        source: "Linux, Documentation/admin-guide/kernel-parameters.txt: preempt=",
        cost: Cost::Switching,
    };
    match files.line(file) {
        Some(choices) => {
            let now = chosen(&choices, '(', ')')?;
            let advised = if now == "none" { "full" } else { "none" };
            choices.contains(advised).then(|| known(now, advised).in_files(&[file.to_owned()]))
        }
        None => {
            let built = files.line("proc/sys/kernel/version")?;
            let is_dynamic = built.split_whitespace().any(|word| word == "PREEMPT_DYNAMIC");
            is_dynamic.then(|| {
                known("dynamic; debugfs would tell which".to_owned(), "none")
                    .by("mount -t debugfs none /sys/kernel/debug, and ask again")
            })
        }
    }
}

fn autogroup(files: &SystemFiles) -> Option<Setting> {
    let file = "proc/sys/kernel/sched_autogroup_enabled";
    (files.number(file)? == 1).then(|| {
        Known {
            name: "sched_autogroup_enabled",
            value: "1".to_owned(),
            advised: "0",
            effect: Effect::Percents,
            does: "Whether each session's tasks are a group to the scheduler: one more level to \
                   walk at a switch, and CPU time is shared between sessions first.",
            source: "sched(7)",
            cost: Cost::Switching,
        }
        .in_files(&[file.to_owned()])
    })
}

fn pressure(files: &SystemFiles) -> Option<Setting> {
    files.line("proc/pressure/cpu").map(|_| {
        Known {
            name: "psi",
            value: "1".to_owned(),
            advised: "0",
            effect: Effect::Percents,
            does: "Whether the kernel accounts at every switch for how long tasks wait \
                   (/proc/pressure).",
            source: "Linux, Documentation/accounting/psi.rst",
            cost: Cost::Switching,
        }
        .at_boot("psi=0")
    })
}

/// A group's limit of CPU time: its file, and what that says where there is none.
fn quota_file(group: &Group) -> (String, &'static str) {
    match group.version {
        Version::One => (group.path("cpu.cfs_quota_us"), "-1"),
        Version::Two => (group.path("cpu.max"), "max"),
    }
}

fn cpu_quota(files: &SystemFiles) -> Option<Setting> {
    let groups = of_process(files, "cpu");
    let limited = |(file, none): (String, &'static str)| {
        let quota = files.line(&file)?;
        (!quota.starts_with(none)).then_some((file, quota, none))
    };
    let (file, quota, none) = groups.iter().map(quota_file).find_map(limited)?;
    Some(
        Known {
            name: "cpu-quota",
            value: quota,
            advised: none,
            effect: Effect::Factor,
            does: "How much CPU time the group of this process gets in each period. When it is \
                   spent, all of its tasks wait for the next one.",
            source: "Linux, Documentation/scheduler/sched-bwc.rst",
            cost: Cost::Waking,
        }
        .in_files(&[file]),
    )
}

fn group_depth(files: &SystemFiles) -> Option<Setting> {
    let depth = cpu_group_depth(files)?;
    (depth > 0).then(|| {
        Known {
            name: "cgroup-depth",
            value: depth.to_string(),
            advised: "0",
            effect: Effect::Percents,
            does: "How deep in control groups of the CPU this process is: the scheduler walks \
                   every level at a switch.",
            source: "Linux, Documentation/scheduler/sched-design-CFS.rst",
            cost: Cost::Switching,
        }
        .by("start brigade from the root group")
    })
}

fn kernel_memory(files: &SystemFiles) -> Option<Setting> {
    let groups = files.text("proc/cgroups")?;
    let enabled = groups.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("memory") && words.last() == Some("1")
    });
    let command_line = files.text("proc/cmdline").unwrap_or_default();
    (enabled && !command_line.contains("nokmem")).then(|| {
        Known {
            name: "cgroup.memory",
            value: "kernel memory is charged".to_owned(),
            advised: "nokmem",
            effect: Effect::Percents,
            does: "Whether control groups are charged for memory of the kernel, such as the \
                   stack and the descriptor of each thread.",
            source: "Linux, Documentation/admin-guide/kernel-parameters.txt: cgroup.memory=",
            cost: Cost::Creation,
        }
        .at_boot("cgroup.memory=nokmem")
    })
}

fn timer_frequency(files: &SystemFiles) -> Option<Setting> {
    let hertz = timer_hz(files)?;
    (hertz != 100).then(|| {
        Known {
            name: "timer-frequency",
            value: format!("{hertz} Hz"),
            advised: "100",
            effect: Effect::Percents,
            does: "How often a timer interrupts a CPU that works, and how long a task may have it \
                   before another one's turn.",
            source: "Linux, kernel/Kconfig.hz",
            cost: Cost::Switching,
        }
        .by("build a kernel with CONFIG_HZ_100")
    })
}

fn smt(files: &SystemFiles) -> Option<Setting> {
    let file = "sys/devices/system/cpu/smt/control";
    (files.line(file)? == "on").then(|| {
        Known {
            name: "smt",
            value: "on".to_owned(),
            advised: "off",
            effect: Effect::Tenths,
            does: "Whether a core runs two threads at once, which share its caches and units.",
            source: "Linux, Documentation/ABI/testing/sysfs-devices-system-cpu",
            cost: Cost::Switching,
        }
        .by("echo off > /sys/devices/system/cpu/smt/control")
    })
}

fn huge_pages(files: &SystemFiles) -> Option<Setting> {
    let file = "sys/kernel/mm/transparent_hugepage/enabled";
    let now = chosen(&files.line(file)?, '[', ']')?;
    (now == "always").then(|| {
        Known {
            name: "transparent_hugepage",
            value: now,
            advised: "madvise",
            effect: Effect::Tenths,
            does: "Whether memory gets pages of 2 MiB without asking, stacks of threads too \
                   where they are aligned so.",
            source: "Linux, Documentation/admin-guide/mm/transhuge.rst",
            cost: Cost::Creation,
        }
        .in_files(&[file.to_owned()])
    })
}

fn sched_ext(files: &SystemFiles) -> Option<Setting> {
    (files.line("sys/kernel/sched_ext/state")? == "enabled").then(|| {
        Known {
            name: "sched_ext",
            value: files.line("sys/kernel/sched_ext/root/ops").unwrap_or("a program".to_owned()),
            advised: "none",
            effect: Effect::Factor,
            does: "A scheduler that was loaded takes the place of the kernel's own.",
            source: "Linux, Documentation/scheduler/sched-ext.rst",
            cost: Cost::Waking,
        }
        .by("end the program that loaded it")
    })
}
