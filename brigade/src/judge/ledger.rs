//! The ledger of a task's memory: bytes per task, part by part, as slopes over the number of tasks,
//! and the remainder of the machine's memory that no part explains. It also defines the principal
//! figure of a case: memory or time.

use harness::record::{LedgerPoint, Record};
use serde::{Deserialize, Serialize};

use crate::judge::statistics::slope;

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Time per operation, in nanoseconds.
    Nanoseconds,
    /// A ratio.
    Ratio,
    /// Memory per task, in bytes.
    Bytes,
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

/// The line with the sum of all parts.
pub const SUM: &str = "= sum";

/// One line of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name.
    pub name: &'static str,
    /// Bytes per task, one figure per sweep; `None` if a point of the sweep
    /// lacks it.
    pub bytes_per_task: Vec<Option<f64>>,
}

/// The ledger of several sweeps, each in a separate process: the parts, their
/// sum, the drop in available memory, the difference of the two, and other
/// views of the same bytes.
pub fn lines(sweeps: &[Vec<LedgerPoint>]) -> Vec<Line> {
    let of = |(name, figure): (&'static str, Figure)| Line {
        name,
        bytes_per_task: sweeps.iter().map(|points| per_task(points, figure)).collect(),
    };
    let drop_of = |name, figure| {
        let mut line = of((name, figure));
        line.bytes_per_task.iter_mut().flatten().for_each(|bytes| *bytes = -*bytes);
        line
    };
    let mut lines: Vec<Line> = PARTS.into_iter().map(of).collect();
    let sums =
        (0..sweeps.len()).map(|sweep| lines.iter().map(|part| part.bytes_per_task[sweep]).sum());
    let sum = Line { name: SUM, bytes_per_task: sums.collect() };
    let drop = drop_of("= drop of available", available);
    let pairs = drop.bytes_per_task.iter().zip(&sum.bytes_per_task);
    let rest = pairs.map(|(drop, sum)| Some((*drop)? - (*sum)?)).collect();
    let unexplained = Line { name: "unexplained", bytes_per_task: rest };
    let raw = drop_of("drop of MemAvailable", |point| point.available_bytes);
    lines.extend([sum, unexplained, drop, raw]);
    lines.extend(VIEWS.into_iter().map(of));
    lines
}

/// The memory of a task in one sweep, all parts together, in bytes; `None` if a
/// part is unknown or lost in what other processes allocate and free.
fn held(points: &[LedgerPoint]) -> Option<f64> {
    let parts = PARTS.into_iter().map(|(_, figure)| per_task(points, figure));
    parts.sum::<Option<f64>>().filter(|bytes| *bytes > 0.0)
}

/// The principal figure of a case: bytes per task if a record sweeps the number of tasks, otherwise
/// the time of its principal measurement, in nanoseconds.
pub fn principal_figure(record: &Record) -> Option<(f64, Quantity)> {
    let held = record.ledger.as_ref().and_then(|points| held(points));
    let time = || Some((record.principal()?.ns_per_operation, Quantity::Nanoseconds));
    held.map(|bytes| (bytes, Quantity::Bytes)).or_else(time)
}

/// Available memory: `MemAvailable` plus the free pages on per-CPU lists, which
/// it omits and from which a process allocates first.
fn available(point: &LedgerPoint) -> Option<u64> {
    Some(point.available_bytes? + point.listed_free_bytes?)
}

/// The slope of a figure over the number of tasks, in bytes per task; `None` if
/// a point lacks it.
fn per_task(points: &[LedgerPoint], figure: Figure) -> Option<f64> {
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

    #[test]
    fn the_parts_add_up_and_the_rest_is_unexplained() {
        let found: Vec<_> = lines(&[sweep(2), sweep(0)])
            .into_iter()
            .map(|line| {
                let whole = |bytes: f64| bytes.round() as i64;
                let bytes: Vec<_> =
                    line.bytes_per_task.iter().map(|bytes| bytes.map(whole)).collect();
                (line.name, bytes)
            })
            .collect();
        let both = |bytes| vec![Some(bytes); 2];
        let expected = [
            ("user memory", both(10)),
            ("page tables", both(20)),
            ("kernel stacks", both(30)),
            ("slab", both(40)),
            ("= sum", both(100)),
            ("unexplained", vec![Some(2), Some(0)]),
            ("= drop of available", vec![Some(102), Some(100)]),
            ("drop of MemAvailable", vec![Some(62), Some(60)]),
            ("resident", both(11)),
            ("virtual", vec![None; 2]),
            ("slab, reclaimable too", vec![None; 2]),
            ("control group", vec![None; 2]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_sum_without_one_of_its_parts_is_no_figure() {
        let mut points = sweep(0);
        points[1].page_table_bytes = None;
        let lines = lines(&[points]);
        let of = |name| lines.iter().find(|line| line.name == name).expect("a line");
        assert_eq!(of("= sum").bytes_per_task, [None]);
        assert_eq!(of("unexplained").bytes_per_task, [None]);
        assert!(of("slab").bytes_per_task[0].is_some());
    }
}
