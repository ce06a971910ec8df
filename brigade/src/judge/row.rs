//! A row: a figure of one case in one run, from its invocations. Every command prints the figures
//! of rows, and nothing else computes one.

use std::collections::BTreeMap;

use harness::record::{Measurement, Record};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parts::{MemoryPart, Parts, Used, measured, median_of, memory, per_task, used};
use super::statistics::{ByRound, Estimate, Interval, quantile, sorted};
pub use crate::manifest::TaskKind;
use crate::store::invocation::{Invocation, Outcome, RecordedCase};

/// The unit of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Time per operation, in nanoseconds.
    #[default]
    Nanoseconds,
    /// A ratio.
    Ratio,
    /// Memory per task, in bytes.
    Bytes,
}

/// A figure of one case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// What a reader calls it.
    pub label: String,
    /// The case: its command line.
    pub case: String,
    /// The program.
    pub program: String,
    /// The parameters that affect what it measures, as recorded.
    pub parameters: BTreeMap<String, Value>,
    /// The kind of its tasks; `null` if nothing is handed over or created.
    pub kind: Option<TaskKind>,
    /// The measurement: `iteration`, `create`, `memory` …; `whole` is creation, run and end
    /// together.
    pub measurement: String,
    /// What one operation is, such as `hop`.
    pub operation: String,
    /// The unit of the figure.
    pub unit: Quantity,
    /// The median over processes; `null` if none has measured.
    pub figure: Option<Estimate>,
    /// From the tenth to the ninetieth percentile of processes.
    pub range: Option<Interval>,
    /// Every process, in the order in which they ended.
    pub processes: Vec<Process>,
    /// Percentiles of the samples within a process: medians over processes.
    pub percentiles: Percentiles,
    /// The other case of a comparison; the figure is then a ratio or difference.
    pub other: Option<Other>,
    /// The case's figure divided by that of the row marked 1, on the first screen.
    pub factor: Option<Estimate>,
    /// CPU time per operation of the whole process, user and kernel.
    pub cpu_ns: Option<f64>,
    /// Context switches per operation, counted by the kernel.
    pub switches: Option<f64>,
    /// Where the time goes; `null` if the kernel does not report it.
    pub parts: Option<Parts>,
    /// Memory per task by part, of programs that sweep the number of tasks.
    pub memory: Vec<MemoryPart>,
    /// The first error, if a process failed.
    pub error: Option<String>,
}

/// The case with which a comparison's row compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Other {
    /// What a reader calls it.
    pub label: String,
    /// The case: its command line.
    pub case: String,
    /// Parameters in which the cases differ and should not: the name and both values.
    pub unlike: Vec<(String, String, String)>,
}

/// One process of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Process {
    /// The round, counted from 1.
    pub round: u32,
    /// When it started: UTC, RFC 3339.
    pub started_at: String,
    /// Its outcome.
    pub outcome: ProcessOutcome,
    /// The figure; `null` if it did not measure it.
    pub value: Option<f64>,
}

/// The outcome of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProcessOutcome {
    /// It measured, and its figure is used.
    Used,
    /// It measured, but a signal stopped it or a CPU quota throttled it.
    Disturbed,
    /// It failed.
    Failed,
    /// It was killed at the case's time-out.
    TimedOut,
    /// A limit refused it.
    Refused,
    /// The runner, which was interrupted, ended it.
    Interrupted,
}

/// Percentiles, in nanoseconds per operation; `null` if processes have too few samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// The median.
    pub p50: Option<f64>,
    /// The 90th percentile.
    pub p90: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
}

/// The figure of a process and its unit: memory per task if it sweeps the number of tasks, or else
/// the time of an operation with all its phases: creation, run and end.
pub fn figure(record: &Record) -> Option<(f64, Quantity)> {
    let bytes = record.ledger.as_ref().and_then(|points| per_task(points));
    let time = || {
        let create = record.principal()?;
        let end = end_of(record).map_or(0.0, |end| end.ns_per_operation);
        Some((create.ns_per_operation + end, Quantity::Nanoseconds))
    };
    bytes.map(|bytes| (bytes, Quantity::Bytes)).or_else(time)
}

/// The measurement of a task's end, if the program measures it apart from its creation.
fn end_of(record: &Record) -> Option<&Measurement> {
    record.measurement("join").filter(|_| record.measurements.len() > 1)
}

/// Which figure of a process.
#[derive(Clone, Copy)]
enum Which<'a> {
    /// The case's.
    Case,
    /// That of one measurement.
    Measurement(&'a str),
}

impl Which<'_> {
    fn of(self, record: &Record) -> Option<f64> {
        match self {
            Self::Case => Some(figure(record)?.0),
            Self::Measurement(name) => Some(record.measurement(name)?.ns_per_operation),
        }
    }
}

impl Row {
    /// The rows of a case from its invocations: the case's figure first, then each measurement if
    /// there are several. `named` has the label, the case and its kind.
    pub fn of_case(named: &Self, invocations: &[&Invocation]) -> Vec<Self> {
        let used = used(invocations);
        let Some(first) = used.first().map(|of| of.record) else {
            return vec![named.of(Which::Case, invocations, &used)];
        };
        let unit = figure(first).map_or(Quantity::Nanoseconds, |(_, unit)| unit);
        let mut case = named.of(Which::Case, invocations, &used);
        case.unit = unit;
        case.memory = memory(&used);
        let principal = first.principal();
        case.operation = principal.map_or(String::new(), |of| of.operation.clone());
        case.measurement = match (unit, end_of(first), principal) {
            (Quantity::Bytes, ..) => "memory".to_owned(),
            (_, Some(_), _) => "whole".to_owned(),
            (_, None, Some(of)) => of.name.clone(),
            _ => String::new(),
        };
        case.cpu_ns = median_of(&used, cpu_ns);
        case.switches = median_of(&used, switches);
        case.parts = Parts::of(&used);
        if case.operation == "process" {
            // It waits for its child, whose CPU time is not its own.
            case.parts.iter_mut().for_each(|parts| parts.waiting_for = None);
        }
        if let Some(of) = principal.filter(|of| of.name == case.measurement) {
            case.percentiles = percentiles(&of.name, &used);
        }
        if unit == Quantity::Bytes {
            return vec![case];
        }
        let mut rows = vec![case];
        for of in &first.measurements {
            if first.measurements.len() > 1 && of.name != rows[0].measurement {
                let mut row = named.of(Which::Measurement(&of.name), invocations, &used);
                row.operation.clone_from(&of.operation);
                row.measurement.clone_from(&of.name);
                row.percentiles = percentiles(&of.name, &used);
                rows.push(row);
            }
        }
        rows
    }

    fn of(&self, which: Which, invocations: &[&Invocation], used: &[Used]) -> Self {
        let values: Vec<f64> = used.iter().filter_map(|of| which.of(of.record)).collect();
        let sorted = sorted(&values);
        let end = |probability| quantile(&sorted, probability);
        let ended = invocations.iter().filter(|of| !of.interrupted);
        Self {
            figure: Estimate::of(&values),
            range: end(0.1).zip(end(0.9)).map(|(low, high)| Interval { low, high }),
            processes: invocations.iter().map(|of| process(of, which, used)).collect(),
            error: ended.filter_map(|of| of.error.clone()).next(),
            ..self.clone()
        }
    }

    /// A row whose processes are the figures of one case in several runs.
    pub fn of_runs(runs: &[Self]) -> Option<Self> {
        let first = runs.first()?;
        let values: Vec<f64> = runs.iter().filter_map(|of| Some(of.figure?.value)).collect();
        let process = |(round, value): (u32, &f64)| Process {
            round,
            started_at: String::new(),
            outcome: ProcessOutcome::Used,
            value: Some(*value),
        };
        Some(Self {
            figure: Estimate::of_independent(super::statistics::CONFIDENCE, &values),
            processes: (1..).zip(&values).map(process).collect(),
            ..first.clone()
        })
    }

    /// What identifies the case in any run: its program and parameters.
    pub fn key(&self) -> String {
        format!("{} {}", self.program, Value::from_iter(self.parameters.clone()))
    }

    /// Names the row by a case whose record has these parameters.
    pub fn identified(mut self, key: RecordedCase) -> Self {
        (self.program, self.parameters) = (key.program, key.parameters);
        self
    }

    /// The figures that are used, by round.
    pub fn by_round(&self) -> ByRound {
        let used = self.processes.iter().filter(|of| of.outcome == ProcessOutcome::Used);
        used.filter_map(|of| Some((of.round, of.value?))).collect()
    }

    /// The figures that are used.
    pub fn values(&self) -> Vec<f64> {
        self.by_round().into_values().collect()
    }

    /// How many processes had this outcome.
    pub fn count(&self, outcome: ProcessOutcome) -> usize {
        self.processes.iter().filter(|of| of.outcome == outcome).count()
    }

    /// How many processes failed, timed out or were refused.
    pub fn failures(&self) -> usize {
        use ProcessOutcome::{Failed, Refused, TimedOut};
        [Failed, TimedOut, Refused].into_iter().map(|of| self.count(of)).sum()
    }

    /// The value of a parameter, as text; `None` if it was not given.
    pub fn parameter(&self, name: &str) -> Option<String> {
        Some(match self.parameters.get(name)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }
}

fn process(invocation: &Invocation, which: Which, used: &[Used]) -> Process {
    let is_used = used.iter().any(|of| std::ptr::eq(of.invocation, invocation));
    let outcome = match invocation.outcome {
        _ if invocation.interrupted => ProcessOutcome::Interrupted,
        Outcome::Measured if is_used => ProcessOutcome::Used,
        Outcome::Measured => ProcessOutcome::Disturbed,
        Outcome::Failed => ProcessOutcome::Failed,
        Outcome::TimedOut => ProcessOutcome::TimedOut,
        Outcome::Refused => ProcessOutcome::Refused,
    };
    let Invocation { round, ref started_at, .. } = *invocation;
    let value = measured(invocation).and_then(|record| which.of(record));
    Process { round, started_at: started_at.clone(), outcome, value }
}

/// The percentiles of a measurement, if the median process has enough samples: the 99th percentile
/// of 20 samples is their maximum.
fn percentiles(name: &str, used: &[Used]) -> Percentiles {
    let over = |fewest: f64, of: fn(&Measurement) -> u64| {
        let count = median_of(used, |record| Some(record.measurement(name)?.count as f64))?;
        let figure = median_of(used, |record| {
            let sample = record.measurement(name)?;
            Some(of(sample) as f64 / sample.operations as f64)
        });
        figure.filter(|_| count >= fewest)
    };
    Percentiles {
        p50: over(2.0, |sample| sample.p50_ns),
        p90: over(10.0, |sample| sample.p90_ns),
        p99: over(100.0, |sample| sample.p99_ns),
        p999: over(1000.0, |sample| sample.p999_ns),
    }
}

/// CPU time per operation, user and kernel.
fn cpu_ns(record: &Record) -> Option<f64> {
    let cpu = record.cpu.as_ref()?;
    Some(cpu.user_ns_per_operation + cpu.system_ns_per_operation)
}

fn switches(record: &Record) -> Option<f64> {
    let of = record.switches?;
    Some(of.voluntary_per_operation + of.involuntary_per_operation)
}
