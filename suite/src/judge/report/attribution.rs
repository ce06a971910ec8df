//! Where the time of one operation goes: wall time = user + kernel + waiting.
//! Waiting is what is left of the wall time: no thread of the process ran. It
//! is below zero, and is shown so, where threads ran at the same time. A little
//! below is also the time between laps, in which the CPU time goes on.

use harness::record::Record;
use harness::statistics::{ByRound, Estimate};

use crate::judge::report::estimate::{CaseEstimate, Run, cpu_ns, median_of};
use crate::judge::report::quantity::Unit;
use crate::judge::report::table::{Column, Side, bracketed, line};

/// What the columns mean.
pub const LEGEND: &str =
    "Per op. Waiting: wall less CPU time; below 0 by overlap or work between laps.";

/// The parts of the time of a case's operation, that of the principal
/// measurement, each a median over invocations, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    /// CPU time in user space.
    pub user_ns: Estimate,
    /// CPU time in the kernel.
    pub system_ns: Estimate,
    /// What is left of the wall time.
    pub waiting_ns: Estimate,
    /// What is left of it, by round.
    pub waiting_by_round: ByRound,
    /// Share of traced hops whose ends ran on different CPUs, 0 to 1.
    pub crossing_share: Option<f64>,
}

impl Attribution {
    /// The parts of what these runs measured; `None` if no record tells the CPU
    /// time.
    pub(super) fn of(runs: &[Run]) -> Option<Self> {
        let by_round = |part: fn(&Record) -> Option<f64>| -> ByRound {
            runs.iter().filter_map(|run| Some((run.round, part(run.record)?))).collect()
        };
        let waiting_by_round = by_round(waiting_ns);
        Some(Self {
            user_ns: over(&by_round(|record| Some(record.cpu?.user_ns_per_operation)))?,
            system_ns: over(&by_round(|record| Some(record.cpu?.system_ns_per_operation)))?,
            waiting_ns: over(&waiting_by_round)?,
            waiting_by_round,
            crossing_share: median_of(runs, |record| record.switches?.cross_cpu_share),
        })
    }
}

/// Wall time − user − kernel, per operation of the principal measurement.
fn waiting_ns(record: &Record) -> Option<f64> {
    Some(record.principal()?.ns_per_operation - cpu_ns(record.cpu.as_ref()?))
}

fn over(by_round: &ByRound) -> Option<Estimate> {
    Estimate::of(&by_round.values().copied().collect::<Vec<_>>())
}

/// The widths and one space between two columns make 80.
const TABLE: [Column; 5] = [
    Column("where it goes", 23, Side::Left),
    Column("", 2, Side::Left),
    Column("user [95 %]", 16, Side::Left),
    Column("kernel [95 %]", 16, Side::Left),
    Column("waiting [95 %]", 19, Side::Left),
];

/// A heading and a line for each case that tells its CPU time, in the unit of
/// its wall time; nothing where none does.
#[must_use]
pub fn table(cases: &[CaseEstimate]) -> String {
    let rows: Vec<String> = cases.iter().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let headings = TABLE.map(|Column(heading, ..)| heading.to_owned());
    line(&TABLE, &headings) + &rows.concat()
}

fn row(case: &CaseEstimate) -> Option<String> {
    let Attribution { user_ns, system_ns, waiting_ns, .. } = case.attribution.as_ref()?;
    let unit = Unit::of(case.operation(None)?.time_ns.median);
    let part = |estimate| bracketed(estimate, unit);
    let cells = [
        case.case.clone(),
        unit.symbol.to_owned(),
        part(user_ns),
        part(system_ns),
        part(waiting_ns),
    ];
    Some(line(&TABLE, &cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::report::estimate::estimate;
    use crate::store::invocation::Invocation;
    use crate::store::sample::{self, Sample};
    use harness::paragraph::COLUMNS;

    fn attribution(invocations: &[Invocation]) -> Option<Attribution> {
        let [case] = &estimate(invocations)[..] else { panic!() };
        case.attribution.clone()
    }

    #[test]
    fn waiting_is_the_wall_time_that_no_cpu_time_explains() {
        let sample = Sample { user_ns: 2.0, system_ns: 5.0, ..Sample::hop(10.0) };
        let found = attribution(&[sample.in_round("ring", 3)]).unwrap();
        assert_eq!((found.user_ns.median, found.system_ns.median), (2.0, 5.0));
        assert_eq!(found.waiting_ns.median, 3.0);
        assert_eq!(found.waiting_by_round, ByRound::from([(3, 3.0)]));
        assert_eq!(found.crossing_share, Some(0.0));
    }

    #[test]
    fn a_record_without_cpu_time_has_no_attribution() {
        let mut invocations = sample::case("ring", [10.0]);
        invocations[0].record.as_mut().unwrap().cpu = None;
        assert_eq!(attribution(&invocations), None);
        assert_eq!(table(&estimate(&invocations)), "");
    }

    #[test]
    fn every_part_has_its_interval_and_overlap_is_below_zero() {
        let by = |user_ns| Sample { user_ns, system_ns: 1400.0, ..Sample::hop(2000.0) };
        let runs = [
            sample::samples("ring/free", [200.0, 210.0, 190.0, 205.0, 195.0].map(by)),
            sample::samples("make/spread", [1500.0, 1700.0, 1600.0, 1550.0, 1650.0].map(by)),
        ];
        insta::assert_snapshot!(table(&estimate(&runs.concat())), @r"
        where it goes              user [95 %]      kernel [95 %]    waiting [95 %]
        make/spread             µs 1.60 [1.50,1.70] 1.40 [1.40,1.40] -1.00 [-1.10,-0.90]
        ring/free               µs 0.20 [0.19,0.21] 1.40 [1.40,1.40] 0.40 [0.39,0.41]
        ");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let long = "a-name-of-a-case-that-is-long/same-cpu";
        let runs = sample::samples(
            long,
            [1e12; 6].map(|user_ns| Sample { user_ns, ..Sample::hop(2000.0) }),
        );
        for line in table(&estimate(&runs)).lines().chain([LEGEND]) {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
    }
}
