//! The memory of a task: bytes per task, part by part, as slopes over the number of tasks, and the
//! remainder of the machine's memory that no part explains.

use harness::record::LedgerPoint;

use super::row::{MemoryPart, Used};
use super::statistics::{Estimate, slope};

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
pub fn parts(used: &[Used]) -> Vec<MemoryPart> {
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
        parts(&crate::judge::row::used(&run)).into_iter().map(whole).collect()
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
