//! Reads the machine and the software behind a run's figures.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use harness::anonymous;
use harness::control_groups::{self, Groups};
use harness::cpu_kinds;
use harness::cpus;
use harness::emulation;
use harness::inherited::{EMULATED_ON, inherited_by_children, joined};
use harness::system_files::{SystemFiles, field, kib_field, recordable};

use crate::manifest::Manifest;
use crate::measure::arm_cores;
use crate::measure::process::{self, LONGEST_ANSWER};
use crate::store::results::{Environment, SCHEMA_VERSION};

/// The versions of the crates in this binary.
const LOCK: &str = include_str!(concat!(env!("OUT_DIR"), "/Cargo.lock"));

/// The commit of this binary, with `-dirty` if files differed from it; known in release builds from
/// a working tree.
pub const REVISION: Option<&str> = option_env!("BRIGADE_REVISION");

/// The kernel's folder of CPUs.
const CPUS: &str = "sys/devices/system/cpu";

/// Facts that are the only line of a file.
const LINES: [(&str, &str); 12] = [
    ("processor.clock_source", "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("processor.idle_driver", "sys/devices/system/cpu/cpuidle/current_driver"),
    ("processor.idle_governor", "sys/devices/system/cpu/cpuidle/current_governor"),
    ("processor.idle_poll_ns", "sys/module/haltpoll/parameters/guest_halt_poll_ns"),
    ("processor.smt", "sys/devices/system/cpu/smt/control"),
    ("kernel.release", "proc/sys/kernel/osrelease"),
    ("kernel.base_slice_ns", "sys/kernel/debug/sched/base_slice_ns"),
    ("kernel.autogroup", "proc/sys/kernel/sched_autogroup_enabled"),
    ("kernel.sched_ext", "sys/kernel/sched_ext/root/ops"),
    ("limits.machine_threads", "proc/sys/kernel/threads-max"),
    ("limits.machine_pids", "proc/sys/kernel/pid_max"),
    ("limits.memory_maps", "proc/sys/vm/max_map_count"),
];

/// Boot parameters that change how fast tasks switch, start or wake. All others
/// are omitted: a command line may contain addresses, names and keys.
const BOOT_PARAMETERS: &str = "\
    amd_pstate clocksource cpuidle.governor cpuidle.off cpuidle_haltpoll.force \
    default_hugepagesz haltpoll.guest_halt_poll_ns highres hugepages hugepagesz idle \
    init_on_alloc init_on_free intel_idle.max_cstate intel_pstate irqaffinity isolcpus kpti \
    l1tf maxcpus mds mitigations nohz nohz_full nopti nosmt nospectre_v2 nr_cpus preempt \
    processor.max_cstate psi pti rcu_nocbs retbleed skew_tick spec_rstack_overflow \
    spec_store_bypass_disable spectre_v2 threadirqs transparent_hugepage tsc";

impl Environment {
    /// Reads the environment of this process, with the workspace, tools and
    /// measured crates of the `manifest`.
    pub fn capture(manifest: &Manifest) -> Self {
        let mut environment = Self::of_machine(&SystemFiles::live());
        environment.facts.extend(inherited_by_children(None));
        environment.add_software(manifest);
        environment
    }

    /// Facts in the kernel's files.
    pub fn of_machine(files: &SystemFiles) -> Self {
        let mut machine = Self { schema_version: SCHEMA_VERSION.to_owned(), ..Self::default() };
        for (name, path) in LINES {
            machine.set(name, files.line(path).filter(|line| line != "none"));
        }
        machine.add_cpus(files);
        machine.add_processor(files);
        let status = files.text("proc/self/status").unwrap_or_default();
        let allowed = field(&status, "Cpus_allowed_list");
        machine.set("processor.allowed_cpus", allowed.map(|list| cpus::listed(list).len()));
        for (name, value) in boot_parameters(&files.text("proc/cmdline").unwrap_or_default()) {
            machine.set(format!("kernel.boot_parameters.{name}"), Some(value));
        }
        let pages = files.text("sys/kernel/mm/transparent_hugepage/enabled");
        machine.set("kernel.transparent_hugepages", pages.and_then(|text| chosen(&text)));
        machine.set("kernel.preemption", preemption(files));
        machine.set("kernel.timer_hz", timer_hz(files));
        let groups = Groups::of_process(files, "cpu");
        if !groups.visible.is_empty() {
            machine.set("kernel.cpu_group_depth", cpu_group_depth(files, &groups));
            machine.set("limits.cgroup.cpu_quota_millicpus", cpu_quota(files, &groups));
        }
        let memory = files.text("proc/meminfo");
        machine.set("memory_total_bytes", memory.and_then(|text| kib_field(&text, "MemTotal")));
        // A checksum: the kernel's boot id would identify the machine.
        let boot = files.line("proc/sys/kernel/random/boot_id");
        machine.set("boot", boot.map(|id| format!("{:08x}", crc32fast::hash(id.as_bytes()))));
        machine
    }

    /// Facts of all online CPUs. If CPUs differ, a fact has several values.
    fn add_cpus(&mut self, files: &SystemFiles) {
        let online = cpus::listed(&files.text(&format!("{CPUS}/online")).unwrap_or_default());
        self.set("processor.online_cpus", Some(online.len()).filter(|count| *count > 0));
        let mut facts = BTreeMap::<String, BTreeSet<String>>::new();
        for cpu in online {
            let folder = format!("{CPUS}/cpu{cpu}");
            let governor = files.line(&format!("{folder}/cpufreq/scaling_governor"));
            let governor = governor.map(|governor| ("processor.governor".to_owned(), governor));
            let caches = files.names(&format!("{folder}/cache")).into_iter();
            let caches = caches.filter_map(|name| cache(files, &format!("{folder}/cache/{name}")));
            for (name, value) in caches.chain(governor) {
                facts.entry(name).or_default().insert(value);
            }
        }
        for (name, values) in facts {
            self.set(name, joined(values));
        }
    }

    fn add_processor(&mut self, files: &SystemFiles) {
        let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
        let named = ["model name", "Model", "cpu"].iter().find_map(|name| field(&cpuinfo, name));
        let model = arm_cores::names(&cpuinfo).or(named.map(str::to_owned));
        let model = model.map(|model| recordable(&model)).filter(|model| !model.is_empty());
        self.set("processor.model", model);
        for (name, key) in
            [("family", "cpu family"), ("model_number", "model"), ("microcode", "microcode")]
        {
            self.set(format!("processor.{name}"), field(&cpuinfo, key).map(recordable));
        }
        self.set("processor.kinds", cpu_kinds::text(&cpu_kinds::kinds(files)));
        self.set("processor.architecture", Some(std::env::consts::ARCH));
        self.set("processor.virtualisation", virtualisation(files));
        self.set(EMULATED_ON, emulation::emulated_on(files));
        for name in files.names(&format!("{CPUS}/vulnerabilities")) {
            let state = files.line(&format!("{CPUS}/vulnerabilities/{name}"));
            self.set(format!("processor.mitigations.{name}"), state);
        }
        let folder = format!("{CPUS}/cpu0/cpuidle");
        let state = |state: String| {
            let file = |name: &str| files.line(&format!("{folder}/{state}/{name}"));
            let latency = file("latency").map_or(String::new(), |us| format!(" {us} µs"));
            let disabled = if file("disable").as_deref() == Some("1") { " disabled" } else { "" };
            Some(format!("{}{latency}{disabled}", file("name")?))
        };
        let states = files.names(&folder).into_iter().filter_map(state);
        self.set("processor.idle_states", joined(states));
    }

    /// What this binary was built from and with, as its build script recorded it, and the versions
    /// of the guests' tools.
    fn add_software(&mut self, manifest: &Manifest) {
        self.set("software.brigade", Some(env!("CARGO_PKG_VERSION")));
        self.set("software.libc", libc_version());
        self.set("software.rustc", option_env!("BRIGADE_RUSTC").map(recordable));
        // A hop of less than a microsecond depends on these.
        self.set("software.build.profile", option_env!("BRIGADE_PROFILE"));
        self.set("software.build.opt_level", option_env!("BRIGADE_OPT_LEVEL"));
        self.set("software.build.codegen_units", option_env!("BRIGADE_CODEGEN_UNITS"));
        self.set("software.build.lto", option_env!("BRIGADE_LTO"));
        self.set("software.features.tokio", option_env!("BRIGADE_TOKIO"));
        let clean = REVISION.map(|text| text.trim_end_matches("-dirty"));
        self.set("software.git_revision", clean);
        self.set("software.git_dirty", REVISION.map(|text| (Some(text) != clean).to_string()));
        let guests = manifest.guests.as_deref().unwrap_or(Path::new("."));
        for tool in manifest.programs.values().flat_map(|program| &program.needs) {
            let answer = process::ask(&tool.command, guests, LONGEST_ANSWER).ok();
            let version = answer.map(|answer| recordable(&answer));
            let command = anonymous::text(&tool.command.join(" "));
            self.set(format!("software.tools.{command}"), version);
        }
        for name in &manifest.measured_crates {
            self.set(format!("software.measured_crates.{name}"), crate_versions(name));
        }
    }
}

/// The name and the size of the cache in a folder, such as `processor.cache.l1_data` and `48 KiB`.
fn cache(files: &SystemFiles, folder: &str) -> Option<(String, String)> {
    let line = |name: &str| files.line(&format!("{folder}/{name}"));
    let level = line("level")?.parse::<u64>().ok()?;
    let holds = line("type")?.to_ascii_lowercase();
    let name = format!("processor.cache.l{level}_{holds}");
    Some((name.trim_end_matches("_unified").to_owned(), cache_size(&line("size")?)?))
}

/// `2048K`, as the kernel writes it, as `2 MiB`.
fn cache_size(text: &str) -> Option<String> {
    let kib: u64 = text.strip_suffix('K')?.parse().ok()?;
    Some(if kib.is_multiple_of(1024) { format!("{} MiB", kib >> 10) } else { format!("{kib} KiB") })
}

/// The kernel's `CONFIG_HZ`, if its distribution publishes it.
fn timer_hz(files: &SystemFiles) -> Option<u64> {
    let release = files.text("proc/sys/kernel/osrelease")?;
    let release = release.trim();
    let places = [format!("boot/config-{release}"), format!("lib/modules/{release}/config")];
    let config = places.iter().find_map(|place| files.text(place))?;
    config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?.trim().parse().ok()
}

/// The current mode if debugfs is readable, otherwise the kernel's build option.
fn preemption(files: &SystemFiles) -> Option<String> {
    let choices = files.text("sys/kernel/debug/sched/preempt");
    if let Some(in_force) = choices.and_then(|choices| chosen(&choices)) {
        return Some(in_force);
    }
    let version = files.text("proc/sys/kernel/version")?;
    let modes = [
        ("PREEMPT_RT", "rt"),
        ("PREEMPT_DYNAMIC", "dynamic"),
        ("PREEMPT_LAZY", "lazy"),
        ("PREEMPT", "full"),
    ];
    let is_built = |word: &str| version.split_whitespace().any(|other| other == word);
    let mode = modes.iter().find(|(word, _)| is_built(word));
    Some(mode.map_or("none or voluntary", |(_, mode)| mode).to_owned())
}

/// The selected choice in a line such as `always [madvise] never` or `none (full)`.
pub fn chosen(choices: &str) -> Option<String> {
    let mut words = choices.split_whitespace();
    words.find_map(|word| word.strip_prefix(['[', '('])?.strip_suffix([']', ')'])).map(recordable)
}

/// The recorded parameters of a kernel command line. As in the kernel, `-` and `_` are the same in
/// a name, a later setting replaces an earlier one, and what follows `--` is not for the kernel. A
/// value is withheld unless it is short and contains only what CPU lists, numbers and names of
/// modes need.
fn boot_parameters(command_line: &str) -> BTreeMap<String, String> {
    let words = command_line.split_whitespace().take_while(|&word| word != "--");
    let parameters = words.map(|word| word.split_once('=').unwrap_or((word, "set")));
    let parameters = parameters.map(|(name, value)| (name.replace('-', "_"), value));
    let known = parameters.filter(|(name, _)| BOOT_PARAMETERS.split(' ').any(|word| word == name));
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, ',' | '-' | '_' | ':');
    let shown = |value: &str| value.len() <= 64 && value.chars().all(is_harmless);
    let value = |value| if shown(value) { value } else { "withheld" }.to_owned();
    known.map(|(name, text)| (name, value(text))).collect()
}

/// How deep below the root a process in these groups for CPU time is; `None` if all are hidden.
fn cpu_group_depth(files: &SystemFiles, groups: &Groups) -> Option<String> {
    let mut depth = 0;
    for group in &groups.visible {
        let has = |file| files.contains(&group.path(file));
        // In version 1 the root has shares, too, and it alone has the other file.
        let is_below_root = has("cpu.weight") || has("cpu.shares") && !has("cgroup.sane_behavior");
        depth += usize::from(is_below_root);
    }
    match (depth, &groups.hidden) {
        (depth, None) => Some(depth.to_string()),
        (0, Some(_)) => None,
        (depth, Some(_)) => Some(format!("at least {depth}")),
    }
}

/// The smallest CPU quota of these groups, in thousandths of a CPU; the root has none. `None` if one
/// is no quota, or if only those that are hidden may have one.
fn cpu_quota(files: &SystemFiles, groups: &Groups) -> Option<String> {
    let mut smallest = u64::MAX;
    for group in &groups.visible {
        let text = |file| group.text(files, file);
        let of_one =
            || Some(format!("{} {}", text("cpu.cfs_quota_us")?.trim(), text("cpu.cfs_period_us")?));
        let Some(text) = text("cpu.max").or_else(of_one) else { continue };
        let (quota, period) = text.trim().split_once(' ')?;
        let quota = control_groups::limit(quota)?;
        if quota < u64::MAX {
            let millicpus = quota.saturating_mul(1000).checked_div(period.parse().ok()?)?;
            smallest = smallest.min(millicpus);
        }
    }
    match (smallest, &groups.hidden) {
        (u64::MAX, None) => Some("unlimited".to_owned()),
        (u64::MAX, Some(_)) => None,
        (smallest, None) => Some(smallest.to_string()),
        (smallest, Some(_)) => Some(format!("at most {smallest}")),
    }
}

/// The hypervisor's usual name, or its signature if that is unknown, or `none`. Wake-ups of an idle
/// virtual CPU cost several times those of a real one.
fn virtualisation(files: &SystemFiles) -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;

        // Leaf 1 sets this bit under a hypervisor, whose signature of twelve bytes fills three
        // registers of leaf 0x4000_0000.
        if __cpuid(1).ecx & 1 << 31 == 0 {
            return Some("none".to_owned());
        }
        let leaf = __cpuid(0x4000_0000);
        let signature = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
        let signature = recordable(&String::from_utf8_lossy(&signature));
        let name = match &*signature {
            "KVMKVMKVM" => "kvm",
            "Microsoft Hv" => "hyper-v",
            "VMwareVMware" => "vmware",
            "XenVMMXenVMM" => "xen",
            "TCGTCGTCGTCG" => "qemu-tcg",
            other => other,
        };
        if !name.is_empty() {
            return Some(name.to_owned());
        }
    }
    files.line("sys/hypervisor/type").or_else(|| virtualisation_by_firmware(files))
}

/// The hypervisor of machines whose firmware names a virtual one, as systemd-detect-virt knows them:
/// processors other than x86's do not say.
fn virtualisation_by_firmware(files: &SystemFiles) -> Option<String> {
    let [vendor, product] =
        ["sys_vendor", "product_name"].map(|name| files.line(&format!("sys/class/dmi/id/{name}")));
    let product = product.unwrap_or_default();
    let name = match vendor?.as_str() {
        "Amazon EC2" if product.contains(".metal") => "none",
        "Amazon EC2" | "Google" | "KVM" | "QEMU" => "kvm",
        "Microsoft Corporation" if product == "Virtual Machine" => "hyper-v",
        "VMware, Inc." => "vmware",
        _ => return None,
    };
    Some(name.to_owned())
}

/// The versions of the crate `name` in this binary, joined by `, `: in a `Cargo.lock`, they follow
/// its name.
fn crate_versions(name: &str) -> Option<String> {
    let before = format!("\nname = \"{name}\"\nversion = \"");
    let texts = LOCK.split(&before).skip(1);
    joined(texts.filter_map(|text| Some(text.split_once('"')?.0.to_owned())))
}

/// C libraries other than glibc do not report a version.
fn libc_version() -> Option<String> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the function takes nothing and returns a pointer to a string
        // that ends in NUL and lives as long as the process.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        Some(format!("glibc {}", recordable(version.to_str().ok()?)))
    }
    #[cfg(not(target_env = "gnu"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    /// The facts in these files.
    fn shown(files: &[(&str, &str)]) -> Environment {
        Environment::of_machine(&SystemFiles::simulated(files))
    }

    fn captured() -> Environment {
        let mut manifest = Manifest::parse(
            "[programs.shell]\npath = 'sh'\nneeds = [{ command = ['rustc', '--version'] }, \
             { command = ['no-such-tool-of-brigade'] }]\n",
        )
        .expect("a manifest");
        manifest.measured_crates = vec!["serde".to_owned(), "no-such-crate".to_owned()];
        Environment::capture(&manifest)
    }

    proptest! {
        #[test]
        fn any_text_of_a_file_is_read(text in ".*|[0-9,-]{0,60}|[0-9]{0,30}[KMG]") {
            let _ = (cache_size(&text), cpus::listed(&text), boot_parameters(&text));
            shown(&[("proc/cpuinfo", &text), ("proc/self/cgroup", &text), ("proc/meminfo", &text)]);
        }
    }

    /// Whether `text` contains `name` as a word: `vmscape` does not reveal a host called `vm`.
    fn names(text: &str, name: &str) -> bool {
        let part_of_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        text.split(|c| !part_of_word(c)).any(|word| word == name)
    }

    #[test]
    fn a_capture_contains_no_host_user_or_path() {
        let json = serde_json::to_string(&captured()).expect("serializes");
        let text = |path| std::fs::read_to_string(path).unwrap_or_default();
        // Names that a capture may contain: of processors, kernels and hypervisors.
        let machines =
            text("/proc/cpuinfo") + &text("/proc/version") + " kvm qemu xen vmware linux";
        let hostname = text("/proc/sys/kernel/hostname");
        let user = std::env::var("USER").unwrap_or_default();
        for name in [hostname.trim(), &user].into_iter().filter(|name| !name.is_empty()) {
            let is_of_any_machine = names(&machines.to_lowercase(), &name.to_lowercase());
            assert!(is_of_any_machine || !names(&json, name), "{name} is in {json}");
        }
        let home = std::env::var("HOME").unwrap_or_default();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("in the workspace");
        let command_line = text("/proc/cmdline");
        for secret in [&home, root.to_str().expect("UTF-8"), command_line.trim()] {
            assert!(secret.len() < 2 || !json.contains(secret), "{secret} is in {json}");
        }
        assert!(names(r#"{"release":"6.1.0","host":"alpha-7"}"#, "alpha-7"), "the check can fail");
    }

    #[test]
    fn a_capture_contains_what_every_linux_machine_shows() {
        let captured = captured();
        let number = |name| captured.number(name);
        assert!(number("processor.online_cpus") >= Some(1));
        assert!(number("processor.allowed_cpus") <= number("processor.online_cpus"));
        assert_eq!(captured.get("software.tools.rustc --version"), captured.get("software.rustc"));
        assert!(captured.get("software.measured_crates.serde").is_some());
        for name in ["tools.no-such-tool-of-brigade", "measured_crates.no-such-crate"] {
            assert_eq!(captured.get(&format!("software.{name}")), None);
        }
        let json = serde_json::to_string(&captured).expect("serializes");
        assert_eq!(serde_json::from_str::<Environment>(&json).expect("parses"), captured);
        let nothing = shown(&[]);
        assert!(nothing.facts.keys().all(|name| name.starts_with("processor.")), "{nothing:?}");
    }

    #[test]
    fn a_machine_of_arm_has_the_names_of_its_cores_and_no_words_of_x86() {
        let cpuinfo = "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\nModel\t\t: A board\n";
        let found = shown(&[("proc/cpuinfo", cpuinfo)]);
        assert_eq!(found.get("processor.model"), Some("Arm Neoverse-N1"));
        for name in ["family", "model_number", "microcode"] {
            assert_eq!(found.get(&format!("processor.{name}")), None);
        }
    }

    /// The quota and the depth of a process in a group for CPU time.
    #[test]
    fn groups_around_a_container_may_have_a_smaller_quota_and_add_to_the_depth() {
        let one = "1 2 0:3 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let inside_one = "1 2 0:3 /docker/a /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let two = "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let [first, other] = ["cgroup:[4026531835]", "cgroup:[4026532000]"];
        let of_process = |namespace, groups, mounts| {
            [
                ("proc/self/ns/cgroup", namespace),
                ("proc/self/cgroup", groups),
                ("proc/self/mountinfo", mounts),
            ]
        };
        let found = |process: [(&str, &str); 3], files: &[(&str, &str)]| {
            let found = shown(&[&process[..], files].concat());
            let fact = |name| found.get(name).map(str::to_owned);
            [fact("limits.cgroup.cpu_quota_millicpus"), fact("kernel.cpu_group_depth")]
        };
        let facts = |quota: Option<&str>, depth: Option<&str>| {
            [quota, depth].map(|fact| fact.map(str::to_owned))
        };

        let root_of_one = [
            ("sys/fs/cgroup/cpu/cgroup.procs", ""),
            ("sys/fs/cgroup/cpu/cgroup.sane_behavior", "0\n"),
            ("sys/fs/cgroup/cpu/cpu.shares", "1024\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ];
        let group_of_one = [
            ("sys/fs/cgroup/cpu/a/cgroup.procs", ""),
            ("sys/fs/cgroup/cpu/a/cpu.shares", "1024\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "40000\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
        ];
        let whole = [&root_of_one[..], &group_of_one].concat();
        assert_eq!(
            found(of_process(first, "1:cpu:/\n", one), &whole),
            facts(Some("unlimited"), Some("0"))
        );
        assert_eq!(
            found(of_process(first, "1:cpu:/a\n", one), &whole),
            facts(Some("400"), Some("1"))
        );
        // A container's group is the topmost that is visible, and below the root.
        let container = [root_of_one[0], root_of_one[2], root_of_one[3], root_of_one[4]];
        for process in [
            of_process(first, "1:cpu:/docker/a\n", inside_one),
            of_process(other, "1:cpu:/\n", one),
        ] {
            assert_eq!(found(process, &container), facts(None, Some("at least 1")));
        }
        // The root's namespace may be another.
        assert_eq!(found(of_process(other, "1:cpu:/\n", one), &whole), facts(None, None));
        let limited = |quota| {
            [
                ("sys/fs/cgroup/cgroup.procs", ""),
                ("sys/fs/cgroup/cpu.weight", "100\n"),
                ("sys/fs/cgroup/cpu.max", quota),
            ]
        };
        let container = of_process(other, "0::/\n", two);
        assert_eq!(found(container, &limited("max 100000\n")), facts(None, Some("at least 1")));
        let quota = facts(Some("at most 400"), Some("at least 1"));
        assert_eq!(found(container, &limited("40000 100000\n")), quota);
    }

    #[test]
    fn firmware_names_a_hypervisor_where_the_processor_does_not() {
        for (vendor, product, expected) in [
            ("Amazon EC2\n", "m7g.large\n", Some("kvm")),
            ("Amazon EC2\n", "m7g.metal\n", Some("none")),
            ("Google\n", "Google Compute Engine\n", Some("kvm")),
            ("Microsoft Corporation\n", "Virtual Machine\n", Some("hyper-v")),
            ("Microsoft Corporation\n", "Surface\n", None),
            ("Ampere(TM)\n", "Mt. Jade\n", None),
        ] {
            let files =
                ["sys_vendor", "product_name"].map(|name| format!("sys/class/dmi/id/{name}"));
            let files = files.into_iter().zip([vendor, product].map(str::to_owned));
            let files = SystemFiles::simulated(&files.collect::<Vec<_>>());
            assert_eq!(
                virtualisation_by_firmware(&files).as_deref(),
                expected,
                "{vendor}{product}"
            );
        }
    }

    #[test]
    fn the_current_preemption_mode_overrides_the_build_option() {
        let in_force = ("sys/kernel/debug/sched/preempt", "none (voluntary) full\n");
        let built = |version| [("proc/sys/kernel/version", version), in_force];
        for (files, mode) in [
            (&built("#1 SMP PREEMPT_RT Debian")[..1], "rt"),
            (&built("#1 SMP Debian 6.1.0")[..1], "none or voluntary"),
            (&built("#1 SMP PREEMPT_RT"), "voluntary"),
        ] {
            assert_eq!(shown(files).get("kernel.preemption"), Some(mode));
        }
    }

    #[test]
    fn a_hostile_command_line_leaves_nothing_behind() {
        let long = format!("nohz_full={}", "1,".repeat(400));
        let kept = boot_parameters(&format!(
            "root=UUID=0af3 ip=10.0.0.7::10.0.0.1:255.255.255.0:db1.example.com \
             luks.key=/root/secret systemd.hostname=db1 password=hunter2 intel-pstate=disable \
             mitigations=/home/alice isolcpus=alice@db1 idle=\"poll preempt=$(id) \
             \u{1b}]0;x clocksource=ts\u{7}c {long} -- tsc=token"
        ));
        let withheld = ["clocksource", "idle", "isolcpus", "mitigations", "nohz_full", "preempt"];
        let mut expected: BTreeMap<_, _> =
            withheld.map(|name| (name.to_owned(), "withheld".to_owned())).into();
        expected.insert("intel_pstate".to_owned(), "disable".to_owned());
        assert_eq!(kept, expected);
    }
}
