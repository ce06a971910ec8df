//! Memory of this process, from `/proc/self/status`.

use procfs::process::Process;

use crate::control_groups;
use crate::record::Memory;
use crate::system_files::SystemFiles;

/// Reads what the process holds now; `None` where `/proc` does not tell.
#[must_use]
pub fn now() -> Option<Memory> {
    let status = Process::myself().ok()?.status().ok()?;
    let bytes = |kib: Option<u64>| kib.map(|kib| kib << 10);
    Some(Memory {
        rss_bytes: bytes(status.vmrss)?,
        peak_rss_bytes: bytes(status.vmhwm)?,
        virtual_bytes: bytes(status.vmsize)?,
        page_table_bytes: bytes(status.vmpte),
    })
}

/// What the memory control group of this process is charged with, user and
/// kernel memory together, in bytes; `None` where there is no such group.
#[must_use]
pub fn of_group() -> Option<u64> {
    let files = SystemFiles::live();
    let groups = control_groups::of_process(&files, "memory");
    groups.iter().find_map(|group| group.memory_bytes(&files))
}

#[cfg(test)]
mod tests {
    use super::now;

    #[test]
    fn touching_memory_makes_it_resident() {
        const BYTES: usize = 64 << 20;
        let before = now().expect("/proc/self/status");
        let block = std::hint::black_box(vec![1_u8; BYTES]);
        let after = now().expect("/proc/self/status");
        assert!(after.rss_bytes >= before.rss_bytes + block.len() as u64 * 9 / 10);
        assert!(after.peak_rss_bytes >= after.rss_bytes);
        assert!(after.virtual_bytes >= after.rss_bytes);
    }
}
