//! The limits of this machine, and their current use. What cannot be read is unknown: it refuses
//! nothing, but may still apply.
//!
//! A new limit is a row in [`in_force`]: nothing outside this file. If it counts something new, that is
//! a [`Resource`], and the rows of [`super::Kind`] say how much of it a task needs.

use std::ptr;

use clap::ValueEnum;
use nix::errno::Errno;
use nix::sys::resource::{Resource as Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use Resource::{
    AddressSpace, Data, EpollWatches, Files, LockedMemory, Maps, Memory, Ports, Rings, Signals,
    Threads,
};

use crate::machine::control_groups::{self, ControlGroup, Groups, NO_LIMIT, is_first_namespace};
use crate::machine::inherited::Scheduling;
use crate::machine::system_files::{SystemFiles, field, kib_field};

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Open files
    Files,
    /// Threads
    Threads,
    /// Memory maps
    Maps,
    /// Bytes of memory
    Memory,
    /// Bytes of address space
    AddressSpace,
    /// Bytes of private memory
    Data,
    /// Bytes of locked memory
    LockedMemory,
    /// Epoll watches
    EpollWatches,
    /// io_uring rings
    Rings,
    /// Ports
    Ports,
    /// Pending signals
    Signals,
}

/// Whose use a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The limit counts the use of all processes of the machine, or of a namespace.
    Machine,
    /// The limit counts the use of all processes of a user.
    User,
    /// The limit counts the use of all processes of a control group.
    Group,
    /// The limit counts the use of this process alone.
    Process,
}

/// The number of resources.
pub(super) const RESOURCES: usize = Signals as usize + 1;

/// One limit on a resource, as it applies to this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Limit {
    /// The resource that it counts.
    pub resource: Resource,
    /// Whose use of it counts.
    pub scope: Scope,
    /// Its name, as administrators know it: a setting, a resource limit, or a file.
    pub name: String,
    /// Its value; `null` if there is none, or it is unknown.
    pub value: Option<u64>,
    /// How much of it is in use.
    pub in_use: u64,
    /// The largest value that the kernel accepts.
    pub most: u64,
    /// The command that raises it, with `{}` for the new value; `null` if none can.
    pub raise: Option<String>,
    /// Why it does not apply to this process; `null` if it does.
    pub exempt: Option<&'static str>,
    /// The file that cannot be read, without which the limit is unknown; `null` if it is known.
    pub unknown: Option<String>,
    /// What may make it smaller; `null` if nothing is known to.
    pub caveat: Option<String>,
}

impl Limit {
    /// An unused limit of this process that no command raises.
    pub fn new(resource: Resource, name: &str, value: Option<u64>) -> Self {
        Self {
            resource,
            scope: Scope::Process,
            name: name.to_owned(),
            value,
            in_use: 0,
            most: u64::MAX,
            raise: None,
            exempt: None,
            unknown: None,
            caveat: None,
        }
    }

    /// The limit's name without the folder that all control groups have in common.
    pub fn short_name(&self) -> &str {
        self.name.strip_prefix(GROUPS).unwrap_or(&self.name)
    }

    /// A limit of this value with so much in use, as far as both can be read. What is unlimited does
    /// not depend on how much is in use.
    fn read(resource: Resource, name: &str, value: Reading, in_use: Reading) -> Self {
        let is_unlimited = matches!(value, Ok(NO_LIMIT..));
        match value.and_then(|value| Ok((value, in_use?))) {
            Ok((value, in_use)) => {
                let value = if is_unlimited { None } else { Some(value) };
                Self { in_use, ..Self::new(resource, name, value) }
            }
            Err(_) if is_unlimited => Self::new(resource, name, None),
            Err(file) => Self { unknown: Some(file), ..Self::new(resource, name, None) },
        }
    }

    /// The amount left; `None` if it does not apply.
    pub fn available(&self) -> Option<u64> {
        let value = self.value.filter(|_| self.exempt.is_none())?;
        Some(value.saturating_sub(self.in_use))
    }
}

/// The folder of control groups.
const GROUPS: &str = "/sys/fs/cgroup/";

/// The largest `kernel.threads-max` (`FUTEX_TID_MASK`).
const MOST_THREADS: u64 = 0x3fff_ffff;
/// The largest `kernel.pid_max` (`PID_MAX_LIMIT` of a 64-bit kernel).
const MOST_IDS: u64 = 1 << 22;
/// The largest `vm.max_map_count`, an `int`.
const MOST_MAPS: u64 = i32::MAX as u64;

/// Every limit that tasks can reach, as it applies to this process on the machine in `files`, one a
/// row: what it counts, its name, how much of it is in use, and why it does not apply. What other
/// processes of the user hold of locked memory and epoll watches is not visible.
pub fn in_force(files: &SystemFiles) -> Vec<Limit> {
    let machine = &Machine::new(files);
    let status = |name| machine.read(STATUS, |text| kib_field(text, name));
    let admin = machine.has(ADMIN).then_some("CAP_SYS_ADMIN exempts this process");
    // Reading the folder opens one more.
    let open_files = (files.names("proc/self/fd").len() as u64).saturating_sub(1);
    let maps = machine.read("proc/self/maps", |maps| Some(maps.lines().count() as u64));
    let memory = machine.read("proc/meminfo", |text| kib_field(text, "MemAvailable"));
    let ports = machine.read("proc/sys/net/ipv4/ip_local_port_range", |range| {
        // Of the connections to one server here, which has one of them.
        let (first, last) = range.trim().split_once('\t')?;
        last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)
    });
    // Of the user, before a slash; each POSIX timer reserves one.
    let signals = machine.read(STATUS, |text| field(text, "SigQ")?.split('/').next()?.parse().ok());
    let of_machine = |limit| Limit { scope: Scope::Machine, ..limit };
    let of_user = |limit| Limit { scope: Scope::User, ..limit };
    let threads = machine.setting(Threads, "kernel.threads-max", machine.threads());
    let files_of_all = machine.setting(Files, "fs.file-max", machine.number("proc/sys/fs/file-nr"));
    let mut rows = vec![
        of_machine(Limit { most: MOST_THREADS, ..threads }),
        machine.setting(Files, "fs.nr_open", Ok(open_files)),
        of_machine(Limit { exempt: admin, ..files_of_all }),
        machine.rlimit(Files, "RLIMIT_NOFILE", "Max open files", Ok(open_files)),
        of_machine(machine.ids()),
        of_user(machine.processes_of_user()),
        Limit { most: MOST_MAPS, ..machine.setting(Maps, "vm.max_map_count", maps) },
        of_machine(Limit::read(Memory, "MemAvailable", memory, Ok(0))),
        machine.rlimit(AddressSpace, "RLIMIT_AS", "Max address space", status("VmSize")),
        machine.rlimit(Data, "RLIMIT_DATA", "Max data size", status("VmData")),
        of_user(machine.setting(EpollWatches, "fs.epoll.max_user_watches", Ok(0))),
        of_user(machine.locked_memory()),
        of_machine(Limit::read(Ports, "net.ipv4.ip_local_port_range", ports, Ok(0))),
        of_user(machine.rlimit(Signals, "RLIMIT_SIGPENDING", "Max pending signals", signals)),
    ];
    rows.extend(
        [machine.deadline(), machine.unseen().map(of_machine), machine.rings()]
            .into_iter()
            .flatten(),
    );
    rows.extend(machine.of_groups(Threads, "pids", &[GroupFiles::PIDS]));
    rows.extend(machine.of_groups(Memory, "memory", &[GroupFiles::MEMORY_2, GroupFiles::MEMORY_1]));
    rows
}

/// The names of the files of a control group with a limit and what of it is in use.
struct GroupFiles {
    limit: &'static str,
    used: &'static str,
}

impl GroupFiles {
    const PIDS: Self = Self { limit: "pids.max", used: "pids.current" };
    const MEMORY_1: Self = Self { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes" };
    const MEMORY_2: Self = Self { limit: "memory.max", used: "memory.current" };
}

const STATUS: &str = "proc/self/status";

/// Ids below this are assigned only until they first wrap around (`RESERVED_PIDS`).
const RESERVED_IDS: u64 = 300;

/// What a file says, or the file, if it cannot be read.
type Reading = Result<u64, String>;

/// Capability to administer the machine (`CAP_SYS_ADMIN`), by its number in `linux/capability.h`.
const ADMIN: u32 = 21;
/// Capability to exceed resource limits (`CAP_SYS_RESOURCE`).
const RESOURCE: u32 = 24;
/// Capability to lock memory (`CAP_IPC_LOCK`).
const LOCK: u32 = 14;

/// Raises the soft file limit to the hard one. Ignores a failure: opening a file will report it.
pub fn raise_soft_file_limit() {
    if let Ok((_, hard)) = getrlimit(Rlimit::RLIMIT_NOFILE) {
        let _ = setrlimit(Rlimit::RLIMIT_NOFILE, hard, hard);
    }
}

/// The machine, and this process's privileges.
struct Machine<'a> {
    files: &'a SystemFiles,
    /// The real user id in this namespace.
    user: Option<u64>,
    /// Whether the real user is the machine's root.
    is_root: bool,
    /// Effective capabilities over the whole machine: those inside a user namespace do not count
    /// for the machine's limits.
    capabilities: u64,
}

impl<'a> Machine<'a> {
    fn new(files: &'a SystemFiles) -> Self {
        let status = files.text(STATUS).unwrap_or_default();
        let map = files.text("proc/self/uid_map").unwrap_or_default();
        let user = real_user(&status);
        // First id inside, first outside, count. The initial namespace maps every id to itself.
        let ranges: Vec<u64> = map.split_whitespace().flat_map(str::parse).collect();
        let is_root = ranges.chunks_exact(3).any(|range| range[1] == 0 && user == Some(range[0]));
        let is_first = ranges == [0, 0, u64::from(u32::MAX)];
        let effective = field(&status, "CapEff").filter(|_| is_first);
        let effective = effective.and_then(|hex| u64::from_str_radix(hex, 16).ok());
        Self { files, user, is_root, capabilities: effective.unwrap_or(0) }
    }

    fn has(&self, capability: u32) -> bool {
        self.capabilities & (1 << capability) != 0
    }

    /// The number that `find` finds in a file.
    fn read(&self, path: &str, find: impl FnOnce(&str) -> Option<u64>) -> Reading {
        self.files.text(path).as_deref().and_then(find).ok_or_else(|| format!("/{path}"))
    }

    /// The number at the start of a file.
    fn number(&self, path: &str) -> Reading {
        self.read(path, |text| text.split_whitespace().next()?.parse().ok())
    }

    /// A kernel setting, which `sysctl` raises.
    fn setting(&self, resource: Resource, name: &str, in_use: Reading) -> Limit {
        let value = self.number(&format!("proc/sys/{}", name.replace('.', "/")));
        let raise = Some(format!("sudo sysctl {name}={{}}"));
        Limit { raise, ..Limit::read(resource, name, value, in_use) }
    }

    /// A resource limit of this process, which prlimit raises, by its name and the start of its
    /// line in `/proc/self/limits`. Of files it is the hard one: programs raise the soft one to it.
    fn rlimit(&self, resource: Resource, name: &str, title: &str, in_use: Reading) -> Limit {
        let value = self.read("proc/self/limits", |text| {
            let line = text.lines().find_map(|line| line.strip_prefix(title))?;
            match line.split_whitespace().nth(usize::from(name == "RLIMIT_NOFILE"))? {
                "unlimited" => Some(NO_LIMIT),
                number => number.parse().ok(),
            }
        });
        let option = name.trim_start_matches("RLIMIT_").to_lowercase();
        let raise = Some(format!("sudo prlimit --pid $$ --{option}={{}}:{{}}"));
        Limit { raise, ..Limit::read(resource, name, value, in_use) }
    }

    /// The limits on threads or memory of this process's control groups: each is in one of `files`.
    fn of_groups(&self, resource: Resource, controller: &str, files: &[GroupFiles]) -> Vec<Limit> {
        let groups = Groups::of_process(self.files, controller);
        let visible =
            groups.visible.iter().filter_map(|group| self.of_group(resource, group, files));
        let hidden = groups
            .hidden
            .map(|what| Limit::read(resource, &format!("{controller}.max"), Err(what), Ok(0)))
            .map(|limit| Limit { scope: Scope::Group, ..limit });
        visible.chain(hidden).collect()
    }

    /// The limit of one group; `None` if it has none of the files, as the root.
    fn of_group(
        &self,
        resource: Resource,
        group: &ControlGroup,
        files: &[GroupFiles],
    ) -> Option<Limit> {
        let found = files.iter().find(|names| self.files.contains(&group.path(names.limit)))?;
        let [path, used] = [found.limit, found.used].map(|name| group.path(name));
        let value = self.read(&path, control_groups::limit);
        let in_use = match resource {
            Memory => group.kept_bytes(self.files).ok_or_else(|| format!("/{used}")),
            _ => self.number(&used),
        };
        let name = format!("/{path}");
        let raise = Some(format!("echo {{}} | sudo tee {name}"));
        let limit = Limit::read(resource, &name, value, in_use);
        Some(Limit { scope: Scope::Group, raise, ..limit })
    }

    /// Threads of the whole machine: the number after the slash of `0.00 0.01 0.05 2/345 6789`.
    fn threads(&self) -> Reading {
        self.read("proc/loadavg", |text| text.split([' ', '/']).nth(4)?.parse().ok())
    }

    /// The folders of processes.
    fn processes(&self) -> impl Iterator<Item = String> {
        let names = self.files.names("proc").into_iter();
        names.filter(|name| name.parse::<u64>().is_ok())
    }

    /// Numbers of threads. Since Linux 6.14 each namespace has its limit and counts its own; before,
    /// the machine's applies. Once numbers have wrapped around, the reserved ones are not assigned
    /// any more: until then, those from the next one on are left.
    fn ids(&self) -> Limit {
        let is_first = is_first_namespace(self.files, "pid");
        let is_inside = is_first != Some(true);
        let counts_own = is_first == Some(false) && self.is_since((6, 14)) == Some(true);
        let next = self.number("proc/sys/kernel/ns_last_pid").map_or(RESERVED_IDS, |last| last + 1);
        let lowest = if is_inside && !counts_own { RESERVED_IDS } else { next.min(RESERVED_IDS) };
        // All below `lowest` and those in use from it on.
        let taken = |lowest: u64| {
            if counts_own {
                let threads = self.processes();
                let threads = threads.flat_map(|id| self.files.names(&format!("proc/{id}/task")));
                let ids = threads.filter_map(|id| id.parse::<u64>().ok());
                return Ok(lowest + ids.filter(|id| *id >= lowest).count() as u64);
            }
            let is_thread = |id: &u64| self.files.contains(&format!("proc/{id}/stat"));
            let below = if is_inside { 0 } else { (1..lowest).filter(is_thread).count() as u64 };
            Ok(lowest + self.threads()?.saturating_sub(below))
        };
        let limit = self.setting(Threads, "kernel.pid_max", taken(lowest));
        let caveat = limit.value.filter(|_| lowest < RESERVED_IDS).and_then(|_| {
            let fewer = taken(RESERVED_IDS).ok()?.saturating_sub(limit.in_use);
            Some(format!(
                "once numbers have wrapped around, {fewer} fewer are left: those below 300 are \
                 reserved"
            ))
        });
        Limit { caveat, most: MOST_IDS, ..limit }
    }

    /// Limits on threads that cannot be seen from inside of a namespace; those of control groups have
    /// rows of their own.
    fn unseen(&self) -> Option<Limit> {
        let mut kinds = vec!["pid", "user"];
        kinds.retain(|kind| is_first_namespace(self.files, kind) != Some(true));
        if kinds.is_empty() {
            return None;
        }
        let name = format!("outside of its namespace ({})", kinds.join(", "));
        Some(Limit::read(Threads, &name, Err(format!("limits {name}")), Ok(0)))
    }

    /// A thread of the policy deadline cannot create others, unless the policy is reset for them.
    fn deadline(&self) -> Option<Limit> {
        let scheduling = self.files.is_live().then(Scheduling::own).flatten()?;
        if scheduling.policy() != "deadline" || scheduling.is_reset_on_fork() {
            return None;
        }
        let caveat = "the policy is deadline, under which a thread cannot create others";
        Some(Limit {
            raise: Some("chrt --other --pid 0 $$".to_owned()),
            caveat: Some(caveat.to_owned()),
            ..Limit::new(Threads, "SCHED_DEADLINE", Some(0))
        })
    }

    /// Threads of the real user, unless the kernel exempts this process (`copy_process`).
    fn processes_of_user(&self) -> Limit {
        let exempt = if self.is_root {
            Some("root is exempt")
        } else if self.has(RESOURCE) || self.has(ADMIN) {
            Some("CAP_SYS_RESOURCE or CAP_SYS_ADMIN exempts this process")
        } else {
            None
        };
        let threads = self.processes().filter_map(|id| {
            let status = self.files.text(&format!("proc/{id}/status"))?;
            let threads: u64 = field(&status, "Threads")?.parse().ok()?;
            (real_user(&status) == self.user).then_some(threads)
        });
        let in_use = if exempt.is_some() { 0 } else { threads.sum() };
        Limit { exempt, ..self.rlimit(Threads, "RLIMIT_NPROC", "Max processes", Ok(in_use)) }
    }

    /// Whether this is at least that version of Linux, if it is known.
    fn is_since(&self, version: (u64, u64)) -> Option<bool> {
        let release = self.files.text("proc/sys/kernel/osrelease")?;
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u64>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?) >= version)
    }

    /// The memory of rings counts since Linux 6.14 (`io_create_region`), for users without
    /// `CAP_IPC_LOCK`. It is released late: rings that have just been closed may still count.
    fn locked_memory(&self) -> Limit {
        let exempt = if self.has(LOCK) {
            Some("CAP_IPC_LOCK exempts this process")
        } else if self.is_since((6, 14)) == Some(false) {
            Some("Linux before 6.14 does not charge rings to it")
        } else {
            None
        };
        Limit { exempt, ..self.rlimit(LockedMemory, "RLIMIT_MEMLOCK", "Max locked memory", Ok(0)) }
    }

    /// `kernel.io_uring_disabled` (since Linux 6.6) is 0 for nobody, 1 for unprivileged users, 2
    /// for everybody. A kernel built without io_uring, or a filter of system calls, as in
    /// containers, shows only when it is called.
    fn rings(&self) -> Option<Limit> {
        let name = "kernel.io_uring_disabled";
        let disabled = self.number("proc/sys/kernel/io_uring_disabled").unwrap_or(0);
        if disabled >= 2 || (disabled == 1 && !self.has(ADMIN)) {
            let raise = Some(format!("sudo sysctl {name}=0"));
            return Some(Limit { raise, ..Limit::new(Rings, name, Some(0)) });
        }
        let name = "the permission of this kernel or container for io_uring_setup";
        let denied = self.files.is_live() && !can_create_rings();
        denied.then(|| Limit::new(Rings, name, Some(0)))
    }
}

/// The real user of a process, from its `status`.
fn real_user(status: &str) -> Option<u64> {
    field(status, "Uid")?.split_whitespace().next()?.parse().ok()
}

/// Whether the kernel lets this process create a ring: the request has no parameters, so that none
/// is created.
fn can_create_rings() -> bool {
    // SAFETY: the kernel reads the parameters, which are absent, and writes nothing.
    let result = unsafe { libc::syscall(libc::SYS_io_uring_setup, 0, ptr::null_mut::<u8>()) };
    matches!(Errno::result(result), Ok(_) | Err(Errno::EFAULT | Errno::EINVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: (&str, &str) =
        (STATUS, "Uid:\t7\t7\t7\t7\nCapEff:\t0\nVmSize:\t4000 kB\nSigQ:\t5/3000\n");
    const ADMINISTRATOR: (&str, &str) = (STATUS, "Uid:\t0\t0\t0\t0\nCapEff:\t0000000000204000\n");

    /// A small machine's files, for an unprivileged process.
    const MACHINE: [(&str, &str); 16] = [
        (
            "proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units\n\
             Max processes             4000                 5000                 processes\n\
             Max open files            1024                 20000                files\n\
             Max locked memory         8388608              8388608              bytes\n\
             Max pending signals       3000                 4000                 signals\n\
             Max address space         unlimited            unlimited            bytes\n\
             Max data size             unlimited            unlimited            bytes\n",
        ),
        USER,
        ("proc/self/ns/pid", "pid:[4026531836]"),
        ("proc/self/uid_map", "0 0 4294967295\n"),
        ("proc/self/maps", "a\nb\nc\n"),
        ("proc/loadavg", "0.00 0.01 0.05 2/345 6789\n"),
        ("proc/meminfo", "MemAvailable: 2000000 kB\n"),
        ("proc/sys/kernel/threads-max", "10000\n"),
        ("proc/sys/kernel/pid_max", "32768\n"),
        ("proc/sys/kernel/osrelease", "6.18.44-generic\n"),
        ("proc/sys/vm/max_map_count", "65530\n"),
        ("proc/sys/fs/file-max", "90000\n"),
        ("proc/sys/fs/file-nr", "700\t0\t90000\n"),
        ("proc/sys/fs/nr_open", "1048576\n"),
        // A thread with a low id, and one of the user's.
        ("proc/12/stat", ""),
        ("proc/900/status", "Uid:\t7\t0\t0\t0\nThreads:\t42\n"),
    ];

    /// Value, in use, exempt.
    type Seen = (Option<u64>, u64, bool);

    /// These are among the limits of `resource` on the small machine with these files.
    #[track_caller]
    fn check(files: &[(&str, &str)], resource: Resource, expected: &[Seen]) {
        let limits = in_force(&SystemFiles::simulated(&[&MACHINE[..], files].concat())).into_iter();
        let limits = limits.filter(|limit| limit.resource == resource);
        let seen: Vec<Seen> =
            limits.map(|limit| (limit.value, limit.in_use, limit.exempt.is_some())).collect();
        let missing = expected.iter().find(|limit| !seen.contains(limit));
        assert_eq!(missing, None, "{seen:?} of {files:?}");
    }

    #[test]
    fn every_limit_of_a_resource_is_read() {
        let open = ["proc/self/fd/0", "proc/self/fd/1", "proc/self/fd/2"].map(|path| (path, ""));
        let files = |exempt| {
            [(Some(1_048_576), 2, false), (Some(90_000), 700, exempt), (Some(20_000), 2, false)]
        };
        check(&open, Files, &files(false));
        check(&[&open[..], &[ADMINISTRATOR]].concat(), Files, &files(true));
        let groups = [
            ("proc/901/status", "Uid:\t8\t7\t7\t7\nThreads:\t500\n"),
            ("proc/self/cgroup", "8:pids:/a.slice/b.service\n"),
            ("proc/self/mountinfo", "1 2 0:3 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"),
            ("sys/fs/cgroup/pids/a.slice/b.service/cgroup.procs", ""),
            ("sys/fs/cgroup/pids/a.slice/b.service/pids.max", "max\n"),
            ("sys/fs/cgroup/pids/a.slice/pids.max", "200\n"),
            ("sys/fs/cgroup/pids/a.slice/pids.current", "17\n"),
        ];
        let threads = [
            (Some(10_000), 345, false),
            (Some(32_768), 344 + 300, false),
            (Some(4000), 42, false),
            (None, 0, false),
            (Some(200), 17, false),
        ];
        check(&groups, Threads, &threads);
        // File pages do not count against a group.
        let group = [
            ("proc/self/cgroup", "0::/job\n"),
            ("proc/self/mountinfo", "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/job/cgroup.procs", ""),
            ("sys/fs/cgroup/job/memory.max", "1000000\n"),
            ("sys/fs/cgroup/job/memory.current", "900000\n"),
            ("sys/fs/cgroup/job/memory.stat", "active_file 100000\ninactive_file 500000\n"),
        ];
        let available = Some(2_000_000 << 10);
        check(&group, Memory, &[(available, 0, false), (Some(1_000_000), 300_000, false)]);
        check(&[], Maps, &[(Some(65_530), 3, false)]);
        check(&[], AddressSpace, &[(None, 4000 << 10, false)]);
        check(&[], Signals, &[(Some(3000), 5, false)]);
        let limited = [("proc/self/limits", "Max address space  4096 8192 bytes\n")];
        check(&limited, AddressSpace, &[(Some(4096), 4000 << 10, false)]);
    }

    /// Root of a namespace is not the machine's root.
    #[test]
    fn the_users_limit_does_not_apply_to_root_and_the_privileged() {
        let first = "0 0 4294967295\n";
        for (user, capabilities, map, exempt) in [
            ("0", "0", first, true),
            ("0", "1fffeffffff", "0 100000 65536\n", false),
            ("7", "1000000", first, true),
            ("7", "200000", first, true),
            ("7", "4000", first, false),
            ("?", "?", first, false),
        ] {
            let status = format!("Uid:\t{user}\t0\t0\t0\nCapEff:\t{capabilities}\n");
            let files = [&MACHINE[..], &[(STATUS, &status), ("proc/self/uid_map", map)]].concat();
            let limits = in_force(&SystemFiles::simulated(&files));
            let limit = limits.iter().find(|limit| limit.name == "RLIMIT_NPROC").expect("a limit");
            assert_eq!(limit.exempt.is_some(), exempt, "{user} {capabilities} {map}");
        }
    }

    /// Processes 1 and 2 with three threads, in a namespace of their own.
    #[test]
    fn numbers_are_counted_in_their_namespace_and_wrap_around() {
        let inside = [
            ("proc/self/ns/pid", "pid:[4026532000]"),
            ("proc/1/task/1/stat", ""),
            ("proc/2/task/2/stat", ""),
            ("proc/2/task/350/stat", ""),
            ("proc/sys/kernel/pid_max", "400"),
        ];
        for (release, last, available, wraps) in [
            ("6.14.0", "2", 397 - 1, true),
            ("6.14.0", "350", 100 - 1, false),
            // Before, the namespace of the machine counted.
            ("6.13.0", "2", 0, false),
        ] {
            let release = ("proc/sys/kernel/osrelease", release);
            let last = ("proc/sys/kernel/ns_last_pid", last);
            let files = [&MACHINE[..], &inside, &[release, last]].concat();
            let limits = in_force(&SystemFiles::simulated(&files));
            let limit = limits.iter().find(|limit| limit.name == "kernel.pid_max").expect("one");
            assert_eq!(limit.available(), Some(available), "{release:?} {last:?}");
            assert_eq!(limit.caveat.is_some(), wraps, "{release:?} {last:?}");
            let unseen = limits.iter().filter(|limit| limit.name.contains("namespace"));
            assert_eq!(unseen.count(), 1, "what is outside is unknown");
        }
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_never_unlimited() {
        for (hidden, name) in [
            ("proc/sys/vm/max_map_count", "vm.max_map_count"),
            ("proc/meminfo", "MemAvailable"),
            ("proc/self/limits", "RLIMIT_DATA"),
            ("proc/loadavg", "kernel.threads-max"),
            ("proc/sys/kernel/pid_max", "kernel.pid_max"),
        ] {
            let files: Vec<_> = MACHINE.into_iter().filter(|(path, _)| *path != hidden).collect();
            let limits = in_force(&SystemFiles::simulated(&files));
            let limit = limits.iter().find(|limit| limit.name == name).expect(name);
            assert_eq!(limit.unknown, Some(format!("/{hidden}")));
            assert_eq!((limit.value, limit.available()), (None, None));
        }
        let files: Vec<_> =
            MACHINE.into_iter().filter(|(path, _)| *path != "proc/self/ns/pid").collect();
        let limits = in_force(&SystemFiles::simulated(&files));
        assert!(limits.iter().any(|limit| limit.name.contains("namespace")), "{limits:?}");
    }

    #[test]
    fn a_group_whose_files_cannot_be_read_has_an_unknown_limit() {
        const FOLDER: &str = "sys/fs/cgroup/job";
        let job = |files: &[(&str, &str)]| {
            let files = files.iter().map(|(name, text)| (format!("{FOLDER}/{name}"), *text));
            let mut files: Vec<(String, &str)> = files.collect();
            files.push((format!("{FOLDER}/cgroup.procs"), ""));
            files.push(("proc/self/cgroup".to_owned(), "0::/job\n"));
            let mounts = "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
            files.push(("proc/self/mountinfo".to_owned(), mounts));
            let files = files.iter().map(|(path, text)| (path.as_str(), *text));
            let limits = in_force(&SystemFiles::simulated(
                &MACHINE.into_iter().chain(files).collect::<Vec<_>>(),
            ));
            let limits = limits.into_iter().filter(|limit| limit.name.contains(FOLDER));
            limits.map(|limit| (limit.value, limit.unknown)).collect::<Vec<_>>()
        };
        let file = |name: &str| Some(format!("/{FOLDER}/{name}"));
        assert_eq!(job(&[("pids.max", "60"), ("pids.current", "3")]), [(Some(60), None)]);
        assert_eq!(job(&[("pids.max", "?"), ("pids.current", "3")]), [(None, file("pids.max"))]);
        assert_eq!(job(&[("pids.max", "60")]), [(None, file("pids.current"))]);
        assert_eq!(job(&[("memory.max", "60")]), [(None, file("memory.current"))]);
        assert_eq!(
            job(&[("pids.max", "max"), ("memory.max", "max")]),
            [(None, None), (None, None)]
        );
    }

    #[test]
    fn rings_are_limited_by_locked_memory_and_a_setting() {
        for (release, who, exempt) in
            [("6.13.0-rc1", USER, true), ("6.14.0", USER, false), ("7.0", ADMINISTRATOR, true)]
        {
            let release = ("proc/sys/kernel/osrelease", release);
            check(&[release, who], LockedMemory, &[(Some(8 << 20), 0, exempt)]);
        }
        for (disabled, who, is_forbidden) in [
            ("0", USER, false),
            ("1", USER, true),
            ("1", ADMINISTRATOR, false),
            ("2", ADMINISTRATOR, true),
        ] {
            let setting = ("proc/sys/kernel/io_uring_disabled", disabled);
            let limits =
                in_force(&SystemFiles::simulated(&[&MACHINE[..], &[setting, who]].concat()));
            assert_eq!(
                limits.iter().any(|limit| limit.resource == Rings),
                is_forbidden,
                "{disabled}"
            );
        }
    }
}
