//! What a process inherits that can change its figures: how it is scheduled, resource limits,
//! signals, namespaces, control groups and environment variables, as flat facts.
//!
//! Nothing here names a person, a host or a path. A fact that the kernel does not report is absent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, ptr, thread};

use libc::{c_int, c_long};
use nix::errno::Errno;
use nix::sys::prctl::{get_timerslack, set_timerslack};
use nix::sys::signal::Signal;
use rustix::thread::{CoreSchedulingScope, core_scheduling_cookie, gettid};

use crate::machine::control_groups::{self, ControlGroup};
use crate::machine::cpus::{self, CpuList, Mask};
use crate::machine::emulation;
use crate::machine::system_files::{SystemFiles, field, recordable};

/// The fact that names the machine's architecture if the program is [emulated](emulation).
pub const EMULATED_ON: &str = "processor.emulated_on";

/// Facts by name, such as `scheduling.nice`; units are in the names.
pub type Facts = BTreeMap<String, String>;

/// How a thread is scheduled: `struct sched_attr` of the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Scheduling {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
    least_utilization: u32,
    most_utilization: u32,
}

/// `SCHED_FLAG_RESET_ON_FORK`: children get the default policy instead.
const RESET_ON_FORK: u64 = 1;

impl Scheduling {
    /// The scheduling of the calling thread.
    pub fn own() -> Option<Self> {
        Self::of_thread(0)
    }

    /// The scheduling of a thread; `None` if there is no such thread or the kernel refuses.
    pub fn of_thread(tid: u32) -> Option<Self> {
        let mut found = Self::default();
        let size = size_of::<Self>() as u32;
        // SAFETY: the kernel writes at most this many bytes to the structure.
        let result =
            unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut found, size, 0_u32) };
        Errno::result(result).ok().map(|_| found)
    }

    fn set(mut self) -> nix::Result<c_long> {
        // The limits of utilization stay as they are.
        self.size = 48;
        self.flags &= RESET_ON_FORK;
        // SAFETY: the kernel reads 48 bytes of the structure.
        Errno::result(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const self, 0_u32) })
    }

    /// The policy; see `sched(7)`.
    pub fn policy(&self) -> &'static str {
        let names = ["other", "fifo", "rr", "batch", "iso", "idle", "deadline", "ext"];
        names.get(self.policy as usize).copied().unwrap_or("unknown")
    }

    /// Whether the thread's children get the default policy instead.
    pub fn is_reset_on_fork(&self) -> bool {
        self.flags & RESET_ON_FORK != 0
    }

    /// Policy and nice value or priority in a few words.
    pub(crate) fn text(&self) -> String {
        match self.policy() {
            policy @ ("fifo" | "rr") => format!("{policy} {}", self.priority),
            policy @ "deadline" => {
                format!("{policy} {}/{}/{} ns", self.runtime_ns, self.deadline_ns, self.period_ns)
            }
            policy => format!("{policy} nice {}", self.nice),
        }
    }

    /// The default time slice, which the kernel reports like one that was set: the calling thread,
    /// whose scheduling this is, takes it for a moment.
    fn default_slice_ns(&self) -> Option<u64> {
        Self { runtime_ns: 0, ..*self }.set().ok()?;
        let default_ns = Self::own().map(|own| own.runtime_ns);
        let is_restored = default_ns == Some(self.runtime_ns) || self.set().is_ok();
        default_ns.filter(|_| is_restored)
    }

    fn is_fair(&self) -> bool {
        matches!(self.policy(), "other" | "batch" | "idle")
    }

    /// The facts about it, if this is the default slice.
    fn facts(&self, default_ns: Option<u64>) -> Facts {
        let slice = default_ns.filter(|_| self.is_fair() && self.runtime_ns > 0);
        let slice = slice.map(|default_ns| match self.runtime_ns {
            ns if ns == default_ns => "default".to_owned(),
            ns => ns.to_string(),
        });
        let clamp = (self.least_utilization, self.most_utilization);
        let is_clamped = ![(0, 0), (0, 1024)].contains(&clamp);
        let facts = [
            ("policy", Some(self.policy().to_owned())),
            ("nice", Some(self.nice.to_string())),
            ("priority", (!self.is_fair()).then(|| self.text())),
            ("slice_ns", slice),
            ("reset_on_fork", self.is_reset_on_fork().then(|| "yes".to_owned())),
            ("utilization", is_clamped.then(|| format!("{} to {} of 1024", clamp.0, clamp.1))),
        ];
        let known = facts.into_iter().filter_map(|(name, value)| Some((name, value?)));
        known.map(|(name, value)| (format!("scheduling.{name}"), value)).collect()
    }
}

/// Environment variables that change how programs, C libraries and runtimes behave, and the words
/// that are shown of their values.
const VARIABLES: &str = include_str!("variables.txt");

/// What programs inherit from this process, the same as a new thread; or this one, which runs.
pub fn inherited_by_children(child: Option<u32>) -> Facts {
    let reader = thread::Builder::new().spawn(move || facts(child));
    reader.ok().and_then(|reader| reader.join().ok()).unwrap_or_else(|| facts(child))
}

/// What the calling thread inherited, and its children inherit except for what
/// [`Scheduling::is_reset_on_fork`] names; or this child of it. What a command around the child has
/// changed is seen if it is scheduling or a variable.
pub fn facts(child: Option<u32>) -> Facts {
    let files = SystemFiles::live();
    let own = Scheduling::own();
    let default_ns = own.filter(Scheduling::is_fair).and_then(|own| own.default_slice_ns());
    let scheduling = child.and_then(Scheduling::of_thread).or(own);
    let mut facts = variables(child);
    if let Some(scheduling) = scheduling {
        facts.extend(scheduling.facts(default_ns));
    }
    let mut set = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.insert(name.to_owned(), value);
        }
    };
    let slack_ns = get_timerslack().ok();
    set("scheduling.timer_slack_ns", slack_ns.map(|ns| ns.to_string()));
    // The value that it has changes nothing; in some sandboxes none can be set.
    let is_fixed = set_timerslack(slack_ns.unwrap_or(0).unsigned_abs().into()).is_err();
    set("scheduling.timer_slack_fixed", is_fixed.then(|| "yes".to_owned()));
    // With one, it shares its core only with tasks that have the same one.
    let cookie = core_scheduling_cookie(gettid(), CoreSchedulingScope::Thread).unwrap_or(0);
    set("scheduling.core_cookie", (cookie != 0).then(|| "set".to_owned()));
    let autogroup = files.line("proc/self/autogroup");
    let nice = autogroup.and_then(|line| Some(line.split_once("nice ")?.1.to_owned()));
    set("scheduling.autogroup_nice", nice);
    set("process.memory_policy", memory_policy());
    // SAFETY: this argument asks and changes nothing.
    let personality = Errno::result(unsafe { libc::personality(0xffff_ffff) });
    set("process.personality", personality.ok().map(|flags| format!("{flags:x}")));
    set(EMULATED_ON, emulation::emulated_on(&files));
    set("process.oom_score_adj", files.line("proc/self/oom_score_adj"));
    let status = files.text("proc/thread-self/status").unwrap_or_default();
    for (name, key) in [
        ("allowed_cpus", "Cpus_allowed_list"),
        ("allowed_nodes", "Mems_allowed_list"),
        ("no_new_privileges", "NoNewPrivs"),
        ("system_call_filters", "Seccomp_filters"),
        ("huge_pages", "THP_enabled"),
        ("store_bypass", "Speculation_Store_Bypass"),
        ("indirect_branch", "SpeculationIndirectBranch"),
    ] {
        set(&format!("process.{name}"), field(&status, key).map(recordable));
    }
    set("process.ignored_signals", field(&status, "SigIgn").and_then(signals));
    set("process.blocked_signals", field(&status, "SigBlk").and_then(signals));
    // Titles of up to 25 characters, then the soft limit and the hard one.
    for line in files.text("proc/self/limits").unwrap_or_default().lines().skip(1) {
        let (title, values) = line.split_at_checked(25).unwrap_or((line, ""));
        let name = title.trim().trim_start_matches("Max ").replace(' ', "_");
        for (kind, value) in ["soft", "hard"].into_iter().zip(values.split_whitespace()) {
            set(&format!("limits.{name}.{kind}"), Some(value.to_owned()));
        }
    }
    set("process.namespaces", namespaces(&files));
    set("process.unbalanced_cpus", unbalanced(&files, field(&status, "Cpus_allowed_list")));
    for (name, one, two) in [
        ("weight", "cpu.shares", "cpu.weight"),
        ("idle", "cpu.idle", "cpu.idle"),
        ("least_utilization", "cpu.uclamp.min", "cpu.uclamp.min"),
        ("most_utilization", "cpu.uclamp.max", "cpu.uclamp.max"),
        ("burst_us", "cpu.cfs_burst_us", "cpu.max.burst"),
    ] {
        let value =
            |group: ControlGroup| group.text(&files, two).or_else(|| group.text(&files, one));
        let values = control_groups::of_process(&files, "cpu").into_iter().filter_map(value);
        // Of the group, then of its parents.
        set(&format!("cgroup.cpu_{name}"), joined(values.map(|value| recordable(&value))));
    }
    facts
}

/// The kinds of namespaces that are not the first ones; `None` if all are.
fn namespaces(files: &SystemFiles) -> Option<String> {
    let mut inside = Vec::new();
    for kind in ["pid", "user", "cgroup", "time"] {
        match control_groups::is_first_namespace(files, kind) {
            Some(true) => {}
            Some(false) => inside.push(kind.to_owned()),
            None => return Some("unknown".to_owned()),
        }
    }
    joined(inside)
}

/// The facts about those variables of this process, or of a child, that are listed.
fn variables(child: Option<u32>) -> Facts {
    let of_child = child.and_then(|pid| fs::read(format!("/proc/{pid}/environ")).ok());
    let environ = of_child.or_else(|| fs::read("/proc/self/environ").ok()).unwrap_or_default();
    let is_listed = |name: &str| {
        let begins = |rule: &str| rule.strip_suffix('*').is_some_and(|stem| name.starts_with(stem));
        listed("names").any(|rule| rule == name || begins(rule))
    };
    let environ = String::from_utf8_lossy(&environ);
    let pairs = environ.split('\0').filter_map(|pair| pair.split_once('='));
    let pairs = pairs.filter(|(name, _)| is_listed(name));
    let fact = |(name, value): (&str, &str)| {
        let value = match name {
            "LD_LIBRARY_PATH" => Some(without_cargo(value)).filter(|rest| !rest.is_empty())?,
            _ => value.to_owned(),
        };
        Some((format!("variables.{}", recordable(name)), value_of(name, &value)))
    };
    pairs.filter_map(fact).collect()
}

/// The folders but those that `cargo run` adds, of the build and the toolchain: without them a
/// program finds the same libraries.
fn without_cargo(folders: &str) -> String {
    let Some(cargo) = env::var_os("CARGO") else { return folders.to_owned() };
    // Toolchains may be links to others.
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let toolchain = Path::new(&cargo).ancestors().nth(2).map(|folder| folder.join("lib"));
    let build = env::current_exe().ok().and_then(|file| Some(file.parent()?.to_owned()));
    let added: Vec<PathBuf> =
        [toolchain, build].iter().flatten().map(|path| resolved(path)).collect();
    let is_added = |folder: &&str| {
        let folder = resolved(Path::new(folder));
        added.iter().any(|added| folder.starts_with(added))
    };
    Vec::from_iter(folders.split(':').filter(|folder| !is_added(folder))).join(":")
}

/// Joins values, as in `a, b`; `None` if there are none.
pub fn joined(values: impl IntoIterator<Item = String>) -> Option<String> {
    Some(Vec::from_iter(values).join(", ")).filter(|text| !text.is_empty())
}

/// The words on the lines of [`VARIABLES`] that begin with this.
fn listed(what: &str) -> impl Iterator<Item = &'static str> + use<> {
    let prefix = format!("{what}: ");
    let lines = VARIABLES.lines().filter_map(move |line| line.strip_prefix(&prefix));
    lines.flat_map(str::split_whitespace)
}

/// The value of a variable if it consists of numbers, options and known words; otherwise only that
/// it is set, since it could name a person or a path, and a checksum.
fn value_of(name: &str, text: &str) -> String {
    let is_word = |word: &str| listed("words").any(|known| known.eq_ignore_ascii_case(word));
    let is_number = |word: &str| {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
        word.len() - digits.len() <= 3 && digits.parse::<f64>().is_ok()
    };
    let is_harmless = |word: &str| {
        let (option, value) = word.split_once('=').unwrap_or(("", word));
        !option.starts_with("-D") && (is_word(value) || is_number(value) || is_option(value))
    };
    let mut words = text.split([' ', ',', ';', ':']).filter(|word| !word.is_empty());
    let is_place = ["PATH", "HOME", "BASE", "PRELOAD", "AUDIT", "STARTUP", "DIR", "LIBS"];
    let is_place = is_place.iter().any(|end| name.ends_with(end));
    if !is_place && text.len() <= 200 && words.all(is_harmless) {
        return recordable(text);
    }
    // FNV-1a: enough to see that it has changed.
    let hash = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619);
    format!("set, {:08x}", text.as_bytes().iter().fold(2_166_136_261, hash))
}

/// Whether a word is an option such as `-Xss1m`, `+sbwt` or `-XX:+UseSerialGC`; not `-Dname`.
fn is_option(word: &str) -> bool {
    let name = word.trim_start_matches(['-', '+']);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.len() < word.len() && !word.starts_with("-D") && name.chars().all(is_plain)
}

/// The names of the signals in a mask such as `0000000000001000`. Rust ignores SIGPIPE itself, and
/// two are the C library's.
fn signals(mask: &str) -> Option<String> {
    let mask = u64::from_str_radix(mask, 16).ok()?;
    let is_set =
        |number: &i32| mask >> (number - 1) & 1 == 1 && ![libc::SIGPIPE, 32, 33].contains(number);
    let name = |number: i32| {
        Signal::try_from(number).map_or_else(|_| number.to_string(), |signal| signal.to_string())
    };
    Some(joined((1..=64).filter(is_set).map(name)).unwrap_or_else(|| "none".to_owned()))
}

/// The policy for new memory, with its nodes; see `set_mempolicy(2)`.
fn memory_policy() -> Option<String> {
    let mut mode: c_int = 0;
    let mut nodes = Mask::new(&[]);
    let pointer = nodes.0.as_mut_ptr();
    let bits = 8 * size_of_val(&nodes.0);
    let none = ptr::null::<u8>();
    // SAFETY: the kernel writes a number and at most this many bits.
    let result =
        unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, pointer, bits, none, 0) };
    Errno::result(result).ok()?;
    let names =
        ["default", "preferred", "bind", "interleave", "local", "preferred many", "weighted"];
    let name = names.get((mode & 0xff) as usize).copied().unwrap_or("unknown");
    Some(format!("{name} {}", CpuList(nodes.numbers())).trim_end().to_owned())
}

/// The CPUs of the list `allowed` between which the kernel moves no thread to balance their load:
/// isolated ones, and those of cpusets that are not balanced. In version 1, a cpuset is balanced by
/// itself or with a parent.
fn unbalanced(files: &SystemFiles, allowed: Option<&str>) -> Option<String> {
    let groups = control_groups::of_process(files, "cpuset");
    let values = |file: &str| -> Vec<String> {
        let texts = groups.iter().filter_map(|group| group.text(files, file));
        texts.map(|text| text.trim().to_owned()).collect()
    };
    let balance = values("cpuset.sched_load_balance");
    let partition = values("cpuset.cpus.partition").into_iter().find(|text| text != "member");
    let all = (!balance.is_empty() && balance.iter().all(|text| text == "0"))
        || partition.is_some_and(|text| text == "isolated");
    let isolated = cpus::listed(&files.text("sys/devices/system/cpu/isolated").unwrap_or_default());
    let mut cpus = cpus::listed(allowed?);
    let are_several = cpus.len() > 1;
    cpus.retain(|cpu| all || isolated.contains(cpu));
    (are_several && !cpus.is_empty()).then(|| CpuList(cpus).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_could_name_somebody_are_withheld() {
        for (name, value) in [
            ("GODEBUG", "asyncpreemptoff=1"),
            ("GLIBC_TUNABLES", "glibc.pthread.stack_cache_size=0:glibc.malloc.arena_max=1"),
            ("JAVA_TOOL_OPTIONS", "-Xss512k -XX:+UseSerialGC -XX:ActiveProcessorCount=1"),
            ("ERL_FLAGS", "+S 1:1 +sbwt none"),
            ("NODE_OPTIONS", "--max-old-space-size=4096"),
            ("GOMEMLIMIT", "512MiB"),
        ] {
            assert_eq!(value_of(name, value), value);
        }
        for (name, value) in [
            ("JAVA_TOOL_OPTIONS", "-Duser.name=alice"),
            ("JAVA_TOOL_OPTIONS", "-Dalice"),
            ("NODE_OPTIONS", "--require /home/alice/x.js"),
            ("NODE_OPTIONS", "--title=alice"),
            ("ERL_FLAGS", "-sname alice"),
            ("PYTHONHASHSEED", "alice@host"),
            ("LD_PRELOAD", "alice.so"),
            ("PYTHONPATH", "1"),
        ] {
            let shown = value_of(name, value);
            assert!(shown.starts_with("set, ") && !shown.contains("alice"), "{name}: {shown}");
            assert_ne!(shown, value_of(name, "another"));
        }
    }

    #[test]
    fn namespaces_other_than_the_first_are_named_unless_they_cannot_be_read() {
        let found = |files: &[(&str, &str)]| namespaces(&SystemFiles::simulated(files));
        let [pid, cgroup] = ["proc/self/ns/pid", "proc/self/ns/cgroup"];
        assert_eq!(found(&[(pid, "pid:[4026531836]")]), None);
        let inside = found(&[(pid, "pid:[4026532000]"), (cgroup, "cgroup:[4026532001]")]);
        assert_eq!(inside.as_deref(), Some("pid, cgroup"));
        assert_eq!(found(&[]).as_deref(), Some("unknown"));
    }

    #[test]
    fn cpus_without_balance_are_found_in_both_versions() {
        let one = "1 2 0:3 / /sys/fs/cgroup rw - cgroup cgroup rw,cpuset\n";
        let two = "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let cgroup = |line| ("proc/self/cgroup", line);
        let mounts = |line| ("proc/self/mountinfo", line);
        let file = |name, text| (name, text);
        let own = "sys/fs/cgroup/a/cpuset.sched_load_balance";
        let root = "sys/fs/cgroup/cpuset.sched_load_balance";
        let partition = "sys/fs/cgroup/a/cpuset.cpus.partition";
        let isolated = "sys/devices/system/cpu/isolated";
        let visible = file("sys/fs/cgroup/a/cgroup.procs", "");
        let group = [cgroup("3:cpuset:/a\n"), mounts(one), visible];
        let unified = [cgroup("0::/a\n"), mounts(two), visible];
        for (files, found) in [
            (vec![], None),
            ([&group[..], &[file(own, "0"), file(root, "0")]].concat(), Some("0,1")),
            ([&group[..], &[file(own, "1"), file(root, "0")]].concat(), None),
            ([&unified[..], &[file(partition, "isolated")]].concat(), Some("0,1")),
            ([&unified[..], &[file(partition, "root")]].concat(), None),
            (vec![file(isolated, "1-3")], Some("1")),
        ] {
            let system = SystemFiles::simulated(&files);
            assert_eq!(unbalanced(&system, Some("0-1")).as_deref(), found, "{files:?}");
            assert_eq!(unbalanced(&system, Some("1")), None, "one CPU needs no balance");
        }
    }
}
