//! Reading what is held: the process from `/proc/PID`, the machine from
//! `/proc/meminfo`, the memory control group from its own file.
//!
//! The kernel counts the machine's pages on each CPU and adds the counts up
//! when they have grown large, or every `vm.stat_interval`: a figure can be
//! hundreds of KiB behind. So [`settle`] comes before every reading.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use harness::memory;
use harness::record::LedgerPoint;
use harness::system_files::{kib_field, page_size};

/// Reading this file makes the kernel add up the counts of all CPUs. Only
/// root may.
const REFRESH: &str = "/proc/sys/vm/stat_refresh";

/// Without that file: how long to wait between two looks, how long at most,
/// and by how much two looks may differ and count as the same.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(3);
const SAME_BYTES: u64 = 64 << 10;

/// Reads everything when the machine's counts are current, with `tasks` tasks
/// alive. `family` are the processes that the tasks live in, as they are called
/// in `/proc`.
pub fn read(tasks: u64, family: &[String]) -> LedgerPoint {
    settle();
    at_once(tasks, family)
}

/// As [`read`], without waiting for the counts of the machine.
pub fn at_once(tasks: u64, family: &[String]) -> LedgerPoint {
    let machine = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let process = |file, name| of_family(family, file, name);
    LedgerPoint {
        tasks,
        resident_bytes: process("smaps_rollup", "Rss"),
        proportional_bytes: process("smaps_rollup", "Pss"),
        virtual_bytes: process("status", "VmSize"),
        page_table_bytes: process("status", "VmPTE"),
        kernel_stack_bytes: kib_field(&machine, "KernelStack"),
        slab_bytes: kib_field(&machine, "Slab"),
        unreclaimable_slab_bytes: kib_field(&machine, "SUnreclaim"),
        available_bytes: kib_field(&machine, "MemAvailable"),
        free_bytes: kib_field(&machine, "MemFree"),
        listed_free_bytes: listed(),
        group_bytes: memory::of_group(),
        ..LedgerPoint::default()
    }
}

/// Makes the machine's counts current, or waits until two looks agree.
fn settle() {
    if fs::read(REFRESH).is_ok() {
        return shrink_lists();
    }
    let begun = Instant::now();
    let mut last = look();
    while begun.elapsed() < LONGEST {
        thread::sleep(BETWEEN_LOOKS);
        let now = look();
        if now.iter().zip(&last).all(|(now, last)| now.abs_diff(*last) <= SAME_BYTES) {
            return;
        }
        last = now;
    }
}

/// With each refresh, Linux from 6.7 on also takes an eighth of the free pages
/// that a CPU keeps for itself and does not need, until no more are left.
fn shrink_lists() {
    let mut last = listed();
    while fs::read(REFRESH).is_ok() {
        let now = listed();
        if now >= last {
            return;
        }
        last = now;
    }
}

fn look() -> [u64; 3] {
    let machine = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    ["KernelStack", "SUnreclaim", "MemFree"]
        .map(|name| kib_field(&machine, name).unwrap_or_default())
}

/// The sum of a figure over processes; `None` where one does not tell.
fn of_family(family: &[String], file: &str, name: &str) -> Option<u64> {
    family
        .iter()
        .map(|process| {
            let text = fs::read_to_string(format!("/proc/{process}/{file}")).ok()?;
            kib_field(&text, name)
        })
        .sum()
}

/// The free pages on the lists of all CPUs, in bytes.
fn listed() -> Option<u64> {
    listed_in(&fs::read_to_string("/proc/zoneinfo").ok()?)
}

/// The free pages on the lists of all CPUs, in bytes. Each CPU keeps what it
/// freed for its next allocations, hundreds of MiB after a large process has
/// ended, and the next process draws from there before `MemFree` falls.
fn listed_in(zones: &str) -> Option<u64> {
    let counts = zones.lines().filter_map(|line| line.trim_start().strip_prefix("count:"));
    let counts: Option<Vec<u64>> = counts.map(|count| count.trim().parse().ok()).collect();
    let counts = counts.filter(|counts| !counts.is_empty())?;
    Some(counts.iter().sum::<u64>() * page_size()?)
}

#[cfg(test)]
mod tests {
    use super::{listed_in, read};

    #[test]
    fn the_lists_of_all_cpus_are_added_up() {
        let zones = "  pagesets\n    cpu: 0\n              count:    3\n              high:  9\n\
                     \x20   cpu: 1\n              count:    4\n";
        assert_eq!(listed_in(zones).map(|bytes| bytes % 7), Some(0));
        assert!(listed_in(zones) >= Some(7 * 4096));
        assert_eq!(listed_in("pages free 12\n"), None);
    }

    #[test]
    fn this_process_holds_something_and_a_missing_one_is_no_figure() {
        let point = read(0, &["self".into()]);
        assert!(point.virtual_bytes > point.resident_bytes && point.resident_bytes > Some(0));
        let point = read(0, &["self".into(), "0".into()]);
        assert_eq!(point.resident_bytes, None);
    }
}
