//! The first reading and the last, as text.

use harness::record::LedgerPoint;

/// A figure of a reading, in bytes, and its name.
type Figure = (&'static str, fn(&LedgerPoint) -> Option<u64>);

/// What the process holds, then what the machine does.
const FIGURES: [Figure; 7] = [
    ("resident", |point| point.resident_bytes),
    ("resident, shared pages divided", |point| point.proportional_bytes),
    ("virtual", |point| point.virtual_bytes),
    ("page tables", |point| point.page_table_bytes),
    ("kernel stacks of the machine", |point| point.kernel_stack_bytes),
    ("slab of the machine", |point| point.unreclaimable_slab_bytes),
    ("available on the machine", |point| point.available_bytes),
];

/// The text for these readings: a line for each figure, and where the number of
/// tasks differs, by how much the figure rose for each task.
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

#[cfg(test)]
mod tests {
    use super::text;
    use harness::record::LedgerPoint;

    #[test]
    fn a_rise_is_shared_among_the_tasks_that_were_added() {
        let point = |tasks: u64| LedgerPoint {
            tasks,
            resident_bytes: Some((4 << 20) + 9000 * tasks),
            available_bytes: Some((1 << 30) - 10_000 * tasks),
            ..LedgerPoint::default()
        };
        insta::assert_snapshot!(text(&[point(10), point(55), point(110)]), @r"
        memory in KiB                         10 tasks       110 tasks  bytes per task
        resident                                  4183            5062           +9000
        available on the machine               1048478         1047501          -10000
        ");
    }

    #[test]
    fn moments_have_their_names_and_share_nothing() {
        let point = |moment: &str, resident| LedgerPoint {
            moment: Some(moment.into()),
            resident_bytes: Some(resident),
            ..LedgerPoint::default()
        };
        insta::assert_snapshot!(text(&[point("start", 4096), point("touched", 1 << 20)]), @r"
        memory in KiB                            start         touched
        resident                                     4            1024
        ");
    }
}
