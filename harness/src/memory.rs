//! Memory of a process, from its `status` in `/proc`.

use crate::control_groups;
use crate::record::Memory;
use crate::system_files::{SystemFiles, kib_field};

/// Reads what this process holds now; `None` where `/proc` does not tell.
pub fn now() -> Option<Memory> {
    of_process(std::process::id())
}

/// Reads what a process holds now; `None` when it has gone.
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

/// What the memory control group of this process is charged with, user and
/// kernel memory together, in bytes; `None` where there is no such group.
pub fn of_group() -> Option<u64> {
    let files = SystemFiles::live();
    let groups = control_groups::of_process(&files, "memory");
    groups.iter().find_map(|group| group.memory_bytes(&files))
}
