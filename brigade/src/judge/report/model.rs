//! The report as a value: what a run, or several side by side, say. Renderers
//! read nothing else. The committed schema, `brigade/report.schema.json`, is
//! generated from these types and a test compares the two.
//!
//! Times are in nanoseconds per operation unless a name says otherwise.

use crate::judge::statistics::{Estimate, Modes};
pub use harness::record::Distance;
use serde::{Deserialize, Serialize};

use crate::judge::environment::Difference;
use crate::judge::interference::Trust;
use crate::judge::ledger::Quantity;
use crate::judge::prove::Proof;
use crate::judge::repeat::{Repeat, State};
use crate::judge::taken::Taken;
pub use crate::manifest::TaskKind;
pub use crate::store::environment::CpuPlace;
use crate::store::invocation::RecordedCase;
use crate::store::results::Skipped;

/// Version of [`Report`]'s schema, `major.minor`: the minor number rises when a
/// field is added, the major one when an old reader would misunderstand.
pub const SCHEMA_VERSION: &str = "1.1";

/// What one run, or several side by side, say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// Schema version of this report, `major.minor`.
    pub schema_version: String,
    /// The runs, in the order in which they were named.
    pub runs: Vec<RunSummary>,
    /// In what the conditions of each run but the first differ from the first's.
    ///
    pub environment_differences: Vec<Vec<Difference>>,
    /// What the first run's screen shows; empty where the manifest has none.
    pub screen: Vec<ScreenPart>,
    /// Sentences about ratios of the first run, the most surprising first.
    pub sentences: Vec<Sentence>,
    /// How the first run's times compare with those of recorded machines of its kind.
    #[serde(default)]
    pub recorded: Option<String>,
    /// The figures to read first.
    pub headline: Vec<FigureRow>,
    /// The kinds of tasks of which the first run has a figure.
    pub kinds: Vec<KindFigures>,
    /// The cases, by the question that they answer.
    pub groups: Vec<Group>,
    /// Cases of pairs of CPUs, for each run and each way of handing over.
    pub pairs: Vec<PairMap>,
}

/// A run, without its cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// The name of its folder.
    pub name: String,
    /// A name for this kind of machine, such as `amd-epyc-25-17-2cpu`.
    pub label: String,
    /// The machine in one line: CPUs, caches, whether it is virtual.
    pub machine: String,
    /// Everything that the figures hold for, in one sentence.
    pub environment: String,
    /// When it was started: UTC, RFC 3339.
    pub started_at: String,
    /// The version of Brigade that made it.
    pub version: String,
    /// The profile's name.
    pub profile: String,
    /// What to type for another run like it; empty where that is not recorded.
    pub command: Vec<String>,
    /// Seed of the order of the cases.
    pub seed: u64,
    /// How far it came.
    pub progress: RunProgress,
    /// The cases that could not run.
    pub skipped: Vec<Skipped>,
    /// How precise and how disturbed it is.
    pub quality: Quality,
    /// The proof of the instrument that the run ended with, if it did.
    pub proof: Option<Proof>,
    /// The state of the machine; `null` where the run has no references.
    pub state: Option<State>,
    /// How runs of this build on this machine compare; `null` where there is no other.
    pub repeat: Option<Repeat>,
    /// Cases whose figure differs from that of the last run on this machine by more than runs
    /// of one build do: how many times as large it is. `other` is that run.
    pub moved: Vec<FigureRow>,
}

/// How far a run came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunProgress {
    /// Invocations that came to their end.
    pub ended: usize,
    /// Invocations that were interrupted.
    pub interrupted: usize,
    /// Invocations of the common rounds.
    pub planned: usize,
    /// Invocations that are still to come.
    pub remaining: usize,
    /// Whether nothing is to come.
    pub is_complete: bool,
    /// Rounds of every case.
    pub rounds: u32,
    /// Whether further rounds follow the common ones.
    pub adaptive: bool,
    /// Which side of a comparison this is; `null` for a run of its own.
    pub side: Option<String>,
    /// Whether it can go on where it was.
    pub resumable: bool,
}

/// How precise and how disturbed a run is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Quality {
    /// The half-width of an interval that is narrow enough, in percent.
    pub target_percent: f64,
    /// Cases that measured.
    pub cases: usize,
    /// Those of them whose principal measurement is within the target.
    pub within_target: usize,
    /// The median of all half-widths, in percent; `null` without an interval.
    pub median_half_width_percent: Option<f64>,
    /// Processes of a case, in the median of the cases; `null` without times.
    pub processes: Option<f64>,
    /// How many independent processes they are worth, since those that ran soon after one
    /// another resemble each other.
    pub independent_processes: Option<f64>,
    /// The names of the cases that are not within the target.
    pub wide: Vec<String>,
    /// Invocations that were disturbed or unusable.
    pub disturbed: usize,
    /// What kept the tasks of all cases from running; `null` if no record tells.
    pub taken: Option<Taken>,
    /// Time that the hypervisor gave to others during all laps, on all CPUs, in
    /// seconds; `null` where no record has it.
    pub steal_seconds: Option<f64>,
    /// What makes the intervals narrower: flags of `brigade run`, if some do.
    pub remedy: Option<String>,
}

/// A figure of a case, or of one case over or minus another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FigureRow {
    /// What it is a figure of, in words; `null` where the names of the cases say it.
    pub text: Option<String>,
    /// The case, with the measurement if that is not the principal one.
    pub case: String,
    /// The case that it is divided by, or that is subtracted from it.
    pub other: Option<String>,
    /// What the figure counts.
    pub unit: Quantity,
    /// One for each run, estimated from the rounds that both cases have; `null` where a
    /// run lacks one.
    pub figures: Vec<Option<Estimate>>,
    /// Conditions under which the two cases were not measured alike in the first run that
    /// has both, such as `same-cpu / free` or `tasks 500 / 2`.
    pub unlike: Vec<String>,
}

/// A part of the first screen: what one does, and what that costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScreenPart {
    /// What is done.
    pub heading: String,
    /// What one figure is of.
    pub of: String,
    /// What the figures count.
    pub unit: Quantity,
    /// Rows that are compared with one another.
    pub blocks: Vec<ScreenBlock>,
}

/// Rows of the first screen that are divided by one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScreenBlock {
    /// What the rows have in common; nothing where the heading says it.
    pub name: String,
    /// The rows.
    pub rows: Vec<ScreenRow>,
}

/// A row of the first screen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScreenRow {
    /// What it is called.
    pub text: String,
    /// The case.
    pub case: String,
    /// What its tasks are.
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
    /// The sentence, with `{}` for how many times.
    pub text: String,
    /// The ratio.
    pub ratio: Estimate,
}

/// What a kind of task costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KindFigures {
    /// What it is called.
    pub text: String,
    /// The version of what runs it; `null` where that is the kernel.
    pub version: Option<String>,
    /// The time of a hand-over, in nanoseconds.
    pub hop_ns: Option<Estimate>,
    /// The kernel's context switches for each of them.
    pub switches_per_hop: Option<f64>,
    /// The time to create one, run it and wait for its end, in nanoseconds.
    pub create_ns: Option<Estimate>,
    /// What one holds, in bytes.
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
    /// What a reader should know about the answer, without figures.
    pub note: Option<String>,
    /// Its cases compared with one another and with their baselines.
    pub comparisons: Vec<FigureRow>,
    /// Whether the answer is in the percentiles of single operations.
    pub tails: bool,
    /// The cases.
    pub cases: Vec<Case>,
}

/// A case in every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Case {
    /// What it is.
    pub key: RecordedCase,
    /// What `--case` calls it.
    pub name: String,
    /// What a stranger would call it.
    pub title: String,
    /// What its tasks are; `null` where nothing is handed over or created, or the
    /// manifest does not know it.
    pub kind: Option<TaskKind>,
    /// What is estimated of it, for each run; `null` where a run lacks it.
    pub estimates: Vec<Option<CaseEstimate>>,
}

impl Case {
    /// What the first run says of it.
    pub fn first(&self) -> Option<&CaseEstimate> {
        self.estimates.first()?.as_ref()
    }
}

/// What an operation takes between pairs of CPUs: the cases of a run that differ in nothing
/// but these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PairMap {
    /// The name of the group that has the cases.
    pub group: String,
    /// The index of the run.
    pub run: usize,
    /// What the cases are called, without their CPUs.
    pub name: String,
    /// What one operation is, such as `switch`.
    pub operation: String,
    /// What the tasks are.
    pub kind: Option<TaskKind>,
    /// The CPUs, those that are near one another side by side.
    pub cpus: Vec<CpuPlace>,
    /// The pairs that measured.
    pub pairs: Vec<PairTime>,
    /// The pairs by how far their CPUs are apart, the nearest first.
    pub distances: Vec<DistanceTime>,
}

/// What an operation takes between two CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PairTime {
    /// The case.
    pub case: String,
    /// The CPUs.
    pub cpus: [usize; 2],
    /// How far they are apart; `null` where the kernel does not report it.
    pub distance: Option<Distance>,
    /// The time of an operation, in nanoseconds.
    pub time_ns: Estimate,
}

/// What an operation takes between CPUs that are so far apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DistanceTime {
    /// The distance; `null` where the kernel does not report it.
    pub distance: Option<Distance>,
    /// How many pairs measured.
    pub pairs: usize,
    /// The median of these pairs in a round, over rounds, in nanoseconds.
    pub time_ns: Estimate,
    /// The times of the quickest pair and the slowest one, in nanoseconds.
    pub range_ns: [f64; 2],
}

impl Group {
    /// The group without its cases of pairs of CPUs, which are shown together.
    pub fn singles(&self) -> Self {
        let mut group = self.clone();
        group.cases.retain(|case| case.key.pair().is_none());
        group
    }
}

/// What the invocations of one case in one run say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseEstimate {
    /// The placement that the program recorded, if it did.
    pub placement: Option<String>,
    /// The invocations, in the order in which they ended.
    pub invocations: Vec<InvocationSummary>,
    /// What went wrong first, if anything did and it left a message.
    pub first_error: Option<String>,
    /// What kept its tasks from running; `null` if no record tells.
    pub taken: Option<Taken>,
    /// What was over its threshold in one of the most disturbed invocations.
    pub worst_disturbance: Vec<String>,
    /// One estimate per measurement, the principal one first; none if nothing
    /// was measured.
    pub measurements: Vec<MeasurementEstimate>,
    /// Where the time of an operation of the principal measurement goes; `null`
    /// if no record has the CPU time.
    pub attribution: Option<Attribution>,
    /// The time to create a task, run it and wait for its end; `null` unless the end is a
    /// measurement of its own.
    pub whole_ns: Option<Estimate>,
    /// Memory per task by part, of programs that sweep the number of tasks.
    pub memory: Vec<MemoryPart>,
}

/// What came of one invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InvocationSummary {
    /// The round, counted from 1.
    pub round: u32,
    /// Which try of the case in this round, counted from 1.
    pub attempt: u32,
    /// When the process was started: UTC, RFC 3339.
    pub started_at: String,
    /// What came of it.
    pub outcome: JudgedOutcome,
    /// Whether the estimates are made from it.
    pub is_used: bool,
}

/// What came of an invocation: if it measured, how far it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum JudgedOutcome {
    /// It measured, and nothing speaks against it.
    Clean,
    /// It measured and was disturbed.
    Disturbed,
    /// It measured and was disturbed so much that it says nothing.
    Unusable,
    /// It failed.
    Failed,
    /// It was killed at the case's time-out.
    TimedOut,
    /// It refused for a limit.
    Refused,
    /// The runner ended it because it was interrupted itself.
    Interrupted,
}

impl From<Trust> for JudgedOutcome {
    fn from(trust: Trust) -> Self {
        match trust {
            Trust::Clean => Self::Clean,
            Trust::Disturbed => Self::Disturbed,
            Trust::Unusable => Self::Unusable,
        }
    }
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
    /// The mean of each of the case's invocations, in their order; `null` where
    /// one did not measure this.
    pub values_ns: Vec<Option<f64>>,
    /// One figure for those values that are used, and its interval.
    pub time_ns: Estimate,
    /// The two modes that the values fall into, if they do.
    pub modes: Option<Modes>,
    /// The one of too few values that lies far from all others, if one does.
    pub outlier_ns: Option<f64>,
    /// Percentiles of the samples of an invocation, divided by their operations:
    /// medians over invocations. A sample of many operations averages over
    /// them.
    pub percentiles: Percentiles,
    /// CPU time, user and kernel, of the whole process: median over invocations.
    /// Only the principal measurement has one.
    pub cpu_ns: Option<f64>,
    /// Kernel context switches per operation: median over invocations. Only the
    /// principal measurement has one.
    pub switches: Option<f64>,
}

/// Percentiles, in nanoseconds per operation; `null` where invocations have too few samples.
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

/// The parts of the time of an operation, in nanoseconds: of one invocation, where elapsed =
/// user + kernel + waiting − overlap, or each estimated over invocations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Parts<T> {
    /// Wall time from the begin of the first lap to the end of the last one, with all phases
    /// of a lap and the time between laps.
    pub elapsed_ns: T,
    /// CPU time in user space.
    pub user_ns: T,
    /// CPU time in the kernel.
    pub kernel_ns: T,
    /// Wall time in which no thread of the process ran, unless threads overlapped at other
    /// times.
    pub waiting_ns: T,
    /// CPU time beyond the wall time: threads ran at the same time.
    pub overlap_ns: T,
    /// Reasons for the waiting; `null` if the kernel does not report them.
    pub waiting_for: Option<WaitingFor<T>>,
}

/// Reasons for the waiting of an operation, in nanoseconds. Of one invocation the sum is its
/// waiting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WaitingFor<T> {
    /// All CPUs were in an idle state.
    pub idle_ns: T,
    /// CPUs were entering or leaving an idle state: in none, and nobody's.
    pub idle_transition_ns: T,
    /// A task could have run and waited for its CPU.
    pub runnable_ns: T,
    /// The hypervisor ran others.
    pub stolen_ns: T,
    /// The remainder, which nothing explains.
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
    /// How often a CPU interrupted another one for it to run something.
    pub interrupts: Option<f64>,
    /// Share of traced hops whose ends ran on different CPUs, 0 to 1.
    pub crossing_share: Option<f64>,
}

/// A part of what a task holds in memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryPart {
    /// What it is.
    pub name: String,
    /// Bytes per task: the slope over the number of tasks, over
    /// processes.
    pub bytes_per_task: Estimate,
}

/// Why cases were skipped, each reason with the names of its cases.
pub fn by_reason(skipped: &[Skipped]) -> Vec<(&str, String)> {
    let mut by_reason: Vec<(&str, String)> = Vec::new();
    for Skipped { case, reason } in skipped {
        match by_reason.iter_mut().find(|(known, _)| known == reason) {
            Some((_, cases)) => *cases += &format!(", {case}"),
            None => by_reason.push((reason, case.clone())),
        }
    }
    by_reason
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
