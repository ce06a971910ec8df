//! Estimates one case in one run from its invocations. The sample contains one
//! measurement per round; the other invocations are counted, so that a report
//! can show what is missing.

use std::ptr;

use harness::record::{CpuTime, Measurement, Switches};
use harness::terminal;

use super::attribution;
use super::model::{
    CaseEstimate, InvocationSummary, JudgedOutcome, MeasurementEstimate, MemoryPart, Percentiles,
};
use crate::judge::interference::{Sampled, Trust, assess, median_of, sample_of};
use crate::judge::ledger;
use crate::judge::statistics::{ByRound, Dependence, Estimate, Modes, Series, median, outlier};
use crate::judge::taken::Taken;
use crate::store::invocation::{Invocation, Outcome, seconds};

/// Estimates one case from its invocations.
pub fn estimate(invocations: &[&Invocation]) -> CaseEstimate {
    let ended: Vec<&Invocation> =
        invocations.iter().copied().filter(|invocation| !invocation.interrupted).collect();
    let runs = sample_of(&ended);
    let measured = ended.iter().filter(|invocation| invocation.outcome == Outcome::Measured);
    let worst = measured.map(|invocation| assess(invocation)).max_by_key(|found| found.trust);
    let measurements = runs.first().into_iter().flat_map(|run| &run.record.measurements);
    CaseEstimate {
        placement: runs.iter().find_map(placement),
        invocations: invocations.iter().map(|invocation| summary(invocation, &runs)).collect(),
        first_error: ended.iter().find_map(|ended| ended.error.as_deref().map(shown)),
        taken: Taken::from([runs.as_slice()]),
        worst_disturbance: worst.map_or(Vec::new(), |worst| worst.reasons),
        measurements: measurements
            .filter_map(|like| measurement(like, &runs, invocations))
            .collect(),
        attribution: attribution::attribution(&runs),
        whole_ns: None,
        memory: memory(&runs),
    }
}

/// Widens the intervals of a run's times according to the dependence of its processes, and returns
/// that.
pub fn widen(cases: &mut [&mut CaseEstimate]) -> Dependence {
    let principal = |case: &&mut CaseEstimate| Some(case.series(case.measurement(None)?));
    let dependence = Dependence::of(&cases.iter().filter_map(principal).collect::<Vec<_>>());
    for case in cases {
        let series: Vec<Series> = case.measurements.iter().map(|of| case.series(of)).collect();
        for (measurement, series) in case.measurements.iter_mut().zip(series) {
            measurement.time_ns = measurement.time_ns.widened(dependence.inflation(&series));
        }
    }
    dependence
}

/// The memory of a task, part by part, if the program swept the number of tasks.
fn memory(runs: &[Sampled]) -> Vec<MemoryPart> {
    let sweeps: Vec<_> = runs.iter().filter_map(|run| run.record.ledger.clone()).collect();
    let part = |line: ledger::Line| {
        let slopes: Vec<f64> = line.bytes_per_task.into_iter().flatten().collect();
        let bytes_per_task = Estimate::of(&slopes)?;
        Some(MemoryPart { name: line.name.to_owned(), bytes_per_task })
    };
    ledger::lines(&sweeps).into_iter().filter_map(part).collect()
}

/// A record's word, made safe for a line of a report.
pub(super) fn shown(word: &str) -> String {
    terminal::line(word).into_owned()
}

fn summary(invocation: &Invocation, runs: &[Sampled]) -> InvocationSummary {
    let Invocation { round, attempt, ref started_at, .. } = *invocation;
    let used = runs.binary_search_by_key(&round, |run| run.round).ok().map(|index| &runs[index]);
    InvocationSummary {
        round,
        attempt,
        started_at: shown(started_at),
        outcome: judged(invocation),
        is_used: used.is_some_and(|used| ptr::eq(used.invocation, invocation)),
    }
}

fn judged(invocation: &Invocation) -> JudgedOutcome {
    match invocation.outcome {
        _ if invocation.interrupted => JudgedOutcome::Interrupted,
        Outcome::Measured => match assess(invocation).trust {
            Trust::Clean => JudgedOutcome::Clean,
            Trust::Disturbed => JudgedOutcome::Disturbed,
            Trust::Unusable => JudgedOutcome::Unusable,
        },
        Outcome::Failed => JudgedOutcome::Failed,
        Outcome::TimedOut => JudgedOutcome::TimedOut,
        Outcome::Refused => JudgedOutcome::Refused,
    }
}

fn placement(run: &Sampled) -> Option<String> {
    run.record.parameters.get("placement")?.as_str().map(shown)
}

/// The measurement with the same name as `like`, in the first record that has
/// it.
fn measurement(
    like: &Measurement,
    runs: &[Sampled],
    invocations: &[&Invocation],
) -> Option<MeasurementEstimate> {
    let samples = samples(like, runs);
    let times: Vec<f64> = samples.iter().map(|(_, sample)| sample.ns_per_operation).collect();
    let is_principal =
        runs.first()?.record.principal().is_some_and(|principal| principal.name == like.name);
    let principal: &[Sampled] = if is_principal { runs } else { &[] };
    let value = |invocation: &&Invocation| {
        let measured = invocation.outcome == Outcome::Measured && !invocation.interrupted;
        let record = invocation.record.as_ref().filter(|_| measured)?;
        Some(record.measurement(&like.name)?.ns_per_operation)
    };
    Some(MeasurementEstimate {
        name: shown(&like.name),
        operation: shown(&like.operation),
        operations: like.operations,
        values_ns: invocations.iter().map(value).collect(),
        time_ns: Estimate::lower_quartile(&times)?,
        modes: Modes::of(&times),
        outlier_ns: outlier(&times),
        percentiles: percentiles(&samples),
        cpu_ns: median_of(principal, |record| record.cpu.as_ref().map(cpu_ns)),
        switches: median_of(principal, |record| record.switches.as_ref().map(switches)),
    })
}

/// The measurements with the same name in all runs, with their rounds.
fn samples<'a>(like: &Measurement, runs: &[Sampled<'a>]) -> Vec<(u32, &'a Measurement)> {
    let of = |run: &Sampled<'a>| Some((run.round, run.record.measurement(&like.name)?));
    runs.iter().filter_map(of).collect()
}

/// Percentiles of the processes in the estimate, if their median has enough samples: the 99th
/// percentile of 20 samples is their maximum.
fn percentiles(samples: &[(u32, &Measurement)]) -> Percentiles {
    let counts: Vec<f64> = samples.iter().map(|(_, sample)| sample.count as f64).collect();
    let count = median(&counts).unwrap_or(0.0);
    let over = |fewest: f64, of: fn(&Measurement) -> u64| {
        let per_operation =
            |(_, sample): &(u32, &Measurement)| of(sample) as f64 / sample.operations as f64;
        let all: Vec<f64> = samples.iter().map(per_operation).collect();
        median(&all).filter(|_| count >= fewest)
    };
    Percentiles {
        p50: over(2.0, |sample| sample.p50_ns),
        p90: over(10.0, |sample| sample.p90_ns),
        p99: over(100.0, |sample| sample.p99_ns),
        p999: over(1000.0, |sample| sample.p999_ns),
    }
}

/// CPU time per operation, user and kernel.
fn cpu_ns(cpu: &CpuTime) -> f64 {
    cpu.user_ns_per_operation + cpu.system_ns_per_operation
}

fn switches(switches: &Switches) -> f64 {
    switches.voluntary_per_operation + switches.involuntary_per_operation
}

impl MeasurementEstimate {
    /// A short name: the operation if the measurement covers whole iterations,
    /// otherwise the last word of its name (`create`, `cold` for
    /// `create_cold`).
    pub fn short_name(&self) -> &str {
        match self.name.as_str() {
            "iteration" => &self.operation,
            name => name.rsplit('_').next().unwrap_or(name),
        }
    }
}

impl CaseEstimate {
    /// The estimate of the named measurement, or of the principal one.
    pub fn measurement(&self, name: Option<&str>) -> Option<&MeasurementEstimate> {
        match name {
            Some(name) => self.measurements.iter().find(|measurement| measurement.name == name),
            None => self.measurements.first(),
        }
    }

    /// The memory of a task, all parts together, if the case sweeps the number of tasks.
    pub fn held(&self) -> Option<Estimate> {
        let sum = self.memory.iter().find(|part| part.name == ledger::SUM)?;
        Some(sum.bytes_per_task)
    }

    /// The principal figure: memory per task, or a time.
    pub fn principal(&self) -> Option<Estimate> {
        self.held().or_else(|| Some(self.measurement(None)?.time_ns))
    }

    /// The same, but of a task's whole life if its end is measured separately.
    pub fn figure(&self) -> Option<Estimate> {
        self.held().or(self.whole_ns).or_else(|| self.principal())
    }

    /// The number of invocations with this outcome.
    pub fn count(&self, outcome: JudgedOutcome) -> usize {
        self.invocations.iter().filter(|invocation| invocation.outcome == outcome).count()
    }

    /// Whether something kept its tasks from running.
    pub fn is_disturbed(&self) -> bool {
        let counted = [JudgedOutcome::Disturbed, JudgedOutcome::Unusable];
        counted.iter().any(|of| self.count(*of) > 0)
            || self.taken.is_some_and(|taken| taken.is_notable())
    }

    /// Whether the estimate uses unusable invocations.
    pub fn uses_unusable(&self) -> bool {
        self.invocations.iter().any(|of| of.is_used && of.outcome == JudgedOutcome::Unusable)
    }

    /// When the processes of a measurement started, in seconds, and their figures.
    pub fn series(&self, measurement: &MeasurementEstimate) -> Series {
        let values = self.invocations.iter().zip(&measurement.values_ns);
        let used = values.filter(|(invocation, _)| invocation.is_used);
        used.filter_map(|(invocation, value)| Some((seconds(&invocation.started_at)?, (*value)?)))
            .collect()
    }

    /// The values that the estimate of a measurement uses, by round.
    pub fn by_round(&self, measurement: &MeasurementEstimate) -> ByRound {
        let values = self.invocations.iter().zip(&measurement.values_ns);
        let used = values.filter(|(invocation, _)| invocation.is_used);
        used.filter_map(|(invocation, value)| Some((invocation.round, (*value)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures::{self as sample, Sample};

    fn of(invocations: &[Invocation]) -> CaseEstimate {
        estimate(&invocations.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_time_is_the_lower_quartile_over_invocations_per_operation() {
        let case = of(&sample::case("ring", [30.0, 10.0, 20.0]));
        let hop = case.measurement(None).unwrap();
        assert_eq!((hop.name.as_str(), hop.operation.as_str()), ("iteration", "hop"));
        assert_eq!((hop.time_ns.value, hop.time_ns.count), (15.0, 3));
        assert_eq!(case.by_round(hop), ByRound::from([(1, 30.0), (2, 10.0), (3, 20.0)]));
        // The percentiles of a sample of 10 hops are 0.9 to 3 times its mean.
        let expected =
            Percentiles { p50: Some(18.0), p90: Some(30.0), p99: Some(40.0), p999: Some(60.0) };
        assert_eq!(hop.percentiles, expected);
        assert_eq!(case.placement.as_deref(), Some("free"));
    }

    #[test]
    fn percentiles_take_as_many_samples_as_their_names_say() {
        for (count, known) in [(1, 0), (2, 1), (10, 2), (99, 2), (100, 3), (1000, 4)] {
            let mut invocations = sample::case("ring", [20.0; 3]);
            for of in &mut invocations[1..] {
                of.record.as_mut().unwrap().measurements[0].count = count;
            }
            let Percentiles { p50, p90, p99, p999 } = of(&invocations).measurements[0].percentiles;
            let found = [p50, p90, p99, p999].map(|of| of.is_some());
            assert_eq!(found, [1, 2, 3, 4].map(|rank| rank <= known), "{count}");
        }
    }

    #[test]
    fn cpu_time_and_switches_belong_to_the_principal_measurement_only() {
        let sample = Sample { user_ns: 3.0, system_ns: 4.0, switches: 1.5, ..Sample::hop(10.0) };
        let invocation = sample::and_measurement(sample.in_round("make", 1), "join", "join", 5.0);
        let case = of(&[invocation]);
        let figures =
            |name| case.measurement(Some(name)).map(|found| (found.cpu_ns, found.switches));
        assert_eq!(figures("iteration"), Some((Some(7.0), Some(1.5))));
        assert_eq!(figures("join"), Some((None, None)));
        assert_eq!(figures("start"), None);
    }

    #[test]
    fn failed_invocations_are_listed_and_not_estimated() {
        let mut invocations = sample::case("ring", [10.0, 999.0, 999.0]);
        invocations[1].outcome = Outcome::Failed;
        invocations[2].interrupted = true;
        invocations.push(sample::without_record("ring", 4, Outcome::TimedOut));
        invocations.push(sample::without_record("ring", 5, Outcome::Refused));
        let case = of(&invocations);
        let fates: Vec<JudgedOutcome> =
            case.invocations.iter().map(|found| found.outcome).collect();
        use JudgedOutcome::{Clean, Failed, Interrupted, Refused, TimedOut};
        assert_eq!(fates, [Clean, Failed, Interrupted, TimedOut, Refused]);
        let hop = case.measurement(None).unwrap();
        assert_eq!(hop.time_ns.value, 10.0);
        assert_eq!(hop.values_ns, [Some(10.0), None, None, None, None]);
    }

    #[test]
    fn unused_invocations_are_kept_and_marked() {
        let disturbed_by = |round, wall_ns, others_share| {
            Sample { others_share, ..Sample::hop(wall_ns) }.in_round("ring", round)
        };
        let case = of(&[
            disturbed_by(1, 30.0, 0.5),
            disturbed_by(1, 20.0, 0.1),
            disturbed_by(2, 10.0, 0.0),
        ]);
        let used: Vec<_> = case.invocations.iter().map(|found| found.is_used).collect();
        assert_eq!(used, [false, true, true]);
        assert_eq!(case.worst_disturbance, ["others used 50 % of its CPUs' time"]);
        assert_eq!(case.count(JudgedOutcome::Unusable), 1);
        let hop = case.measurement(None).unwrap();
        assert_eq!(hop.values_ns, [Some(30.0), Some(20.0), Some(10.0)]);
        assert_eq!(hop.time_ns.value, 12.5);
    }
}
