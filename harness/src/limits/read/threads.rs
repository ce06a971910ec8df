//! Limits of threads: of the machine, of its numbers, of the user, of groups.

use super::super::privileges::{ADMIN, Privileges, RESOURCE, real_user};
use super::super::{Limit, Resource};
use super::{of_setting, resource_limit};
use crate::control_groups::{self, Group};
use crate::system_files::{SystemFiles, field};

/// Numbers below this are given to threads only until the first round of all
/// numbers is over (`RESERVED_PIDS`).
const RESERVED_NUMBERS: u64 = 300;
/// The greatest `kernel.pid_max` (`PID_MAX_LIMIT` of a 64-bit kernel).
const MOST_NUMBERS: u64 = 1 << 22;
/// The greatest `kernel.threads-max` (`FUTEX_TID_MASK`).
const MOST_THREADS: u64 = 0x3fff_ffff;

pub(super) fn limits(files: &SystemFiles, privileges: Privileges) -> Vec<Limit> {
    let mut limits = Vec::new();
    limits.extend(of_machine(files));
    limits.extend(numbers(files));
    limits.extend(of_user(files, privileges));
    let groups = control_groups::of_process(files, "pids");
    limits.extend(groups.iter().filter_map(|group| of_group(files, group)));
    limits
}

/// Threads of the whole machine: the second number of
/// `0.00 0.01 0.05 2/345 6789`.
fn of_all(files: &SystemFiles) -> Option<u64> {
    let loadavg = files.text("proc/loadavg")?;
    let (_, all) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
    all.parse().ok()
}

fn of_machine(files: &SystemFiles) -> Option<Limit> {
    let name = "kernel.threads-max";
    let limit = of_setting(files, Resource::Threads, name, name)?.in_use(of_all(files)?);
    Some(Limit { greatest: Some(MOST_THREADS), ..limit })
}

/// Every thread has a number below `kernel.pid_max`. Those below
/// [`RESERVED_NUMBERS`] count as in use, whether a thread has them or not.
fn numbers(files: &SystemFiles) -> Option<Limit> {
    let name = "kernel.pid_max";
    let has_thread = |number: &u64| files.text(&format!("proc/{number}/stat")).is_some();
    let low = (1..RESERVED_NUMBERS).filter(has_thread).count() as u64;
    let in_use = of_all(files)?.saturating_sub(low) + RESERVED_NUMBERS;
    let limit = of_setting(files, Resource::Threads, name, name)?.in_use(in_use);
    Some(Limit { greatest: Some(MOST_NUMBERS), ..limit })
}

/// `RLIMIT_NPROC` counts the threads of the real user. The kernel makes an
/// exception for the machine's root and for two capabilities (`copy_process`).
fn of_user(files: &SystemFiles, privileges: Privileges) -> Option<Limit> {
    let soft = resource_limit(files, "Max processes")?.soft;
    let name = "the user's thread limit (RLIMIT_NPROC)";
    let limit = Limit::new(Resource::Threads, name, "RLIMIT_NPROC", soft);
    let exempt = if privileges.is_root() {
        Some("root is exempt")
    } else if privileges.has(RESOURCE) || privileges.has(ADMIN) {
        Some("who has CAP_SYS_RESOURCE or CAP_SYS_ADMIN is exempt")
    } else {
        None
    };
    let binds = soft.is_some() && exempt.is_none();
    let in_use = if binds { threads_of(files, privileges.user) } else { 0 };
    let limit = limit.in_use(in_use).exempt(exempt);
    Some(limit.raised_by("sudo prlimit --pid $$ --nproc={}:{}"))
}

/// How many threads a user has.
fn threads_of(files: &SystemFiles, user: u64) -> u64 {
    let processes = files.names("proc").into_iter().filter(|name| name.parse::<u64>().is_ok());
    let threads = processes.filter_map(|process| {
        let status = files.text(&format!("proc/{process}/status"))?;
        let threads: u64 = field(&status, "Threads")?.parse().ok()?;
        (real_user(&status) == Some(user)).then_some(threads)
    });
    threads.sum()
}

fn of_group(files: &SystemFiles, group: &Group) -> Option<Limit> {
    let allowed = group.most_threads(files)?;
    let in_use = group.threads(files).unwrap_or(0);
    Some(super::of_group(
        files,
        group,
        Resource::Threads,
        "pids.max",
        "TasksMax",
        (allowed, in_use),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{found, machine, values};
    use super::*;

    #[test]
    fn threads_are_limited_by_machine_number_and_user() {
        let files = machine()
            .with("proc/12/stat", "")
            .with("proc/12/status", "Uid:\t7\t7\t7\t7\nThreads:\t40\n")
            .with("proc/900/status", "Uid:\t7\t0\t0\t0\nThreads:\t2\n")
            .with("proc/901/status", "Uid:\t8\t7\t7\t7\nThreads:\t500\n");
        assert_eq!(
            values(&files, Resource::Threads),
            [(Some(10_000), 345, false), (Some(32_768), 344 + 300, false), (Some(4000), 42, false)]
        );
    }

    #[test]
    fn the_users_limit_does_not_bind_root_and_the_privileged() {
        for (user, capabilities, exempt) in [
            (0, "0000000000000000", true),
            (7, "0000000001000000", true),
            (7, "0000000000200000", true),
            (7, "0000000000004000", false),
        ] {
            let status = format!("Uid:\t{user}\t0\t0\t0\nCapEff:\t{capabilities}\n");
            let files = machine().with("proc/self/status", &status);
            let of_user = values(&files, Resource::Threads)[2];
            assert_eq!(of_user, (Some(4000), 0, exempt), "{user} {capabilities}");
        }
    }

    #[test]
    fn every_group_above_counts_and_one_without_a_limit_is_told() {
        let files = machine()
            .with("proc/self/cgroup", "8:pids:/a.slice/b.service\n")
            .with(
                "proc/self/mountinfo",
                "1 2 0:3 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
            )
            .with("sys/fs/cgroup/pids/a.slice/b.service/pids.max", "max\n")
            .with("sys/fs/cgroup/pids/a.slice/pids.max", "200\n")
            .with("sys/fs/cgroup/pids/a.slice/pids.current", "17\n");
        let groups = found(&files, Resource::Threads).split_off(3);
        let names: Vec<&str> = groups.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "the control group's /sys/fs/cgroup/pids/a.slice/b.service/pids.max",
                "the control group's /sys/fs/cgroup/pids/a.slice/pids.max"
            ]
        );
        assert_eq!((groups[0].1, groups[1].1, groups[1].2), (None, Some(200), 17));
    }
}
