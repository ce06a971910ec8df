//! What is left of a case's time above its baseline, which `suite.toml` names:
//! the difference within each round, and the interval of those. What the
//! rounds cannot tell from nothing is called not resolvable.

use harness::statistics::{Estimate, differences};

use crate::judge::report::estimate::{CaseEstimate, OperationEstimate};
use crate::judge::report::quantity::Unit;
use crate::judge::report::table::{
    Column, Side, bracketed, line, placed, short_case, short_operation,
};
use crate::manifest::Case;

/// What the columns mean.
pub const LEGEND: &str =
    "Left: median difference by round; not resolvable: its interval contains 0.";

/// What stands for a difference whose interval contains 0.
const NOT_RESOLVABLE: &str = "not resolvable";

/// The widths and one space between two columns make 80.
const TABLE: [Column; 7] = [
    Column("less its baseline", 18, Side::Left),
    Column("placed", 8, Side::Left),
    Column("op", 6, Side::Left),
    Column("", 2, Side::Left),
    Column("left [95 %]", 19, Side::Left),
    Column("baseline", 18, Side::Left),
    Column("n", 3, Side::Right),
];

/// A heading and a line for each case of `estimates` that has a baseline which
/// was measured in some of its rounds; nothing where none has. `cases` tell
/// the baselines.
#[must_use]
pub fn table(cases: &[Case], estimates: &[CaseEstimate]) -> String {
    let rows: Vec<String> = estimates
        .iter()
        .filter_map(|estimate| {
            let case = cases.iter().find(|case| case.name == estimate.case)?;
            Subtraction::of(case, estimate, estimates)?.row()
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let headings = TABLE.map(|Column(heading, ..)| heading.to_owned());
    line(&TABLE, &headings) + &rows.concat()
}

/// An operation and what is taken off its time.
struct Subtraction<'a> {
    case: &'a CaseEstimate,
    operation: &'a OperationEstimate,
    baseline: &'a OperationEstimate,
    baseline_name: &'a str,
}

impl<'a> Subtraction<'a> {
    fn of(case: &'a Case, estimate: &'a CaseEstimate, all: &'a [CaseEstimate]) -> Option<Self> {
        let operation = estimate.operation(None)?;
        let (baseline, baseline_name) = match (&case.baseline, &case.baseline_measurement) {
            (Some(name), _) => {
                let found = all.iter().find(|estimate| estimate.case == *name)?;
                (found.operation(None)?, short_case(found))
            }
            (None, Some(name)) => (estimate.operation(Some(name))?, name.as_str()),
            (None, None) => return None,
        };
        Some(Self { case: estimate, operation, baseline, baseline_name })
    }

    /// What is left, in nanoseconds; `None` where no round has both.
    fn left_ns(&self) -> Option<Estimate> {
        Estimate::cautious(&differences(&self.operation.by_round, &self.baseline.by_round))
    }

    fn row(&self) -> Option<String> {
        let left_ns = self.left_ns()?;
        let unit = Unit::of(left_ns.median);
        let is_unresolved = left_ns.interval.is_some_and(|interval| interval.contains(0.0));
        let (unit, left) = if is_unresolved {
            ("", NOT_RESOLVABLE.to_owned())
        } else {
            (unit.symbol, bracketed(&left_ns, unit))
        };
        let cells = [
            short_case(self.case).to_owned(),
            placed(self.case),
            short_operation(self.operation).to_owned(),
            unit.to_owned(),
            left,
            self.baseline_name.to_owned(),
            left_ns.count.to_string(),
        ];
        Some(line(&TABLE, &cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::report::estimate::estimate;
    use crate::manifest::Manifest;
    use crate::store::invocation::Invocation;
    use crate::store::sample;
    use harness::paragraph::COLUMNS;

    /// The table of `invocations` for a manifest of these cases, each a name
    /// and the line that tells its baseline.
    fn of(cases: &[(&str, &str)], invocations: &[Vec<Invocation>]) -> String {
        let mut manifest = "[profiles.p]\nrounds = 1\n[programs.fake]\npath = 'fake'\n\
                            check = { iters = 1, warmups = 0 }\n\
                            [[group]]\nname = 'g'\nquestion = 'What?'\nprogram = 'fake'\n"
            .to_owned();
        for (name, baseline) in cases {
            manifest +=
                &format!("[[group.case]]\nname = '{name}'\nflags = ['{name}']\n{baseline}\n");
        }
        table(&Manifest::parse(&manifest).unwrap().cases, &estimate(&invocations.concat()))
    }

    // The machine gets slower by the round, and the difference does not.
    #[test]
    fn what_is_left_is_the_difference_within_each_round() {
        let cases =
            [("ring/free", "baseline = 'alone'"), ("alone", ""), ("swap", "baseline = 'alone'")];
        let runs = [
            sample::case("ring/free", [3000.0, 4010.0, 5000.0, 5990.0, 7000.0, 8000.0]),
            sample::case("alone", [1000.0, 2000.0, 3000.0, 4000.0, 5000.0, 6000.0]),
            sample::case("swap", [900.0, 2100.0, 2900.0, 4100.0, 4900.0, 6100.0]),
        ];
        insta::assert_snapshot!(of(&cases, &runs), @r"
        less its baseline  placed   op        left [95 %]         baseline             n
        ring               free     hop    µs 2.00 [1.99,2.01]    alone                6
        swap               free     hop       not resolvable      alone                6
        ");
    }

    #[test]
    fn a_baseline_that_takes_longer_leaves_less_than_nothing() {
        let cases = [("ring/free", "baseline = 'alone'"), ("alone", "")];
        let runs = [
            sample::case("ring/free", [1000.0, 1010.0, 990.0, 1000.0, 1000.0, 1000.0]),
            sample::case("alone", [2200.0; 6]),
        ];
        insta::assert_snapshot!(of(&cases, &runs), @r"
        less its baseline  placed   op        left [95 %]         baseline             n
        ring               free     hop    µs -1.20 [-1.21,-1.19] alone                6
        ");
    }

    #[test]
    fn a_baseline_may_be_a_measurement_of_the_same_record() {
        let runs = sample::case("yield", [21.0, 21.1, 20.9, 21.0, 21.2, 21.0]);
        let runs = runs.into_iter().map(|run| sample::and_measurement(run, "work", "cycle", 20.0));
        let text = of(&[("yield", "baseline_measurement = 'work'")], &[runs.collect()]);
        insta::assert_snapshot!(text, @r"
        less its baseline  placed   op        left [95 %]         baseline             n
        yield              free     hop    ns 1.00 [0.94,1.16]    work                 6
        ");
    }

    #[test]
    fn without_enough_rounds_there_is_no_interval_and_without_a_common_one_no_row() {
        let cases = [("ring", "baseline = 'alone'"), ("alone", "")];
        let few = [sample::case("ring", [3000.0, 3100.0]), sample::case("alone", [1000.0; 2])];
        insta::assert_snapshot!(of(&cases, &few), @r"
        less its baseline  placed   op        left [95 %]         baseline             n
        ring               free     hop    µs 2.05 [–]            alone                2
        ");
        let mut apart = few;
        apart[1].iter_mut().for_each(|invocation| invocation.round += 2);
        assert_eq!(of(&cases, &apart), "");
        assert_eq!(of(&cases, &apart[..1]), "");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let name = "just-18-characters";
        let cases = [("a-just-18-letters", "baseline = 'just-18-characters'"), (name, "")];
        let runs = [
            sample::case("a-just-18-letters", [1e3, 1.1e3, 1e3, 1e3, 1e3, 1e3]),
            sample::case(name, [123_456.0; 6]),
        ];
        for line in of(&cases, &runs).lines().chain([LEGEND]) {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
    }
}
