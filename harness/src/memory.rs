//! Memory of a process, from its `status` in `/proc`.

use crate::control_groups;
use crate::record::Memory;
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

/// Memory charged to this process's memory control group, user and kernel
/// together, in bytes; `None` without such a group.
pub fn of_group() -> Option<u64> {
    let files = SystemFiles::live();
    let groups = control_groups::of_process(&files, "memory");
    groups.iter().find_map(|group| group.memory_bytes(&files))
}
