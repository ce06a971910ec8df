//! The ledger: bytes per task, part by part, as slopes over the number of
//! tasks, and what remains of the machine's memory that no part explains.

use harness::record::LedgerPoint;
use harness::statistics::{Estimate, slope};
use harness::table::{ABSENT, table};

/// Reads a figure of a point.
type Figure = fn(&LedgerPoint) -> Option<u64>;

/// What a task holds, each byte in one part only.
const PARTS: [(&str, Figure); 4] = [
    ("user memory", |point| point.proportional_bytes),
    ("page tables", |point| point.page_table_bytes),
    ("kernel stacks", |point| point.kernel_stack_bytes),
    ("slab", |point| point.unreclaimable_slab_bytes),
];

/// What is told besides: other views of the same bytes.
const BESIDES: [(&str, Figure); 4] = [
    ("resident", |point| point.resident_bytes),
    ("virtual", |point| point.virtual_bytes),
    ("slab, reclaimable too", |point| point.slab_bytes),
    ("control group", |point| point.group_bytes),
];

const HEADER: [&str; 3] = ["bytes per task", "median", "95 % interval"];

/// The ledger of several sweeps, each of a process of its own.
pub fn ledger(sweeps: &[Vec<LedgerPoint>]) -> String {
    let of = |figure: Figure| -> Vec<Option<f64>> {
        sweeps.iter().map(|points| per_task(points, figure)).collect()
    };
    let parts: Vec<_> = PARTS.iter().map(|(name, figure)| (*name, of(*figure))).collect();
    let sum = (0..sweeps.len()).map(|sweep| parts.iter().map(|(_, part)| part[sweep]).sum());
    let sum: Vec<Option<f64>> = sum.collect();
    let drop_of = |figure| of(figure).iter().map(|slope| slope.map(|slope| -slope)).collect();
    let drop: Vec<Option<f64>> = drop_of(available);
    let raw: Vec<Option<f64>> = drop_of(|point| point.available_bytes);
    let rest: Vec<_> = drop.iter().zip(&sum).map(|(drop, sum)| Some((*drop)? - (*sum)?)).collect();

    let mut rows: Vec<_> = parts.iter().map(|(name, slopes)| row(name, slopes)).collect();
    rows.push(row("= sum", &sum));
    rows.push(row("unexplained", &rest));
    rows.push(row("= drop of available", &drop));
    rows.push(row("drop of MemAvailable", &raw));
    rows.extend(BESIDES.iter().map(|(name, figure)| row(name, &of(*figure))));
    table(1, HEADER, &rows)
}

/// What could still be had: `MemAvailable` and what it leaves out, the free
/// pages on lists of the CPUs, from which a process draws first.
fn available(point: &LedgerPoint) -> Option<u64> {
    Some(point.available_bytes? + point.listed_free_bytes?)
}

/// The slope of a figure over the number of tasks, in bytes per task; `None`
/// where one point lacks it.
fn per_task(points: &[LedgerPoint], figure: Figure) -> Option<f64> {
    let points: Option<Vec<_>> =
        points.iter().map(|point| Some((point.tasks as f64, figure(point)? as f64))).collect();
    slope(&points?)
}

fn row(name: &str, slopes: &[Option<f64>]) -> [String; 3] {
    let known: Vec<f64> = slopes.iter().copied().flatten().collect();
    let estimate = Estimate::of(&known);
    let interval = estimate.and_then(|estimate| estimate.interval);
    // An integer has no sign on nothing, which a float rounded to 0 has.
    let whole = |bytes: f64| bytes.round() as i64;
    [
        name.into(),
        estimate.map_or(ABSENT.into(), |estimate| whole(estimate.median).to_string()),
        interval.map_or(ABSENT.into(), |interval| {
            format!("{}…{}", whole(interval.low), whole(interval.high))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::ledger;
    use harness::record::LedgerPoint;

    /// A sweep in which each task takes 10 bytes of user memory, 20 of page
    /// tables, 30 of kernel stack, 40 of slab, and `besides` of no part.
    fn sweep(besides: u64) -> Vec<LedgerPoint> {
        let point = |tasks: u64| LedgerPoint {
            tasks,
            proportional_bytes: Some(5000 + 10 * tasks),
            resident_bytes: Some(6000 + 10 * tasks),
            page_table_bytes: Some(20 * tasks),
            kernel_stack_bytes: Some(30 * tasks),
            unreclaimable_slab_bytes: Some(900_000 + 40 * tasks),
            available_bytes: Some(9_000_000 - (60 + besides) * tasks),
            listed_free_bytes: Some(70_000 - 40 * tasks),
            ..LedgerPoint::default()
        };
        [100, 200, 300].map(point).into()
    }

    #[test]
    fn the_parts_add_up_and_the_rest_is_told() {
        insta::assert_snapshot!(ledger(&[0, 1, 2, 3, 40].map(sweep)), @r"
        bytes per task        median 95 % interval
        user memory               10         10…10
        page tables               20         20…20
        kernel stacks             30         30…30
        slab                      40         40…40
        = sum                    100       100…100
        unexplained                2          0…40
        = drop of available      102       100…140
        drop of MemAvailable      62        60…100
        resident                  10         10…10
        virtual                    –             –
        slab, reclaimable too      –             –
        control group              –             –
        ");
    }

    #[test]
    fn one_sweep_has_no_interval_and_none_has_no_figure() {
        assert!(ledger(&[sweep(7)]).contains("unexplained "));
        assert!(!ledger(&[]).contains('0'));
    }
}
