//! Where the time of one operation goes: elapsed = user + kernel + waiting − overlap, and waiting =
//! idle + idle transitions + runnable + stolen + rest. The kernel counts the CPU time of the whole
//! process, so the wall time covers the same span: all phases of a lap, and the time between laps.

use crate::judge::statistics::{Estimate, Interval};
use harness::record::{IdleState, Record};

use super::model::{Attribution, Parts, WaitingFor};
use crate::judge::interference::{Sampled, median_of};

/// How far the kernel's count of CPU time may differ from the wall time of a process that never
/// waits, as a share: the two are not read at the same moment.
const RESOLUTION: f64 = 0.01;

/// The reasons for the waiting in a record; `None` if it lacks one.
///
/// The kernel's counts overlap: a task woken for an idle CPU counts as runnable until the CPU is
/// awake, and time stolen from a sleeping CPU is idle time. So each reason only explains what those
/// before it leave.
fn reasons(record: &Record, waiting_ns: f64) -> Option<WaitingFor<f64>> {
    let found = record.waiting.as_ref()?;
    let mut rest_ns = waiting_ns;
    let mut explain = |ns: f64| {
        let explained = ns.min(rest_ns);
        rest_ns -= explained;
        explained
    };
    let idle_ns = explain(found.idle_ns_per_operation?);
    let idle_transition_ns = explain(idle_transition_ns(record)?);
    let runnable_ns = explain(found.runnable_ns_per_operation?);
    let stolen = record.interference.steal_ns.unwrap_or(0) as f64;
    let stolen_ns = explain(stolen / operations(record)?);
    Some(WaitingFor { idle_ns, idle_transition_ns, runnable_ns, stolen_ns, rest_ns })
}

impl Parts<f64> {
    /// The parts of a record's time; `None` without CPU time.
    pub fn of(record: &Record) -> Option<Self> {
        let cpu = record.cpu.as_ref()?;
        let (user_ns, kernel_ns) = (cpu.user_ns_per_operation, cpu.system_ns_per_operation);
        let elapsed_ns = elapsed_ns(record)?;
        let rest = elapsed_ns - user_ns - kernel_ns;
        let rest = if rest.abs() <= RESOLUTION * elapsed_ns { 0.0 } else { rest };
        // On one CPU nothing overlaps; any difference comes from the clocks.
        let can_overlap = record.affinity.len() != 1;
        let overlap_ns = if can_overlap { (-rest).max(0.0) } else { 0.0 };
        let waiting_ns = rest.max(0.0);
        let waiting_for = reasons(record, waiting_ns);
        Some(Self { elapsed_ns, user_ns, kernel_ns, waiting_ns, overlap_ns, waiting_for })
    }
}

/// CPU time per operation that was neither in an idle state nor a task's, over all CPUs, in
/// nanoseconds: kernel work before and after a CPU sleeps. None if no CPU went idle.
fn idle_transition_ns(record: &Record) -> Option<f64> {
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

/// Wall time of the span that the CPU time covers, per operation of the principal measurement.
fn elapsed_ns(record: &Record) -> Option<f64> {
    Some(record.interference.wall_ns? as f64 / operations(record)?)
}

/// The parts of the time in these runs; `None` if no record contains CPU time.
///
/// Each part is the mean of its shares of the elapsed time, times one elapsed time, so that the
/// parts add up to it.
pub(super) fn attribution(sample: &[Sampled]) -> Option<Attribution> {
    let parts: Vec<Parts<f64>> = sample.iter().filter_map(|of| Parts::of(of.record)).collect();
    let elapsed: Vec<f64> = parts.iter().map(|of| of.elapsed_ns).collect();
    let elapsed_ns = Estimate::lower_quartile(&elapsed)?;
    let over = |part: &dyn Fn(&Parts<f64>) -> Option<f64>| {
        let share = |of: &Parts<f64>| Some(part(of)? / of.elapsed_ns);
        mean(&parts.iter().filter_map(share).collect::<Vec<_>>(), elapsed_ns.value)
    };
    let reason =
        |reason: fn(&WaitingFor<f64>) -> f64| over(&|of| of.waiting_for.map(|of| reason(&of)));
    let waiting_for = || {
        Some(WaitingFor {
            idle_ns: reason(|of| of.idle_ns)?,
            idle_transition_ns: reason(|of| of.idle_transition_ns)?,
            runnable_ns: reason(|of| of.runnable_ns)?,
            stolen_ns: reason(|of| of.stolen_ns)?,
            rest_ns: reason(|of| of.rest_ns)?,
        })
    };
    Some(Attribution {
        parts: Parts {
            elapsed_ns,
            user_ns: over(&|of| Some(of.user_ns))?,
            kernel_ns: over(&|of| Some(of.kernel_ns))?,
            waiting_ns: over(&|of| Some(of.waiting_ns))?,
            overlap_ns: over(&|of| Some(of.overlap_ns))?,
            waiting_for: waiting_for(),
        },
        idle_entries: median_of(sample, idle_entries),
        interrupts: median_of(sample, interrupts),
        crossing_share: median_of(sample, |record| record.switches?.cross_cpu_share),
    })
}

/// The mean of `shares` of `whole`, with the interval of their median, widened to include it.
fn mean(shares: &[f64], whole: f64) -> Option<Estimate> {
    let Estimate { interval, count, .. } = Estimate::of(shares)?;
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let interval =
        interval.map(|ends| Interval { low: ends.low.min(mean), high: ends.high.max(mean) });
    Some(Estimate { value: mean, interval, count }.map(|share| share * whole))
}

/// How often a CPU interrupted another, per operation.
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
    use crate::store::fixtures::Sample;

    /// A record of laps with 10 hops, each with this wall and CPU time.
    fn record(wall_ns: f64, user_ns: f64, system_ns: f64) -> Record {
        let sample = Sample { user_ns, system_ns, ..Sample::hop(wall_ns) };
        let mut record = sample.in_round("ring", 1).record.unwrap();
        let operations = operations(&record).unwrap();
        record.interference.wall_ns = Some((wall_ns * operations) as u64);
        record
    }

    #[test]
    fn waiting_and_overlap_are_the_wall_and_the_cpu_time_that_the_other_does_not_explain() {
        for (times, cpus, waiting, overlap) in [
            ([10.0, 2.0, 5.0], 2, 3.0, 0.0),
            ([10.0, 9.0, 5.0], 2, 0.0, 4.0),
            ([10.0, 9.0, 5.0], 1, 0.0, 0.0),
            // The clocks differ by this much.
            ([1000.0, 400.0, 591.0], 2, 0.0, 0.0),
            ([1000.0, 400.0, 609.0], 2, 0.0, 0.0),
            ([1000.0, 400.0, 589.0], 2, 11.0, 0.0),
        ] {
            let mut record = record(times[0], times[1], times[2]);
            record.affinity = (0..cpus).collect();
            let found = Parts::of(&record).unwrap();
            let expected = (times[0], waiting, overlap);
            assert_eq!((found.elapsed_ns, found.waiting_ns, found.overlap_ns), expected);
        }
        let mut record = record(10.0, 1.0, 1.0);
        record.cpu = None;
        assert_eq!(Parts::of(&record), None);
    }

    /// A hop of 10 ns on two CPUs, 7 ns of it CPU time, with these times in which both were idle
    /// and a task was runnable, and 13 ns less `transition_ns` in idle states.
    fn waiting(idle_ns: f64, transition_ns: f64, runnable_ns: f64) -> Record {
        let mut record = record(10.0, 2.0, 5.0);
        record.interference.others_cpu_ns = None;
        let state = |entries_per_operation| IdleState {
            name: "C1".to_owned(),
            entries_per_operation,
            ns_per_operation: (13.0 - transition_ns) / 2.0,
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
        for (idle, transition, runnable, stolen, expected) in [
            (1.5, 0.5, 0.5, 0.25, [1.5, 0.5, 0.5, 0.25, 0.25]),
            (1.5, 0.5, 9.0, 9.0, [1.5, 0.5, 1.0, 0.0, 0.0]),
            (9.0, 9.0, 9.0, 0.0, [3.0, 0.0, 0.0, 0.0, 0.0]),
            (0.5, 9.0, 9.0, 0.0, [0.5, 2.5, 0.0, 0.0, 0.0]),
            (0.0, 0.0, 0.0, 0.0, [0.0, 0.0, 0.0, 0.0, 3.0]),
        ] {
            let mut record = waiting(idle, transition, runnable);
            let operations = operations(&record).unwrap();
            record.interference.steal_ns = Some((stolen * operations) as u64);
            let of = Parts::of(&record).unwrap().waiting_for.unwrap();
            let found =
                [of.idle_ns, of.idle_transition_ns, of.runnable_ns, of.stolen_ns, of.rest_ns];
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{found} {expected}");
            }
        }
    }

    #[test]
    fn only_cpus_that_go_idle_enter_and_leave_idle_states() {
        let mut record = waiting(0.0, 5.0, 0.0);
        assert_eq!((idle_transition_ns(&record), idle_entries(&record)), (Some(5.0), Some(0.75)));
        record.interference.others_cpu_ns = Some((2.0 * operations(&record).unwrap()) as i64);
        assert_eq!(idle_transition_ns(&record), Some(3.0), "others used the rest");
        let states = record.waiting.as_mut().unwrap().idle_states.as_mut().unwrap();
        states.iter_mut().for_each(|state| state.entries_per_operation = 0.0);
        assert_eq!(idle_transition_ns(&record), Some(0.0));
        record.waiting.as_mut().unwrap().idle_ns_per_operation = None;
        assert_eq!(Parts::of(&record).unwrap().waiting_for, None);
    }
}
