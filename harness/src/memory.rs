//! Memory of a process, from its `status` in `/proc`.

use crate::control_groups;
use crate::record::{LedgerPoint, Memory};
use crate::system_files::{SystemFiles, kib_field};

/// This process's memory now; `None` if `/proc` does not report it.
pub fn now() -> Option<Memory> {
    of_process(std::process::id())
}

/// A process's memory now; `None` if it has ended.
pub fn of_process(pid: u32) -> Option<Memory> {
    of_status(&SystemFiles::live().text(&format!("proc/{pid}/status"))?)
}

fn of_status(status: &str) -> Option<Memory> {
    Some(Memory {
        rss_bytes: kib_field(status, "VmRSS")?,
        peak_rss_bytes: kib_field(status, "VmHWM")?,
        virtual_bytes: kib_field(status, "VmSize")?,
        page_table_bytes: kib_field(status, "VmPTE"),
    })
}

/// The memory of the processes `family`, by their names in `/proc`, and of the machine, with `tasks`
/// tasks alive.
pub fn with_tasks(tasks: u64, family: &[String]) -> LedgerPoint {
    let files = SystemFiles::live();
    let machine = files.text("proc/meminfo").unwrap_or_default();
    // Unknown if a process does not report it.
    let sum = |file: &str, name: &str| -> Option<u64> {
        let of = |process| kib_field(&files.text(&format!("proc/{process}/{file}"))?, name);
        family.iter().map(of).sum()
    };
    LedgerPoint {
        tasks,
        resident_bytes: sum("smaps_rollup", "Rss"),
        proportional_bytes: sum("smaps_rollup", "Pss"),
        virtual_bytes: sum("status", "VmSize"),
        page_table_bytes: sum("status", "VmPTE"),
        kernel_stack_bytes: kib_field(&machine, "KernelStack"),
        slab_bytes: kib_field(&machine, "Slab"),
        unreclaimable_slab_bytes: kib_field(&machine, "SUnreclaim"),
        available_bytes: kib_field(&machine, "MemAvailable"),
        free_bytes: kib_field(&machine, "MemFree"),
        ..LedgerPoint::default()
    }
}

/// Memory charged to this process's memory control group, user and kernel
/// together, in bytes; `None` without such a group.
pub fn of_group() -> Option<u64> {
    let files = SystemFiles::live();
    let groups = control_groups::of_process(&files, "memory");
    groups.iter().find_map(|group| group.memory_bytes(&files))
}
