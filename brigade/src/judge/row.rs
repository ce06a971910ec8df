//! A row: a figure of one case in one run, from its invocations, and where the time or the memory
//! of an operation goes. Every command prints the figures of rows, and nothing else computes one.

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use harness::TaskKind;
use serde::Serialize;
use serde_json::Value;

use super::amounts::MEMORY;
pub use super::amounts::MemoryItem;
use super::environment::Inherited;
use super::lost_time::{Account, Time};
use super::sample::{Figures, Measured, Sample};
use super::statistics::{
    ByRound, DEPENDENT, Estimate, Interval, MIN_SAMPLE, median, quantile, sorted, student,
};
use crate::manifest::{Manifest, flags_of, program_of, without_flag};
use crate::store::results::Outcome;

/// The unit of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Row {
    /// What a reader calls it.
    pub label: String,
    /// The case: its command line.
    pub case: String,
    /// The program.
    pub program: String,
    /// The parameters that affect what it measures, as recorded.
    pub parameters: BTreeMap<String, Value>,
    /// What its tasks are; `null` if neither its records nor its program know.
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
    pub processes: Arc<Vec<Process>>,
    /// Percentiles of the samples within a process: medians over processes.
    pub percentiles: Percentiles,
    /// The other case of a comparison; the figure is then a ratio or difference.
    pub other: Option<Other>,
    /// The case over the row marked 1 of a part of the first screen, or over the cheapest case of a
    /// group: the median over common rounds of the quotient.
    pub factor: Option<Estimate>,
    /// CPU time per operation of the whole process, user and kernel; like switches and parts `null` for
    /// memory, which is read between operations.
    pub cpu_ns: Option<f64>,
    /// System calls per operation, counted by the program; `null` if it does not count them.
    pub system_calls: Option<f64>,
    /// Whether readers of a lock were inside together in any process; `null` if it could not be seen.
    pub readers_together: Option<bool>,
    /// Context switches per operation, counted by the kernel.
    pub switches: Option<f64>,
    /// Context switches of threads that began to wait, per operation.
    pub sleeps: Option<f64>,
    /// How often the one thread of a server waited for any connection, per request.
    pub waits: Option<f64>,
    /// Context switches of a server without its load, per request.
    pub server_switches: Option<f64>,
    /// The time of the work that `--work` adds to each operation; `null` without any.
    pub work_ns: Option<f64>,
    /// Where the time goes; `null` if the kernel does not report it.
    pub parts: Option<Parts>,
    /// Memory per task by part, of programs that sweep the number of tasks.
    pub memory: Vec<MemoryPart>,
    /// The first error, if a process failed.
    pub error: Option<String>,
    /// What else that process printed on standard error.
    pub stderr: Option<String>,
}

/// The case with which a comparison's row compares.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Other {
    /// What a reader calls it.
    pub label: String,
    /// The case: its command line.
    pub case: String,
    /// The measurement, if the row compares one of several; `null` for the case's figure.
    pub measurement: Option<String>,
}

impl Other {
    /// The case without one of its flags, by the flag's name in records.
    pub fn case_without(&self, parameter: &str) -> String {
        without_flag(&self.case, parameter)
    }
}

/// One process of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Process {
    /// The round, counted from 1.
    pub round: u32,
    /// When it started: UTC, RFC 3339.
    pub started_at: Arc<String>,
    /// Its outcome.
    pub outcome: ProcessOutcome,
    /// The figure; `null` if it did not measure it.
    pub value: Option<f64>,
}

/// The outcome of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProcessOutcome {
    /// The process measured, and its figure is used.
    Used,
    /// The process measured, but a signal stopped it or a CPU quota throttled it.
    Disturbed,
    /// The process measured, but inherited something else than the run.
    Changed,
    /// The process failed.
    Failed,
    /// The process was killed at the case's time-out.
    TimedOut,
    /// A limit refused it.
    Refused,
    /// The runner, which was interrupted, ended it.
    Interrupted,
}

/// Percentiles, in nanoseconds per operation; `null` if processes have too few samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
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

impl Row {
    /// A parameter that is a whole number. Rows leave out one of 0.
    pub fn number(&self, parameter: &str) -> Option<u64> {
        self.parameters.get(parameter).map_or(Some(0), Value::as_u64)
    }

    /// The rows of a case from its processes: the case's figure first, then each measurement if
    /// there are several. `named` has the label, the case, its
    /// kind and its first error.
    /// What processes of the run inherit decides which are used.
    pub fn of_case(named: &Self, inherited: &Inherited, samples: &[Sample]) -> Vec<Self> {
        let used = used(inherited, samples);
        let shape = used.first().map(|process| &process.figures.shape);
        let case = shape.map_or("", |shape| &shape.figure);
        let measured = shape.iter().flat_map(|shape| &shape.measurements).map(|[name, _]| &**name);
        let others = measured.filter(|name| *name != case && case != MEMORY);
        let names = iter::once(case).chain(others);
        let row = |name| named.row_of_figure(name, inherited, samples, &used);
        let mut rows: Vec<Self> = names.map(row).collect();
        let case = &mut rows[0];
        case.memory = memory(&used);
        case.cpu_ns = median_of(&used, |figures| figures.cpu_ns);
        case.system_calls = median_of(&used, |figures| figures.system_calls);
        case.readers_together =
            used.iter().filter_map(|process| process.figures.readers_together).max();
        case.switches = median_of(&used, |figures| figures.switches);
        case.sleeps = median_of(&used, |figures| figures.sleeps);
        case.waits = median_of(&used, |figures| figures.server.as_ref()?.waits);
        case.server_switches = median_of(&used, |figures| figures.server.as_ref()?.switches);
        case.work_ns = median_of(&used, |figures| figures.work_ns);
        case.parts = Parts::new(&used);
        if case.operation == "process"
            && let Some(parts) = &mut case.parts
        {
            // It waits for its child, whose CPU time is not its own.
            parts.waiting_for = None;
        }
        rows
    }

    /// The row of one figure.
    fn row_of_figure(
        &self,
        name: &str,
        inherited: &Inherited,
        samples: &[Sample],
        used: &[Used],
    ) -> Self {
        let values = used.iter().filter_map(|process| process.figures.value(name));
        let values = sorted(&values.collect::<Vec<_>>());
        let figure = Estimate::of(&values);
        // A task whose memory is lost in what other processes allocate and free is unknown.
        let is_known = |figure: &Estimate| name != MEMORY || figure.value > 0.0;
        let end = |probability| quantile(&values, probability);
        let shape = used.first().map(|process| &process.figures.shape);
        let mut is_used = vec![false; samples.len()];
        for process in used {
            is_used[process.at] = true;
        }
        let processes = samples.iter().zip(is_used);
        let processes =
            processes.map(|(sample, is_used)| Process::new(sample, name, is_used, inherited));
        Self {
            measurement: name.to_owned(),
            operation: shape.map_or(String::new(), |shape| shape.operation(name).to_owned()),
            unit: if name == MEMORY { Quantity::Bytes } else { Quantity::Nanoseconds },
            figure: figure.filter(is_known),
            range: end(0.1).zip(end(0.9)).map(|(low, high)| Interval { low, high }),
            processes: Arc::new(processes.collect()),
            percentiles: percentiles(name, used),
            ..self.clone()
        }
    }

    /// A row whose processes are the figures of one case in several runs.
    pub fn of_runs(runs: &[Self]) -> Option<Self> {
        let first = runs.first()?;
        let values: Vec<f64> = runs.iter().filter_map(|row| Some(row.figure?.value)).collect();
        let process = |(round, row): (u32, &Self)| Process {
            round,
            started_at: Arc::default(),
            outcome: row.outcome_of_run(),
            value: row.figure.map(|figure| figure.value),
        };
        Some(Self {
            figure: Estimate::of_independent(super::statistics::CONFIDENCE, &values),
            processes: Arc::new((1..).zip(runs).map(process).collect()),
            ..first.clone()
        })
    }

    /// The outcome of its case in a run: that of its first process, if none measured.
    fn outcome_of_run(&self) -> ProcessOutcome {
        match self.processes.first() {
            Some(process) if self.figure.is_none() => process.outcome,
            _ => ProcessOutcome::Used,
        }
    }

    /// A row whose processes have these figures, in rounds 1, 2 ….
    #[cfg(test)]
    pub fn of_figures(figures: impl IntoIterator<Item = f64>) -> Self {
        let started_at = Arc::default();
        let process = |(round, value)| Process {
            round,
            started_at: Arc::clone(&started_at),
            outcome: ProcessOutcome::Used,
            value: Some(value),
        };
        let processes = Arc::new((1..).zip(figures).map(process).collect());
        Self { processes, ..Self::default() }
    }

    /// What identifies the case in any run: its program and parameters.
    pub fn key(&self) -> String {
        format!("{} {}", self.program, Value::from_iter(self.parameters.clone()))
    }

    /// Whether both are of one case. If no process of a run measured a case, its parameters are
    /// unknown, and its name decides.
    pub fn is_same_case_as(&self, other: &Self) -> bool {
        if self.figure.is_none() || other.figure.is_none() {
            return self.case == other.case;
        }
        self.program == other.program && self.parameters == other.parameters
    }

    /// Whether both have a figure, of the same measurement and operation.
    pub fn measures_same_as(&self, other: &Self) -> bool {
        let have_figures = self.figure.is_some() && other.figure.is_some();
        have_figures
            && self.measurement == other.measurement
            && self.operation == other.operation
            && self.unit == other.unit
    }

    /// The name of its case without one of the flags, given by its name in records.
    pub fn case_without(&self, parameter: &str) -> String {
        without_flag(&self.case, parameter)
    }

    /// A row without figures of another case, whose tasks and operation are of the same kind.
    pub fn with_case(&self, case: &str) -> Self {
        Self {
            case: case.to_owned(),
            program: program_of(case).to_owned(),
            kind: self.kind,
            operation: self.operation.clone(),
            unit: self.unit,
            ..Self::default()
        }
    }

    /// The flags of its case in their order, by their names in records, each with its value.
    pub fn flags(&self) -> Vec<(String, String)> {
        flags_of(&self.case)
    }

    /// The figure as a number; infinite without one.
    pub fn value(&self) -> f64 {
        self.figure.map_or(f64::INFINITY, |figure| figure.value)
    }

    /// The figures that are used, by round.
    pub fn by_round(&self) -> ByRound {
        let used = self.processes.iter().filter(|process| process.outcome == ProcessOutcome::Used);
        used.filter_map(|process| Some((process.round, process.value?))).collect()
    }

    /// The figures that are used.
    pub fn values(&self) -> Vec<f64> {
        self.by_round().into_values().collect()
    }

    /// How many processes had this outcome.
    pub fn count(&self, outcome: ProcessOutcome) -> usize {
        self.processes.iter().filter(|process| process.outcome == outcome).count()
    }

    /// How many processes ended, whether their figures are used or not.
    pub fn ended(&self) -> usize {
        self.processes.len() - self.count(ProcessOutcome::Interrupted)
    }

    /// How many processes failed, timed out or were refused.
    pub fn failures(&self) -> usize {
        use ProcessOutcome::{Failed, Refused, TimedOut};
        [Failed, TimedOut, Refused].into_iter().map(|outcome| self.count(outcome)).sum()
    }
}

impl Process {
    /// The process, and its figure with this name.
    fn new(sample: &Sample, name: &str, is_used: bool, inherited: &Inherited) -> Self {
        let is_other = |figures: &Figures| inherited.is_other(figures.inherits.into());
        let outcome = match sample.outcome {
            _ if sample.interrupted => ProcessOutcome::Interrupted,
            Outcome::Measured if is_used => ProcessOutcome::Used,
            Outcome::Measured if sample.figures.as_deref().is_some_and(is_other) => {
                ProcessOutcome::Changed
            }
            Outcome::Measured => ProcessOutcome::Disturbed,
            Outcome::Failed => ProcessOutcome::Failed,
            Outcome::TimedOut => ProcessOutcome::TimedOut,
            Outcome::Refused => ProcessOutcome::Refused,
        };
        Self {
            round: sample.round,
            started_at: Arc::clone(&sample.started_at),
            outcome,
            value: sample.value(name),
        }
    }
}

/// The percentiles of a measurement, if the median process has enough samples: the 99th percentile
/// of 20 samples is their maximum.
fn percentiles(name: &str, used: &[Used]) -> Percentiles {
    let count = median_of(used, |figures| Some(figures.measurement(name)?.count)).unwrap_or(0.0);
    let from_count = |fewest: f64, percentile: fn(&Measured) -> f64| {
        if count < fewest {
            return None;
        }
        median_of(used, |figures| Some(percentile(figures.measurement(name)?)))
    };
    Percentiles {
        p50: from_count(2.0, |measured| measured.p50),
        p90: from_count(10.0, |measured| measured.p90),
        p99: from_count(100.0, |measured| measured.p99),
        p999: from_count(1000.0, |measured| measured.p999),
    }
}

/// The row of a case's figure.
pub fn row_of<'a>(rows: &[&'a [Row]], case: &str) -> Option<&'a Row> {
    named(rows, case, None)
}

/// The rows of the cases of a line of the manifest, each with that of the other line in the same
/// place, which begins again; those of which the run has both.
pub fn rows_of_lines<'a>(
    manifest: &Manifest,
    rows: &[&'a [Row]],
    lines: [&str; 2],
) -> Vec<[&'a Row; 2]> {
    let [Ok(cases), Ok(others)] = lines.map(|line| manifest.cases_of(line)) else {
        return Vec::new();
    };
    let pairs = cases.into_iter().zip(others.into_iter().cycle());
    let pairs = pairs.map(|(case, other)| [case, other]);
    let found = pairs.filter_map(|pair| {
        let [case, other] = pair.map(|case| row_of(rows, &case.name));
        Some([case?, other?])
    });
    found.collect()
}

/// The row of one of a case's measurements; that of its figure without a name.
pub fn named<'a>(rows: &[&'a [Row]], case: &str, measurement: Option<&str>) -> Option<&'a Row> {
    let rows = rows.iter().find(|rows| rows[0].case == case)?;
    rows.iter().find(|row| measurement.is_none_or(|name| row.measurement == name))
}

/// A process that measured, and its place among those of its case.
#[derive(Clone, Copy)]
pub struct Used<'a> {
    at: usize,
    figures: &'a Figures,
}

/// The processes of a case that measured, the last of each round.
fn all_measured(samples: &[Sample]) -> Vec<Used<'_>> {
    let mut rounds = BTreeMap::new();
    for (at, sample) in samples.iter().enumerate() {
        if let Some(figures) = &sample.figures {
            rounds.insert(sample.round, Used { at, figures });
        }
    }
    rounds.into_values().collect()
}

/// The time that these processes of a case lost, also those whose figures are not used: they show
/// what happened during the run.
pub fn lost_by(samples: &[Sample], time: Time) -> Option<Account> {
    let spans = all_measured(samples).into_iter().filter_map(|process| process.figures.span);
    Account::of_case(spans.map(|span| Account::new(span, time)))
}

/// The processes whose figures are used: those that nothing stopped or throttled, or else all that
/// measured. One that inherited something else than it should is another experiment.
fn used<'a>(inherited: &Inherited, samples: &'a [Sample]) -> Vec<Used<'a>> {
    let mut all = all_measured(samples);
    all.retain(|process| !inherited.is_other(process.figures.inherits.into()));
    let quiet = all.iter().copied().filter(|process| !process.figures.is_disturbed);
    let quiet: Vec<Used> = quiet.collect();
    if quiet.is_empty() { all } else { quiet }
}

/// The median over processes of one of their figures.
fn median_of(used: &[Used], figure: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
    median(&used.iter().filter_map(|process| figure(process.figures)).collect::<Vec<_>>())
}

/// How far the kernel's count of CPU time may differ from the wall time of a process that never
/// waits, as a share: the two are not read at the same moment.
const RESOLUTION: f64 = 0.01;

/// The parts of an operation's time, in nanoseconds: elapsed = user + kernel + waiting − overlap.
/// Elapsed and CPU time are medians over processes. The kernel counts the CPU time of the whole
/// process, so they cover the same span: all phases of a lap, and the time between laps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Parts {
    /// Wall time from the start of the first lap to the end of the last one.
    pub elapsed_ns: f64,
    /// CPU time in user space. The kernel divides CPU time by clock ticks, of which a process has
    /// few, so the division is that of all processes together.
    pub user_ns: f64,
    /// CPU time in the kernel.
    pub kernel_ns: f64,
    /// How far the two may be off, with 95 %; `null` of fewer than five processes, and if one of the
    /// two has no tick.
    pub division_error_ns: Option<f64>,
    /// Wall time in which no thread of the process ran, less any overlap.
    pub waiting_ns: f64,
    /// CPU time beyond the wall time: threads ran simultaneously.
    pub overlap_ns: f64,
    /// Reasons for the waiting; `null` if the kernel does not report them.
    pub waiting_for: Option<WaitingFor>,
    /// How often a CPU entered an idle state, per operation.
    pub idle_entries: Option<f64>,
    /// How often a CPU interrupted another to run something, per operation.
    pub interrupts: Option<f64>,
    /// Share of traced hops whose ends ran on different CPUs, 0 to 1.
    pub crossing_share: Option<f64>,
}

/// Reasons for an operation's waiting, in nanoseconds. They add up to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct WaitingFor {
    /// All CPUs were in an idle state.
    pub idle_ns: f64,
    /// CPUs were entering or leaving an idle state: neither in one nor running a task.
    pub waking_ns: f64,
    /// A task was ready and waited for its CPU.
    pub queued_ns: f64,
    /// The hypervisor ran others.
    pub stolen_ns: f64,
    /// The remainder.
    pub rest_ns: f64,
}

impl Parts {
    /// The parts of the time in these processes; `None` if no record contains CPU time.
    pub fn new(used: &[Used]) -> Option<Self> {
        let elapsed_ns = median_of(used, |figures| figures.elapsed_ns)?;
        let all_ns = median_of(used, |figures| figures.cpu_ns)?;
        let in_user_space = UserShare::new(used);
        let user_ns = all_ns * in_user_space.share;
        let rest = elapsed_ns - all_ns;
        let rest = if rest.abs() <= RESOLUTION * elapsed_ns { 0.0 } else { rest };
        // On one CPU nothing overlaps; any difference comes from the clocks.
        let can_overlap = used.iter().any(|process| process.figures.can_overlap);
        let waiting_ns = rest.max(0.0);
        Some(Self {
            elapsed_ns,
            user_ns,
            kernel_ns: all_ns - user_ns,
            division_error_ns: in_user_space.error.map(|error| all_ns * error),
            waiting_ns,
            overlap_ns: if can_overlap { (-rest).max(0.0) } else { 0.0 },
            waiting_for: WaitingFor::new(used, waiting_ns),
            idle_entries: median_of(used, |figures| figures.idle_entries),
            interrupts: median_of(used, |figures| figures.interrupts),
            crossing_share: median_of(used, |figures| figures.crossing_share),
        })
    }
}

/// The share of user space in the CPU time of several processes together.
struct UserShare {
    share: f64,
    /// Its error: of a ratio of two sums, by how far each process is from it (Cochran, *Sampling
    /// Techniques*, 6.4), widened as every interval is. Where all ticks fell on one side they show no error.
    error: Option<f64>,
}

impl UserShare {
    fn new(used: &[Used]) -> Self {
        let times = |process: &Used| {
            let Figures { operations, user_ns, cpu_ns, .. } = *process.figures;
            Some((user_ns? * operations?, cpu_ns? * operations?))
        };
        let times: Vec<(f64, f64)> = used.iter().filter_map(times).collect();
        let all_ns: f64 = times.iter().map(|(_, all_ns)| all_ns).sum();
        if all_ns <= 0.0 {
            return Self { share: 0.0, error: None };
        }
        let share = times.iter().map(|(user_ns, _)| user_ns).sum::<f64>() / all_ns;
        let squares: f64 =
            times.iter().map(|(user_ns, all_ns)| (user_ns - share * all_ns).powi(2)).sum();
        let count = times.len() as f64;
        let variance = DEPENDENT * squares * count / (count - 1.0);
        let error = student(times.len()) * variance.sqrt() / all_ns;
        let is_known = times.len() >= MIN_SAMPLE && share > 0.0 && share < 1.0;
        Self { share, error: is_known.then_some(error) }
    }
}

impl WaitingFor {
    /// What explains this waiting; `None` if no record has the reasons.
    ///
    /// The kernel's counts overlap: a task woken for an idle CPU counts as runnable until the CPU
    /// is awake, and time stolen from a sleeping CPU is idle time. So each reason only explains
    /// what those before it leave.
    fn new(used: &[Used], waiting_ns: f64) -> Option<Self> {
        let mut rest_ns = waiting_ns;
        let mut explain = |time_ns: fn(&Figures) -> Option<f64>| {
            let explained = median_of(used, time_ns)?.min(rest_ns);
            rest_ns -= explained;
            Some(explained)
        };
        let idle_ns = explain(|figures| figures.idle_ns)?;
        let waking_ns = explain(|figures| figures.waking_ns)?;
        let queued_ns = explain(|figures| figures.queued_ns)?;
        let stolen_ns = explain(|figures| figures.stolen_ns)?;
        Some(Self { idle_ns, waking_ns, queued_ns, stolen_ns, rest_ns })
    }
}

/// A part of a task's memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct MemoryPart {
    /// Which part.
    pub name: MemoryItem,
    /// Bytes per task: the slope over the number of tasks; the median over processes.
    pub bytes_per_task: Estimate,
}

/// The memory of a task in these processes, each of which swept the number of tasks. Empty without
/// sweeps.
pub fn memory(used: &[Used]) -> Vec<MemoryPart> {
    let part = |name: MemoryItem| {
        let sweeps = used.iter().filter_map(|process| process.figures.memory.as_ref());
        let bytes: Vec<f64> = sweeps.filter_map(|parts| parts[name as usize]).collect();
        Some(MemoryPart { name, bytes_per_task: Estimate::of(&bytes)? })
    };
    MemoryItem::ALL.into_iter().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use harness::record::LedgerPoint;

    use super::*;
    use crate::judge::amounts::{memory_of_task, memory_parts};
    use crate::store::results::Environment;

    /// A sweep in which each task uses 10 bytes of user memory, 20 of page
    /// tables, 30 of kernel stack, 40 of slab, and `more` outside all parts.
    fn sweep(more: u64) -> Vec<LedgerPoint> {
        let point = |tasks: u64| LedgerPoint {
            tasks,
            proportional_bytes: Some(5000 + 10 * tasks),
            resident_bytes: Some(6000 + 11 * tasks),
            page_table_bytes: Some(20 * tasks),
            kernel_stack_bytes: Some(30 * tasks),
            unreclaimable_slab_bytes: Some(900_000 + 40 * tasks),
            available_bytes: Some(9_000_000 - (60 + more) * tasks),
            listed_free_bytes: Some(70_000 - 40 * tasks),
            ..LedgerPoint::default()
        };
        [100, 200, 300].map(point).into()
    }

    /// The parts of processes with these sweeps, as whole bytes.
    fn parts_of(sweeps: [Vec<LedgerPoint>; 2]) -> Vec<(MemoryItem, i64)> {
        let mut run = crate::fixtures::case("memory", [1.0, 1.0]);
        for (invocation, sweep) in run.iter_mut().zip(sweeps) {
            invocation.record.as_mut().unwrap().ledger = Some(sweep);
        }
        let mut inherited = Inherited::default();
        inherited.add(run[0].record.as_ref().unwrap(), &Environment::default());
        let run: Vec<Sample> = run.iter().map(|one| Sample::new(one, None, 0)).collect();
        let whole = |part: MemoryPart| (part.name, part.bytes_per_task.value.round() as i64);
        memory(&used(&inherited, &run)).into_iter().map(whole).collect()
    }

    /// A process that sweeps the number of tasks reads memory between its laps.
    #[test]
    fn a_sweep_has_no_usage_per_operation_but_shows_the_lost_time() {
        let row_of_run = |sweep: Option<Vec<LedgerPoint>>| {
            let mut run = crate::fixtures::case("ring", [1.0; 3]);
            for invocation in &mut run {
                invocation.record.as_mut().unwrap().ledger.clone_from(&sweep);
            }
            let mut inherited = Inherited::default();
            inherited.add(run[0].record.as_ref().unwrap(), &Environment::default());
            let samples: Vec<Sample> = run.iter().map(|one| Sample::new(one, None, 0)).collect();
            assert!(lost_by(&samples, Time::OfAllCpus).is_some());
            Row::of_case(&Row::default(), &inherited, &samples).remove(0)
        };
        for (sweep, has_usage) in [(None, true), (Some(sweep(0)), false)] {
            let row = row_of_run(sweep);
            let usage = [row.cpu_ns, row.switches, row.sleeps, row.parts.map(|of| of.elapsed_ns)];
            assert_eq!(usage.map(|found| found.is_some()), [has_usage; 4], "{row:?}");
        }
    }

    /// Each process has 1 to 3 ticks of four in user space.
    #[test]
    fn few_ticks_of_many_processes_are_one_division() {
        let mut run = crate::fixtures::case("ring", [1.0; 8]);
        for (invocation, ticks) in run.iter_mut().zip([1.0, 2.0, 3.0, 1.0, 1.0, 2.0, 1.0, 1.0]) {
            let cpu = invocation.record.as_mut().unwrap().cpu.as_mut().unwrap();
            cpu.user_ns_per_operation = ticks;
            cpu.system_ns_per_operation = 4.0 - ticks;
        }
        let mut inherited = Inherited::default();
        inherited.add(run[0].record.as_ref().unwrap(), &Environment::default());
        let run: Vec<Sample> = run.iter().map(|one| Sample::new(one, None, 0)).collect();
        let parts = |count: usize| Parts::new(&used(&inherited, &run[..count])).unwrap();
        let found = parts(8);
        // 12 ticks of 32; the median process has one of four.
        assert!((found.user_ns / (found.user_ns + found.kernel_ns) - 0.375).abs() < 1e-9);
        // Squares of distances from 1.5 ticks: 4.0.
        // Student's t with 7 degrees of freedom.
        let error = 2.3646 * 3_f64.sqrt() * (4.0_f64 * 8.0 / 7.0).sqrt() / 32.0 * 4.0;
        assert!((found.division_error_ns.unwrap() / error - 1.0).abs() < 1e-3, "{found:?}");
        assert_eq!(parts(4).division_error_ns, None);
    }

    #[test]
    fn the_parts_add_up_and_the_rest_is_unexplained() {
        let expected = MemoryItem::ALL.into_iter().zip([10, 20, 30, 40, 100, 1, 101]);
        assert_eq!(parts_of([sweep(2), sweep(0)]), expected.collect::<Vec<_>>());
    }

    /// In other words: the median over all processes, or unknown.
    #[test]
    fn memory_below_zero_counts_and_is_no_figure() {
        let shrinking = |by: u64| {
            let point = |tasks: u64| LedgerPoint {
                unreclaimable_slab_bytes: Some(900_000 - by * tasks),
                ..sweep(0)[tasks as usize / 100 - 1].clone()
            };
            [100, 200, 300].map(point).to_vec()
        };
        // 10 + 20 + 30 bytes of each task less these.
        for (less, expected) in [([0, 10, 70, 50, 20], Some(40.0)), ([0, 10, 70, 80, 90], None)] {
            let mut run = crate::fixtures::case("memory", [1.0; 5]);
            for (invocation, by) in run.iter_mut().zip(less) {
                invocation.record.as_mut().unwrap().ledger = Some(shrinking(by));
            }
            let mut inherited = Inherited::default();
            inherited.add(run[0].record.as_ref().unwrap(), &Environment::default());
            let samples: Vec<Sample> = run.iter().map(|one| Sample::new(one, None, 0)).collect();
            let row = Row::of_case(&Row::default(), &inherited, &samples).remove(0);
            let figure = row.figure.map(|figure| figure.value.round());
            assert_eq!((figure, row.values().len()), (expected, 5), "{row:?}");
        }
    }

    #[test]
    fn a_sum_without_one_of_its_parts_is_no_figure() {
        let mut points = sweep(0);
        points[1].page_table_bytes = None;
        assert_eq!(memory_of_task(&memory_parts(&points)), None);
        let names: Vec<_> =
            parts_of([points.clone(), points]).into_iter().map(|(name, _)| name).collect();
        assert!(!names.contains(&MemoryItem::Sum) && names.contains(&MemoryItem::Slab));
    }
}
