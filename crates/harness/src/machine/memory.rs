//! Memory of processes with tasks, and of the machine.

use crate::machine::control_groups;
use crate::machine::system_files::{SystemFiles, kib_field};
use crate::record::LedgerPoint;

/// The memory of the processes `family` and of the machine, with `tasks` tasks alive.
pub fn with_tasks(tasks: u64, family: &[u32]) -> LedgerPoint {
    let files = SystemFiles::live();
    let machine = files.text("proc/meminfo").unwrap_or_default();
    let groups = control_groups::of_process(&files, "memory");
    // Unknown if a process does not report it.
    let sum = |file: &str, name: &str| -> Option<u64> {
        let read = |process| kib_field(&files.text(&format!("proc/{process}/{file}"))?, name);
        family.iter().map(read).sum()
    };
    LedgerPoint {
        tasks,
        resident_bytes: sum("smaps_rollup", "Rss"),
        proportional_bytes: sum("smaps_rollup", "Pss"),
        virtual_bytes: sum("status", "VmSize"),
        page_table_bytes: sum("status", "VmPTE"),
        kernel_stack_bytes: kib_field(&machine, "KernelStack"),
        unreclaimable_slab_bytes: kib_field(&machine, "SUnreclaim"),
        available_bytes: kib_field(&machine, "MemAvailable"),
        group_bytes: groups.iter().find_map(|group| group.memory_bytes(&files)),
        ..LedgerPoint::default()
    }
}
