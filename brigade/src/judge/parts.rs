//! Where the time of an operation goes: elapsed = user + kernel + waiting − overlap, and waiting =
//! idle + waking + queued + stolen + rest. The kernel counts the CPU time of the whole process, so
//! the wall time covers the same span: all phases of a lap, and the time between laps.
//!
//! And where the memory of a task goes: bytes per task, part by part, as slopes over the number of
//! tasks, and the remainder of the machine's memory that no part explains.

use std::collections::BTreeMap;

use harness::record::{IdleState, LedgerPoint, Record};
use serde::{Deserialize, Serialize};

use super::statistics::{Estimate, median, slope};
use crate::store::invocation::{Invocation, Outcome};

/// A process whose figures are used.
#[derive(Clone, Copy)]
pub struct Used<'a> {
    pub invocation: &'a Invocation,
    pub record: &'a Record,
}

/// The processes of a case whose figures are used, the last of each round: those that nothing
/// stopped or throttled, or else all that measured.
pub fn used<'a>(invocations: &[&'a Invocation]) -> Vec<Used<'a>> {
    let mut rounds: BTreeMap<u32, Used> = BTreeMap::new();
    for invocation in invocations {
        if let Some(record) = measured(invocation) {
            rounds.insert(invocation.round, Used { invocation, record });
        }
    }
    let all: Vec<Used> = rounds.into_values().collect();
    let quiet: Vec<Used> = all.iter().copied().filter(|of| !is_disturbed(of.invocation)).collect();
    if quiet.is_empty() { all } else { quiet }
}

/// The record of an invocation that measured.
pub fn measured(invocation: &Invocation) -> Option<&Record> {
    let measured = invocation.outcome == Outcome::Measured && !invocation.interrupted;
    invocation.record.as_ref().filter(|_| measured)
}

/// Whether a signal stopped the process or a CPU quota throttled it while it measured.
fn is_disturbed(invocation: &Invocation) -> bool {
    let periods = invocation.record.as_ref().and_then(|of| of.interference.throttled_periods);
    invocation.stopped_ns.unwrap_or(0) > 0 || periods.is_some_and(|[used_up, _]| used_up > 0)
}

/// The median over processes of a figure of their records.
pub fn median_of(used: &[Used], figure: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    median(&used.iter().filter_map(|of| figure(of.record)).collect::<Vec<_>>())
}

/// How far the kernel's count of CPU time may differ from the wall time of a process that never
/// waits, as a share: the two are not read at the same moment.
const RESOLUTION: f64 = 0.01;

/// The parts of an operation's time, in nanoseconds: elapsed and CPU time are medians over
/// processes, and their difference is waiting or overlap. They add up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Parts {
    /// Wall time from the start of the first lap to the end of the last one.
    pub elapsed_ns: f64,
    /// CPU time in user space.
    pub user_ns: f64,
    /// CPU time in the kernel.
    pub kernel_ns: f64,
    /// Wall time in which no thread of the process ran, less any overlap.
    pub waiting_ns: f64,
    /// CPU time beyond the wall time: threads ran simultaneously.
    pub overlap_ns: f64,
    /// Reasons for the waiting; `null` if the kernel does not report them.
    pub waiting_for: Option<WaitingFor>,
    /// How often a CPU entered an idle state, per operation.
    pub idle_entries: Option<f64>,
    /// How often a CPU interrupted another to run something, per operation.
    pub interrupts: Option<f64>,
    /// Share of traced hops whose ends ran on different CPUs, 0 to 1.
    pub crossing_share: Option<f64>,
}

/// Reasons for an operation's waiting, in nanoseconds. They add up to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WaitingFor {
    /// All CPUs were in an idle state.
    pub idle_ns: f64,
    /// CPUs were entering or leaving an idle state: neither in one nor running a task.
    pub waking_ns: f64,
    /// A task was ready and waited for its CPU.
    pub queued_ns: f64,
    /// The hypervisor ran others.
    pub stolen_ns: f64,
    /// The remainder.
    pub rest_ns: f64,
}

impl Parts {
    /// The parts of the time in these processes; `None` if no record contains CPU time.
    pub fn of(used: &[Used]) -> Option<Self> {
        let elapsed_ns = median_of(used, elapsed_ns)?;
        let cpu = |record: &Record| {
            let cpu = record.cpu.as_ref()?;
            Some((cpu.user_ns_per_operation, cpu.system_ns_per_operation))
        };
        let cpu_ns = median_of(used, |record| cpu(record).map(|(user, kernel)| user + kernel))?;
        let share = median_of(used, |record| {
            let (user, kernel) = cpu(record)?;
            (user + kernel > 0.0).then(|| user / (user + kernel))
        });
        let user_ns = cpu_ns * share.unwrap_or(0.0);
        let rest = elapsed_ns - cpu_ns;
        let rest = if rest.abs() <= RESOLUTION * elapsed_ns { 0.0 } else { rest };
        // On one CPU nothing overlaps; any difference comes from the clocks.
        let can_overlap = used.iter().any(|of| of.record.affinity.len() != 1);
        let waiting_ns = rest.max(0.0);
        Some(Self {
            elapsed_ns,
            user_ns,
            kernel_ns: cpu_ns - user_ns,
            waiting_ns,
            overlap_ns: if can_overlap { (-rest).max(0.0) } else { 0.0 },
            waiting_for: WaitingFor::of(used, waiting_ns),
            idle_entries: median_of(used, idle_entries),
            interrupts: median_of(used, interrupts),
            crossing_share: median_of(used, |record| record.switches?.cross_cpu_share),
        })
    }
}

impl WaitingFor {
    /// What explains this waiting; `None` if no record has the reasons.
    ///
    /// The kernel's counts overlap: a task woken for an idle CPU counts as runnable until the CPU
    /// is awake, and time stolen from a sleeping CPU is idle time. So each reason only explains
    /// what those before it leave.
    fn of(used: &[Used], waiting_ns: f64) -> Option<Self> {
        let found = |record: &Record, of: fn(&Record) -> Option<f64>| of(record);
        let mut rest_ns = waiting_ns;
        let mut explain = |of: fn(&Record) -> Option<f64>| {
            let explained = median_of(used, |record| found(record, of))?.min(rest_ns);
            rest_ns -= explained;
            Some(explained)
        };
        let idle_ns = explain(|record| record.waiting.as_ref()?.idle_ns_per_operation)?;
        let waking_ns = explain(waking_ns)?;
        let queued_ns = explain(|record| record.waiting.as_ref()?.runnable_ns_per_operation)?;
        let stolen_ns = explain(|record| {
            Some(record.interference.steal_ns.unwrap_or(0) as f64 / operations(record)?)
        })?;
        Some(Self { idle_ns, waking_ns, queued_ns, stolen_ns, rest_ns })
    }
}

/// CPU time per operation that was neither in an idle state nor a task's, over all CPUs: kernel
/// work before and after a CPU sleeps. 0 if no CPU went idle.
fn waking_ns(record: &Record) -> Option<f64> {
    let cpu = record.cpu.as_ref()?;
    let states = record.waiting.as_ref()?.idle_states.as_ref()?;
    let sum = |figure: fn(&IdleState) -> f64| states.iter().map(figure).sum::<f64>();
    if sum(|state| state.entries_per_operation) == 0.0 {
        return Some(0.0);
    }
    let others = record.interference.others_cpu_ns.unwrap_or(0) as f64 / operations(record)?;
    let all = record.affinity.len() as f64 * elapsed_ns(record)?;
    let tasks = cpu.user_ns_per_operation + cpu.system_ns_per_operation;
    Some((all - sum(|state| state.ns_per_operation) - tasks - others).max(0.0))
}

/// Operations of the principal measurement.
fn operations(record: &Record) -> Option<f64> {
    let principal = record.principal()?;
    Some(principal.count as f64 * principal.operations as f64)
}

/// Wall time of the span that the CPU time covers, per operation of the principal measurement.
fn elapsed_ns(record: &Record) -> Option<f64> {
    Some(record.interference.wall_ns? as f64 / operations(record)?)
}

/// How often a CPU interrupted another, per operation.
fn interrupts(record: &Record) -> Option<f64> {
    let found = record.waiting.as_ref()?;
    Some(found.reschedules_per_operation? + found.calls_per_operation?)
}

/// How often a CPU entered an idle state, per operation.
fn idle_entries(record: &Record) -> Option<f64> {
    let states = record.waiting.as_ref()?.idle_states.as_ref()?;
    Some(states.iter().map(|state| state.entries_per_operation).sum())
}

/// A part of a task's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryPart {
    /// Its name.
    pub name: String,
    /// Bytes per task: the slope over the number of tasks; the median over processes.
    pub bytes_per_task: Estimate,
}

/// Reads a figure of a point, in bytes.
type Figure = fn(&LedgerPoint) -> Option<u64>;

/// The parts of a task's memory; each byte is in one part only.
const PARTS: [(&str, Figure); 4] = [
    ("user memory", |point| point.proportional_bytes),
    ("page tables", |point| point.page_table_bytes),
    ("kernel stacks", |point| point.kernel_stack_bytes),
    ("slab", |point| point.unreclaimable_slab_bytes),
];

/// Other views of the same bytes.
const VIEWS: [(&str, Figure); 4] = [
    ("resident", |point| point.resident_bytes),
    ("virtual", |point| point.virtual_bytes),
    ("slab, reclaimable too", |point| point.slab_bytes),
    ("control group", |point| point.group_bytes),
];

/// The memory of a task in these processes, each of which swept the number of tasks: the parts,
/// their sum, the drop in available memory, the difference of the two, and other views of the same
/// bytes. Empty without sweeps.
pub fn memory(used: &[Used]) -> Vec<MemoryPart> {
    let sweeps: Vec<&[LedgerPoint]> =
        used.iter().filter_map(|of| of.record.ledger.as_deref()).collect();
    let mut parts = Vec::new();
    let mut add = |name: &str, of: &dyn Fn(&[LedgerPoint]) -> Option<f64>| {
        let slopes: Vec<f64> = sweeps.iter().filter_map(|points| of(points)).collect();
        let part = |bytes_per_task| MemoryPart { name: name.to_owned(), bytes_per_task };
        parts.extend(Estimate::of(&slopes).map(part));
    };
    let drop = |points: &[LedgerPoint], of: Figure| Some(-bytes(points, of)?);
    for (name, figure) in PARTS {
        add(name, &|points| bytes(points, figure));
    }
    add("= sum", &sum);
    add("unexplained", &|points| Some(drop(points, available)? - sum(points)?));
    add("= drop of available", &|points| drop(points, available));
    add("drop of MemAvailable", &|points| drop(points, |point| point.available_bytes));
    for (name, figure) in VIEWS {
        add(name, &|points| bytes(points, figure));
    }
    parts
}

/// The memory of a task in one sweep, all parts together, in bytes; `None` if a
/// part is unknown or lost in what other processes allocate and free.
pub fn per_task(points: &[LedgerPoint]) -> Option<f64> {
    sum(points).filter(|bytes| *bytes > 0.0)
}

fn sum(points: &[LedgerPoint]) -> Option<f64> {
    PARTS.into_iter().map(|(_, figure)| bytes(points, figure)).sum()
}

/// Available memory: `MemAvailable` plus the free pages on per-CPU lists, which
/// it omits and from which a process allocates first.
fn available(point: &LedgerPoint) -> Option<u64> {
    Some(point.available_bytes? + point.listed_free_bytes?)
}

/// The slope of a figure over the number of tasks, in bytes per task; `None` if
/// a point lacks it.
fn bytes(points: &[LedgerPoint], figure: Figure) -> Option<f64> {
    let points: Option<Vec<_>> =
        points.iter().map(|point| Some((point.tasks as f64, figure(point)? as f64))).collect();
    slope(&points?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sweep in which each task uses 10 bytes of user memory, 20 of page
    /// tables, 30 of kernel stack, 40 of slab, and `more` outside all parts.
    fn sweep(more: u64) -> Vec<LedgerPoint> {
        let point = |tasks: u64| LedgerPoint {
            tasks,
            proportional_bytes: Some(5000 + 10 * tasks),
            resident_bytes: Some(6000 + 11 * tasks),
            page_table_bytes: Some(20 * tasks),
            kernel_stack_bytes: Some(30 * tasks),
            unreclaimable_slab_bytes: Some(900_000 + 40 * tasks),
            available_bytes: Some(9_000_000 - (60 + more) * tasks),
            listed_free_bytes: Some(70_000 - 40 * tasks),
            ..LedgerPoint::default()
        };
        [100, 200, 300].map(point).into()
    }

    /// The parts of processes with these sweeps, as whole bytes.
    fn of(sweeps: [Vec<LedgerPoint>; 2]) -> Vec<(String, i64)> {
        let mut run = crate::store::fixtures::case("memory", [1.0, 1.0]);
        for (invocation, sweep) in run.iter_mut().zip(sweeps) {
            invocation.record.as_mut().unwrap().ledger = Some(sweep);
        }
        let run: Vec<_> = run.iter().collect();
        let whole = |part: MemoryPart| (part.name, part.bytes_per_task.value.round() as i64);
        memory(&used(&run)).into_iter().map(whole).collect()
    }

    #[test]
    fn the_parts_add_up_and_the_rest_is_unexplained() {
        let expected = [
            ("user memory", 10),
            ("page tables", 20),
            ("kernel stacks", 30),
            ("slab", 40),
            ("= sum", 100),
            ("unexplained", 1),
            ("= drop of available", 101),
            ("drop of MemAvailable", 61),
            ("resident", 11),
        ];
        assert_eq!(
            of([sweep(2), sweep(0)]),
            expected.map(|(name, bytes)| (name.to_owned(), bytes))
        );
    }

    #[test]
    fn a_sum_without_one_of_its_parts_is_no_figure() {
        let mut points = sweep(0);
        points[1].page_table_bytes = None;
        assert_eq!(per_task(&points), None);
        let names: Vec<_> =
            of([points.clone(), points]).into_iter().map(|(name, _)| name).collect();
        assert!(!names.contains(&"= sum".to_owned()) && names.contains(&"slab".to_owned()));
    }
}
