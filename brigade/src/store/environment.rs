//! The machine and the software that a run's figures hold for: the types of
//! `environment.json`. `measure::environment` fills them in.
//!
//! People share results folders, so nothing here names a host, a user, an
//! address or a path. What cannot be had on a machine is `null`. The committed
//! schema, `brigade/environment.schema.json`, is generated from these types and a
//! test compares the two.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of [`Environment`]'s schema, `major.minor`: the minor number rises
/// when a field is added, the major one when an old reader would misunderstand.
pub const SCHEMA_VERSION: &str = "1.5";

/// What `environment.json` holds: read once, before the first case of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// Schema version of this object, `major.minor`.
    pub schema_version: String,
    /// The CPUs: model, topology, mitigations, clock.
    pub processor: Processor,
    /// The kernel and how it was set to behave.
    pub kernel: Kernel,
    /// Memory of the machine (`MemTotal`), in bytes.
    pub memory_total_bytes: Option<u64>,
    /// What bounds the number of tasks.
    pub limits: Limits,
    /// What the programs were built from and with.
    pub software: Software,
    /// Which boot of the machine it is: a checksum of the kernel's number of it. Since
    /// 1.4.
    #[serde(default)]
    pub boot: Option<String>,
}

/// The CPUs of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Processor {
    /// What the first CPU calls itself.
    pub model: Option<String>,
    /// Its family, where the architecture numbers them: a vendor's models of one
    /// name may be of several. Since 1.3.
    #[serde(default)]
    pub family: Option<u64>,
    /// Its number within the family. Since 1.3.
    #[serde(default)]
    pub model_number: Option<u64>,
    /// The architecture that the runner was built for.
    pub architecture: String,
    /// CPUs that the kernel may use, a count.
    pub online_cpus: Option<u64>,
    /// CPUs that this process may run on, a count.
    pub allowed_cpus: Option<u64>,
    /// How the online CPUs are arranged.
    pub topology: Option<Topology>,
    /// The caches of the online CPUs, nearest first.
    pub caches: Vec<Cache>,
    /// The state of each vulnerability, by the kernel's name for it.
    pub mitigations: BTreeMap<String, String>,
    /// The frequency governors in force, or `unknown`.
    pub governor: String,
    /// What the kernel reads the time from.
    pub clock_source: Option<String>,
    /// The hypervisor, `none` or `unknown`.
    pub virtualisation: String,
    /// What halts an idle CPU: the driver of `cpuidle`. Since 1.3.
    #[serde(default)]
    pub idle_driver: Option<String>,
    /// How long the driver `haltpoll` polls for work before it halts a CPU, at the
    /// most, in nanoseconds. Since 1.3.
    #[serde(default)]
    pub idle_poll_ns: Option<u64>,
    /// What chooses the idle state. Since 1.4, as all that follow.
    #[serde(default)]
    pub idle_governor: Option<String>,
    /// The idle states of the first CPU, the lightest first.
    #[serde(default)]
    pub idle_states: Vec<IdleState>,
    /// Whether cores run several threads: `on`, `off`, `notsupported` …
    #[serde(default)]
    pub smt: Option<String>,
    /// The version of the first CPU's microcode.
    #[serde(default)]
    pub microcode: Option<String>,
    /// Which CPUs share what. Since 1.5.
    #[serde(default)]
    pub sharing: Option<Sharing>,
}

/// Which CPUs share what, each set as the kernel lists it: `0,2-3`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sharing {
    /// The CPUs that this process may run on.
    pub allowed: String,
    /// The online CPUs of each core.
    pub cores: Vec<String>,
    /// The online CPUs of each cache of the last level.
    pub caches: Vec<String>,
    /// The CPUs of each NUMA node.
    pub nodes: Vec<String>,
}

/// An idle state of a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IdleState {
    /// The kernel's name of it.
    pub name: String,
    /// How long it takes to leave, by the driver, in microseconds.
    pub latency_us: Option<u64>,
    /// Whether it is left out.
    pub disabled: Option<bool>,
}

/// How the online CPUs are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Topology {
    /// Sockets, a count.
    pub sockets: u64,
    /// Cores of the socket that has most, a count.
    pub cores_per_socket: u64,
    /// CPUs of the core that has most, a count.
    pub threads_per_core: u64,
}

/// A kind of cache that the machine has, once or several times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cache {
    /// Level: 1 is nearest to the core.
    pub level: u64,
    /// What it holds: `data`, `instruction` or `unified`.
    pub holds: String,
    /// Size of one instance, in bytes.
    pub size_bytes: u64,
    /// Online CPUs that share one instance, a count.
    pub shared_by_cpus: u64,
    /// Instances, a count.
    pub instances: u64,
}

/// The kernel that ran the tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Kernel {
    /// Its release, as `uname -r` prints it.
    pub release: Option<String>,
    /// Those of its boot parameters that change performance, with their
    /// values; `null` is a parameter without one.
    pub boot_parameters: BTreeMap<String, Option<String>>,
    /// How it preempts: `none`, `voluntary`, `full`, `lazy` or `rt`. Where the
    /// mode in force may not be read, what the build allows: `dynamic`, or
    /// `none or voluntary`.
    pub preemption: Option<String>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_hugepages: Option<String>,
    /// How often the timer interrupts a CPU that works, in hertz. Since 1.4, as all that
    /// follow.
    #[serde(default)]
    pub timer_hz: Option<u64>,
    /// How long a task may run before another one's turn, in nanoseconds.
    #[serde(default)]
    pub base_slice_ns: Option<u64>,
    /// Whether the tasks of a session are a group to the scheduler.
    #[serde(default)]
    pub autogroup: Option<bool>,
    /// The scheduler that was loaded in place of the kernel's own.
    #[serde(default)]
    pub sched_ext: Option<String>,
    /// How deep in control groups of the CPU the runner is, a count.
    #[serde(default)]
    pub cpu_group_depth: Option<u64>,
}

/// The limits on this process and on the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limits {
    /// Open files of a process (`RLIMIT_NOFILE`), a count.
    pub open_files: Option<SoftHard>,
    /// Processes and threads of the user (`RLIMIT_NPROC`), a count.
    pub user_processes: Option<SoftHard>,
    /// Locked memory of a process (`RLIMIT_MEMLOCK`), in bytes.
    pub locked_memory_bytes: Option<SoftHard>,
    /// Threads of the machine (`kernel.threads-max`), a count.
    pub machine_threads: Option<u64>,
    /// Process numbers of the machine (`kernel.pid_max`), a count.
    pub machine_pids: Option<u64>,
    /// Memory maps of a process (`vm.max_map_count`), a count.
    pub memory_maps: Option<u64>,
    /// Limits of the control groups that this process is in.
    pub cgroup: CgroupLimits,
}

/// A resource limit in its two forms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SoftHard {
    /// In force; the process may raise it itself.
    pub soft: Bound,
    /// As far as the soft limit may be raised without privilege.
    pub hard: Bound,
}

/// How much of something there may be: a number in the unit that the field
/// gives, or the word `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Bound {
    /// At most this much.
    AtMost(u64),
    /// No limit is set.
    No(Unlimited),
}

/// The word that stands where a number would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unlimited {
    /// No limit is set.
    Unlimited,
}

/// The smallest limits of the process's control group and its ancestors.
/// `null` where the controller's hierarchy cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CgroupLimits {
    /// Processes and threads, a count.
    pub pids: Option<Bound>,
    /// Memory, in bytes.
    pub memory_bytes: Option<Bound>,
    /// CPU time per time, in thousandths of a CPU: 1500 is one and a half.
    pub cpu_quota_millicpus: Option<Bound>,
}

/// Versions of what was built and of what built it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Software {
    /// The runner's version.
    pub brigade: String,
    /// The C library, such as `glibc 2.41`.
    pub libc: Option<String>,
    /// The compiler, as `rustc --version` prints it in the workspace.
    pub rustc: Option<String>,
    /// What the tools that programs need print of their versions, by command;
    /// `null` where one cannot be run. Since 1.2; before, `go` had that of Go.
    #[serde(default)]
    pub tools: BTreeMap<String, Option<String>>,
    /// The Go compiler, as `go version` prints it. Before 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go: Option<String>,
    /// Versions of the crates that are measured, by name; `null` for one that
    /// `Cargo.lock` does not hold.
    pub measured_crates: BTreeMap<String, Option<String>>,
    /// The commit that the workspace stands on; `null` outside a repository.
    pub git_revision: Option<String>,
    /// Whether files that git tracks differ from that commit.
    pub git_dirty: Option<bool>,
}
