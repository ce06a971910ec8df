//! The limits of this machine, and their current use. Unreadable limits are omitted: they may still
//! apply, and then the user sees the kernel's error.

use std::ptr;

use nix::errno::Errno;
use nix::sys::resource::{Resource as Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::needs::{PAGES_PER_PIPE, Resource};
use crate::control_groups::{self, Allowance, Group};
use crate::system_files::{SystemFiles, field, kib_field, page_size};

/// One limit, as it applies to this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Limit {
    /// The resource that it counts.
    pub resource: Resource,
    /// Its name, as administrators know it.
    pub name: String,
    /// Its source: a file, or a resource limit.
    pub source: String,
    /// Its value; `null` if there is none.
    pub value: Option<u64>,
    /// How much of it is in use.
    pub in_use: u64,
    /// The largest value that the kernel accepts; `null` if no bound is within
    /// reach of tasks.
    pub greatest: Option<u64>,
    /// Alternative commands that raise it, with `{}` for the new value. Empty
    /// if no command can.
    pub raise: Vec<String>,
    /// Why it does not apply to this process; `null` if it does.
    pub exempt: Option<String>,
}

impl Limit {
    /// An unused limit that no command raises.
    pub fn new(resource: Resource, name: &str, source: &str, value: Option<u64>) -> Self {
        Self {
            resource,
            name: name.to_owned(),
            source: source.to_owned(),
            value,
            in_use: 0,
            greatest: None,
            raise: Vec::new(),
            exempt: None,
        }
    }

    /// Sets the amount in use.
    pub fn in_use(self, in_use: u64) -> Self {
        Self { in_use, ..self }
    }

    /// Adds a command that raises it.
    pub fn raised_by(mut self, command: &str) -> Self {
        self.raise.push(command.to_owned());
        self
    }

    /// Sets the reason why it does not apply, if there is one.
    pub fn exempt(self, reason: Option<&str>) -> Self {
        Self { exempt: reason.map(str::to_owned), ..self }
    }

    /// The amount left; `None` if it does not apply.
    pub fn available(&self) -> Option<u64> {
        let value = self.value.filter(|_| self.exempt.is_none())?;
        Some(value.saturating_sub(self.in_use))
    }

    /// The commands that allow `amount` more than is in use; empty if no
    /// command can.
    pub fn commands_for(&self, amount: u64) -> Vec<String> {
        let enough = amount.saturating_add(self.in_use);
        if self.greatest.is_some_and(|greatest| enough > greatest) {
            return Vec::new();
        }
        self.raise.iter().map(|command| command.replace("{}", &enough.to_string())).collect()
    }
}

/// Ids below this are assigned only until they first wrap around
/// (`RESERVED_PIDS`).
const RESERVED_NUMBERS: u64 = 300;
/// The largest `kernel.pid_max` (`PID_MAX_LIMIT` of a 64-bit kernel).
const MOST_NUMBERS: u64 = 1 << 22;
/// The largest `kernel.threads-max` (`FUTEX_TID_MASK`).
const MOST_THREADS: u64 = 0x3fff_ffff;
/// Pages of a pipe for a user below the soft limit (`PIPE_DEF_BUFFERS`).
const PAGES_PER_FULL_PIPE: u64 = 16;

/// Capability to administer the machine (`CAP_SYS_ADMIN`), by its number in `linux/capability.h`.
const ADMIN: u32 = 21;
/// Capability to exceed resource limits (`CAP_SYS_RESOURCE`).
const RESOURCE: u32 = 24;
/// Capability to lock memory (`CAP_IPC_LOCK`).
const LOCK: u32 = 14;

const PRIVILEGED: &str = "CAP_SYS_RESOURCE or CAP_SYS_ADMIN exempts this process";

/// Every limit that tasks can reach, with its current use, as it applies to
/// this process on the machine in `files`.
pub fn in_force(files: &SystemFiles) -> Vec<Limit> {
    let machine = Machine::new(files);
    let limits = [machine.of_files(), machine.of_threads(), machine.of_memory(), machine.of_user()];
    limits.into_iter().flatten().flatten().collect()
}

/// Whether this process may raise its hard resource limits, as `prlimit` under
/// `sudo` usually may. In many containers not even root may.
pub fn may_raise_hard_limits(files: &SystemFiles) -> bool {
    Machine::new(files).has(RESOURCE)
}

/// Raises the soft file limit to the hard one. Ignores a failure: opening a
/// file will report it.
pub fn raise_soft_file_limit() {
    if let Ok((_, hard)) = getrlimit(Rlimit::RLIMIT_NOFILE) {
        let _ = setrlimit(Rlimit::RLIMIT_NOFILE, hard, hard);
    }
}

/// The machine, and this process's privileges.
struct Machine<'a> {
    files: &'a SystemFiles,
    /// The real user id in this namespace.
    user: u64,
    /// Whether the real user is the machine's root.
    is_root: bool,
    /// Effective capabilities over the whole machine: those inside a user namespace do not count
    /// for the machine's limits.
    capabilities: u64,
}

impl<'a> Machine<'a> {
    fn new(files: &'a SystemFiles) -> Self {
        let status = files.text("proc/self/status").unwrap_or_default();
        let map = files.text("proc/self/uid_map").unwrap_or_default();
        let user = real_user(&status).unwrap_or(u64::MAX);
        let effective = field(&status, "CapEff").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        // First id inside, first outside, count. The initial namespace maps every id to itself.
        let number = |word: &str| word.parse::<u64>().ok();
        let ranges: Vec<Vec<u64>> =
            map.lines().map(|line| line.split_whitespace().filter_map(number).collect()).collect();
        let is_root = ranges.iter().any(|range| {
            matches!(range[..], [inside, outside, count]
                if user.checked_sub(inside).is_some_and(|at| at < count && outside + at == 0))
        });
        let is_first = ranges == [[0, 0, u64::from(u32::MAX)]];
        let capabilities = effective.filter(|_| is_first).unwrap_or(0);
        Self { files, user, is_root, capabilities }
    }

    fn has(&self, capability: u32) -> bool {
        self.capabilities & (1 << capability) != 0
    }

    /// Why many limits do not apply to this process; `None` if they do.
    fn privilege(&self) -> Option<&'static str> {
        (self.has(RESOURCE) || self.has(ADMIN)).then_some(PRIVILEGED)
    }

    /// The soft and the hard value of the resource limit whose line in `/proc/self/limits` begins
    /// with `title`; `None` in them means no limit.
    fn resource_limit(&self, title: &str) -> Option<(Option<u64>, Option<u64>)> {
        let text = self.files.text("proc/self/limits")?;
        let line = text.lines().find_map(|line| line.strip_prefix(title))?;
        let mut values = line.split_whitespace().map(|value| match value {
            "unlimited" => Some(None),
            number => number.parse().ok().map(Some),
        });
        Some((values.next()??, values.next()??))
    }

    /// A limit of this process, whose line in `/proc/self/limits` begins with `title`, and which
    /// prlimit's `option` raises.
    fn of_process(
        &self,
        resource: Resource,
        [title, name, source, option]: [&str; 4],
    ) -> Option<Limit> {
        let (soft, _) = self.resource_limit(title)?;
        let limit = Limit::new(resource, &format!("{name} ({source})"), source, soft);
        Some(limit.raised_by(&format!("sudo prlimit --pid $$ --{option}={{}}:{{}}")))
    }

    /// The value of a kernel setting, by its sysctl name.
    fn setting(&self, name: &str) -> Option<u64> {
        self.files.number(&setting_path(name))
    }

    /// A limit that is a kernel setting, which `sysctl` raises.
    fn of_setting(&self, resource: Resource, name: &str, sysctl: &str) -> Option<Limit> {
        let source = format!("/{}", setting_path(sysctl));
        let limit = Limit::new(resource, name, &source, Some(self.setting(sysctl)?));
        Some(limit.raised_by(&format!("sudo sysctl {sysctl}={{}}")))
    }

    /// The limit in a control group's `file`, with its value and use. If systemd created the group,
    /// setting `property` also raises it.
    fn of_group(
        &self,
        group: &Group,
        resource: Resource,
        (file, property): (&str, &str),
        (allowance, in_use): (Allowance, u64),
    ) -> Limit {
        let value = match allowance {
            Allowance::AtMost(most) => Some(most),
            Allowance::Unlimited => None,
        };
        let path = format!("/{}", group.path(file));
        let name = format!("the control group's {path}");
        let limit = Limit::new(resource, &name, &path, value).in_use(in_use);
        let limit = limit.raised_by(&format!("echo {{}} | sudo tee {path}"));
        match self.systemctl(group) {
            Some(command) => limit.raised_by(&format!("{command} {property}={{}}")),
            None => limit,
        }
    }

    /// The command that sets a property of a group's systemd unit. Units below a user's manager
    /// belong to that manager.
    fn systemctl(&self, group: &Group) -> Option<String> {
        // The same check as sd_booted(3).
        if !self.files.names("run/systemd").contains(&"system".to_owned()) {
            return None;
        }
        let (above, unit) = group.folder.rsplit_once('/')?;
        let made = [".service", ".scope", ".slice"].iter().any(|ending| unit.ends_with(ending));
        let manager = if above.contains("/user@") { "systemctl --user" } else { "sudo systemctl" };
        made.then(|| format!("{manager} set-property {unit}"))
    }

    /// The number of open descriptors below `limit`: the limits are on numbers, and an inherited
    /// descriptor beyond it takes no place.
    fn open_below(&self, limit: Option<u64>) -> u64 {
        let limit = limit.unwrap_or(u64::MAX);
        let names = self.files.names("proc/self/fd").into_iter();
        let open = names.filter(|name| name.parse::<u64>().is_ok_and(|number| number < limit));
        // Reading the folder opens one more descriptor.
        (open.count() as u64).saturating_sub(1)
    }

    fn of_files(&self) -> Vec<Option<Limit>> {
        let rlimit = self.resource_limit("Max open files");
        let of_process = |kind, value| {
            let name = format!("the {kind} file limit (RLIMIT_NOFILE)");
            let source = format!("RLIMIT_NOFILE ({kind})");
            Limit::new(Resource::Files, &name, &source, value).in_use(self.open_below(value))
        };
        let hard = rlimit.map(|(_, hard)| of_process("hard", hard));
        let soft = rlimit.map(|(soft, _)| of_process("soft", soft));
        // The upper bound for every process.
        let numbers = self.of_setting(Resource::Files, "fs.nr_open", "fs.nr_open");
        let all = "the machine's file limit (fs.file-max)";
        let all = self.of_setting(Resource::Files, all, "fs.file-max");
        let open = self.files.number("proc/sys/fs/file-nr");
        let exempt = self.has(ADMIN).then_some("CAP_SYS_ADMIN exempts this process");
        vec![
            numbers.map(|limit| Limit { in_use: self.open_below(limit.value), ..limit }),
            hard.map(|limit| limit.raised_by("sudo prlimit --pid $$ --nofile={}:{}")),
            soft.map(|limit| limit.exempt(Some("programs raise it to the hard one themselves"))),
            all.zip(open).map(|(limit, open)| limit.in_use(open).exempt(exempt)),
        ]
    }

    /// Threads of the whole machine: the second number of `0.00 0.01 0.05 2/345
    /// 6789`.
    fn count_threads(&self) -> Option<u64> {
        let loadavg = self.files.text("proc/loadavg")?;
        let (_, all) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
        all.parse().ok()
    }

    fn of_threads(&self) -> Vec<Option<Limit>> {
        let all = self.count_threads();
        let of_all = |name, greatest, in_use: Option<u64>| {
            let limit = self.of_setting(Resource::Threads, name, name)?.in_use(in_use?);
            Some(Limit { greatest: Some(greatest), ..limit })
        };
        // Every thread has an id below `kernel.pid_max`. Ids below `RESERVED_NUMBERS` count as in
        // use, assigned or not.
        let is_thread = |number: &u64| self.files.text(&format!("proc/{number}/stat")).is_some();
        let low = (1..RESERVED_NUMBERS).filter(is_thread).count() as u64;
        let numbers = all.map(|all| all.saturating_sub(low) + RESERVED_NUMBERS);
        let of_group = |group: Group| {
            let used = (group.most_threads(self.files)?, group.threads(self.files).unwrap_or(0));
            Some(self.of_group(&group, Resource::Threads, ("pids.max", "TasksMax"), used))
        };
        let mut limits = vec![
            of_all("kernel.threads-max", MOST_THREADS, all),
            of_all("kernel.pid_max", MOST_NUMBERS, numbers),
            self.threads_of_user(),
        ];
        limits.extend(control_groups::of_process(self.files, "pids").into_iter().map(of_group));
        limits
    }

    /// `RLIMIT_NPROC` counts the threads of the real user. The kernel exempts the machine's root
    /// and two capabilities (`copy_process`).
    fn threads_of_user(&self) -> Option<Limit> {
        let names = ["Max processes", "the user's thread limit", "RLIMIT_NPROC", "nproc"];
        let limit = self.of_process(Resource::Threads, names)?;
        let root = self.is_root.then_some("root is exempt");
        let exempt = root.or_else(|| self.privilege());
        let binds = limit.value.is_some() && exempt.is_none();
        let in_use = if binds { self.count_threads_of_user() } else { 0 };
        Some(limit.exempt(exempt).in_use(in_use))
    }

    fn count_threads_of_user(&self) -> u64 {
        let names = self.files.names("proc").into_iter();
        let processes = names.filter(|name| name.parse::<u64>().is_ok());
        let threads = processes.filter_map(|process| {
            let status = self.files.text(&format!("proc/{process}/status"))?;
            let threads: u64 = field(&status, "Threads")?.parse().ok()?;
            (real_user(&status) == Some(self.user)).then_some(threads)
        });
        threads.sum()
    }

    fn of_memory(&self) -> Vec<Option<Limit>> {
        let maps = self.of_setting(Resource::Maps, "vm.max_map_count", "vm.max_map_count");
        let own_maps = self.files.text("proc/self/maps").map(|maps| maps.lines().count() as u64);
        let greatest = Some(i32::MAX as u64);
        let maps = maps.zip(own_maps).map(|(limit, in_use)| Limit { greatest, in_use, ..limit });
        let available = self.files.text("proc/meminfo");
        let available = available.and_then(|text| kib_field(&text, "MemAvailable"));
        let memory = "available memory (MemAvailable)";
        let memory = |bytes| Limit::new(Resource::Memory, memory, "MemAvailable", Some(bytes));
        let of_group = |group: Group| {
            // File pages do not count as in use: the kernel drops them first.
            let held = group.memory_bytes(self.files).unwrap_or(0);
            let in_use = held.saturating_sub(group.droppable_bytes(self.files));
            let used = (group.most_memory_bytes(self.files)?, in_use);
            let names = (group.memory_limit_file(), "MemoryMax");
            Some(self.of_group(&group, Resource::Memory, names, used))
        };
        let mut limits = vec![maps, available.map(memory)];
        limits.extend(control_groups::of_process(self.files, "memory").into_iter().map(of_group));
        let stack = "the stack limit (RLIMIT_STACK)";
        let stack = self.resource_limit("Max stack size").map(|(soft, _)| {
            Limit::new(Resource::AddressSpace, stack, "RLIMIT_STACK", soft)
                .exempt(Some("it limits the first thread's stack; tasks here choose theirs"))
        });
        limits.extend([self.address_space(), stack, self.committed()]);
        limits
    }

    fn address_space(&self) -> Option<Limit> {
        let (_, hard) = self.resource_limit("Max address space")?;
        let names = ["Max address space", "the address space limit", "RLIMIT_AS", "as"];
        let mut limit = self.of_process(Resource::AddressSpace, names)?;
        if hard.is_none() {
            // The shell may do this itself.
            limit.raise = vec!["ulimit -v unlimited".to_owned()];
        }
        Some(limit.in_use(self.files.number("proc/self/statm")? * page_size()?))
    }

    /// With `vm.overcommit_memory` = 2 the kernel refuses writable private maps beyond
    /// `CommitLimit`, part of which it reserves for root and for the user. Otherwise it only
    /// refuses single maps larger than the machine.
    fn committed(&self) -> Option<Limit> {
        let meminfo = self.files.text("proc/meminfo")?;
        let reserve = |name| self.setting(name).unwrap_or(0) << 10;
        let for_root = if self.has(ADMIN) { 0 } else { reserve("vm.admin_reserve_kbytes") };
        let reserved = for_root + reserve("vm.user_reserve_kbytes");
        let in_use = kib_field(&meminfo, "Committed_AS")? + reserved;
        let value = kib_field(&meminfo, "CommitLimit")?;
        let name = "the machine's limit of committed memory (CommitLimit)";
        let limit = Limit::new(Resource::CommittedMemory, name, "CommitLimit", Some(value));
        let exempt = match self.setting("vm.overcommit_memory")? {
            0 => Some(
                "vm.overcommit_memory is 0: only a single map beyond memory and swap is refused",
            ),
            1 => Some("vm.overcommit_memory is 1: nothing is refused"),
            _ => None,
        };
        Some(limit.in_use(in_use).exempt(exempt).raised_by("sudo sysctl vm.overcommit_memory=0"))
    }

    /// Limits per user. The use by other processes of the user is not visible, so it is not
    /// subtracted.
    fn of_user(&self) -> Vec<Option<Limit>> {
        // Above the soft limit a user's new pipes are smaller, not refused.
        let soft = "fs.pipe-user-pages-soft";
        let soft = self.of_setting(Resource::PipePages, soft, soft).map(|limit| {
            let smaller = "beyond it a pipe gets 2 pages instead of 16, and is not refused";
            let value = limit.value.filter(|pages| *pages > 0);
            Limit { value, ..limit }.exempt(self.privilege().or(Some(smaller)))
        });
        let watches = "the user's limit of epoll watches (fs.epoll.max_user_watches)";
        vec![
            soft,
            self.pipe_pages_hard(),
            self.of_setting(Resource::EpollWatches, watches, "fs.epoll.max_user_watches"),
            self.locked_memory(),
            self.io_uring_setting(),
            // Not visible in settings: a kernel built without io_uring, or a filter of system
            // calls, as in containers.
            self.files.is_live().then(try_io_uring).and_then(denied_rings),
        ]
    }

    /// Above the hard limit pipes are refused; 0 means no limit. Pipes below the soft limit take 16
    /// pages, and their excess over two counts as in use: `alloc_pipe_info` decides by the user's
    /// pages when a pipe is opened.
    fn pipe_pages_hard(&self) -> Option<Limit> {
        let name = "fs.pipe-user-pages-hard";
        let hard = self.setting(name)?;
        let soft = self.setting("fs.pipe-user-pages-soft")?;
        let in_full_pipes = if soft == 0 { hard } else { soft.min(hard) };
        let beyond_two =
            in_full_pipes / PAGES_PER_FULL_PIPE * (PAGES_PER_FULL_PIPE - PAGES_PER_PIPE);
        let limit = self.of_setting(Resource::PipePages, name, name)?;
        let limit = limit.in_use(beyond_two).exempt(self.privilege());
        let value = Some(hard).filter(|pages| *pages > 0);
        Some(Limit { value, raise: vec![format!("sudo sysctl {name}=0")], ..limit })
    }

    /// A ring's memory counted as locked before Linux 5.12, and does again since 6.14
    /// (`io_create_region`), for users without `CAP_IPC_LOCK`. It is released late: rings that have
    /// just been closed may still count.
    fn locked_memory(&self) -> Option<Limit> {
        let of_user = "the user's limit of locked memory";
        let names = ["Max locked memory", of_user, "RLIMIT_MEMLOCK", "memlock"];
        let limit = self.of_process(Resource::LockedMemory, names)?;
        let uncharged = || self.kernel().is_some_and(|it| ((5, 12)..(6, 14)).contains(&it));
        let exempt = if self.has(LOCK) {
            Some("CAP_IPC_LOCK exempts this process")
        } else {
            uncharged().then_some("Linux 5.12 to 6.13 does not charge rings to it")
        };
        Some(limit.exempt(exempt))
    }

    /// The kernel's version, major and minor.
    fn kernel(&self) -> Option<(u64, u64)> {
        let release = self.files.text("proc/sys/kernel/osrelease")?;
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }

    /// `kernel.io_uring_disabled` is 0 for nobody, 1 for unprivileged users, 2 for everybody; it is
    /// no limit for anyone else. Kernels before 6.6 lack it.
    fn io_uring_setting(&self) -> Option<Limit> {
        let disabled = self.setting("kernel.io_uring_disabled")?;
        let forbidden = disabled == 2 || (disabled == 1 && !self.has(ADMIN));
        let name = "the setting kernel.io_uring_disabled";
        let source = "/proc/sys/kernel/io_uring_disabled";
        let limit = Limit::new(Resource::Rings, name, source, Some(0));
        forbidden.then(|| limit.raised_by("sudo sysctl kernel.io_uring_disabled=0"))
    }
}

fn setting_path(name: &str) -> String {
    format!("proc/sys/{}", name.replace('.', "/"))
}

/// The real user of a process, from its `status`.
fn real_user(status: &str) -> Option<u64> {
    field(status, "Uid")?.split_whitespace().next()?.parse().ok()
}

/// Whether the kernel lets this process create a ring: the request has no parameters, so that none
/// is created.
fn try_io_uring() -> nix::Result<()> {
    // SAFETY: the kernel reads the parameters, which are absent, and writes
    // nothing.
    let result = unsafe { libc::syscall(libc::SYS_io_uring_setup, 0, ptr::null_mut::<u8>()) };
    match Errno::result(result) {
        Err(Errno::EFAULT | Errno::EINVAL) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

fn denied_rings(tried: nix::Result<()>) -> Option<Limit> {
    let name = match tried.err()? {
        Errno::ENOSYS => "what this kernel, or the container's filter of system calls, has",
        _ => "what the kernel or the container's filter of system calls permits",
    };
    Some(Limit::new(Resource::Rings, name, "io_uring_setup", Some(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_groups::Version;

    /// A small machine's files, for an unprivileged process.
    const MACHINE: [(&str, &str); 18] = [
        (
            "proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units\n\
             Max stack size            8388608              unlimited            bytes\n\
             Max processes             4000                 5000                 processes\n\
             Max open files            1024                 20000                files\n\
             Max locked memory         8388608              8388608              bytes\n\
             Max address space         unlimited            unlimited            bytes\n",
        ),
        ("proc/self/status", "Uid:\t7\t7\t7\t7\nThreads:\t1\nCapEff:\t0000000000000000\n"),
        ("proc/self/uid_map", "0 0 4294967295\n"),
        ("proc/self/maps", "a\nb\nc\n"),
        ("proc/self/statm", "1000 2 3 4 5 6 7\n"),
        ("proc/loadavg", "0.00 0.01 0.05 2/345 6789\n"),
        ("proc/sys/kernel/threads-max", "10000\n"),
        ("proc/sys/kernel/pid_max", "32768\n"),
        ("proc/sys/kernel/osrelease", "6.18.44-generic\n"),
        ("proc/sys/kernel/io_uring_disabled", "0\n"),
        ("proc/sys/vm/max_map_count", "65530\n"),
        ("proc/sys/vm/overcommit_memory", "0\n"),
        ("proc/sys/fs/file-max", "90000\n"),
        ("proc/sys/fs/file-nr", "700\t0\t90000\n"),
        ("proc/sys/fs/nr_open", "1048576\n"),
        ("proc/sys/fs/pipe-user-pages-soft", "16384\n"),
        ("proc/sys/fs/pipe-user-pages-hard", "0\n"),
        (
            "proc/meminfo",
            "MemAvailable: 2000000 kB\nCommitLimit: 1000000 kB\nCommitted_AS: 300000 kB\n",
        ),
    ];

    /// The limits of `resource` on the small machine with these files: value, in use, exempt.
    fn with(files: &[(&str, &str)], resource: Resource) -> Vec<(Option<u64>, u64, bool)> {
        let limits = in_force(&SystemFiles::simulated(&[&MACHINE[..], files].concat())).into_iter();
        let limits = limits.filter(|limit| limit.resource == resource);
        limits.map(|limit| (limit.value, limit.in_use, limit.exempt.is_some())).collect()
    }

    const STATUS: &str = "proc/self/status";
    const ADMINISTRATOR: (&str, &str) = (STATUS, "Uid:\t0\t0\t0\t0\nCapEff:\t0000000000204000\n");

    #[test]
    fn a_limit_of_a_systemd_group_can_also_be_raised_by_its_unit() {
        let files = SystemFiles::simulated(&[("run/systemd/system/x", "")]);
        for (folder, expected) in [
            ("system.slice/ssh.service", Some("sudo systemctl set-property ssh.service")),
            ("user.slice/user@7.service", Some("sudo systemctl set-property user@7.service")),
            ("user@7.service/a.slice/x.scope", Some("systemctl --user set-property x.scope")),
            ("docker/0af3", None),
        ] {
            let group = Group { folder: format!("sys/fs/cgroup/{folder}"), version: Version::Two };
            let (names, used) = (("pids.max", "TasksMax"), (Allowance::AtMost(9), 1));
            let limit = Machine::new(&files).of_group(&group, Resource::Threads, names, used);
            let tee = format!("echo {{}} | sudo tee /sys/fs/cgroup/{folder}/pids.max");
            let unit = expected.map(|command| format!("{command} TasksMax={{}}"));
            assert_eq!(limit.raise, [Some(tee), unit].into_iter().flatten().collect::<Vec<_>>());
        }
    }

    #[test]
    fn files_are_limited_by_number_by_process_and_by_machine() {
        // Descriptor 30000 was inherited from a process with a higher limit.
        let open = ["proc/self/fd/0", "proc/self/fd/1", "proc/self/fd/2", "proc/self/fd/30000"];
        let open = open.map(|path| (path, ""));
        for (privilege, exempt) in [(&[][..], false), (&[ADMINISTRATOR], true)] {
            let expected = [
                (Some(1_048_576), 3, false),
                (Some(20_000), 2, false),
                (Some(1024), 2, true),
                (Some(90_000), 700, exempt),
            ];
            assert_eq!(with(&[&open[..], privilege].concat(), Resource::Files), expected);
        }
    }

    #[test]
    fn threads_are_limited_by_machine_id_user_and_groups() {
        let files = [
            ("proc/12/stat", ""),
            ("proc/12/status", "Uid:\t7\t7\t7\t7\nThreads:\t40\n"),
            ("proc/900/status", "Uid:\t7\t0\t0\t0\nThreads:\t2\n"),
            ("proc/901/status", "Uid:\t8\t7\t7\t7\nThreads:\t500\n"),
            ("proc/self/cgroup", "8:pids:/a.slice/b.service\n"),
            ("proc/self/mountinfo", "1 2 0:3 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"),
            ("sys/fs/cgroup/pids/a.slice/b.service/pids.max", "max\n"),
            ("sys/fs/cgroup/pids/a.slice/pids.max", "200\n"),
            ("sys/fs/cgroup/pids/a.slice/pids.current", "17\n"),
        ];
        let of_machine = [(Some(10_000), 345, false), (Some(32_768), 344 + 300, false)];
        let of_others = [(Some(4000), 42, false), (None, 0, false), (Some(200), 17, false)];
        assert_eq!(with(&files, Resource::Threads), [&of_machine[..], &of_others].concat());
    }

    /// Root of a namespace is not the machine's root.
    #[test]
    fn the_users_limit_does_not_apply_to_root_and_the_privileged() {
        let first = "0 0 4294967295\n";
        for (user, capabilities, map, exempt) in [
            ("0", "0000000000000000", first, true),
            ("0", "000001fffeffffff", "0 100000 65536\n", false),
            ("7", "0000000001000000", first, true),
            ("7", "0000000000200000", first, true),
            ("7", "0000000000004000", first, false),
            ("?", "?", first, false),
        ] {
            let status = format!("Uid:\t{user}\t0\t0\t0\nCapEff:\t{capabilities}\n");
            let limits = with(&[(STATUS, &status), ("proc/self/uid_map", map)], Resource::Threads);
            assert_eq!(limits[2], (Some(4000), 0, exempt), "{user} {capabilities} {map}");
        }
    }

    #[test]
    fn memory_is_limited_by_maps_machine_groups_and_settings() {
        // File pages do not count against a group.
        let group = [
            ("proc/self/cgroup", "0::/job\n"),
            ("proc/self/mountinfo", "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/job/memory.max", "1000000\n"),
            ("sys/fs/cgroup/job/memory.current", "900000\n"),
            ("sys/fs/cgroup/job/memory.stat", "active_file 100000\ninactive_file 500000\n"),
        ];
        let mapped = 1000 * page_size().expect("the kernel has a page size");
        let (unlimited, stack) = ((None, mapped, false), (Some(8 << 20), 0, true));
        let limited = [("proc/self/limits", "Max address space  4096 8192 bytes\n")];
        let (limit, in_use) = (Some(1_000_000 << 10), 300_000 << 10);
        let never = ("proc/sys/vm/overcommit_memory", "2\n");
        let reserve = [never, ("proc/sys/vm/admin_reserve_kbytes", "8192\n")];
        use Resource::{AddressSpace, CommittedMemory, Maps, Memory};
        for (files, resource, expected) in [
            (&[][..], Maps, &[(Some(65_530), 3, false)][..]),
            (
                &group,
                Memory,
                &[(Some(2_000_000 << 10), 0, false), (Some(1_000_000), 300_000, false)],
            ),
            (&[], AddressSpace, &[unlimited, stack]),
            (&limited, AddressSpace, &[(Some(4096), mapped, false)]),
            (&[], CommittedMemory, &[(limit, in_use, true)]),
            (&[never], CommittedMemory, &[(limit, in_use, false)]),
            (&reserve, CommittedMemory, &[(limit, in_use + (8192 << 10), false)]),
        ] {
            assert_eq!(with(files, resource), expected);
        }
    }

    #[test]
    fn pipes_above_the_soft_limit_take_two_pages() {
        for (soft, hard, pipes) in [
            ("16384", "0", None),
            ("16384", "20480", Some(1024 + (20_480 - 16_384) / 2)),
            ("16384", "8192", Some(512)),
            ("0", "8192", Some(512)),
        ] {
            let soft = ("proc/sys/fs/pipe-user-pages-soft", soft);
            let hard = ("proc/sys/fs/pipe-user-pages-hard", hard);
            let (value, in_use, exempt) = with(&[soft, hard], Resource::PipePages)[1];
            assert!(!exempt);
            assert_eq!(value.map(|value| (value - in_use) / PAGES_PER_PIPE), pipes);
            let privileged = with(&[soft, hard, ADMINISTRATOR], Resource::PipePages);
            assert!(privileged.iter().all(|(.., exempt)| *exempt));
        }
    }

    #[test]
    fn rings_are_limited_by_locked_memory_setting_and_filter() {
        let user = (STATUS, "Uid:\t7\t7\t7\t7\nCapEff:\t0000000000000000\n");
        for (release, who, exempt) in [
            ("5.11.0", user, false),
            ("5.12.0-rc1", user, true),
            ("6.13.9-arch1", user, true),
            ("6.14.0", user, false),
            ("7.0", user, false),
            ("7.0", ADMINISTRATOR, true),
        ] {
            let release = ("proc/sys/kernel/osrelease", release);
            assert_eq!(with(&[release, who], Resource::LockedMemory)[0].2, exempt, "{release:?}");
        }
        for (disabled, who, forbidden) in [
            ("0", user, 0),
            ("1", user, 1),
            ("2", user, 1),
            ("1", ADMINISTRATOR, 0),
            ("2", ADMINISTRATOR, 1),
        ] {
            let setting = ("proc/sys/kernel/io_uring_disabled", disabled);
            let limits = with(&[setting, who], Resource::Rings);
            assert_eq!(limits, [(Some(0), 0, false)][..forbidden], "{disabled}");
        }
        assert_eq!(denied_rings(Ok(())), None);
        for error in [Errno::ENOSYS, Errno::EPERM, Errno::EACCES] {
            let limit = denied_rings(Err(error)).expect("a limit");
            assert_eq!((limit.available(), limit.resource), (Some(0), Resource::Rings));
        }
    }
}
