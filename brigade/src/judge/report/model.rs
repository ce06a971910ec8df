//! The report as a value, of one run or several side by side; renderers read
//! nothing else. The committed schema, `brigade/report.schema.json`, is
//! generated from these types; a test compares the two. Times are in
//! nanoseconds per operation unless a name says otherwise.

use crate::judge::statistics::{Estimate, Modes};
pub use harness::record::Distance;
use serde::{Deserialize, Serialize};

use crate::judge::environment::Difference;
use crate::judge::ledger::Quantity;
use crate::judge::repeat::{Repeat, State};
use crate::judge::taken::Taken;
pub use crate::manifest::TaskKind;
pub use crate::store::environment::CpuPlace;
use crate::store::invocation::RecordedCase;
use crate::store::results::Skipped;

/// Version of [`Report`]'s schema, `major.minor`: the minor number rises when a
/// field is added, the major one when an old reader would misunderstand.
pub const SCHEMA_VERSION: &str = "1.1";

/// The report of one run, or of several side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// Schema version of this report, `major.minor`.
    pub schema_version: String,
    /// The runs, in the order in which they were named.
    pub runs: Vec<RunSummary>,
    /// How the conditions of each run but the first differ from the first's.
    pub environment_differences: Vec<Vec<Difference>>,
    /// The first run's screen; empty if the manifest defines none.
    pub screen: Vec<ScreenPart>,
    /// Sentences about ratios of the first run, the most surprising first.
    pub sentences: Vec<Sentence>,
    /// How the first run's times compare with those of recorded machines of its kind.
    #[serde(default)]
    pub recorded: Option<String>,
    /// The figures to read first.
    pub headline: Vec<FigureRow>,
    /// The kinds of tasks that the first run measured.
    pub kinds: Vec<KindFigures>,
    /// The cases, by the question they answer.
    pub groups: Vec<Group>,
    /// Cases of CPU pairs, for each run and each way of handing over.
    pub pairs: Vec<PairMap>,
}

/// A run, without its cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// Its folder's name.
    pub name: String,
    /// A name for this kind of machine, such as `amd-epyc-25-17-2cpu`.
    pub label: String,
    /// The machine in one line: CPUs, caches, hypervisor.
    pub machine: String,
    /// All conditions of the figures, in one sentence.
    pub environment: String,
    /// When it started: UTC, RFC 3339.
    pub started_at: String,
    /// The version of Brigade.
    pub version: String,
    /// The profile's name.
    pub profile: String,
    /// The command that repeats it; empty if not recorded.
    pub command: Vec<String>,
    /// Seed for the order of the cases.
    pub seed: u64,
    /// How complete it is.
    pub progress: RunProgress,
    /// The cases that could not run.
    pub skipped: Vec<Skipped>,
    /// Its precision and disturbances.
    pub quality: Quality,
    /// The state of the machine; `null` for a run without references.
    pub state: Option<State>,
    /// How it compares with other runs of this build on this machine; `null` if there are none.
    pub repeat: Option<Repeat>,
    /// Cases whose figure changed since the last run on this machine by more than runs of one build
    /// differ, with the ratio. `other` is that run.
    pub moved: Vec<FigureRow>,
}

/// How complete a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunProgress {
    /// Invocations that ended.
    pub ended: usize,
    /// Invocations that were interrupted.
    pub interrupted: usize,
    /// Invocations of the common rounds.
    pub planned: usize,
    /// Invocations still to run.
    pub remaining: usize,
    /// Whether nothing remains to run.
    pub is_complete: bool,
    /// Rounds that run every case.
    pub rounds: u32,
    /// Whether further rounds follow the common ones.
    pub adaptive: bool,
    /// Which side of a comparison this is; `null` if none.
    pub side: Option<String>,
    /// Whether it can be resumed.
    pub resumable: bool,
}

/// The precision and disturbances of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Quality {
    /// The target for the half-width of an interval, in percent.
    pub target_percent: f64,
    /// Cases with measurements.
    pub cases: usize,
    /// Cases whose principal measurement is within the target.
    pub within_target: usize,
    /// The median of all half-widths, in percent; `null` unless more than half of the cases have
    /// an interval.
    pub median_half_width_percent: Option<f64>,
    /// The median number of processes per case; `null` without times.
    pub processes: Option<f64>,
    /// How many independent processes they are worth: processes that run in close succession
    /// resemble each other.
    pub independent_processes: Option<f64>,
    /// Cases that are not within the target.
    pub wide: Vec<String>,
    /// Disturbed or unusable invocations.
    pub disturbed: usize,
    /// What kept the tasks of all cases from running; `null` if no record contains that.
    pub taken: Option<Taken>,
    /// Time stolen by the hypervisor during all laps, on all CPUs, in seconds;
    /// `null` if no record contains it.
    pub steal_seconds: Option<f64>,
    /// Flags of `brigade run` that make the intervals narrower, if any do.
    pub remedy: Option<String>,
}

/// A figure of a case, or of one case divided by another or minus it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FigureRow {
    /// A description; `null` if the names of the cases suffice.
    pub text: Option<String>,
    /// The case, with the measurement unless that is the principal one.
    pub case: String,
    /// The other case, by which it is divided or which is subtracted.
    pub other: Option<String>,
    /// The unit of the figure.
    pub unit: Quantity,
    /// One figure per run, estimated from the rounds of both cases; `null` if a run lacks one.
    pub figures: Vec<Option<Estimate>>,
    /// Conditions that differed between the two cases in the first run with both, such as `same-cpu
    /// / free` or `tasks 500 / 2`.
    pub unlike: Vec<String>,
}

/// A part of the first screen: one activity and its costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScreenPart {
    /// The activity.
    pub heading: String,
    /// What one figure measures, such as one hop.
    pub of: String,
    /// The unit of the figures.
    pub unit: Quantity,
    /// Blocks of rows that are compared with one another.
    pub blocks: Vec<ScreenBlock>,
}

/// Rows of the first screen that are divided by one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScreenBlock {
    /// What the rows have in common; empty if the heading says it.
    pub name: String,
    /// The rows.
    pub rows: Vec<ScreenRow>,
}

/// A row of the first screen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScreenRow {
    /// Its label.
    pub text: String,
    /// The case.
    pub case: String,
    /// The kind of its tasks.
    pub kind: Option<TaskKind>,
    /// The figure.
    pub figure: Estimate,
    /// The figure divided by that of the block's reference, paired by round.
    pub ratio: Option<Estimate>,
}

/// A sentence about a ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sentence {
    /// The sentence, with `{}` for the ratio.
    pub text: String,
    /// The ratio.
    pub ratio: Estimate,
}

/// The costs of one kind of task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KindFigures {
    /// Its label.
    pub text: String,
    /// The version of its runtime; `null` if that is the kernel.
    pub version: Option<String>,
    /// The time of a hand-over, in nanoseconds.
    pub hop_ns: Option<Estimate>,
    /// Context switches per hand-over, counted by the kernel.
    pub switches_per_hop: Option<f64>,
    /// Time to create a task, run it and wait for its end, in nanoseconds.
    pub create_ns: Option<Estimate>,
    /// Memory per task, in bytes.
    pub memory_bytes: Option<Estimate>,
}

/// The cases that answer one question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Group {
    /// The group's name in `suite.toml`; empty for cases of no group.
    pub name: String,
    /// The question.
    pub question: String,
    /// A hint for readers of the answer, without figures.
    pub note: Option<String>,
    /// Its cases compared with one another and with their baselines.
    pub comparisons: Vec<FigureRow>,
    /// Whether the percentiles of single operations answer the question.
    pub tails: bool,
    /// The cases.
    pub cases: Vec<Case>,
}

/// A case in every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Case {
    /// What identifies it.
    pub key: RecordedCase,
    /// Its name, as in `--case`.
    pub name: String,
    /// A title for readers who do not know it.
    pub title: String,
    /// The kind of its tasks; `null` if nothing is handed over or created, or the manifest does not
    /// list the case.
    pub kind: Option<TaskKind>,
    /// Its estimate in each run; `null` if a run lacks it.
    pub estimates: Vec<Option<CaseEstimate>>,
}

impl Case {
    /// Its estimate in the first run.
    pub fn first(&self) -> Option<&CaseEstimate> {
        self.estimates.first()?.as_ref()
    }
}

/// Times of an operation between pairs of CPUs: the cases of a run that differ only in these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PairMap {
    /// The group of the cases.
    pub group: String,
    /// The index of the run.
    pub run: usize,
    /// The cases' common title, without CPUs.
    pub name: String,
    /// What one operation is, such as `switch`.
    pub operation: String,
    /// The kind of tasks.
    pub kind: Option<TaskKind>,
    /// The CPUs, ordered so that near ones are neighbours.
    pub cpus: Vec<CpuPlace>,
    /// The pairs with measurements.
    pub pairs: Vec<PairTime>,
    /// The pairs by distance between their CPUs, nearest first.
    pub distances: Vec<DistanceTime>,
}

/// The time of an operation between two CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PairTime {
    /// The case.
    pub case: String,
    /// The CPUs.
    pub cpus: [usize; 2],
    /// Their distance; `null` if the kernel does not report it.
    pub distance: Option<Distance>,
    /// The time of an operation, in nanoseconds.
    pub time_ns: Estimate,
}

/// The time of an operation between CPUs at one distance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DistanceTime {
    /// The distance; `null` where the kernel does not report it.
    pub distance: Option<Distance>,
    /// The number of pairs with measurements.
    pub pairs: usize,
    /// The median over rounds of the median of these pairs in a round, in
    /// nanoseconds.
    pub time_ns: Estimate,
    /// The times of the fastest and the slowest pair, in nanoseconds.
    pub range_ns: [f64; 2],
}

impl Group {
    /// The group without its cases of CPU pairs, which are shown together.
    pub fn singles(&self) -> Self {
        let mut group = self.clone();
        group.cases.retain(|case| case.key.pair().is_none());
        group
    }
}

/// The estimate of one case in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseEstimate {
    /// The placement that the program recorded.
    pub placement: Option<String>,
    /// The invocations, in the order in which they ended.
    pub invocations: Vec<InvocationSummary>,
    /// The first error, if there was one with a message.
    pub first_error: Option<String>,
    /// What kept its tasks from running; `null` if no record contains that.
    pub taken: Option<Taken>,
    /// What exceeded its threshold in one of the most disturbed invocations.
    pub worst_disturbance: Vec<String>,
    /// One estimate per measurement, the principal one first; empty if nothing
    /// was measured.
    pub measurements: Vec<MeasurementEstimate>,
    /// Where the time of an operation of the principal measurement goes; `null`
    /// if no record contains CPU time.
    pub attribution: Option<Attribution>,
    /// Time to create a task, run it and wait for its end; `null` unless the end is measured
    /// separately.
    pub whole_ns: Option<Estimate>,
    /// Memory per task by part, of programs that sweep the number of tasks.
    pub memory: Vec<MemoryPart>,
}

/// The outcome of one invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InvocationSummary {
    /// The round, counted from 1.
    pub round: u32,
    /// Which attempt at the case in this round, counted from 1.
    pub attempt: u32,
    /// When the process started: UTC, RFC 3339.
    pub started_at: String,
    /// Its outcome.
    pub outcome: JudgedOutcome,
    /// Whether the estimates use it.
    pub is_used: bool,
}

/// The outcome of an invocation, and how far its measurement can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum JudgedOutcome {
    /// Measured, with no sign of a disturbance.
    Clean,
    /// Measured, but disturbed.
    Disturbed,
    /// Measured, but too disturbed to be used.
    Unusable,
    /// It failed.
    Failed,
    /// Killed at the case's time-out.
    TimedOut,
    /// Refused because of a limit.
    Refused,
    /// Ended by the runner, which was interrupted.
    Interrupted,
}

/// The estimate of one measurement of a case, per operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MeasurementEstimate {
    /// The measurement's name in the record, such as `iteration`.
    pub name: String,
    /// What one operation is, such as `hop`.
    pub operation: String,
    /// Operations in one sample.
    pub operations: u64,
    /// The mean in each of the case's invocations, in their order; `null` if
    /// one did not measure this.
    pub values_ns: Vec<Option<f64>>,
    /// The estimate over the values used.
    pub time_ns: Estimate,
    /// The two modes of the values, if they have two.
    pub modes: Option<Modes>,
    /// The outlier of a small sample, if there is one.
    pub outlier_ns: Option<f64>,
    /// Percentiles of the samples of an invocation, per operation: medians over invocations.
    /// Samples of many operations average over them.
    pub percentiles: Percentiles,
    /// CPU time of the whole process, user and kernel: median over invocations. Only the principal
    /// measurement has it.
    pub cpu_ns: Option<f64>,
    /// Kernel context switches per operation: median over invocations. Only the
    /// principal measurement has them.
    pub switches: Option<f64>,
}

/// Percentiles, in nanoseconds per operation; `null` if invocations have too few samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

/// The parts of an operation's time, in nanoseconds: of one invocation, where elapsed = user +
/// kernel + waiting − overlap, or each estimated over invocations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Parts<T> {
    /// Wall time from the start of the first lap to the end of the last one, including all phases
    /// of a lap and the time between laps.
    pub elapsed_ns: T,
    /// CPU time in user space.
    pub user_ns: T,
    /// CPU time in the kernel.
    pub kernel_ns: T,
    /// Wall time in which no thread of the process ran, unless threads overlapped at other times.
    pub waiting_ns: T,
    /// CPU time beyond the wall time: threads ran simultaneously.
    pub overlap_ns: T,
    /// Reasons for the waiting; `null` if the kernel does not report them.
    pub waiting_for: Option<WaitingFor<T>>,
}

/// Reasons for an operation's waiting, in nanoseconds. Within one invocation they add up to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WaitingFor<T> {
    /// All CPUs were in an idle state.
    pub idle_ns: T,
    /// CPUs were entering or leaving an idle state: neither in one nor running
    /// a task.
    pub idle_transition_ns: T,
    /// A task was ready and waited for its CPU.
    pub runnable_ns: T,
    /// The hypervisor ran others.
    pub stolen_ns: T,
    /// The remainder.
    pub rest_ns: T,
}

/// Where the time of an operation goes, by medians over invocations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attribution {
    /// The parts of the time.
    pub parts: Parts<Estimate>,
    /// How often a CPU entered an idle state.
    pub idle_entries: Option<f64>,
    /// How often a CPU interrupted another to run something.
    pub interrupts: Option<f64>,
    /// Share of traced hops whose ends ran on different CPUs, 0 to 1.
    pub crossing_share: Option<f64>,
}

/// A part of a task's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryPart {
    /// Its name.
    pub name: String,
    /// Bytes per task: the slope over the number of tasks, over
    /// processes.
    pub bytes_per_task: Estimate,
}

/// The reasons for skipped cases, each with the names of its cases.
pub fn by_reason(skipped: &[Skipped]) -> Vec<(&str, String)> {
    let cases = by_key(skipped.iter().map(|of| (of.reason.as_str(), of.case.as_str())));
    cases.into_iter().map(|(reason, cases)| (reason, cases.join(", "))).collect()
}

/// Items by key, in the order of the first of each key.
pub fn by_key<K: PartialEq, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut found: Vec<(K, Vec<T>)> = Vec::new();
    for (key, item) in items {
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, items)) => items.push(item),
            None => found.push((key, vec![item])),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_given_once_with_all_of_its_cases() {
        let skipped =
            |case: &str, reason: &str| Skipped { case: case.into(), reason: reason.into() };
        let all = [skipped("a", "no Go"), skipped("b", "no io_uring"), skipped("c", "no Go")];
        assert_eq!(by_reason(&all), [("no Go", "a, c".into()), ("no io_uring", "b".into())]);
        assert_eq!(by_reason(&[]), []);
    }
}
