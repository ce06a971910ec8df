//! A row: a figure of one case in one run, from its invocations, and where the time or the memory
//! of an operation goes. Every command prints the figures of rows, and nothing else computes one.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use harness::TaskKind;
use harness::inherited::Facts;
use harness::record::{LedgerPoint, Measurement, Record, Waiting};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::environment::{inherited_differently, inherits};
use super::statistics::{
    ByRound, DEVIATE, Estimate, Interval, MIN_SAMPLE, median, quantile, slope, sorted,
};
use crate::manifest::{Case, Manifest};
use crate::store::results::{Invocation, Outcome, SavedRun, parameters};

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
    pub processes: Vec<Process>,
    /// Percentiles of the samples within a process: medians over processes.
    pub percentiles: Percentiles,
    /// The other case of a comparison; the figure is then a ratio or difference.
    pub other: Option<Other>,
    /// The case over the row marked 1 of a part of the first screen, or over the cheapest case of a
    /// group: the median over common rounds of the quotient.
    pub factor: Option<Estimate>,
    /// CPU time per operation of the whole process, user and kernel.
    pub cpu_ns: Option<f64>,
    /// Context switches per operation, counted by the kernel.
    pub switches: Option<f64>,
    /// Those of threads that began to wait.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Other {
    /// What a reader calls it.
    pub label: String,
    /// The case: its command line.
    pub case: String,
    /// The measurement, if the row compares one of several; `null` for the case's figure.
    pub measurement: Option<String>,
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
    /// It measured, but inherited something else than the run.
    Changed,
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

/// The names of figures that are no measurement: memory per task, and the time of an operation with
/// all its phases, creation, run and end.
const MEMORY: &str = "memory";
const WHOLE: &str = "whole";

/// The name of the case's figure: a server's CPU time of a request, of both sides, if that was
/// measured; memory, if the process swept the number of tasks; or else the time of an operation.
fn name_of(record: &Record) -> &str {
    let has = |name| record.measurement(name).is_some();
    let sweep = record.ledger.as_deref();
    match record.principal() {
        _ if record.serving.is_some() && has("cpu") => "cpu",
        _ if record.serving.is_none() && sweep.and_then(per_task).is_some() => MEMORY,
        Some(principal) if principal.name != "join" && has("join") => WHOLE,
        principal => principal.map_or("", |principal| &principal.name),
    }
}

/// The figure of a process that has this name.
fn value_of(record: &Record, name: &str) -> Option<f64> {
    let time = |measured: &Measurement| measured.ns_per_operation;
    match name {
        MEMORY => per_task(record.ledger.as_ref()?),
        WHOLE => Some(time(record.principal()?) + time(record.measurement("join")?)),
        _ => record.measurement(name).map(time),
    }
}

impl Row {
    /// The rows of a case from its invocations: the case's figure first, then each measurement if
    /// there are several. `named` has the label, the case and its kind.
    /// What processes of the run inherit decides which are used.
    pub fn of_case(named: &Self, inherits: &Facts, invocations: &[&Invocation]) -> Vec<Self> {
        let used = used(inherits, invocations);
        let first = used.first().map(|process| process.record);
        let case = first.map_or("", name_of);
        let measured = first.iter().flat_map(|record| &record.measurements).map(|one| &*one.name);
        let others = measured.filter(|name| *name != case && case != MEMORY);
        let names = iter::once(case).chain(others);
        let row = |name| named.of(name, inherits, invocations, &used);
        let mut rows: Vec<Self> = names.map(row).collect();
        let case = &mut rows[0];
        case.memory = memory(&used);
        case.cpu_ns = median_of(&used, cpu_ns);
        case.switches = median_of(&used, switches);
        case.sleeps = median_of(&used, |record| Some(record.switches?.voluntary_per_operation));
        case.waits = median_of(&used, |record| record.serving?.server_waits_per_request);
        case.server_switches =
            median_of(&used, |record| record.serving?.server_switches_per_request);
        case.work_ns = median_of(&used, work_ns);
        case.parts = Parts::of(&used);
        if case.operation == "process" {
            // It waits for its child, whose CPU time is not its own.
            case.parts.iter_mut().for_each(|parts| parts.waiting_for = None);
        }
        rows
    }

    /// The row of one figure.
    fn of(&self, name: &str, inherits: &Facts, invocations: &[&Invocation], used: &[Used]) -> Self {
        let values = used.iter().filter_map(|process| value_of(process.record, name));
        let values = sorted(&values.collect::<Vec<_>>());
        let end = |probability| quantile(&values, probability);
        let first = used.first().map(|process| process.record);
        let measured = first.and_then(|record| record.measurement(name).or(record.principal()));
        let mut ended = invocations.iter().filter(|invocation| !invocation.interrupted);
        let failed = ended.find(|invocation| invocation.error.is_some());
        Self {
            measurement: name.to_owned(),
            operation: measured.map_or(String::new(), |measured| measured.operation.clone()),
            unit: if name == MEMORY { Quantity::Bytes } else { Quantity::Nanoseconds },
            figure: Estimate::of(&values),
            range: end(0.1).zip(end(0.9)).map(|(low, high)| Interval { low, high }),
            processes: invocations.iter().map(|one| process(one, name, used, inherits)).collect(),
            percentiles: percentiles(name, used),
            error: failed.and_then(|invocation| invocation.error.clone()),
            stderr: failed.and_then(|invocation| invocation.stderr.clone()),
            ..self.clone()
        }
    }

    /// A row whose processes are the figures of one case in several runs.
    pub fn of_runs(runs: &[Self]) -> Option<Self> {
        let first = runs.first()?;
        let values: Vec<f64> = runs.iter().filter_map(|row| Some(row.figure?.value)).collect();
        Some(Self {
            figure: Estimate::of_independent(super::statistics::CONFIDENCE, &values),
            processes: Self::of_figures(values).processes,
            ..first.clone()
        })
    }

    /// A row whose processes have these figures, in rounds 1, 2 ….
    pub fn of_figures(figures: impl IntoIterator<Item = f64>) -> Self {
        let process = |(round, value)| Process {
            round,
            started_at: String::new(),
            outcome: ProcessOutcome::Used,
            value: Some(value),
        };
        Self { processes: (1..).zip(figures).map(process).collect(), ..Self::default() }
    }

    /// What identifies the case in any run: its program and parameters.
    pub fn key(&self) -> String {
        format!("{} {}", self.program, Value::from_iter(self.parameters.clone()))
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

fn process(invocation: &Invocation, name: &str, used: &[Used], inherits: &Facts) -> Process {
    let is_used = used.iter().any(|process| std::ptr::eq(process.invocation, invocation));
    let is_other = |record: &Record| !inherited_differently(inherits, record).is_empty();
    let outcome = match invocation.outcome {
        _ if invocation.interrupted => ProcessOutcome::Interrupted,
        Outcome::Measured if is_used => ProcessOutcome::Used,
        Outcome::Measured if invocation.record.as_ref().is_some_and(is_other) => {
            ProcessOutcome::Changed
        }
        Outcome::Measured => ProcessOutcome::Disturbed,
        Outcome::Failed => ProcessOutcome::Failed,
        Outcome::TimedOut => ProcessOutcome::TimedOut,
        Outcome::Refused => ProcessOutcome::Refused,
    };
    let Invocation { round, ref started_at, .. } = *invocation;
    let value = measured(invocation).and_then(|record| value_of(record, name));
    Process { round, started_at: started_at.clone(), outcome, value }
}

/// The percentiles of a measurement, if the median process has enough samples: the 99th percentile
/// of 20 samples is their maximum.
fn percentiles(name: &str, used: &[Used]) -> Percentiles {
    let over = |fewest: f64, percentile: fn(&Measurement) -> u64| {
        let count = median_of(used, |record| Some(record.measurement(name)?.count as f64))?;
        let figure = median_of(used, |record| {
            let sample = record.measurement(name)?;
            Some(percentile(sample) as f64 / sample.operations as f64)
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
pub fn cpu_ns(record: &Record) -> Option<f64> {
    let cpu = record.cpu.as_ref()?;
    Some(cpu.user_ns_per_operation + cpu.system_ns_per_operation)
}

/// The time of the work in an operation, from the fastest of many pieces: what disturbs a run does
/// not change it.
fn work_ns(record: &Record) -> Option<f64> {
    let work = record.work?;
    Some(work.units as f64 * work.ns_per_unit?)
}

fn switches(record: &Record) -> Option<f64> {
    let counts = record.switches?;
    Some(counts.voluntary_per_operation + counts.involuntary_per_operation)
}

/// The rows of every case of a run, the case's figure first; a case may have no process yet.
pub fn rows_of(manifest: &Manifest, run: &SavedRun) -> Vec<Vec<Row>> {
    let mut by_name = by_name(run);
    let inherits = inherits(run);
    let others = run.invocations.iter().map(|invocation| &invocation.case);
    let mut seen = BTreeSet::new();
    let names = run.description.cases.iter().chain(others).filter(|name| seen.insert(*name));
    let rows = names.map(|name| {
        let invocations = by_name.remove(&**name).unwrap_or_default();
        let known = case_of(manifest, run, name);
        let record = invocations.iter().find_map(|invocation| invocation.record.as_ref());
        let case = known.map_or(name, |case| &case.name);
        let named = Row {
            label: case.clone(),
            case: case.clone(),
            program: record.map_or(name, |record| &record.program).clone(),
            parameters: record.map(parameters).unwrap_or_default(),
            kind: match record {
                Some(record) => record.kind,
                None => known.and_then(|case| manifest.task_kind(case)),
            },
            ..Row::default()
        };
        Row::of_case(&named, &inherits, &invocations)
    });
    rows.collect()
}

/// The row of a case's figure.
pub fn row_of<'a>(rows: &'a [Vec<Row>], case: &str) -> Option<&'a Row> {
    named(rows, case, None)
}

/// The row of one of a case's measurements; that of its figure without a name.
pub fn named<'a>(rows: &'a [Vec<Row>], case: &str, measurement: Option<&str>) -> Option<&'a Row> {
    let rows = rows.iter().find(|rows| rows[0].case == case)?;
    rows.iter().find(|row| measurement.is_none_or(|name| row.measurement == name))
}

/// The invocations of a run by the name of their case.
pub fn by_name(run: &SavedRun) -> BTreeMap<&str, Vec<&Invocation>> {
    let mut by_name: BTreeMap<&str, Vec<&Invocation>> = BTreeMap::new();
    for invocation in &run.invocations {
        by_name.entry(&invocation.case).or_default().push(invocation);
    }
    by_name
}

/// The figure of each case of a run.
pub fn cases_of(manifest: &Manifest, run: &SavedRun) -> Vec<Row> {
    let rows = rows_of(manifest, run).into_iter().filter_map(|rows| rows.into_iter().next());
    rows.filter(|row| !row.processes.is_empty()).collect()
}

/// The manifest's case that this run calls `name`.
pub fn case_of<'a>(manifest: &'a Manifest, run: &SavedRun, name: &str) -> Option<&'a Case> {
    let detail = run.description.details.iter().find(|detail| detail.case == name);
    let known = detail.and_then(|detail| manifest.case_of(&detail.program, &detail.parameters));
    known.or_else(|| manifest.cases.iter().find(|case| case.name == name))
}

/// A process that measured, with its record.
#[derive(Clone, Copy)]
pub struct Used<'a> {
    pub invocation: &'a Invocation,
    pub record: &'a Record,
}

/// The processes of a case that measured, the last of each round.
pub fn all_measured<'a>(invocations: &[&'a Invocation]) -> Vec<Used<'a>> {
    let of_round = |invocation: &&'a Invocation| {
        Some((invocation.round, Used { invocation, record: measured(invocation)? }))
    };
    let rounds: BTreeMap<u32, Used> = invocations.iter().filter_map(of_round).collect();
    rounds.into_values().collect()
}

/// Those whose figures are used: the processes that nothing stopped or throttled, or else all that
/// measured. One that inherited something else than it should is another experiment.
pub fn used<'a>(inherits: &Facts, invocations: &[&'a Invocation]) -> Vec<Used<'a>> {
    let mut all = all_measured(invocations);
    all.retain(|process| inherited_differently(inherits, process.record).is_empty());
    let quiet = all.iter().copied().filter(|process| !is_disturbed(process.invocation));
    let quiet: Vec<Used> = quiet.collect();
    if quiet.is_empty() { all } else { quiet }
}

/// The record of an invocation that measured.
pub fn measured(invocation: &Invocation) -> Option<&Record> {
    let measured = invocation.outcome == Outcome::Measured && !invocation.interrupted;
    invocation.record.as_ref().filter(|_| measured)
}

/// Whether a signal stopped the process or a CPU quota throttled it while it measured.
fn is_disturbed(invocation: &Invocation) -> bool {
    let slowed = |record: &Record| record.interference.throttled_periods.unwrap_or([0; 2])[0] > 0;
    invocation.stopped_ns.unwrap_or(0) > 0 || invocation.record.as_ref().is_some_and(slowed)
}

/// The median over processes of a figure of their records.
pub fn median_of(used: &[Used], figure: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    median(&used.iter().filter_map(|process| figure(process.record)).collect::<Vec<_>>())
}

/// How far the kernel's count of CPU time may differ from the wall time of a process that never
/// waits, as a share: the two are not read at the same moment.
const RESOLUTION: f64 = 0.01;

/// The parts of an operation's time, in nanoseconds: elapsed = user + kernel + waiting − overlap.
/// Elapsed and CPU time are medians over processes. The kernel counts the CPU time of the whole
/// process, so they cover the same span: all phases of a lap, and the time between laps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    pub fn of(used: &[Used]) -> Option<Self> {
        let elapsed_ns = median_of(used, elapsed_ns)?;
        let all_ns = median_of(used, cpu_ns)?;
        let (share, error) = user_share(used);
        let user_ns = all_ns * share;
        let rest = elapsed_ns - all_ns;
        let rest = if rest.abs() <= RESOLUTION * elapsed_ns { 0.0 } else { rest };
        // On one CPU nothing overlaps; any difference comes from the clocks.
        let can_overlap = used.iter().any(|process| process.record.affinity.len() != 1);
        let waiting_ns = rest.max(0.0);
        Some(Self {
            elapsed_ns,
            user_ns,
            kernel_ns: all_ns - user_ns,
            division_error_ns: error.map(|error| all_ns * error),
            waiting_ns,
            overlap_ns: if can_overlap { (-rest).max(0.0) } else { 0.0 },
            waiting_for: WaitingFor::of(used, waiting_ns),
            idle_entries: median_of(used, |record| idle_entries(record.waiting.as_ref()?)),
            interrupts: median_of(used, |record| interrupts(record.waiting.as_ref()?)),
            crossing_share: median_of(used, |record| record.switches?.cross_cpu_share),
        })
    }
}

/// The share of user space in the CPU time of these processes together, and its error: of a ratio of
/// two sums, by how far each process is from it (Cochran, *Sampling Techniques*, 6.4). Where all
/// ticks fell on one side they show no error.
fn user_share(used: &[Used]) -> (f64, Option<f64>) {
    let times = |process: &Used| {
        let operations = operations(process.record)?;
        let user_ns = process.record.cpu.as_ref()?.user_ns_per_operation;
        Some((user_ns * operations, cpu_ns(process.record)? * operations))
    };
    let times: Vec<(f64, f64)> = used.iter().filter_map(times).collect();
    let all_ns: f64 = times.iter().map(|(_, all_ns)| all_ns).sum();
    if all_ns <= 0.0 {
        return (0.0, None);
    }
    let share = times.iter().map(|(user_ns, _)| user_ns).sum::<f64>() / all_ns;
    let squares: f64 =
        times.iter().map(|(user_ns, all_ns)| (user_ns - share * all_ns).powi(2)).sum();
    let count = times.len() as f64;
    let error = DEVIATE * (squares * count / (count - 1.0)).sqrt() / all_ns;
    let is_known = times.len() >= MIN_SAMPLE && share > 0.0 && share < 1.0;
    (share, is_known.then_some(error))
}

impl WaitingFor {
    /// What explains this waiting; `None` if no record has the reasons.
    ///
    /// The kernel's counts overlap: a task woken for an idle CPU counts as runnable until the CPU
    /// is awake, and time stolen from a sleeping CPU is idle time. So each reason only explains
    /// what those before it leave.
    fn of(used: &[Used], waiting_ns: f64) -> Option<Self> {
        let mut rest_ns = waiting_ns;
        let mut explain = |time_ns: fn(&Record) -> Option<f64>| {
            let explained = median_of(used, time_ns)?.min(rest_ns);
            rest_ns -= explained;
            Some(explained)
        };
        let idle_ns = explain(|record| record.waiting.as_ref()?.idle_ns_per_operation)?;
        let waking_ns = explain(waking_ns)?;
        let queued_ns = explain(|record| record.waiting.as_ref()?.runnable_ns_per_operation)?;
        let stolen_ns = explain(|record| {
            Some(record.interference.steal_ns.unwrap_or(0) as f64 / operations(record)?)
        })?;
        Some(Self { idle_ns, waking_ns, queued_ns, stolen_ns, rest_ns })
    }
}

/// How often a CPU entered an idle state, per operation.
pub fn idle_entries(waiting: &Waiting) -> Option<f64> {
    let states = waiting.idle_states.as_ref()?;
    Some(states.iter().map(|state| state.entries_per_operation).sum())
}

/// How often a CPU interrupted another, per operation.
pub fn interrupts(waiting: &Waiting) -> Option<f64> {
    Some(waiting.reschedules_per_operation? + waiting.calls_per_operation?)
}

/// CPU time per operation that was neither in an idle state nor a task's, over all CPUs: kernel
/// work before and after a CPU sleeps. 0 if no CPU went idle.
fn waking_ns(record: &Record) -> Option<f64> {
    let waiting = record.waiting.as_ref()?;
    if idle_entries(waiting)? == 0.0 {
        return Some(0.0);
    }
    let idle_ns: f64 =
        waiting.idle_states.iter().flatten().map(|state| state.ns_per_operation).sum();
    let others = record.interference.others_cpu_ns.unwrap_or(0) as f64 / operations(record)?;
    let all = record.affinity.len() as f64 * elapsed_ns(record)?;
    Some((all - idle_ns - cpu_ns(record)? - others).max(0.0))
}

/// Operations of the principal measurement.
pub fn operations(record: &Record) -> Option<f64> {
    let principal = record.principal()?;
    Some(principal.count as f64 * principal.operations as f64)
}

/// Wall time of the span that the CPU time covers, per operation of the principal measurement.
fn elapsed_ns(record: &Record) -> Option<f64> {
    Some(record.interference.wall_ns? as f64 / operations(record)?)
}

/// A part of a task's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryPart {
    /// Its name.
    pub name: String,
    /// Bytes per task: the slope over the number of tasks; the median over processes.
    pub bytes_per_task: Estimate,
}

/// Bytes per task in one sweep.
type PerTask = fn(&[LedgerPoint]) -> Option<f64>;

/// The memory of a task: four parts, each byte in one of them only, their sum, the drop in available
/// memory, and the difference of the two.
const MEMORY_PARTS: [(&str, PerTask); 7] = [
    ("user memory", |points| slope_of(points, |point| point.proportional_bytes)),
    ("page tables", |points| slope_of(points, |point| point.page_table_bytes)),
    ("kernel stacks", |points| slope_of(points, |point| point.kernel_stack_bytes)),
    ("slab", |points| slope_of(points, |point| point.unreclaimable_slab_bytes)),
    ("= sum", sum),
    ("unexplained", |points| Some(drop_of_available(points)? - sum(points)?)),
    ("= drop of available", drop_of_available),
];

/// The memory of a task in these processes, each of which swept the number of tasks. Empty without
/// sweeps.
pub fn memory(used: &[Used]) -> Vec<MemoryPart> {
    let part = |(name, per_task): (&str, PerTask)| {
        let sweeps = used.iter().filter_map(|process| process.record.ledger.as_deref());
        let bytes_per_task = Estimate::of(&sweeps.filter_map(per_task).collect::<Vec<_>>())?;
        Some(MemoryPart { name: name.to_owned(), bytes_per_task })
    };
    MEMORY_PARTS.into_iter().filter_map(part).collect()
}

/// The memory of a task in one sweep, all parts together, in bytes; `None` if a
/// part is unknown or lost in what other processes allocate and free.
pub fn per_task(points: &[LedgerPoint]) -> Option<f64> {
    sum(points).filter(|bytes| *bytes > 0.0)
}

fn sum(points: &[LedgerPoint]) -> Option<f64> {
    MEMORY_PARTS[..4].iter().map(|(_, per_task)| per_task(points)).sum()
}

/// Available memory is `MemAvailable` plus the free pages on per-CPU lists, which it omits and from
/// which a process allocates first.
fn drop_of_available(points: &[LedgerPoint]) -> Option<f64> {
    Some(-slope_of(points, |point| Some(point.available_bytes? + point.listed_free_bytes?))?)
}

/// The slope of a figure over the number of tasks, in bytes per task; `None` if
/// a point lacks it.
fn slope_of(points: &[LedgerPoint], bytes: fn(&LedgerPoint) -> Option<u64>) -> Option<f64> {
    let point = |point: &LedgerPoint| Some((point.tasks as f64, bytes(point)? as f64));
    slope(&points.iter().map(point).collect::<Option<Vec<_>>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn parts_of(sweeps: [Vec<LedgerPoint>; 2]) -> Vec<(String, i64)> {
        let mut run = crate::fixtures::case("memory", [1.0, 1.0]);
        for (invocation, sweep) in run.iter_mut().zip(sweeps) {
            invocation.record.as_mut().unwrap().ledger = Some(sweep);
        }
        let run: Vec<_> = run.iter().collect();
        let whole = |part: MemoryPart| (part.name, part.bytes_per_task.value.round() as i64);
        memory(&used(&Facts::new(), &run)).into_iter().map(whole).collect()
    }

    /// Of processes with 1 to 3 ticks of four in user space.
    #[test]
    fn few_ticks_of_many_processes_are_one_division() {
        let mut run = crate::fixtures::case("ring", [1.0; 8]);
        for (invocation, ticks) in run.iter_mut().zip([1.0, 2.0, 3.0, 1.0, 1.0, 2.0, 1.0, 1.0]) {
            let cpu = invocation.record.as_mut().unwrap().cpu.as_mut().unwrap();
            (cpu.user_ns_per_operation, cpu.system_ns_per_operation) = (ticks, 4.0 - ticks);
        }
        let run: Vec<_> = run.iter().collect();
        let parts = |count: usize| Parts::of(&used(&Facts::new(), &run[..count])).unwrap();
        let found = parts(8);
        // 12 ticks of 32; the median process has one of four.
        assert!((found.user_ns / (found.user_ns + found.kernel_ns) - 0.375).abs() < 1e-9);
        // Squares of distances from 1.5 ticks: 4.0.
        let error = DEVIATE * (4.0_f64 * 8.0 / 7.0).sqrt() / 32.0 * 4.0;
        assert!((found.division_error_ns.unwrap() - error).abs() < 1e-9, "{found:?}");
        assert_eq!(parts(4).division_error_ns, None);
    }

    #[test]
    fn the_parts_add_up_and_the_rest_is_unexplained() {
        let expected = [
            ("user memory", 10),
            ("page tables", 20),
            ("kernel stacks", 30),
            ("slab", 40),
            ("= sum", 100),
            ("unexplained", 1),
            ("= drop of available", 101),
        ];
        assert_eq!(
            parts_of([sweep(2), sweep(0)]),
            expected.map(|(name, bytes)| (name.to_owned(), bytes))
        );
    }

    #[test]
    fn a_sum_without_one_of_its_parts_is_no_figure() {
        let mut points = sweep(0);
        points[1].page_table_bytes = None;
        assert_eq!(per_task(&points), None);
        let names: Vec<_> =
            parts_of([points.clone(), points]).into_iter().map(|(name, _)| name).collect();
        assert!(!names.contains(&"= sum".to_owned()) && names.contains(&"slab".to_owned()));
    }
}
