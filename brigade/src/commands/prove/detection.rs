//! Cases compared with themselves with 5 % more work.

use fastrand::Rng;

use super::runs::{Runs, bar};
use crate::judge::prove::a_a::time_ns;
use crate::judge::prove::detection::{MORE_WORK, Trial};
use crate::store::invocation::Invocation;

/// As many comparisons as the plan says, of the cases of its known work in turn.
/// `None` if interrupted.
pub fn trials(runs: &mut Runs) -> Option<Vec<Trial>> {
    let worked = runs.worked_cases();
    let count = if worked.is_empty() { 0 } else { runs.plan.comparisons as usize };
    let mut trials = vec![Trial::default(); count];
    let bar = bar(count * 2 * runs.plan.pairs as usize, "known differences");
    let units = runs.plan.units.iter().copied().max().unwrap_or_default();
    let units = [units, (units as f64 * MORE_WORK).round() as u64];
    let mut order: Vec<usize> = (0..count).collect();
    let mut rng = Rng::with_seed(runs.seed);
    for round in 1..=runs.plan.pairs {
        rng.shuffle(&mut order);
        for &index in &order {
            let (case, own) = worked[index % worked.len()];
            for turn in 0..2 {
                let side = (turn + round as usize) % 2;
                let invocation = runs.with_work(case, own, units[side], round, &bar)?;
                let trial = &mut trials[index];
                if side == 0 {
                    trial.truths.extend(true_ratio(&invocation, units));
                }
                trial.sides[side].extend(time_ns(&invocation).map(|time| (round, time)));
            }
        }
    }
    Some(trials)
}

/// How many times as long a hop takes with the candidate's work, by what a process
/// of the baseline measured.
fn true_ratio(invocation: &Invocation, [few, many]: [u64; 2]) -> Option<f64> {
    let record = invocation.record.as_ref()?;
    let work = record.work?;
    let unit_ns = work.mean_ns_per_unit.or(work.ns_per_unit)?;
    Some(1.0 + (many - few) as f64 * unit_ns / record.principal()?.ns_per_operation)
}
