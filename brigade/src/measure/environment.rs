//! Reads the machine and the software behind a run's figures.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use harness::control_groups::{self, Allowance, Group, Version};
use harness::cpus::CpuList;
use harness::process_stat::ProcessStat;
use harness::system_files::{SystemFiles, field, kib_field, recordable};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use toml::Table;

use crate::manifest::Manifest;
use crate::measure::process;
use crate::store::environment::Environment;

/// The versions of the crates in this binary.
const LOCK: &str = include_str!(concat!(env!("OUT_DIR"), "/Cargo.lock"));

/// The commit of this binary, with `-dirty` if files differed from it; known in release builds from
/// a working tree.
pub const REVISION: Option<&str> = option_env!("BRIGADE_REVISION");

/// The kernel's folder of CPUs.
const CPUS: &str = "sys/devices/system/cpu";

/// The kernel's folder of NUMA nodes.
const NODES: &str = "sys/devices/system/node";

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
    ///
    /// # Errors
    /// If `Cargo.lock` is malformed.
    pub fn capture(manifest: &Manifest) -> anyhow::Result<Self> {
        let mut environment = Self::of_machine(&SystemFiles::live());
        environment.add_resource_limits();
        environment
            .add_software(manifest)
            .context("recording the versions of the measured crates")?;
        Ok(environment)
    }

    /// Facts in the kernel's files.
    fn of_machine(files: &SystemFiles) -> Self {
        let mut of = Self::topology(files);
        for (name, path) in LINES {
            of.set(name, files.line(path));
        }
        match of.get("processor.idle_driver") {
            Some("haltpoll") => {}
            driver => {
                let is_none = driver == Some("none");
                of.facts.remove("processor.idle_poll_ns");
                of.facts.retain(|name, _| !is_none || name != "processor.idle_driver");
            }
        }
        of.add_processor(files);
        for (name, value) in boot_parameters(&files.text("proc/cmdline").unwrap_or_default()) {
            of.set(format!("kernel.boot_parameters.{name}"), Some(value));
        }
        let hugepages = files.text("sys/kernel/mm/transparent_hugepage/enabled");
        of.set("kernel.transparent_hugepages", hugepages.and_then(|of| chosen(&of, '[', ']')));
        of.set("kernel.preemption", preemption(files));
        of.set("kernel.timer_hz", timer_hz(files));
        of.set("kernel.cpu_group_depth", cpu_group_depth(files));
        let memory = files.text("proc/meminfo");
        of.set("memory_total_bytes", memory.and_then(|text| kib_field(&text, "MemTotal")));
        // Control groups: the smallest limit of the process's group and its
        // parents.
        let smallest = |controller, limit| smallest(files, controller, limit);
        of.set("limits.cgroup.pids", smallest("pids", Group::most_threads));
        of.set("limits.cgroup.memory_bytes", smallest("memory", Group::most_memory_bytes));
        of.set("limits.cgroup.cpu_quota_millicpus", smallest("cpu", cpu_quota_millicpus));
        // A checksum: the kernel's boot id would identify the machine.
        let boot = files.line("proc/sys/kernel/random/boot_id");
        of.set("boot", boot.map(|id| format!("{:08x}", crc32fast::hash(id.as_bytes()))));
        of
    }

    /// The CPUs that this process may use, and the sets of CPUs that share a core, a last-level
    /// cache or a NUMA node, as the kernel lists them: `0-3;4-7`.
    pub fn topology(files: &SystemFiles) -> Self {
        let mut of = Self::default();
        let status = files.text("proc/self/status").unwrap_or_default();
        of.set("topology.allowed", field(&status, "Cpus_allowed_list").map(recordable));
        let online = online(files);
        let core = |cpu: &usize| {
            let list = |name| files.line(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
            // The second name is for kernels before 5.3.
            list("core_cpus_list").or_else(|| list("thread_siblings_list"))
        };
        let last_cache =
            |cpu: &usize| caches(files, *cpu).into_iter().max().map(|cache| cache.sharers);
        let node = |name: String| files.line(&format!("{NODES}/{name}/cpulist"));
        of.set("topology.cores", each_once(online.iter().filter_map(core)));
        of.set("topology.caches", each_once(online.iter().filter_map(last_cache)));
        of.set("topology.nodes", each_once(files.names(NODES).into_iter().filter_map(node)));
        of
    }

    fn add_processor(&mut self, files: &SystemFiles) {
        let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
        let model = ["model name", "Model", "cpu"].iter().find_map(|name| field(&cpuinfo, name));
        self.set("processor.model", model.map(recordable).filter(|model| !model.is_empty()));
        let of_cpuinfo =
            [("family", "cpu family"), ("model_number", "model"), ("microcode", "microcode")];
        for (name, key) in of_cpuinfo {
            self.set(format!("processor.{name}"), field(&cpuinfo, key).map(recordable));
        }
        self.set("processor.architecture", Some(std::env::consts::ARCH));
        self.set("processor.virtualisation", virtualisation(files));
        let online = online(files);
        self.set("processor.online_cpus", Some(online.len()).filter(|count| *count > 0));
        let allowed = self.get("topology.allowed").and_then(cpu_list);
        self.set("processor.allowed_cpus", allowed.map(|cpus| cpus.len()));
        self.add_arrangement(files, &online);
        self.add_caches(online.iter().flat_map(|cpu| caches(files, *cpu)));
        let vulnerabilities = format!("{CPUS}/vulnerabilities");
        for name in files.names(&vulnerabilities) {
            let state = files.line(&format!("{vulnerabilities}/{name}"));
            self.set(format!("processor.mitigations.{name}"), state);
        }
        let governor =
            |cpu: &usize| files.line(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor"));
        let governors: BTreeSet<_> = online.iter().filter_map(governor).collect();
        self.set("processor.governor", joined(governors, ", "));
        let folder = format!("{CPUS}/cpu0/cpuidle");
        let state = |state: String| {
            let file = |of: &str| files.line(&format!("{folder}/{state}/{of}"));
            let latency = file("latency").map_or(String::new(), |us| format!(" {us} µs"));
            let disabled = if file("disable").as_deref() == Some("1") { " disabled" } else { "" };
            Some(format!("{}{latency}{disabled}", file("name")?))
        };
        let states = files.names(&folder).into_iter().filter_map(state);
        self.set("processor.idle_states", joined(states, ", "));
    }

    /// The number of sockets, the most cores of a socket, and the most threads of a core.
    fn add_arrangement(&mut self, files: &SystemFiles, online: &[usize]) {
        let mut cores_of_socket = BTreeMap::<_, BTreeSet<_>>::new();
        let mut threads_of_core = BTreeMap::<_, usize>::new();
        for cpu in online {
            let list = |of| files.line(&format!("{CPUS}/cpu{cpu}/topology/{of}_cpus_list"));
            // The lists serve as names: CPUs of one core have the same list.
            let (Some(socket), Some(core)) = (list("package"), list("core")) else { continue };
            cores_of_socket.entry(socket).or_default().insert(core.clone());
            *threads_of_core.entry(core).or_default() += 1;
        }
        let cores = cores_of_socket.values().map(BTreeSet::len).max();
        self.set("processor.topology.sockets", cores.map(|_| cores_of_socket.len()));
        self.set("processor.topology.cores_per_socket", cores);
        self.set("processor.topology.threads_per_core", threads_of_core.into_values().max());
    }

    /// The size of each kind of cache, and how many CPUs share one. If CPUs differ, there are
    /// several values.
    fn add_caches(&mut self, caches: impl Iterator<Item = Cache>) {
        let mut sharers = BTreeMap::<Cache, usize>::new();
        for cache in caches {
            *sharers.entry(cache).or_default() += 1;
        }
        let mut kinds = BTreeMap::<String, [BTreeSet<String>; 2]>::new();
        for (Cache { level, holds, size, .. }, cpus) in sharers {
            let holds = if holds == "unified" { String::new() } else { format!("_{holds}") };
            let [sizes, counts] =
                kinds.entry(format!("processor.cache.l{level}{holds}")).or_default();
            sizes.insert(size);
            counts.insert(cpus.to_string());
        }
        for (name, [sizes, counts]) in kinds {
            self.set(format!("{name}.shared_by"), joined(counts, ", "));
            self.set(name, joined(sizes, ", "));
        }
    }

    fn add_resource_limits(&mut self) {
        let stat = ProcessStat::read(&SystemFiles::live(), "proc/self");
        self.set("scheduling.policy", stat.and_then(|stat| policy(stat.policy)));
        self.set("scheduling.nice", stat.map(|stat| stat.nice.to_string()));
        for (name, resource) in [
            ("open_files", Resource::RLIMIT_NOFILE),
            ("user_processes", Resource::RLIMIT_NPROC),
            ("locked_memory_bytes", Resource::RLIMIT_MEMLOCK),
        ] {
            let bound = |value| match value {
                RLIM_INFINITY => "unlimited".to_owned(),
                value => value.to_string(),
            };
            let (soft, hard) = getrlimit(resource).ok().unzip();
            self.set(format!("limits.{name}.soft"), soft.map(bound));
            self.set(format!("limits.{name}.hard"), hard.map(bound));
        }
    }

    /// What this binary was built from and with, as its build script recorded it, and the versions
    /// of the guests' tools.
    fn add_software(&mut self, manifest: &Manifest) -> anyhow::Result<()> {
        self.set("software.brigade", Some(env!("CARGO_PKG_VERSION")));
        self.set("software.libc", libc_version());
        self.set("software.rustc", option_env!("BRIGADE_RUSTC").map(recordable));
        let clean = REVISION.map(|text| text.trim_end_matches("-dirty"));
        self.set("software.git_revision", clean);
        self.set("software.git_dirty", REVISION.map(|text| (Some(text) != clean).to_string()));
        let guests = manifest.guests.as_deref().unwrap_or(Path::new("."));
        for tool in manifest.programs.values().flat_map(|program| &program.needs) {
            let (program, arguments) = tool.command.split_first().expect("not without words");
            let version = output(guests, program, arguments).map(|version| recordable(&version));
            self.set(format!("software.tools.{}", tool.command.join(" ")), version);
        }
        for (name, version) in crate_versions(LOCK, &manifest.measured_crates)? {
            self.set(format!("software.measured_crates.{name}"), Some(version));
        }
        Ok(())
    }
}

/// One of a CPU's caches; ordered nearest first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cache {
    level: u64,
    holds: String,
    /// Such as `48 KiB`.
    size: String,
    /// The CPUs that share it.
    sharers: String,
}

fn caches(files: &SystemFiles, cpu: usize) -> Vec<Cache> {
    let folder = format!("{CPUS}/cpu{cpu}/cache");
    let cache = |index: String| {
        let line = |of| files.line(&format!("{folder}/{index}/{of}"));
        Some(Cache {
            level: line("level")?.parse().ok()?,
            holds: line("type")?.to_ascii_lowercase(),
            size: cache_size(&line("size")?)?,
            sharers: line("shared_cpu_list")?,
        })
    };
    files.names(&folder).into_iter().filter_map(cache).collect()
}

/// `2048K`, as the kernel writes it, as `2 MiB`.
fn cache_size(text: &str) -> Option<String> {
    let kib: u64 = text.strip_suffix('K')?.parse().ok()?;
    Some(if kib.is_multiple_of(1024) { format!("{} MiB", kib >> 10) } else { format!("{kib} KiB") })
}

fn online(files: &SystemFiles) -> Vec<usize> {
    let list = files.text(&format!("{CPUS}/online"));
    list.and_then(|list| cpu_list(&list)).unwrap_or_default()
}

/// The CPUs of a list such as `0-3,8`; `None` if it is not one.
fn cpu_list(list: &str) -> Option<Vec<usize>> {
    list.trim().parse().ok().map(|list: CpuList| list.numbers().to_vec())
}

/// Every text once, in order of appearance.
fn each_once(texts: impl Iterator<Item = String>) -> Option<String> {
    let mut seen = BTreeSet::new();
    joined(texts.filter(|text| seen.insert(text.clone())).collect::<Vec<_>>(), ";")
}

/// `None` if there are none.
fn joined(texts: impl IntoIterator<Item = String>, by: &str) -> Option<String> {
    Some(texts.into_iter().collect::<Vec<_>>().join(by)).filter(|text| !text.is_empty())
}

/// The kernel's `CONFIG_HZ`, if its distribution publishes it.
pub fn timer_hz(files: &SystemFiles) -> Option<u64> {
    let release = files.line("proc/sys/kernel/osrelease")?;
    let places = [format!("boot/config-{release}"), format!("lib/modules/{release}/config")];
    let config = places.iter().find_map(|place| files.text(place))?;
    config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?.trim().parse().ok()
}

/// The current mode if debugfs is readable, otherwise the kernel's build option.
fn preemption(files: &SystemFiles) -> Option<String> {
    let choices = files.text("sys/kernel/debug/sched/preempt");
    if let Some(in_force) = choices.and_then(|choices| chosen(&choices, '(', ')')) {
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

/// The selected choice in a line such as `always [madvise] never`.
pub fn chosen(choices: &str, open: char, close: char) -> Option<String> {
    let mut words = choices.split_whitespace();
    words.find_map(|word| word.strip_prefix(open)?.strip_suffix(close)).map(recordable)
}

/// The recorded parameters of a kernel command line. As in the kernel, `-` and `_` are the same in
/// a name, a later setting replaces an earlier one, and what follows `--` is not for the kernel. A
/// value is withheld unless it is short and contains only what CPU lists, numbers and names of
/// modes need.
fn boot_parameters(command_line: &str) -> BTreeMap<String, String> {
    let words = command_line.split_whitespace().take_while(|&word| word != "--");
    let parameters = words.map(|word| word.split_once('=').unwrap_or((word, "set")));
    let parameters = parameters.map(|(name, value)| (name.replace('-', "_"), value));
    let recorded = parameters.filter(|(name, _)| BOOT_PARAMETERS.split(' ').any(|of| of == name));
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, ',' | '-' | '_' | ':');
    let shown = |value: &str| value.len() <= 64 && value.chars().all(is_harmless);
    let value = |value| if shown(value) { value } else { "withheld" }.to_owned();
    recorded.map(|(name, text)| (name, value(text))).collect()
}

/// How deep below the root this process's group for CPU time is; `None` without such a hierarchy.
pub fn cpu_group_depth(files: &SystemFiles) -> Option<u64> {
    let groups = control_groups::of_process(files, "cpu");
    let shares = |group: &&Group| {
        let file = group.by_version("cpu.shares", "cpu.weight");
        group.text(files, file).is_some()
    };
    let of_one = groups.iter().any(|group| group.version == Version::One);
    let count = groups.iter().filter(shares).count() as u64;
    // In version 1 the root has the file, too.
    (!groups.is_empty()).then(|| if of_one { count.saturating_sub(1) } else { count })
}

/// The smallest `limit` of the groups of `controller`; the root has none.
fn smallest(
    files: &SystemFiles,
    controller: &str,
    limit: fn(&Group, &SystemFiles) -> Option<Allowance>,
) -> Option<String> {
    let groups = control_groups::of_process(files, controller);
    let smallest = groups.iter().filter_map(|group| limit(group, files)).min();
    (!groups.is_empty()).then(|| match smallest {
        Some(Allowance::AtMost(most)) => most.to_string(),
        Some(Allowance::Unlimited) | None => "unlimited".to_owned(),
    })
}

/// The name of a scheduling policy; see `sched(7)`.
fn policy(number: u64) -> Option<&'static str> {
    let names = [(0, "other"), (1, "fifo"), (2, "rr"), (3, "batch"), (5, "idle"), (6, "deadline")];
    names.into_iter().find(|(of, _)| *of == number).map(|(_, name)| name)
}

fn cpu_quota_millicpus(group: &Group, files: &SystemFiles) -> Option<Allowance> {
    let text = match group.version {
        Version::One => {
            let text = |file| group.text(files, file);
            format!("{} {}", text("cpu.cfs_quota_us")?.trim(), text("cpu.cfs_period_us")?)
        }
        Version::Two => group.text(files, "cpu.max")?,
    };
    let (quota, period) = text.trim().split_once(' ')?;
    Some(match Allowance::parse(quota)? {
        Allowance::AtMost(quota) => {
            let period: u64 = period.trim().parse().ok()?;
            Allowance::AtMost(quota.saturating_mul(1000).checked_div(period)?)
        }
        Allowance::Unlimited => Allowance::Unlimited,
    })
}

/// The hypervisor's name, or `none`. Wake-ups of an idle virtual CPU cost several times
/// those of a real one.
fn virtualisation(files: &SystemFiles) -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;

        // Leaf 1 sets this bit under a hypervisor, whose name fills three registers of
        // leaf 0x4000_0000.
        if __cpuid(1).ecx & 1 << 31 == 0 {
            return Some("none".to_owned());
        }
        let leaf = __cpuid(0x4000_0000);
        let signature = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
        if let Some(name) = hypervisor(&signature) {
            return Some(name);
        }
    }
    files.line("sys/hypervisor/type")
}

/// The usual name for a hypervisor's twelve-byte signature, or the signature if it is unknown.
#[cfg(target_arch = "x86_64")]
fn hypervisor(signature: &[u8]) -> Option<String> {
    let signature = recordable(&String::from_utf8_lossy(signature));
    let name = match signature.as_str() {
        "" => return None,
        "KVMKVMKVM" => "kvm",
        "Microsoft Hv" => "hyper-v",
        "VMwareVMware" => "vmware",
        "XenVMMXenVMM" => "xen",
        "TCGTCGTCGTCG" => "qemu-tcg",
        "VBoxVBoxVBox" => "virtualbox",
        "bhyve bhyve" => "bhyve",
        "lrpepyh  vr" => "parallels",
        "ACRNACRNACRN" => "acrn",
        other => other,
    };
    Some(name.to_owned())
}

/// The versions of `names` in the `Cargo.lock` of `root`, which is not read if there are no names;
/// several versions are joined by `, `.
fn crate_versions(lock: &str, names: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let lock: Table = toml::from_str(lock).context("reading Cargo.lock")?;
    let versions = |name: &String| {
        let packages = lock.get("package")?.as_array()?.iter();
        let found = packages.filter(|package| package["name"].as_str() == Some(name));
        joined(found.filter_map(|package| Some(package["version"].as_str()?.to_owned())), ", ")
    };
    Ok(names.iter().filter_map(|name| Some((name.clone(), versions(name)?))).collect())
}

/// The output of `program` in `directory`; `None` if it cannot run or fails.
fn output(directory: &Path, program: &str, arguments: &[impl AsRef<OsStr>]) -> Option<String> {
    let mut command = Command::new(program);
    let output = process::ask(command.args(arguments).current_dir(directory)).ok()?;
    output.status.success().then_some(())?;
    String::from_utf8(output.stdout).ok()
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

    fn workspace() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("in the workspace")
    }

    fn captured() -> Environment {
        let mut manifest = Manifest::parse(
            "[programs.shell]\npath = 'sh'\nneeds = [{ command = ['rustc', '--version'] }, \
             { command = ['no-such-tool-of-brigade'] }]\n",
        )
        .expect("a manifest");
        manifest.measured_crates = vec!["serde".to_owned(), "no-such-crate".to_owned()];
        Environment::capture(&manifest).expect("capture here")
    }

    proptest! {
        #[test]
        fn any_text_of_a_file_is_read(text in ".*|[0-9,-]{0,60}|[0-9]{0,30}[KMG]") {
            let _ = (cache_size(&text), cpu_list(&text), boot_parameters(&text));
            shown(&[("proc/cpuinfo", &text), ("proc/self/cgroup", &text), ("proc/meminfo", &text)]);
        }
    }

    /// Whether `text` contains `name` as a word: `vmscape` does not reveal a host called `vm`.
    fn names(text: &str, name: &str) -> bool {
        let part_of_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        text.split(|c| !part_of_word(c)).any(|word| word == name)
    }

    /// Whether a name identifies no host or user: it is empty, or a capture contains it as the name
    /// of a processor, kernel or hypervisor.
    fn is_of_any_machine(name: &str) -> bool {
        let text = |path| std::fs::read_to_string(path).unwrap_or_default();
        let machines = text("/proc/cpuinfo")
            + &text("/proc/version")
            + " kvm qemu xen vmware hyperv bhyve microsoft guest linux";
        name.is_empty() || names(&machines.to_lowercase(), &name.to_lowercase())
    }

    #[test]
    fn a_capture_contains_no_host_user_or_path() {
        let json = serde_json::to_string(&captured()).expect("serializes");
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("on Linux");
        let user = std::env::var("USER").unwrap_or_default();
        for name in [hostname.trim(), &user].into_iter().filter(|name| !is_of_any_machine(name)) {
            assert!(!names(&json, name), "the host's or the user's name is in {json}");
        }
        let home = std::env::var("HOME").ok().filter(|home| home.len() > 1);
        let root = workspace().to_str().expect("a path in UTF-8").to_owned();
        let command_line = std::fs::read_to_string("/proc/cmdline").expect("on Linux");
        let command_line = Some(command_line.trim().to_owned()).filter(|line| !line.is_empty());
        for secret in [home, Some(root), command_line].into_iter().flatten() {
            assert!(!json.contains(&secret), "{secret} is in {json}");
        }
        // Verifies that the check can fail.
        assert!(is_of_any_machine("kvm") && !is_of_any_machine("alpha-7"));
        assert!(names(r#"{"release":"6.1.0","host":"alpha-7"}"#, "alpha-7"));
        assert!(!names(r#"{"vmscape":"KVM"}"#, "vm"));
    }

    #[test]
    fn a_capture_contains_what_every_linux_machine_shows() {
        let captured = captured();
        let number = |name| captured.number(name);
        assert!(number("processor.online_cpus") >= Some(1));
        assert!(number("processor.allowed_cpus") <= number("processor.online_cpus"));
        assert!(number("memory_total_bytes").is_some());
        assert!(captured.get("kernel.release").is_some());
        assert!(captured.get("software.rustc").is_some_and(|of| of.starts_with("rustc ")));
        assert_eq!(captured.get("software.tools.rustc --version"), captured.get("software.rustc"));
        assert_eq!(captured.get("software.tools.no-such-tool-of-brigade"), None);
        assert!(captured.get("software.measured_crates.serde").is_some());
        assert_eq!(captured.get("software.measured_crates.no-such-crate"), None);
        let json = serde_json::to_string(&captured).expect("serializes");
        assert_eq!(serde_json::from_str::<Environment>(&json).expect("parses"), captured);
    }

    #[test]
    fn the_kernels_files_are_read() {
        let cpu = "sys/devices/system/cpu";
        let mut files = SystemFiles::simulated(&[
            (&format!("{cpu}/online"), "0-3\n"),
            ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-2\n"),
            ("proc/cpuinfo", "cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n"),
            ("proc/cmdline", "quiet nosmt isolcpus=2-3\n"),
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Thu Jan 1"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("sys/devices/system/node/node0/cpulist", "0-3\n"),
            ("sys/devices/system/node/node1/cpulist", "\n"),
            (&format!("{cpu}/vulnerabilities/meltdown"), "Mitigation: PTI\n"),
            (&format!("{cpu}/cpuidle/current_driver"), "haltpoll\n"),
            ("sys/module/haltpoll/parameters/guest_halt_poll_ns", "200000\n"),
            (&format!("{cpu}/cpu0/cpuidle/state0/name"), "POLL\n"),
            (&format!("{cpu}/cpu0/cpuidle/state0/latency"), "0\n"),
            (&format!("{cpu}/cpu0/cpuidle/state0/disable"), "1\n"),
        ]);
        for number in 0..4 {
            let siblings = format!("{},{}\n", number % 2, number % 2 + 2);
            let governor = if number == 0 { "schedutil" } else { "performance" };
            for (file, text) in [
                ("topology/core_cpus_list", &*siblings),
                ("topology/package_cpus_list", "0-3\n"),
                ("cpufreq/scaling_governor", governor),
                ("cache/index0/level", "1\n"),
                ("cache/index0/type", "Data\n"),
                ("cache/index0/size", "32K\n"),
                ("cache/index0/shared_cpu_list", &siblings),
                ("cache/index3/level", "3\n"),
                ("cache/index3/type", "Unified\n"),
                ("cache/index3/size", "8192K\n"),
                ("cache/index3/shared_cpu_list", "0-3\n"),
                ("cache/uevent", ""),
            ] {
                files = files.with(&format!("{cpu}/cpu{number}/{file}"), text);
            }
        }
        let machine = Environment::of_machine(&files);
        for (name, value) in [
            ("kernel.boot_parameters.isolcpus", "2-3"),
            ("kernel.boot_parameters.nosmt", "set"),
            ("kernel.preemption", "dynamic"),
            ("kernel.transparent_hugepages", "madvise"),
            ("processor.allowed_cpus", "3"),
            ("processor.cache.l1_data", "32 KiB"),
            ("processor.cache.l1_data.shared_by", "2"),
            ("processor.cache.l3", "8 MiB"),
            ("processor.cache.l3.shared_by", "4"),
            ("processor.family", "25"),
            ("processor.governor", "performance, schedutil"),
            ("processor.idle_driver", "haltpoll"),
            ("processor.idle_poll_ns", "200000"),
            ("processor.idle_states", "POLL 0 µs disabled"),
            ("processor.mitigations.meltdown", "Mitigation: PTI"),
            ("processor.model", "AMD EPYC"),
            ("processor.model_number", "17"),
            ("processor.online_cpus", "4"),
            ("processor.topology.cores_per_socket", "2"),
            ("processor.topology.sockets", "1"),
            ("processor.topology.threads_per_core", "2"),
            ("topology.allowed", "0-2"),
            ("topology.caches", "0-3"),
            ("topology.cores", "0,2;1,3"),
            ("topology.nodes", "0-3"),
        ] {
            assert_eq!(machine.get(name), Some(value), "{name}");
        }
    }

    #[test]
    fn a_machine_that_shows_nothing_has_no_facts() {
        let machine = shown(&[]);
        let known: Vec<_> = machine.facts.keys().map(String::as_str).collect();
        let of_the_build = ["processor.architecture", "processor.virtualisation"];
        assert!(known.iter().all(|name| of_the_build.contains(name)), "{known:?}");
    }

    #[test]
    fn the_current_preemption_mode_overrides_the_build_option() {
        let built = |version| shown(&[("proc/sys/kernel/version", version)]);
        let preemption = |of: &Environment| of.get("kernel.preemption").map(str::to_owned);
        assert_eq!(preemption(&built("#1 SMP PREEMPT_RT Debian")).as_deref(), Some("rt"));
        let none = preemption(&built("#1 SMP Debian 6.1.0"));
        assert_eq!(none.as_deref(), Some("none or voluntary"));
        let in_force = ("sys/kernel/debug/sched/preempt", "none (voluntary) full\n");
        let both = shown(&[("proc/sys/kernel/version", "#1 SMP PREEMPT_RT"), in_force]);
        assert_eq!(preemption(&both).as_deref(), Some("voluntary"));
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

    const UNIFIED: (&str, &str) =
        ("proc/self/mountinfo", "31 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    const SPLIT: (&str, &str) = (
        "proc/self/mountinfo",
        "32 31 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
         33 31 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
         34 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
         35 31 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
    );

    #[test]
    fn the_smallest_limit_of_all_control_groups_is_recorded() {
        let unlimited = Some("unlimited");
        for (files, expected) in [
            (
                &[
                    ("proc/self/cgroup", "0::/user/job\n"),
                    UNIFIED,
                    ("sys/fs/cgroup/user/pids.max", "300\n"),
                    ("sys/fs/cgroup/user/job/pids.max", "1000\n"),
                    ("sys/fs/cgroup/user/memory.max", "max\n"),
                    ("sys/fs/cgroup/user/job/memory.max", "1073741824\n"),
                    ("sys/fs/cgroup/user/job/cpu.max", "150000 100000\n"),
                    ("sys/fs/cgroup/user/cpu.max", "max 100000\n"),
                ][..],
                [Some("300"), Some("1073741824"), Some("1500")],
            ),
            (
                &[
                    ("proc/self/cgroup", "8:pids:/\n4:memory:/job\n2:cpu,cpuacct:/job\n0::/\n"),
                    SPLIT,
                    ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n"),
                    ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n"),
                    ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"),
                ],
                [unlimited; 3],
            ),
            (
                &[
                    ("proc/self/cgroup", "0::/../system/docker/abc\n"),
                    UNIFIED,
                    ("sys/fs/cgroup/pids.max", "512\n"),
                    ("sys/fs/cgroup/cpu.max", "100000 0\n"),
                ],
                [Some("512"), unlimited, unlimited],
            ),
            (&[("proc/self/cgroup", "0::/job\n")], [None; 3]),
            (&[("proc/self/cgroup", "garbage\n")], [None; 3]),
        ] {
            let machine = shown(files);
            let found = ["pids", "memory_bytes", "cpu_quota_millicpus"]
                .map(|name| format!("limits.cgroup.{name}"));
            assert_eq!(found.each_ref().map(|name| machine.get(name)), expected, "{files:?}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn hypervisors_are_named() {
        assert_eq!(hypervisor(b"KVMKVMKVM\0\0\0").as_deref(), Some("kvm"));
        assert_eq!(hypervisor(&[0; 12]), None);
        assert_eq!(hypervisor(b"\xff\x1bBad\0\0\0\0\0\0\0").as_deref(), Some("Bad"));
    }

    #[test]
    fn versions_come_from_the_lock_file() {
        let package = |name, version| format!("[[package]]\nname='{name}'\nversion='{version}'\n");
        let text = ["0.22.1", "0.23.1"].map(|version| package("base64", version)).concat();
        let versions = |name: &str| crate_versions(&text, &[name.to_owned()]);
        assert_eq!(versions("base64").unwrap()["base64"], "0.22.1, 0.23.1");
        assert!(versions("tokio").unwrap().is_empty());
    }
}
