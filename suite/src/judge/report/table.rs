//! The table of estimates, never wider than 80 columns. Plain padding does
//! what is needed: the columns are fixed, and every character that a cell can
//! hold is one column wide, however many bytes it has.

use crate::judge::report::estimate::{CaseEstimate, Disturbances, OperationEstimate};
use crate::judge::report::quantity::{ABSENT, Unit, three_digits};
use harness::statistics::Estimate;

/// What the columns mean, in one line.
pub const LEGEND: &str =
    "Per op, medians over n processes; [95 % interval]; sw: the kernel's switches.";

/// Stands behind the count of processes where some were disturbed.
const DISTURBED: &str = "~";
/// Stands there where there are none but unusable ones.
const UNUSABLE: &str = "!";

/// What stands at the end of a text that was cut to its column.
const CUT: char = '…';

/// To which side of its column a cell is set.
#[derive(Clone, Copy)]
pub enum Side {
    /// As text.
    Left,
    /// As figures.
    Right,
}

/// A column: its heading, its width in characters and its side.
pub struct Column(pub &'static str, pub usize, pub Side);

/// The widths and one space between two columns make 80.
const TABLE: [Column; 10] = [
    Column("case", 18, Side::Left),
    Column("placed", 8, Side::Left),
    Column("op", 6, Side::Left),
    Column("", 2, Side::Left),
    Column("time [95 %]", 16, Side::Left),
    Column("p50", 4, Side::Right),
    Column("p99", 4, Side::Right),
    Column("cpu", 4, Side::Right),
    Column("sw/op", 5, Side::Right),
    Column("n", 4, Side::Right),
];

/// The table: a heading, then one line per case and measurement, in the order
/// given; every line ends in a newline.
#[must_use]
pub fn table(cases: &[CaseEstimate]) -> String {
    let headings = TABLE.map(|Column(heading, ..)| heading.to_owned());
    let rows = cases
        .iter()
        .flat_map(|case| case.operations.iter().map(|operation| cells(case, operation)));
    std::iter::once(headings).chain(rows).map(|cells| line(&TABLE, &cells)).collect()
}

/// A case's name without the placement, which has a column of its own.
#[must_use]
pub fn short_case(case: &CaseEstimate) -> &str {
    let placement = case.placement.as_deref().unwrap_or_default();
    let name = case.case.strip_suffix(placement).and_then(|name| name.strip_suffix(['/', '-']));
    name.unwrap_or(&case.case)
}

/// The placement that the programs of a case recorded, for its column.
#[must_use]
pub fn placed(case: &CaseEstimate) -> String {
    case.placement.clone().unwrap_or_else(|| ABSENT.to_owned())
}

/// A label for one operation: what it is where the measurement is of whole
/// iterations, otherwise the last word of the measurement's name (`create`,
/// `cold` for `create_cold`).
#[must_use]
pub fn short_operation(operation: &OperationEstimate) -> &str {
    match operation.measurement.as_str() {
        "iteration" => &operation.operation,
        name => name.rsplit('_').next().unwrap_or(name),
    }
}

fn cells(case: &CaseEstimate, operation: &OperationEstimate) -> [String; 10] {
    let unit = Unit::of(operation.time_ns.median);
    let optional = |figure: Option<String>| figure.unwrap_or_else(|| ABSENT.to_owned());
    [
        short_case(case).to_owned(),
        placed(case),
        short_operation(operation).to_owned(),
        unit.symbol.to_owned(),
        bracketed(&operation.time_ns, unit),
        unit.show(operation.p50_ns),
        unit.show(operation.p99_ns),
        optional(operation.cpu_ns.map(|ns| unit.show(ns))),
        optional(operation.switches.map(three_digits)),
        count(case, operation),
    ]
}

/// How many processes, with the mark of a case that was disturbed. Four digits
/// leave no room for it; the notes tell it in any case.
fn count(case: &CaseEstimate, operation: &OperationEstimate) -> String {
    match operation.time_ns.count {
        count @ 1000.. => count.to_string(),
        count => format!("{count}{}", disturbance_mark(case)),
    }
}

/// What marks a case by what disturbed it; nothing if nothing did.
#[must_use]
pub fn disturbance_mark(case: &CaseEstimate) -> &'static str {
    let Disturbances { disturbed, unusable, unusable_are_used, .. } = case.disturbances;
    match disturbed + unusable {
        0 => "",
        _ if unusable_are_used => UNUSABLE,
        _ => DISTURBED,
    }
}

/// An estimate and its interval in `unit`, such as `1.79 [1.77,1.81]`.
#[must_use]
pub fn bracketed(estimate: &Estimate, unit: Unit) -> String {
    let interval = match estimate.interval {
        Some(interval) => format!("{},{}", unit.show(interval.low), unit.show(interval.high)),
        None => ABSENT.to_owned(),
    };
    format!("{} [{interval}]", unit.show(estimate.median))
}

/// One line of a table, ended by a newline: each cell in its column, one space
/// between two.
#[must_use]
pub fn line<const COLUMNS: usize>(
    columns: &[Column; COLUMNS],
    cells: &[String; COLUMNS],
) -> String {
    let fitted: Vec<String> =
        columns.iter().zip(cells).map(|(column, text)| fit(text, column)).collect();
    fitted.join(" ").trim_end().to_owned() + "\n"
}

/// `text` at exactly the width of its column, visibly cut if it is wider.
fn fit(text: &str, Column(_, width, side): &Column) -> String {
    let text = if text.chars().count() <= *width {
        text.to_owned()
    } else {
        text.chars().take(width - 1).chain([CUT]).collect()
    };
    match side {
        Side::Left => format!("{text:<width$}"),
        Side::Right => format!("{text:>width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::report::estimate::estimate;
    use crate::store::invocation::Invocation;
    use crate::store::sample::{self, Sample};
    use harness::paragraph::COLUMNS;

    fn of(invocations: &[Invocation]) -> String {
        table(&estimate(invocations))
    }

    #[test]
    fn a_row_shows_each_measurement_in_a_unit_of_its_own() {
        let mut invocations =
            sample::case("ring/free", [1790.0, 1771.0, 1812.0, 1779.0, 1801.0, 1795.0]);
        invocations = invocations
            .into_iter()
            .map(|invocation| sample::and_measurement(invocation, "make_cold", "thread", 21_500.0))
            .map(|invocation| sample::and_measurement(invocation, "join", "join", 0.31))
            .collect();
        insta::assert_snapshot!(of(&invocations), @r"
        case               placed   op        time [95 %]       p50  p99  cpu sw/op    n
        ring               free     hop    µs 1.79 [1.77,1.81] 1.61 3.58 1.25  1.00    6
        ring               free     cold   µs 21.5 [21.5,21.5] 19.4 43.0    –     –    6
        ring               free     join   ns 0.31 [0.31,0.31] 0.20 0.60    –     –    6
        ");
    }

    #[test]
    fn what_cannot_be_had_is_a_dash() {
        let mut invocation = Sample::hop(5_000.0).in_round("ring", 1);
        let record = invocation.record.as_mut().unwrap();
        (record.cpu, record.switches) = (None, None);
        record.parameters.clear();
        insta::assert_snapshot!(of(&[invocation]), @r"
        case               placed   op        time [95 %]       p50  p99  cpu sw/op    n
        ring               –        hop    µs 5.00 [–]         4.50 10.0    –     –    1
        ");
    }

    #[test]
    fn a_case_that_was_disturbed_is_marked() {
        let by = |others_share| Sample { others_share, ..Sample::hop(1000.0) };
        let runs = [
            sample::samples("clean", [0.0, 0.0].map(by)),
            sample::samples("disturbed", [0.0, 0.1].map(by)),
            sample::samples("partly-unusable", [0.0, 0.3].map(by)),
            sample::samples("unusable", [0.3, 0.3].map(by)),
        ];
        insta::assert_snapshot!(of(&runs.concat()), @r"
        case               placed   op        time [95 %]       p50  p99  cpu sw/op    n
        clean              free     hop    µs 1.00 [–]         0.90 2.00 0.70  1.00    2
        disturbed          free     hop    µs 1.00 [–]         0.90 2.00 0.70  1.00   2~
        partly-unusable    free     hop    µs 1.00 [–]         0.90 2.00 0.70  1.00   1~
        unusable           free     hop    µs 1.00 [–]         0.90 2.00 0.70  1.00   2!
        ");
    }

    #[test]
    fn a_long_name_is_visibly_cut() {
        let invocation = Sample { placement: "neighbours-apart", ..Sample::hop(1.0) }
            .in_round("a-brigade-of-many-words", 1);
        let text = of(&[invocation]);
        assert!(text.contains("a-brigade-of-many… neighbo… hop"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_whatever_the_figures() {
        let extremes = [0.0, 0.3, 999.4, 99_949.0, 9.995e6, 999.9e9, 3.2e14];
        let mut invocations = Vec::new();
        for (index, wall_ns) in extremes.into_iter().enumerate() {
            let name = format!("a-case-with-a-long-name-{index}");
            let case = [wall_ns, 0.0, 1.0, 1e12, 1e13, wall_ns]
                .map(|ns| Sample { switches: 1e7 * wall_ns, ..Sample::hop(ns) });
            invocations.extend(sample::samples(&name, case));
            invocations.push(Sample::hop(wall_ns).in_round(&format!("{index}"), 1000));
        }
        for line in of(&invocations).lines().chain([LEGEND]) {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
    }
}
