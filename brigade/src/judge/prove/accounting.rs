//! Accounting: the parts of an invocation's time, which different clocks and
//! counters measure, must fit into its wall time.
//!
//! All laps lie within the span from the first one's begin to the last one's end,
//! so their times, mean by count, are no longer than it. A CPU gives no more CPU
//! time than the span has. What is left over is waiting, what is too much overlap:
//! elapsed = user + kernel + waiting − overlap.

use harness::record::{Measurement, Record};

use super::proof::Figure;
use crate::judge::report::attribution::Parts;
use crate::store::invocation::{Invocation, Outcome};

/// By how much laps may seem longer than their span, in percent: all times are of one
/// clock, and a mean is exact.
const TOLERANCE_PERCENT: f64 = 1.0;

/// By how much CPU time may exceed that of the CPUs, as a share: it is read a moment
/// before the first lap and after the last one.
const CPU_TOLERANCE: f64 = 0.05;

/// What the kernel's counts of CPU time are exact to, for each CPU, in nanoseconds:
/// the longest clock tick.
const TICK_NS: f64 = 10e6;

/// The figures of what these invocations measured.
pub fn figures(invocations: &[Invocation]) -> Vec<Figure> {
    let measured = invocations.iter().filter(|of| of.outcome == Outcome::Measured);
    let records: Vec<(&str, &Record)> =
        measured.filter_map(|of| Some((&*of.case, of.record.as_ref()?))).collect();
    vec![laps_in_span(&records), parts(&records)]
}

/// The greatest share of a span that the laps in it seem to take.
fn laps_in_span(records: &[(&str, &Record)]) -> Figure {
    let shares = records.iter().filter_map(|(case, record)| {
        let principal = record.principal()?;
        // Of a single lap nothing tells a phase from the first lap of all, which is
        // not in the span.
        let is_phase = |other: &&Measurement| match principal.count {
            1 => other.name == principal.name,
            count => (other.count, other.operations) == (count, principal.operations),
        };
        let phases = record.measurements.iter().filter(is_phase);
        let laps_ns: f64 = phases.map(|of| of.mean_ns * of.count as f64).sum();
        Some((100.0 * laps_ns / record.interference.wall_ns? as f64, *case))
    });
    match shares.max_by(|first, second| first.0.total_cmp(&second.0)) {
        None => Figure::missing("laps within their span", "no program records the span"),
        Some((percent, case)) => {
            let most = 100.0 + TOLERANCE_PERCENT;
            Figure::new(format!("laps of their span at the most, {case}"), percent, "%")
                .must(format!("{most} % or less"), percent <= most)
        }
    }
}

/// How many invocations have parts that add up.
fn parts(records: &[(&str, &Record)]) -> Figure {
    let what = "elapsed = user + kernel + waiting − overlap";
    let add_up = |(case, record): &(&'_ str, &Record)| {
        let parts = Parts::of(record)?;
        let principal = record.principal()?;
        let span_ns = parts.elapsed * (principal.count * principal.operations) as f64;
        let cpus = record.affinity.len().max(1) as f64;
        let Parts { elapsed, user, kernel, waiting, overlap, .. } = parts;
        let slack = CPU_TOLERANCE + TICK_NS / span_ns;
        let sum = user + kernel + waiting - overlap;
        let fits = user + kernel <= elapsed * cpus * (1.0 + slack)
            && (sum - elapsed).abs() <= elapsed * slack
            && waiting >= 0.0
            && overlap >= 0.0;
        Some((fits, (*case).to_owned()))
    };
    let all: Vec<(bool, String)> = records.iter().filter_map(add_up).collect();
    let wrong = all.iter().find(|(fits, _)| !fits);
    let wrong = wrong.map_or(String::new(), |(_, case)| format!(", not {case}"));
    let count = all.iter().filter(|(fits, _)| *fits).count();
    match all.len() {
        0 => Figure::missing(what, "no program has its CPU time"),
        all => Figure::new(format!("{what}{wrong}"), count as f64, "")
            .must(format!("all {all} invocations"), count == all),
    }
}

#[cfg(test)]
mod tests {
    use super::super::proof::Standing;
    use super::*;
    use crate::store::sample::{self, Sample};

    fn standings(change: impl Fn(&mut Record)) -> [Standing; 2] {
        let mut invocations = sample::case("ring", [1000.0; 4]);
        invocations.iter_mut().filter_map(|of| of.record.as_mut()).for_each(change);
        let figures = figures(&invocations);
        [figures[0].standing, figures[1].standing]
    }

    #[test]
    fn a_true_record_adds_up() {
        assert_eq!(standings(|_| ()), [Standing::Holds; 2]);
    }

    #[test]
    fn six_percent_in_the_mean_alone_do_not_fit_into_the_span() {
        let lie = |record: &mut Record| record.measurements[0].mean_ns *= 1.06;
        assert_eq!(standings(lie), [Standing::Fails, Standing::Holds]);
    }

    #[test]
    fn the_first_lap_of_all_is_not_in_the_span_of_a_single_one() {
        let single = |record: &mut Record| {
            let mean_ns = record.interference.wall_ns.unwrap() as f64;
            (record.measurements[0].count, record.measurements[0].mean_ns) = (1, mean_ns);
            let mut cold = record.measurements[0].clone();
            cold.name = "create_cold".to_owned();
            record.measurements.push(cold);
        };
        assert_eq!(standings(single)[0], Standing::Holds);
    }

    #[test]
    fn more_cpu_time_than_the_cpus_had_fails() {
        let lie = |record: &mut Record| {
            let cpu = record.cpu.as_mut().unwrap();
            cpu.user_ns_per_operation += 1500.0;
        };
        assert_eq!(standings(lie), [Standing::Holds, Standing::Fails]);
        let on_one = |record: &mut Record| {
            record.affinity = vec![0];
            record.cpu.as_mut().unwrap().user_ns_per_operation += 400.0;
        };
        assert_eq!(standings(on_one), [Standing::Holds, Standing::Fails]);
    }

    #[test]
    fn records_without_span_or_cpu_time_are_not_judged() {
        let none = |record: &mut Record| {
            (record.cpu, record.interference.wall_ns) = (None, None);
        };
        assert_eq!(standings(none), [Standing::Unjudged; 2]);
        let busy = Sample { user_ns: 500.0, system_ns: 495.0, ..Sample::hop(1000.0) };
        let alone = figures(&[busy.in_round("ring", 1)]);
        assert_eq!(alone[1].standing, Standing::Holds);
    }
}
