//! Reads the limits of this machine. One that cannot be read is left out: it
//! may still bind, and then the kernel's own error is what the user sees.

mod files;
mod memory;
mod pipes_and_rings;
mod threads;

pub use files::raise_soft_file_limit;

use super::privileges::Privileges;
use super::{Limit, Resource};
use crate::control_groups::{Allowance, Group};
use crate::system_files::SystemFiles;

/// Every limit that tasks can meet, with what is in use already, as it holds
/// for this process on the machine that `files` describe.
pub fn in_force(files: &SystemFiles) -> Vec<Limit> {
    let privileges = Privileges::read(files);
    let mut limits = files::limits(files, privileges);
    limits.extend(threads::limits(files, privileges));
    limits.extend(memory::limits(files, privileges));
    limits.extend(pipes_and_rings::limits(files, privileges));
    limits
}

/// A resource limit of this process.
struct ResourceLimit {
    /// In force; `None` for none.
    soft: Option<u64>,
    /// As far as the soft one may be raised without privilege.
    hard: Option<u64>,
}

/// Reads the line of `/proc/self/limits` that begins with `title`.
fn resource_limit(files: &SystemFiles, title: &str) -> Option<ResourceLimit> {
    let text = files.text("proc/self/limits")?;
    let line = text.lines().find_map(|line| line.strip_prefix(title))?;
    let mut values = line.split_whitespace().map(|value| match value {
        "unlimited" => Some(None),
        number => number.parse().ok().map(Some),
    });
    Some(ResourceLimit { soft: values.next()??, hard: values.next()?? })
}

/// The value of a setting of the kernel, which is named as sysctl names it.
fn setting(files: &SystemFiles, name: &str) -> Option<u64> {
    files.number(&setting_path(name))
}

fn setting_path(name: &str) -> String {
    format!("proc/sys/{}", name.replace('.', "/"))
}

/// A limit that is a setting of the kernel, and that `sysctl` raises.
fn of_setting(files: &SystemFiles, resource: Resource, name: &str, sysctl: &str) -> Option<Limit> {
    let source = format!("/{}", setting_path(sysctl));
    let limit = Limit::new(resource, name, &source, Some(setting(files, sysctl)?));
    Some(limit.raised_by(&format!("sudo sysctl {sysctl}={{}}")))
}

/// The limit in `file` of a control group, with its value and what is in use.
/// Where systemd made the group, it can raise it too, by `property`.
fn of_group(
    files: &SystemFiles,
    group: &Group,
    resource: Resource,
    file: &str,
    property: &str,
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
    match systemctl(files, group) {
        Some(command) => limit.raised_by(&format!("{command} {property}={{}}")),
        None => limit,
    }
}

/// The command that sets a property of the unit that systemd made a group for.
/// Units below a user's manager are that manager's.
fn systemctl(files: &SystemFiles, group: &Group) -> Option<String> {
    // What sd_booted(3) looks at.
    if !files.names("run/systemd").contains(&"system".to_owned()) {
        return None;
    }
    let (above, unit) = group.folder.rsplit_once('/')?;
    let made = [".service", ".scope", ".slice"].iter().any(|ending| unit.ends_with(ending));
    let manager = if above.contains("/user@") { "systemctl --user" } else { "sudo systemctl" };
    made.then(|| format!("{manager} set-property {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_groups::Version;

    /// What a small machine says of itself, to an unprivileged process.
    pub(super) fn machine() -> SystemFiles {
        SystemFiles::made_up(&[
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
            ("proc/sys/fs/epoll/max_user_watches", "5000000\n"),
            (
                "proc/meminfo",
                "MemAvailable: 2000000 kB\nCommitLimit: 1000000 kB\nCommitted_AS: 300000 kB\n",
            ),
        ])
    }

    /// The limits of `resource` there: name, value, in use, exempt.
    pub(super) fn found(
        files: &SystemFiles,
        resource: Resource,
    ) -> Vec<(String, Option<u64>, u64, bool)> {
        in_force(files)
            .into_iter()
            .filter(|limit| limit.resource == resource)
            .map(|limit| (limit.name, limit.value, limit.in_use, limit.exempt.is_some()))
            .collect()
    }

    /// The same without the names.
    pub(super) fn values(files: &SystemFiles, resource: Resource) -> Vec<(Option<u64>, u64, bool)> {
        found(files, resource)
            .into_iter()
            .map(|(_, value, used, free)| (value, used, free))
            .collect()
    }

    #[test]
    fn this_machine_has_a_limit_for_every_countable_resource() {
        let limits = in_force(&SystemFiles::live());
        for resource in [Resource::Files, Resource::Threads, Resource::Maps, Resource::Memory] {
            assert!(limits.iter().any(|limit| limit.resource == resource), "{resource}");
        }
    }

    #[test]
    fn a_machine_that_tells_nothing_has_no_limits() {
        assert_eq!(in_force(&SystemFiles::made_up(&[])), []);
    }

    #[test]
    fn resource_limits_are_numbers_or_none() {
        let read = |title| resource_limit(&machine(), title).map(|limit| (limit.soft, limit.hard));
        assert_eq!(read("Max open files"), Some((Some(1024), Some(20_000))));
        assert_eq!(read("Max stack size"), Some((Some(8 << 20), None)));
        assert_eq!(read("Max nonsense"), None);
    }

    #[test]
    fn a_group_of_systemd_is_raised_by_its_unit_too() {
        let commands = |folder: &str| {
            let group = Group { folder: folder.to_owned(), version: Version::Two };
            let files = machine().with("run/systemd/system/x", "");
            of_group(
                &files,
                &group,
                Resource::Threads,
                "pids.max",
                "TasksMax",
                (Allowance::AtMost(9), 1),
            )
            .raise
        };
        assert_eq!(
            commands("sys/fs/cgroup/system.slice/ssh.service"),
            [
                "echo {} | sudo tee /sys/fs/cgroup/system.slice/ssh.service/pids.max",
                "sudo systemctl set-property ssh.service TasksMax={}"
            ]
        );
        let user = commands("sys/fs/cgroup/user.slice/user@7.service/app.slice/x.scope");
        assert_eq!(user[1], "systemctl --user set-property x.scope TasksMax={}");
        let manager = commands("sys/fs/cgroup/user.slice/user@7.service");
        assert_eq!(manager[1], "sudo systemctl set-property user@7.service TasksMax={}");
        assert_eq!(commands("sys/fs/cgroup/docker/0af3").len(), 1);
    }
}
