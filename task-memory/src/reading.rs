//! Reads memory: the process's from `/proc/PID`, the machine's from
//! `/proc/meminfo`, the memory control group's from its file.
//!
//! The kernel counts the machine's pages per CPU and adds the counts up only
//! when they are large, or every `vm.stat_interval`: a figure can be hundreds
//! of KiB behind. So [`settle`] precedes every reading.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use harness::memory;
use harness::record::LedgerPoint;
use harness::system_files::{kib_field, page_size};

/// Reading this file, as root, makes the kernel add up the counts of all CPUs.
const REFRESH: &str = "/proc/sys/vm/stat_refresh";

/// The time between two readings, without that file.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);
/// The longest wait for two readings that agree.
const LONGEST: Duration = Duration::from_secs(3);
/// How much two readings may differ to count as the same, in bytes.
const SAME_BYTES: u64 = 64 << 10;

/// Reads everything once the machine's counts are current, with `tasks` tasks
/// alive in the processes `family`.
pub fn read(tasks: u64, family: &[u32]) -> LedgerPoint {
    settle();
    at_once(tasks, family)
}

/// Reads everything as [`read`] does, without waiting for the machine's counts.
pub fn at_once(tasks: u64, family: &[u32]) -> LedgerPoint {
    LedgerPoint { listed_free_bytes: listed(), ..memory::with_tasks(tasks, family) }
}

/// Makes the machine's counts current, or waits until two readings agree.
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

/// Refreshes until no unneeded free pages are left on per-CPU lists: from Linux 6.7 on, each refresh
/// also takes an eighth of them.
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

/// The free pages on per-CPU lists, in bytes.
fn listed() -> Option<u64> {
    listed_in(&fs::read_to_string("/proc/zoneinfo").ok()?)
}

/// The free pages on per-CPU lists, in bytes. Each CPU keeps freed pages for
/// its next allocations, hundreds of MiB after a large process has ended, and
/// the next process takes these before `MemFree` falls.
fn listed_in(zones: &str) -> Option<u64> {
    let counts = zones.lines().filter_map(|line| line.trim_start().strip_prefix("count:"));
    let counts: Option<Vec<u64>> = counts.map(|count| count.trim().parse().ok()).collect();
    let counts = counts.filter(|counts| !counts.is_empty())?;
    Some(counts.iter().sum::<u64>() * page_size())
}

/// A figure of a reading, in bytes, and its name.
type Figure = (&'static str, fn(&LedgerPoint) -> Option<u64>);

/// Figures of the process, then of the machine.
const FIGURES: [Figure; 7] = [
    ("resident", |point| point.resident_bytes),
    ("resident, shared pages divided", |point| point.proportional_bytes),
    ("virtual", |point| point.virtual_bytes),
    ("page tables", |point| point.page_table_bytes),
    ("kernel stacks of the machine", |point| point.kernel_stack_bytes),
    ("slab of the machine", |point| point.unreclaimable_slab_bytes),
    ("available on the machine", |point| point.available_bytes),
];

/// The text of these readings: one line per figure, with its rise per task if the number of tasks
/// differs.
pub fn text(points: &[LedgerPoint]) -> String {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let added = last.tasks.saturating_sub(first.tasks);
    let line = |(name, figure): &Figure| {
        let from = figure(first)?;
        let to = figure(last)?;
        let rise = (to as f64 - from as f64) / added as f64;
        let rise = if added > 0 { format!(", {rise:+.0} bytes per task") } else { String::new() };
        Some(format!("{name}: {} KiB to {} KiB{rise}\n", from >> 10, to >> 10))
    };
    FIGURES.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{listed_in, page_size, read};

    #[test]
    fn the_lists_of_all_cpus_are_added_up() {
        let zones = "pagesets\n cpu: 0\n  count:    3\n  high:  9\n cpu: 1\n  count:    4\n";
        assert_eq!(listed_in(zones), Some(7 * page_size()));
        assert_eq!(listed_in("pages free 12\n"), None);
    }

    #[test]
    fn a_missing_process_is_no_figure() {
        let own = std::process::id();
        assert!(read(0, &[own]).resident_bytes > Some(0));
        assert_eq!(read(0, &[own, 0]).resident_bytes, None);
    }
}
