//! Where the time of one operation goes: elapsed = user + kernel + waiting −
//! overlap, and waiting = idle + way + runnable +
//! stolen + rest. The kernel counts the CPU
//! time of the whole process, so the wall time beside it is that of the same span: all
//! phases of a lap, and what lies between laps.

use crate::judge::statistics::Estimate;
use harness::record::{IdleState, Measurement, Record};

use super::model::{Attribution, WaitingFor};
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
    /// What the waiting was for, as far as the kernel tells.
    pub reasons: Option<Reasons>,
}

/// What waiting was for, in nanoseconds; the sum is the waiting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reasons {
    /// All CPUs were in an idle state.
    pub idle: f64,
    /// CPUs were on the way into idleness or out of it: in no idle state, and nobody's.
    pub way: f64,
    /// A task could have run and waited for its CPU.
    pub runnable: f64,
    /// The hypervisor ran others.
    pub stolen: f64,
    /// What none of these explains.
    pub rest: f64,
}

impl Reasons {
    /// Those of so much waiting, by a record; `None` where it lacks one.
    ///
    /// The kernel's counts overlap. A task that is woken for an idle CPU counts as
    /// runnable until that is awake, and time that the hypervisor takes from a CPU that
    /// sleeps is idle time. So each explains what those before it leave.
    fn of(record: &Record, waiting: f64) -> Option<Self> {
        let found = record.waiting.as_ref()?;
        let operations = operations(record)?;
        let stolen = record.interference.steal_ns.unwrap_or(0) as f64 / operations;
        let mut left = waiting;
        let mut explain = |ns: f64| {
            let explained = ns.min(left);
            left -= explained;
            explained
        };
        Some(Self {
            idle: explain(found.idle_ns_per_operation?),
            way: explain(way_ns(record)?),
            runnable: explain(found.runnable_ns_per_operation?),
            stolen: explain(stolen),
            rest: left,
        })
    }
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
        let waiting = rest.max(0.0);
        let reasons = Reasons::of(record, waiting);
        Some(Self { elapsed, user, kernel, waiting, overlap, reasons })
    }
}

/// CPU time per operation that was neither in an idle state nor a task's, over all
/// CPUs, in nanoseconds: what the kernel does before a CPU sleeps and after. None where
/// no CPU went idle.
fn way_ns(record: &Record) -> Option<f64> {
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

/// Wall time of the span that the CPU time is of, per operation of the principal
/// measurement. Before schema 1.2 the span was not recorded: the phases of a lap
/// are the measurements that are as many, of as many operations.
fn elapsed_ns(record: &Record) -> Option<f64> {
    let principal = record.principal()?;
    let operations = operations(record)?;
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
    let reasons: Vec<Reasons> = parts.iter().filter_map(|parts| parts.reasons).collect();
    let over_reasons =
        |reason: fn(&Reasons) -> f64| Estimate::of(&reasons.iter().map(reason).collect::<Vec<_>>());
    Some(Attribution {
        elapsed_ns: over(|parts| parts.elapsed)?,
        user_ns: over(|parts| parts.user)?,
        kernel_ns: over(|parts| parts.kernel)?,
        waiting_ns: over(|parts| parts.waiting)?,
        overlap_ns: over(|parts| parts.overlap)?,
        waiting_for: over_reasons(|reasons| reasons.idle).and_then(|idle_ns| {
            Some(WaitingFor {
                idle_ns,
                way_ns: over_reasons(|reasons| reasons.way)?,
                runnable_ns: over_reasons(|reasons| reasons.runnable)?,
                stolen_ns: over_reasons(|reasons| reasons.stolen)?,
                rest_ns: over_reasons(|reasons| reasons.rest)?,
            })
        }),
        idle_entries: median_of(runs, idle_entries),
        interrupts: median_of(runs, interrupts),
        crossing_share: median_of(runs, |record| record.switches?.cross_cpu_share),
    })
}

/// How often a CPU interrupted another one, per operation.
fn interrupts(record: &Record) -> Option<f64> {
    let found = record.waiting.as_ref()?;
    Some(found.reschedules_per_operation? + found.calls_per_operation?)
}

/// How often a CPU entered an idle state, per operation.
fn idle_entries(record: &Record) -> Option<f64> {
    let states = record.waiting.as_ref()?.idle_states.as_ref()?;
    Some(states.iter().map(|state| state.entries_per_operation).sum())
}

#[cfg(test)]
mod tests {
    use harness::record::Waiting;

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

    /// A hop of 10 ns on two CPUs, 7 of them CPU time, with these times in which both
    /// were idle and a task was runnable, and 13 ns less `way_ns` in idle states.
    fn waiting(idle_ns: f64, way_ns: f64, runnable_ns: f64) -> Record {
        let mut record = record(10.0, 2.0, 5.0);
        record.interference.others_cpu_ns = None;
        let state = |entries_per_operation| IdleState {
            name: "C1".to_owned(),
            entries_per_operation,
            ns_per_operation: (13.0 - way_ns) / 2.0,
        };
        record.waiting = Some(Waiting {
            idle_ns_per_operation: Some(idle_ns),
            runnable_ns_per_operation: Some(runnable_ns),
            idle_states: Some(vec![state(0.5), state(0.25)]),
            ..Waiting::default()
        });
        record
    }

    #[test]
    fn reasons_explain_what_those_before_them_leave() {
        for (idle, way, runnable, stolen, expected) in [
            (1.5, 0.5, 0.5, 0.25, [1.5, 0.5, 0.5, 0.25, 0.25]),
            (1.5, 0.5, 9.0, 9.0, [1.5, 0.5, 1.0, 0.0, 0.0]),
            (9.0, 9.0, 9.0, 0.0, [3.0, 0.0, 0.0, 0.0, 0.0]),
            (0.5, 9.0, 9.0, 0.0, [0.5, 2.5, 0.0, 0.0, 0.0]),
            (0.0, 0.0, 0.0, 0.0, [0.0, 0.0, 0.0, 0.0, 3.0]),
        ] {
            let mut record = waiting(idle, way, runnable);
            let operations = operations(&record).unwrap();
            record.interference.steal_ns = Some((stolen * operations) as u64);
            let Reasons { idle, way, runnable, stolen, rest } =
                Parts::of(&record).unwrap().reasons.unwrap();
            for (found, expected) in [idle, way, runnable, stolen, rest].into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{found} {expected}");
            }
        }
    }

    #[test]
    fn cpus_that_never_idle_are_on_no_way() {
        let mut record = waiting(0.0, 5.0, 0.0);
        assert_eq!(way_ns(&record), Some(5.0));
        record.interference.others_cpu_ns = Some((2.0 * operations(&record).unwrap()) as u64);
        assert_eq!(way_ns(&record), Some(3.0), "others had the rest");
        let states = record.waiting.as_mut().unwrap().idle_states.as_mut().unwrap();
        states.iter_mut().for_each(|state| state.entries_per_operation = 0.0);
        assert_eq!(way_ns(&record), Some(0.0));
    }

    #[test]
    fn without_a_driver_of_idle_states_there_are_no_reasons() {
        let mut record = waiting(1.0, 1.0, 1.0);
        assert_eq!(idle_entries(&record), Some(0.75));
        record.waiting.as_mut().unwrap().idle_ns_per_operation = None;
        assert_eq!(Parts::of(&record).unwrap().reasons, None);
    }

    #[test]
    fn a_record_without_cpu_time_has_no_parts() {
        let mut record = record(10.0, 1.0, 1.0);
        record.cpu = None;
        assert_eq!(Parts::of(&record), None);
    }
}
