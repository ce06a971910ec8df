//! The limits of the control groups around this process: the smallest of its
//! own and all its ancestors', in version 2 and in version 1.

use harness::control_groups::{self, Allowance, Group, Version};
use harness::system_files::SystemFiles;

use crate::store::environment::{Bound, CgroupLimits};

impl CgroupLimits {
    /// Reads them for this process.
    pub(super) fn read(files: &SystemFiles) -> Self {
        Self {
            pids: smallest(files, "pids", Group::most_threads),
            memory_bytes: smallest(files, "memory", Group::most_memory_bytes),
            cpu_quota_millicpus: smallest(files, "cpu", cpu_quota_millicpus),
        }
    }
}

/// How many groups that share out CPU time this process is in, below the root; `None`
/// where there is no such tree.
pub fn cpu_group_depth(files: &SystemFiles) -> Option<u64> {
    let groups = control_groups::of_process(files, "cpu");
    let shares = |group: &&Group| match group.version {
        Version::One => group.text(files, "cpu.shares").is_some(),
        Version::Two => group.text(files, "cpu.weight").is_some(),
    };
    let of_one = groups.iter().any(|group| group.version == Version::One);
    let count = groups.iter().filter(shares).count() as u64;
    // Of version 1 the root has the file, too.
    (!groups.is_empty()).then(|| if of_one { count.saturating_sub(1) } else { count })
}

/// The smallest `limit` of the groups of `controller`; the root has none.
fn smallest(
    files: &SystemFiles,
    controller: &str,
    limit: fn(&Group, &SystemFiles) -> Option<Allowance>,
) -> Option<Bound> {
    let groups = control_groups::of_process(files, controller);
    let smallest = groups.iter().filter_map(|group| limit(group, files)).min();
    match smallest {
        Some(Allowance::AtMost(most)) => Some(Bound::AtMost(most)),
        Some(Allowance::Unlimited) => Some(Bound::UNLIMITED),
        None => (!groups.is_empty()).then_some(Bound::UNLIMITED),
    }
}

fn cpu_quota_millicpus(group: &Group, files: &SystemFiles) -> Option<Allowance> {
    let (quota, period) = match group.version {
        Version::One => {
            (group.text(files, "cpu.cfs_quota_us")?, group.text(files, "cpu.cfs_period_us")?)
        }
        Version::Two => {
            let text = group.text(files, "cpu.max")?;
            let (quota, period) = text.trim().split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
    };
    match Allowance::parse(&quota)? {
        Allowance::AtMost(quota) => {
            let period: u64 = period.trim().parse().ok()?;
            Some(Allowance::AtMost(quota.saturating_mul(1000).checked_div(period)?))
        }
        Allowance::Unlimited => Some(Allowance::Unlimited),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: (&str, &str) =
        ("proc/self/mountinfo", "31 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    const SPLIT: (&str, &str) = (
        "proc/self/mountinfo",
        "32 31 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
         33 31 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
         34 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
         35 31 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
    );

    fn limits(contents: &[(&str, &str)]) -> CgroupLimits {
        CgroupLimits::read(&SystemFiles::made_up(contents))
    }

    #[test]
    fn the_smallest_of_all_ancestors_binds_in_version_2() {
        let limits = limits(&[
            ("proc/self/cgroup", "0::/user/job\n"),
            UNIFIED,
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
            SPLIT,
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
            UNIFIED,
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
        let limits = limits(&[
            ("proc/self/cgroup", "0::/\n"),
            UNIFIED,
            ("sys/fs/cgroup/cpu.max", "100000 0\n"),
        ]);
        assert_eq!(limits.cpu_quota_millicpus, Some(Bound::UNLIMITED));
    }
}
