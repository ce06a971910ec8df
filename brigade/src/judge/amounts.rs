//! The figures of one record, as they are printed and as its measurements imply them.

use harness::record::{LedgerPoint, Record, Waiting};
use serde::Serialize;

use super::statistics::slope;

/// The name of a figure that is no measurement: memory per task.
pub const MEMORY: &str = "memory";
/// The name of a figure that is no measurement: the time of an operation with all its phases,
/// creation, run and end.
pub const WHOLE: &str = "whole";

/// The name of the case's figure: a server's CPU time of a request, of both sides, if that was
/// measured; memory, known or not, if the process swept the number of tasks; or else the time of an
/// operation.
pub fn figure_of(record: &Record) -> &str {
    let has = |name| record.measurement(name).is_some();
    match record.principal() {
        _ if record.serving.is_some() && has("cpu") => "cpu",
        _ if record.is_sweep() => MEMORY,
        Some(principal) if principal.name != "join" && has("join") => WHOLE,
        principal => principal.map_or("", |principal| &principal.name),
    }
}

/// CPU time per operation, user and kernel.
pub fn cpu_ns(record: &Record) -> Option<f64> {
    let cpu = record.cpu.as_ref()?;
    Some(cpu.user_ns_per_operation + cpu.system_ns_per_operation)
}

/// The time of the work in an operation, from the fastest of many pieces: what disturbs a run does
/// not change it.
pub fn work_ns(record: &Record) -> Option<f64> {
    let work = record.work?;
    Some(work.units as f64 * work.ns_per_unit?)
}

/// Context switches per operation, counted by the kernel.
pub fn switches(record: &Record) -> Option<f64> {
    let counts = record.switches?;
    Some(counts.voluntary_per_operation + counts.involuntary_per_operation)
}

/// How often a CPU entered an idle state, per operation.
pub fn idle_entries(waiting: &Waiting) -> Option<f64> {
    let states = waiting.idle_states.as_ref()?;
    Some(states.iter().map(|state| state.entries_per_operation).sum())
}

/// How often a CPU interrupted another, per operation.
pub fn interrupts(waiting: &Waiting) -> Option<f64> {
    Some(waiting.reschedules_per_operation? + waiting.calls_per_operation?)
}

/// CPU time per operation that was neither in an idle state nor a task's, over all CPUs: kernel
/// work before and after a CPU sleeps. 0 if no CPU went idle.
pub fn waking_ns(record: &Record) -> Option<f64> {
    let waiting = record.waiting.as_ref()?;
    if idle_entries(waiting)? == 0.0 {
        return Some(0.0);
    }
    let idle_ns: f64 =
        waiting.idle_states.iter().flatten().map(|state| state.ns_per_operation).sum();
    let others = record.interference.others_cpu_ns.unwrap_or(0) as f64 / operations(record)?;
    let all = record.affinity.len() as f64 * elapsed_ns(record)?;
    Some((all - idle_ns - cpu_ns(record)? - others).max(0.0))
}

/// The operations by which CPU time, switches and waiting are divided: those of the principal
/// measurement, or all messages of a channel.
pub fn operations(record: &Record) -> Option<f64> {
    let messages = record.channel.map(|channel| channel.messages as f64);
    messages.or_else(|| measured_operations(record))
}

/// Operations of the principal measurement.
pub fn measured_operations(record: &Record) -> Option<f64> {
    let principal = record.principal()?;
    Some(principal.count as f64 * principal.operations as f64)
}

/// Wall time of the span that the CPU time covers, per operation of the principal measurement.
pub fn elapsed_ns(record: &Record) -> Option<f64> {
    Some(record.interference.wall_ns? as f64 / operations(record)?)
}

/// An item of the account of a task's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub enum MemoryItem {
    /// Memory in user space, that of several processes divided among them.
    #[serde(rename = "user memory")]
    User,
    /// Page tables.
    #[serde(rename = "page tables")]
    PageTables,
    /// Stacks of threads in the kernel.
    #[serde(rename = "kernel stacks")]
    KernelStacks,
    /// Other objects of the kernel.
    #[serde(rename = "slab")]
    Slab,
    /// All four of them: the figure of the case.
    #[serde(rename = "= sum")]
    Sum,
    /// The drop in available memory minus the sum.
    #[serde(rename = "unexplained")]
    Unexplained,
    /// The drop in available memory.
    #[serde(rename = "= drop of available")]
    DropOfAvailable,
}

/// Bytes per task, for each [`MemoryItem`] in the order of `ALL`.
pub type Memory = [Option<f64>; MemoryItem::ALL.len()];

impl MemoryItem {
    /// All of them, in the order in which they are declared.
    pub const ALL: [Self; 7] = [
        Self::User,
        Self::PageTables,
        Self::KernelStacks,
        Self::Slab,
        Self::Sum,
        Self::Unexplained,
        Self::DropOfAvailable,
    ];
    /// The four that add up, each byte in one of them only.
    const ADDENDS: [Self; 4] = [Self::User, Self::PageTables, Self::KernelStacks, Self::Slab];

    /// Bytes per task in one sweep; `None` if a reading lacks it.
    fn per_task(self, points: &[LedgerPoint]) -> Option<f64> {
        match self {
            Self::User => slope_of(points, |point| point.proportional_bytes),
            Self::PageTables => slope_of(points, |point| point.page_table_bytes),
            Self::KernelStacks => slope_of(points, |point| point.kernel_stack_bytes),
            Self::Slab => slope_of(points, |point| point.unreclaimable_slab_bytes),
            Self::Sum => Self::ADDENDS.iter().map(|item| item.per_task(points)).sum(),
            Self::Unexplained => Some(drop_of_available(points)? - Self::Sum.per_task(points)?),
            Self::DropOfAvailable => drop_of_available(points),
        }
    }
}

/// The items of a task's memory in one sweep; `None` for one that is unknown.
pub fn memory_parts(points: &[LedgerPoint]) -> Memory {
    MemoryItem::ALL.map(|item| item.per_task(points))
}

/// The memory of a task in one process, all parts together, in bytes; `None` if a part is unknown. What
/// other processes allocate and free may make it negative: without those, the median would be too
/// large.
pub fn memory_of_task(parts: &Memory) -> Option<f64> {
    parts[MemoryItem::Sum as usize]
}

/// Available memory is `MemAvailable` plus the free pages on per-CPU lists, which it omits and from
/// which a process allocates first.
fn drop_of_available(points: &[LedgerPoint]) -> Option<f64> {
    Some(-slope_of(points, |point| Some(point.available_bytes? + point.listed_free_bytes?))?)
}

/// The slope of a figure over the number of tasks, in bytes per task; `None` if
/// a point lacks it.
fn slope_of(points: &[LedgerPoint], bytes: fn(&LedgerPoint) -> Option<u64>) -> Option<f64> {
    let point = |point: &LedgerPoint| Some((point.tasks as f64, bytes(point)? as f64));
    slope(&points.iter().map(point).collect::<Option<Vec<_>>>()?)
}
