//! Limits of memory: maps, what is available, what groups allow, and what the
//! kernel lets a process promise itself.

use super::super::privileges::{ADMIN, Privileges};
use super::super::{Limit, Resource};
use super::{of_setting, resource_limit, setting};
use crate::control_groups::{self, Group};
use crate::system_files::{SystemFiles, kib_field, page_size};

pub(super) fn limits(files: &SystemFiles, privileges: Privileges) -> Vec<Limit> {
    let mut limits = Vec::new();
    limits.extend(maps(files));
    limits.extend(available(files));
    let groups = control_groups::of_process(files, "memory");
    limits.extend(groups.iter().filter_map(|group| of_group(files, group)));
    limits.extend(address_space(files));
    limits.extend(main_stack(files));
    limits.extend(committed(files, privileges));
    limits
}

fn maps(files: &SystemFiles) -> Option<Limit> {
    let in_use = files.text("proc/self/maps")?.lines().count() as u64;
    let limit = of_setting(files, Resource::Maps, "vm.max_map_count", "vm.max_map_count")?;
    Some(Limit { greatest: Some(i32::MAX as u64), ..limit.in_use(in_use) })
}

fn available(files: &SystemFiles) -> Option<Limit> {
    let bytes = kib_field(&files.text("proc/meminfo")?, "MemAvailable")?;
    let name = "available memory (MemAvailable)";
    Some(Limit::new(Resource::Memory, name, "MemAvailable", Some(bytes)))
}

/// Pages of files do not count as in use: the kernel drops them first.
fn of_group(files: &SystemFiles, group: &Group) -> Option<Limit> {
    let allowed = group.most_memory_bytes(files)?;
    let held = group.memory_bytes(files).unwrap_or(0);
    let in_use = held.saturating_sub(group.droppable_bytes(files));
    let file = group.memory_limit_file();
    Some(super::of_group(files, group, Resource::Memory, file, "MemoryMax", (allowed, in_use)))
}

fn address_space(files: &SystemFiles) -> Option<Limit> {
    let limit = resource_limit(files, "Max address space")?;
    let in_use = files.number("proc/self/statm")? * page_size()?;
    let command = match limit.hard {
        // The shell may do this itself.
        None => "ulimit -v unlimited",
        Some(_) => "sudo prlimit --pid $$ --as={}:{}",
    };
    let name = "the address space limit (RLIMIT_AS)";
    let limit = Limit::new(Resource::AddressSpace, name, "RLIMIT_AS", limit.soft);
    Some(limit.in_use(in_use).raised_by(command))
}

fn main_stack(files: &SystemFiles) -> Option<Limit> {
    let soft = resource_limit(files, "Max stack size")?.soft;
    let name = "the stack limit (RLIMIT_STACK)";
    let limit = Limit::new(Resource::AddressSpace, name, "RLIMIT_STACK", soft);
    Some(limit.exempt(Some("it bounds the first thread's stack; tasks here choose their own")))
}

/// With `vm.overcommit_memory` at 2 the kernel refuses writable private maps
/// beyond `CommitLimit`, of which it holds something back for root and for
/// the user. Otherwise it refuses one only that is larger than the machine.
fn committed(files: &SystemFiles, privileges: Privileges) -> Option<Limit> {
    let meminfo = files.text("proc/meminfo")?;
    let mode = setting(files, "vm.overcommit_memory")?;
    let reserve = |name| setting(files, name).unwrap_or(0) << 10;
    let for_root = if privileges.has(ADMIN) { 0 } else { reserve("vm.admin_reserve_kbytes") };
    let held_back = for_root + reserve("vm.user_reserve_kbytes");
    let in_use = kib_field(&meminfo, "Committed_AS")? + held_back;
    let value = kib_field(&meminfo, "CommitLimit")?;
    let name = "the machine's limit of committed memory (CommitLimit)";
    let limit = Limit::new(Resource::CommittedMemory, name, "CommitLimit", Some(value));
    let exempt = match mode {
        0 => Some("vm.overcommit_memory is 0: only a map beyond memory and swap is refused"),
        1 => Some("vm.overcommit_memory is 1: nothing is refused"),
        _ => None,
    };
    Some(limit.in_use(in_use).exempt(exempt).raised_by("sudo sysctl vm.overcommit_memory=0"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{machine, values};
    use super::*;

    #[test]
    fn maps_and_available_memory_are_read() {
        assert_eq!(values(&machine(), Resource::Maps), [(Some(65_530), 3, false)]);
        assert_eq!(values(&machine(), Resource::Memory), [(Some(2_000_000 << 10), 0, false)]);
    }

    #[test]
    fn pages_of_files_do_not_count_against_a_group() {
        let files = machine()
            .with("proc/self/cgroup", "0::/job\n")
            .with("proc/self/mountinfo", "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .with("sys/fs/cgroup/job/memory.max", "1000000\n")
            .with("sys/fs/cgroup/job/memory.current", "900000\n")
            .with("sys/fs/cgroup/job/memory.stat", "active_file 100000\ninactive_file 500000\n");
        assert_eq!(values(&files, Resource::Memory)[1], (Some(1_000_000), 300_000, false));
    }

    #[test]
    fn address_space_is_limited_by_the_soft_limit() {
        let page = page_size().expect("the kernel has a page size");
        let unlimited = (None, 1000 * page, false);
        let stack = (Some(8 << 20), 0, true);
        assert_eq!(values(&machine(), Resource::AddressSpace), [unlimited, stack]);
        let files = machine().with("proc/self/limits", "Max address space  4096 8192 bytes\n");
        assert_eq!(values(&files, Resource::AddressSpace), [(Some(4096), 1000 * page, false)]);
    }

    #[test]
    fn committed_memory_binds_where_the_kernel_counts_it() {
        let counted = |files: &SystemFiles| values(files, Resource::CommittedMemory)[0];
        let (limit, in_use) = (Some(1_000_000 << 10), 300_000 << 10);
        assert_eq!(counted(&machine()), (limit, in_use, true));
        let strict = machine().with("proc/sys/vm/overcommit_memory", "2\n");
        assert_eq!(counted(&strict), (limit, in_use, false));
        let reserved = strict.with("proc/sys/vm/admin_reserve_kbytes", "8192\n");
        assert_eq!(counted(&reserved), (limit, in_use + (8192 << 10), false));
    }
}
