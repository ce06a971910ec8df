//! What the manifest says of a program (its file, its needs, and the form of its output), and what
//! reports, `brigade advise` and `brigade impact` ask of the cases.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::ValueEnum;
use harness::TaskKind;
use serde::{Deserialize, Serialize};

use super::case::Case;

/// A program that measures one thing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProgramSpec {
    /// Its file, relative to the folder of guests. Without it and `build`, this binary contains the
    /// program, which then needs no table.
    pub path: Option<PathBuf>,
    /// How to build its file.
    pub build: Option<Build>,
    /// A command that runs the file, such as `python3`; empty for a binary.
    pub interpreter: Vec<String>,
    /// The form of its output.
    pub form: OutputForm,
    /// Tools that must be installed.
    pub needs: Vec<Tool>,
    /// What its tasks are, unless this binary contains it.
    pub tasks: Option<TaskKind>,
    /// What the tasks of its cases with these words are instead.
    pub tasks_with: BTreeMap<String, TaskKind>,
    /// Its subcommand that serves connections, if echo-server starts it.
    pub server: Option<String>,
    /// Flags that make no difference, since the program has them anyway; this binary knows those of
    /// the programs in it.
    pub defaults: String,
}

impl ProgramSpec {
    /// What the tasks of one of its cases are, if its table says so.
    pub fn task_kind(&self, case: &Case) -> Option<TaskKind> {
        let other = self.tasks_with.iter().find(|(words, _)| case.has(words));
        other.map(|(_, kind)| *kind).or(self.tasks)
    }

    /// Whether it is another language's, or a server that echo-server starts.
    fn is_guest(&self) -> bool {
        self.form == OutputForm::Laps || self.server.is_some()
    }

    /// Whether this binary contains it.
    pub fn is_contained(&self) -> bool {
        !self.is_guest() && self.path.is_none() && self.build.is_none()
    }

    /// Checks the table.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.is_contained() && (self.tasks.is_some() || !self.defaults.is_empty()) {
            return Err("brigade contains it, so it declares its tasks and defaults itself".into());
        }
        if self.is_guest() && self.tasks.is_none() {
            return Err(
                "its tasks are missing: give what they are, such as tasks = \"thread\"".into()
            );
        }
        Ok(())
    }
}

/// How to build a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The folder to build in, relative to that of guests.
    #[serde(rename = "in")]
    pub folder: PathBuf,
    /// The command; the word `{output}` is replaced by the path of the file.
    pub command: Vec<String>,
}

/// The form of a program's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputForm {
    /// A complete record.
    #[default]
    Record,
    /// Laps; the runner builds the record.
    Laps,
}

/// A tool that must be installed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The command that prints its version.
    pub command: Vec<String>,
    /// The oldest suitable version, such as `1.21`.
    pub version: Option<String>,
}

/// A figure of one case, or of one case divided by another or minus it, paired by round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Its description; by default the names of the cases.
    pub text: Option<String>,
    /// The case's name.
    pub case: String,
    /// The measurement's name; by default the case's figure.
    pub measurement: Option<String>,
    /// The case to divide by.
    pub over: Option<String>,
    /// The case to subtract.
    pub minus: Option<String>,
    /// The other case's measurement, if it has another name than this one's.
    pub other_measurement: Option<String>,
}

impl FigureSpec {
    /// The case that it is compared with.
    pub fn other(&self) -> Option<&str> {
        self.over.as_deref().or(self.minus.as_deref())
    }
}

/// A part of the first screen, one activity and its costs, in the manifest and in a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Part"))]
#[serde(deny_unknown_fields)]
pub struct ScreenPart<R> {
    /// The activity, such as `CREATE`.
    pub heading: String,
    /// What one figure measures, such as `one hop`.
    pub of: String,
    /// Blocks of rows that are compared with one another.
    pub blocks: Vec<ScreenBlock<R>>,
}

/// Rows of the first screen that are divided by one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Block"))]
#[serde(deny_unknown_fields)]
pub struct ScreenBlock<R> {
    /// What the rows have in common; empty if the heading says it.
    #[serde(default)]
    pub name: String,
    /// The case that the others are divided by.
    pub reference: String,
    /// The rows, including those without a figure yet.
    pub rows: Vec<R>,
}

/// A sentence of the first screen about a ratio.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentenceSpec {
    /// The sentence, with `{}` for the ratio.
    pub text: String,
    /// The case to divide.
    pub case: String,
    /// The case to divide by.
    pub over: String,
    /// The measurement of both; by default their figures.
    pub measurement: Option<String>,
    /// The ratio that a reader would guess; by default 1.
    pub guess: Option<f64>,
    /// Whether `{}` is the share of the case's time that the other does not take.
    #[serde(default)]
    pub share: bool,
    /// Whether it comes before others, however unsurprising.
    #[serde(default)]
    pub first: bool,
    /// What follows if the run shows it.
    pub reason: Option<ReasonSpec>,
}

impl SentenceSpec {
    /// All its cases.
    pub fn cases(&self) -> impl Iterator<Item = &String> {
        let reason = self.reason.iter().flat_map(|reason| reason.case.iter().chain(&reason.over));
        [&self.case, &self.over].into_iter().chain(reason)
    }
}

/// The reason for a ratio: that a case takes clearly longer than another, or that CPUs were counted to
/// fall asleep in it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasonSpec {
    /// The sentence.
    pub text: String,
    /// The case to divide; by default the sentence's.
    pub case: Option<String>,
    /// The case to divide by; without it, CPUs must have fallen asleep.
    pub over: Option<String>,
}

/// A line of a group's table: one thing under each load.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineSpec {
    /// Its name.
    pub text: String,
    /// Its cases, one for each load, as alternatives; an empty one has no case.
    pub case: String,
    /// Whether a reader may choose it; the first one is what most have.
    #[serde(default)]
    pub choice: bool,
}

/// What a reader calls a case that is in no table and not on the first screen.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameSpec {
    /// Its name.
    pub text: String,
    /// The case.
    pub case: String,
}

/// What the table of a group answers about its choices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerSpec {
    /// Whether another choice is better than the first.
    #[default]
    Choose,
    /// Which has the lowest figure under the first load: a sentence, with `{}` for it.
    Fastest(String),
    /// How late others are under the last load: a sentence, with `{}` for the first choice, the load,
    /// and the time.
    Late(String),
    /// What waking so many tasks at once takes, and from where on one of them takes longer. The loads
    /// are numbers of tasks, and this is one of them.
    Waking(String),
}

/// The cases whose differences explain why threads are faster on one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinningSpec {
    /// On one CPU.
    pub one_cpu: String,
    /// Placed by the kernel.
    pub any_cpu: String,
    /// Placed by the kernel, on CPUs that are kept awake.
    pub any_cpu_awake: String,
    /// Always to another CPU, on CPUs that are kept awake.
    pub other_cpu_awake: String,
}

impl PinningSpec {
    /// All its cases.
    pub fn cases(&self) -> [&String; 4] {
        [&self.one_cpu, &self.any_cpu, &self.any_cpu_awake, &self.other_cpu_awake]
    }
}

/// What an operation costs that is added to each operation of another case, such as a time-out to a
/// request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdditionSpec {
    /// The sentence, with `{}` for its time, for the share of the other's, and for the other's time.
    pub text: String,
    /// The case that is added.
    pub case: String,
    /// The case that it is added to.
    pub to: String,
}

/// How much less one kind of task takes than another, by the work that an operation contains.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavingsSpec {
    /// The kind that saves, such as `async tasks`.
    pub kind: String,
    /// What it saves, such as `the CPU time of server and load`.
    pub of: String,
    /// Where it was measured, if elsewhere than the first of the group: the beginning of a sentence.
    pub place: Option<String>,
    /// Its cases, one for each amount of work, as alternatives.
    pub case: String,
    /// The cases of the other kind, one for each amount of work, as alternatives.
    pub over: String,
    /// The measurement's name; by default the case's figure.
    pub measurement: Option<String>,
    /// Why it saves more than the first of the group if servers of the first switch far more often:
    /// a sentence, with `{}` for switches per operation there, and here.
    pub why: Option<String>,
}

impl SavingsSpec {
    /// The ratio for each amount of work.
    pub fn comparison(&self) -> FigureSpec {
        FigureSpec {
            case: self.case.clone(),
            over: Some(self.over.clone()),
            measurement: self.measurement.clone(),
            ..FigureSpec::default()
        }
    }
}

/// A read-write lock and the mutex of its crate, by the share of reads.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadSharesSpec {
    /// The read-write lock.
    pub lock: String,
    /// The mutex.
    pub mutex: String,
    /// The cases of the read-write lock, one for each share, as alternatives.
    pub case: String,
    /// The cases of the mutex, one for each share, as alternatives; several may be one case, since a
    /// mutex treats readers and writers alike.
    pub over: String,
}

impl ReadSharesSpec {
    /// The ratio for each share.
    pub fn comparison(&self) -> FigureSpec {
        FigureSpec {
            case: self.case.clone(),
            over: Some(self.over.clone()),
            ..FigureSpec::default()
        }
    }
}

/// A server and the hops that predict its cost: cases with as many alternatives, or with one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictionSpec {
    /// What serves, such as `threads`.
    pub kind: String,
    /// The server.
    pub case: String,
    /// A server of one thread that asks for nothing.
    pub one: String,
    /// A ring whose one thread does the I/O of a hop.
    pub alone: String,
    /// A ring of threads.
    pub thread: String,
    /// A ring of a loop, if the server waits for all connections at once.
    pub wait: Option<String>,
    /// A ring of the server's tasks, if a runtime waits for them.
    pub hop: Option<String>,
}

impl PredictionSpec {
    /// All its cases.
    pub fn lines(&self) -> impl Iterator<Item = &String> {
        [&self.case, &self.one, &self.alone, &self.thread]
            .into_iter()
            .chain(&self.wait)
            .chain(&self.hop)
    }
}

/// Where a switch goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SwitchKind {
    /// Stay on one CPU
    SameCpu,
    /// Go to another CPU
    OtherCpu,
    /// Wake a sleeping CPU
    Asleep,
}

/// What a setting of a machine can affect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostKind {
    /// Waking a sleeping CPU.
    Waking,
    /// Switches and system calls.
    Switching,
    /// Creating threads and processes.
    Creation,
}
