//! The limits of the control groups around this process: the smallest of its
//! own and all its ancestors', in version 2 and in version 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::SystemFiles;
use super::limits::Bound;

/// From here on a version 1 memory limit means none: the kernel shows the
/// largest signed number, rounded down to a page.
const NO_MEMORY_LIMIT: u64 = 1 << 62;

/// The smallest limits of the process's control group and its ancestors.
/// `null` where the controller's hierarchy cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupLimits {
    /// Processes and threads, a count.
    pub pids: Option<Bound>,
    /// Memory, in bytes.
    pub memory_bytes: Option<Bound>,
    /// CPU time per time, in thousandths of a CPU: 1500 is one and a half.
    pub cpu_quota_millicpus: Option<Bound>,
}

impl CgroupLimits {
    /// Reads them for this process.
    pub(super) fn read(files: &SystemFiles) -> Self {
        let membership = files.text("proc/self/cgroup").unwrap_or_default();
        let smallest = |controller, limit: fn(&SystemFiles, &str, Version) -> Option<Bound>| {
            let hierarchy = Hierarchy::find(files, &membership, controller)?;
            Some(hierarchy.smallest(files, limit))
        };
        Self {
            pids: smallest("pids", pids),
            memory_bytes: smallest("memory", memory_bytes),
            cpu_quota_millicpus: smallest("cpu", cpu_quota_millicpus),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    One,
    Two,
}

/// Where a controller's files lie, and which group of them is the process's.
#[derive(Debug, PartialEq)]
struct Hierarchy {
    version: Version,
    mount: String,
    group: String,
}

impl Hierarchy {
    /// The hierarchy that `controller` is attached to: the version 1 one that
    /// names it, otherwise version 2.
    fn find(files: &SystemFiles, membership: &str, controller: &str) -> Option<Self> {
        let lines: Vec<_> = membership.lines().filter_map(split_membership).collect();
        let attached =
            |&(_, names, _): &(&str, &str, &str)| names.split(',').any(|name| name == controller);
        let (version, mounts, group) = match lines.iter().copied().find(attached) {
            Some((_, _, group)) => {
                (Version::One, vec![format!("sys/fs/cgroup/{controller}")], group)
            }
            None => {
                let (_, _, group) = *lines.iter().find(|(number, _, _)| *number == "0")?;
                let mounts = ["sys/fs/cgroup/unified", "sys/fs/cgroup"].map(str::to_owned);
                (Version::Two, mounts.to_vec(), group)
            }
        };
        let mount = mounts.into_iter().find(|mount| !files.names(mount).is_empty())?;
        Some(Self { version, mount, group: group.to_owned() })
    }

    /// The smallest `limit` on the way from the process's group to the root,
    /// which itself has none. A group that this mount does not show (a
    /// container sees its own as the root) has no files and is passed over.
    fn smallest(
        &self,
        files: &SystemFiles,
        limit: fn(&SystemFiles, &str, Version) -> Option<Bound>,
    ) -> Bound {
        let names: Vec<_> =
            self.group.split('/').filter(|name| !matches!(*name, "" | "." | "..")).collect();
        (0..=names.len())
            .filter_map(|depth| {
                let directory = [&[self.mount.as_str()], &names[..depth]].concat().join("/");
                limit(files, &directory, self.version)
            })
            .min()
            .unwrap_or(Bound::UNLIMITED)
    }
}

/// A line of `/proc/self/cgroup`: hierarchy number, controllers, group.
fn split_membership(line: &str) -> Option<(&str, &str, &str)> {
    let (number, rest) = line.split_once(':')?;
    let (controllers, group) = rest.split_once(':')?;
    Some((number, controllers, group))
}

fn pids(files: &SystemFiles, directory: &str, _: Version) -> Option<Bound> {
    number_or_max(&files.text(&format!("{directory}/pids.max"))?)
}

fn memory_bytes(files: &SystemFiles, directory: &str, version: Version) -> Option<Bound> {
    let name = match version {
        Version::One => "memory.limit_in_bytes",
        Version::Two => "memory.max",
    };
    match number_or_max(&files.text(&format!("{directory}/{name}"))?)? {
        Bound::AtMost(bytes) if bytes < NO_MEMORY_LIMIT => Some(Bound::AtMost(bytes)),
        _ => Some(Bound::UNLIMITED),
    }
}

fn cpu_quota_millicpus(files: &SystemFiles, directory: &str, version: Version) -> Option<Bound> {
    let (quota, period) = match version {
        Version::One => (
            files.text(&format!("{directory}/cpu.cfs_quota_us"))?,
            files.text(&format!("{directory}/cpu.cfs_period_us"))?,
        ),
        Version::Two => {
            let text = files.text(&format!("{directory}/cpu.max"))?;
            let (quota, period) = text.trim().split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
    };
    match number_or_max(&quota)? {
        Bound::AtMost(quota) => {
            let period: u64 = period.trim().parse().ok()?;
            Some(Bound::AtMost(quota.saturating_mul(1000).checked_div(period)?))
        }
        unlimited => Some(unlimited),
    }
}

/// A number, or no limit for what versions 2 and 1 write in its place.
fn number_or_max(text: &str) -> Option<Bound> {
    match text.trim() {
        "max" | "-1" => Some(Bound::UNLIMITED),
        number => number.parse().ok().map(Bound::AtMost),
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::tests::HandMade;
    use super::*;

    fn limits(contents: &[(&str, &str)]) -> CgroupLimits {
        CgroupLimits::read(&HandMade::new(contents).files)
    }

    #[test]
    fn the_smallest_of_all_ancestors_binds_in_version_2() {
        let limits = limits(&[
            ("proc/self/cgroup", "0::/user/job\n"),
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n"),
            ("sys/fs/cgroup/user/pids.max", "300\n"),
            ("sys/fs/cgroup/user/job/pids.max", "1000\n"),
            ("sys/fs/cgroup/user/memory.max", "max\n"),
            ("sys/fs/cgroup/user/job/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/user/job/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/user/cpu.max", "max 100000\n"),
        ]);
        assert_eq!(limits.pids, Some(Bound::AtMost(300)));
        assert_eq!(limits.memory_bytes, Some(Bound::AtMost(1 << 30)));
        assert_eq!(limits.cpu_quota_millicpus, Some(Bound::AtMost(1500)));
    }

    #[test]
    fn version_1_controllers_go_before_version_2() {
        let limits = limits(&[
            ("proc/self/cgroup", "8:pids:/\n4:memory:/job\n2:cpu,cpuacct:/job\n0::/\n"),
            ("sys/fs/cgroup/unified/cgroup.procs", ""),
            ("sys/fs/cgroup/pids/tasks", ""),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"),
        ]);
        assert_eq!(limits.pids, Some(Bound::UNLIMITED), "the root group has no pids.max");
        assert_eq!(limits.memory_bytes, Some(Bound::UNLIMITED));
        assert_eq!(limits.cpu_quota_millicpus, Some(Bound::UNLIMITED));
    }

    #[test]
    fn a_group_outside_the_mount_leaves_the_mounts_own_limit() {
        let limits = limits(&[
            ("proc/self/cgroup", "0::/../system/docker/abc\n"),
            ("sys/fs/cgroup/pids.max", "512\n"),
        ]);
        assert_eq!(limits.pids, Some(Bound::AtMost(512)));
    }

    #[test]
    fn what_cannot_be_seen_is_not_called_unlimited() {
        let nothing = CgroupLimits { pids: None, memory_bytes: None, cpu_quota_millicpus: None };
        assert_eq!(limits(&[]), nothing);
        assert_eq!(limits(&[("proc/self/cgroup", "0::/job\n")]), nothing);
        assert_eq!(limits(&[("proc/self/cgroup", "garbage\n")]), nothing);
    }

    #[test]
    fn a_period_of_zero_is_no_quota() {
        let limits =
            limits(&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.max", "100000 0\n")]);
        assert_eq!(limits.cpu_quota_millicpus, Some(Bound::UNLIMITED));
    }
}
