//! Reads memory: the process's from `/proc/PID`, the machine's from
//! `/proc/meminfo`, the memory control group's from its file.
//!
//! The kernel counts the machine's pages per CPU and adds the counts up only
//! when they are large, or every `vm.stat_interval`: a figure can be hundreds
//! of KiB behind. So [`settle`] precedes every reading.

use std::fs;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use harness::record::LedgerPoint;
use harness::system_files::{kib_field, page_size};
use harness::{Bench, Measured, limits, memory};

/// Reading this file, as root, makes the kernel add up the counts of all CPUs.
const REFRESH: &str = "/proc/sys/vm/stat_refresh";

/// Without that file: the time between two readings, the longest wait, and how
/// much two readings may differ to count as the same.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(3);
const SAME_BYTES: u64 = 64 << 10;

/// Reads everything once the machine's counts are current, with `tasks` tasks
/// alive in the processes `family`, by their names in `/proc`.
pub fn read(tasks: u64, family: &[String]) -> LedgerPoint {
    settle();
    at_once(tasks, family)
}

/// As [`read`], without waiting for the machine's counts.
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

/// From Linux 6.7 on, each refresh also takes an eighth of a CPU's unneeded
/// free pages, until none are left.
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

/// The sum of a figure over processes; `None` if one does not report it.
fn of_family(family: &[String], file: &str, name: &str) -> Option<u64> {
    family
        .iter()
        .map(|process| {
            let text = fs::read_to_string(format!("/proc/{process}/{file}")).ok()?;
            kib_field(&text, name)
        })
        .sum()
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
    Some(counts.iter().sum::<u64>() * page_size()?)
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

/// These readings as text: one line per figure, with its rise per task if the
/// number of tasks differs.
pub fn text(points: &[LedgerPoint]) -> String {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let moment = |point: &LedgerPoint| match &point.moment {
        Some(moment) => moment.clone(),
        None => format!("{} tasks", point.tasks),
    };
    let added = last.tasks.saturating_sub(first.tasks);
    let per_task = if added > 0 { "bytes per task" } else { "" };
    let mut text = row("memory in KiB", &moment(first), &moment(last), per_task);
    for (name, figure) in FIGURES {
        let (Some(from), Some(to)) = (figure(first), figure(last)) else { continue };
        let rise = match added {
            0 => String::new(),
            _ => format!("{:+.0}", (to as f64 - from as f64) / added as f64),
        };
        text += &row(name, &(from >> 10).to_string(), &(to >> 10).to_string(), &rise);
    }
    text
}

fn row(name: &str, first: &str, last: &str, per_task: &str) -> String {
    let row = format!("{name:<30} {first:>15} {last:>15} {per_task:>15}");
    row.trim_end().to_owned() + "\n"
}

/// The least distance of two writes that touch every page, in bytes.
const PAGE_BYTES: usize = 4096;

/// A heap block with every byte written.
pub fn touched(bytes: usize) -> Box<[u8]> {
    vec![1; bytes].into()
}

/// `--kind heap`: allocates and touches a block of this many bytes, repeatedly for the times, and
/// once more for the readings.
pub fn observe_block(bytes: usize, bench: &Bench) -> anyhow::Result<()> {
    limits::require(&limits::Need::block(bytes as u64))?;
    let pages = bytes.div_ceil(PAGE_BYTES) as u64;
    let touch = Measured { operations: pages, ..Measured::single("touch", "page") };
    for mut lap in bench.laps(&[Measured::single("allocate", "allocation"), touch]) {
        let mut block = allocate(bytes);
        lap.split();
        write_to_every_page(&mut block);
        lap.finish();
    }
    enter("start", bench);
    let mut block = allocate(bytes);
    enter("allocated", bench);
    write_to_every_page(&mut block);
    enter("touched", bench);
    bench.observe()?;
    drop(block);
    Ok(())
}

/// An unwritten block: its capacity, not its length, is `bytes`.
fn allocate(bytes: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(bytes))
}

fn write_to_every_page(block: &mut Vec<u8>) {
    for byte in block.spare_capacity_mut().iter_mut().step_by(PAGE_BYTES) {
        byte.write(1);
    }
    black_box(block);
}

fn enter(moment: &str, bench: &Bench) {
    bench
        .findings()
        .ledger
        .push(LedgerPoint { moment: Some(moment.into()), ..read(0, &["self".into()]) });
}

#[cfg(test)]
mod tests {
    use super::{listed_in, page_size, read};

    #[test]
    fn the_lists_of_all_cpus_are_added_up() {
        let zones = "pagesets\n cpu: 0\n  count:    3\n  high:  9\n cpu: 1\n  count:    4\n";
        assert_eq!(listed_in(zones), page_size().map(|bytes| 7 * bytes));
        assert_eq!(listed_in("pages free 12\n"), None);
    }

    #[test]
    fn a_missing_process_is_no_figure() {
        assert!(read(0, &["self".into()]).resident_bytes > Some(0));
        assert_eq!(read(0, &["self".into(), "0".into()]).resident_bytes, None);
    }
}
