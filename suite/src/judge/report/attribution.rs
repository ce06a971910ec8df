//! Where the time of one operation goes: elapsed = user + kernel + waiting −
//! overlap. The kernel counts the CPU time of the whole process, so the wall
//! time beside it is that of the same span: all phases of a lap, and what lies
//! between laps.

use crate::judge::statistics::Estimate;
use harness::record::{Measurement, Record};

use super::model::Attribution;
use crate::judge::sample::{Run, median_of};

/// By how much the kernel's count of CPU time may differ from the wall time of a
/// process that never waits, as a share: the two are not read at one moment.
const RESOLUTION: f64 = 0.01;

/// The parts of an operation in one invocation, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// Wall time.
    pub elapsed: f64,
    /// CPU time in user space.
    pub user: f64,
    /// CPU time in the kernel.
    pub kernel: f64,
    /// Wall time in which no thread of the process ran, as far as none ran beside
    /// another at other times.
    pub waiting: f64,
    /// CPU time beyond the wall time.
    pub overlap: f64,
}

impl Parts {
    /// The parts of what a record measured; `None` where it has no CPU time.
    pub fn of(record: &Record) -> Option<Self> {
        let cpu = record.cpu.as_ref()?;
        let (user, kernel) = (cpu.user_ns_per_operation, cpu.system_ns_per_operation);
        let elapsed = elapsed_ns(record)?;
        let rest = elapsed - user - kernel;
        let rest = if rest.abs() <= RESOLUTION * elapsed { 0.0 } else { rest };
        // On one CPU nothing overlaps: that is what the clocks disagree by.
        let can_overlap = record.affinity.len() != 1;
        let overlap = if can_overlap { (-rest).max(0.0) } else { 0.0 };
        Some(Self { elapsed, user, kernel, waiting: rest.max(0.0), overlap })
    }
}

/// Wall time of the span that the CPU time is of, per operation of the principal
/// measurement. Before schema 1.2 the span was not recorded: the phases of a lap
/// are the measurements that are as many, of as many operations.
fn elapsed_ns(record: &Record) -> Option<f64> {
    let principal = record.principal()?;
    let operations = principal.count as f64 * principal.operations as f64;
    let is_phase = |other: &&Measurement| {
        (other.count, other.operations) == (principal.count, principal.operations)
    };
    Some(match record.interference.wall_ns {
        Some(wall_ns) => wall_ns as f64 / operations,
        None => record.measurements.iter().filter(is_phase).map(|of| of.ns_per_operation).sum(),
    })
}

/// The parts of what these runs measured; `None` if no record has the CPU time.
pub(super) fn attribution(runs: &[Run]) -> Option<Attribution> {
    let parts: Vec<Parts> = runs.iter().filter_map(|run| Parts::of(run.record)).collect();
    let over = |part: fn(&Parts) -> f64| Estimate::of(&parts.iter().map(part).collect::<Vec<_>>());
    Some(Attribution {
        elapsed_ns: over(|parts| parts.elapsed)?,
        user_ns: over(|parts| parts.user)?,
        kernel_ns: over(|parts| parts.kernel)?,
        waiting_ns: over(|parts| parts.waiting)?,
        overlap_ns: over(|parts| parts.overlap)?,
        crossing_share: median_of(runs, |record| record.switches?.cross_cpu_share),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sample::{self, Sample};

    /// A record of laps of 10 hops, each of this wall and CPU time, before the
    /// span was recorded.
    fn record(wall_ns: f64, user_ns: f64, system_ns: f64) -> Record {
        let sample = Sample { user_ns, system_ns, ..Sample::hop(wall_ns) };
        let mut record = sample.in_round("ring", 1).record.unwrap();
        record.interference.wall_ns = None;
        record
    }

    #[track_caller]
    fn check(record: &Record, elapsed: f64, waiting: f64, overlap: f64) {
        let found = Parts::of(record).unwrap();
        assert_eq!((found.elapsed, found.waiting, found.overlap), (elapsed, waiting, overlap));
    }

    #[test]
    fn waiting_is_the_wall_time_that_no_cpu_time_explains() {
        check(&record(10.0, 2.0, 5.0), 10.0, 3.0, 0.0);
    }

    #[test]
    fn cpu_time_beyond_the_wall_time_is_overlap_and_not_negative_waiting() {
        check(&record(10.0, 9.0, 5.0), 10.0, 0.0, 4.0);
    }

    #[test]
    fn nothing_overlaps_on_one_cpu() {
        let mut record = record(10.0, 9.0, 5.0);
        record.affinity = vec![3];
        check(&record, 10.0, 0.0, 0.0);
    }

    #[test]
    fn all_phases_of_a_lap_count() {
        let invocation = Sample { user_ns: 9.0, system_ns: 5.0, ..Sample::hop(10.0) };
        let invocation = sample::and_measurement(invocation.in_round("fork", 1), "join", "p", 8.0);
        let mut record = invocation.record.unwrap();
        // As creation programs have it: one sample of the first threads alone.
        let mut cold = record.measurements[0].clone();
        (cold.count, cold.name) = (1, "create_cold".to_owned());
        record.measurements.push(cold);
        record.interference.wall_ns = None;
        check(&record, 18.0, 4.0, 0.0);
        let operations = 10 * record.iterations;
        record.interference.wall_ns = Some(20 * operations);
        check(&record, 20.0, 6.0, 0.0);
    }

    #[test]
    fn what_the_clocks_disagree_by_is_neither_waiting_nor_overlap() {
        check(&record(1000.0, 400.0, 591.0), 1000.0, 0.0, 0.0);
        check(&record(1000.0, 400.0, 609.0), 1000.0, 0.0, 0.0);
        check(&record(1000.0, 400.0, 589.0), 1000.0, 11.0, 0.0);
    }

    #[test]
    fn a_record_without_cpu_time_has_no_parts() {
        let mut record = record(10.0, 1.0, 1.0);
        record.cpu = None;
        assert_eq!(Parts::of(&record), None);
    }
}
