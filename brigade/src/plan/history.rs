//! What a run has measured: its records in a schedule, and how each case ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::judge::interference::{Verdict, assess};
use crate::judge::ledger;
use crate::plan::{Attempt, Extent, Further, Reason, Schedule, Worth};
use crate::store::invocation::{Invocation, Outcome};
use crate::store::results::{FurtherRounds, Procedure, RunDescription};

/// Version of [`RunEnd`]'s schema.
pub const RUN_END_SCHEMA_VERSION: &str = "1.1";

/// How a complete run ended: the contents of `run-end.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunEnd {
    /// Version of this object's schema, `major.minor`.
    pub schema_version: String,
    /// The cases, in the order of `run.json`.
    pub cases: Vec<CaseEnd>,
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseEnd {
    /// The case's name.
    pub case: String,
    /// The rounds that measured.
    pub rounds: usize,
    /// The half-width of the 95 % interval of its principal measurement, or of what
    /// a task holds in memory, in percent; `null` for fewer than six rounds.
    pub half_width_percent: Option<f64>,
    /// Why it got no more rounds.
    pub reason: Reason,
}

impl RunEnd {
    /// How a run of these cases ended.
    pub fn of(cases: &[String], schedule: &Schedule) -> Self {
        let ends = cases.iter().zip(schedule.precision()).zip(schedule.reasons());
        let cases = ends.map(|((case, (rounds, half_width)), reason)| CaseEnd {
            case: case.clone(),
            rounds,
            half_width_percent: half_width.map(|half_width| half_width * 100.0),
            reason,
        });
        Self { schema_version: RUN_END_SCHEMA_VERSION.to_owned(), cases: cases.collect() }
    }
}

/// The schedule of a run, after these of its invocations. An invocation of a
/// case that the run does not have is passed over.
pub fn schedule(run: &RunDescription, invocations: &[Invocation]) -> Schedule {
    let mut schedule = Schedule::new(run.cases.len(), extent(run), run.seed, &partners(run));
    for invocation in invocations {
        if let Some(case) = run.cases.iter().position(|case| *case == invocation.case) {
            schedule.record(case, invocation.round, attempt(invocation));
        }
    }
    schedule
}

/// The indices of the cases that are partners.
fn partners(run: &RunDescription) -> Vec<[usize; 2]> {
    let index = |name: &String| run.cases.iter().position(|case| case == name);
    let pairs = run.procedure.iter().flat_map(|procedure| &procedure.partners);
    pairs.filter_map(|[first, second]| Some([index(first)?, index(second)?])).collect()
}

fn extent(run: &RunDescription) -> Extent {
    let procedure = run.procedure.as_ref();
    let further = |FurtherRounds { target_percent, budget_seconds }| Further {
        target: target_percent / 100.0,
        budget: Duration::try_from_secs_f64(budget_seconds).unwrap_or_default(),
    };
    Extent {
        rounds: run.rounds,
        further: procedure.and_then(|procedure| procedure.further).map(further),
        reruns: procedure.map_or(0, |procedure| procedure.reruns),
        spacing: procedure.map_or(Duration::ZERO, Procedure::spacing),
    }
}

/// An invocation, as far as it decides what comes next.
pub fn attempt(invocation: &Invocation) -> Attempt {
    let measured = invocation.outcome == Outcome::Measured;
    let record = invocation.record.as_ref().filter(|_| measured);
    let principal = record.and_then(|record| record.principal());
    // Of a sweep of memory, what a task holds, and not how long it took to make.
    let held = record.and_then(|record| ledger::held(record.ledger.as_ref()?));
    Attempt {
        duration: Duration::from_nanos(invocation.duration_ns),
        figure: held.or_else(|| principal.map(|principal| principal.ns_per_operation)),
        worth: worth(invocation, measured),
    }
}

fn worth(invocation: &Invocation, measured: bool) -> Worth {
    if invocation.interrupted {
        Worth::Interrupted
    } else if measured && assess(invocation).verdict == Verdict::Unusable {
        Worth::Unusable
    } else {
        Worth::Stands
    }
}

#[cfg(test)]
mod tests {
    use harness::record::LedgerPoint;

    use super::*;
    use crate::store::sample::case;

    #[test]
    fn a_sweep_of_memory_is_run_for_what_a_task_holds() {
        let [mut sweep] = case("memory", [7000.0]).try_into().unwrap();
        assert_eq!(attempt(&sweep).figure, Some(7000.0));
        let point = |tasks: u64| LedgerPoint {
            tasks,
            proportional_bytes: Some(500 + 10 * tasks),
            page_table_bytes: Some(0),
            kernel_stack_bytes: Some(0),
            unreclaimable_slab_bytes: Some(0),
            ..LedgerPoint::default()
        };
        sweep.record.as_mut().unwrap().ledger = Some([100, 200].map(point).to_vec());
        assert_eq!(attempt(&sweep).figure, Some(10.0));
        sweep.record.as_mut().unwrap().ledger = Some([200, 200].map(point).to_vec());
        assert_eq!(attempt(&sweep).figure, Some(7000.0), "no slope");
    }
}
