//! The tables `[advice]` and `[impact]`, and the rows of a report other than cases: main
//! figures, comparisons and kinds of tasks.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::Manifest;

/// A cost that a setting can affect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// Waking a sleeping CPU.
    Waking,
    /// Switches and system calls.
    Switching,
    /// Creating threads and processes.
    Creation,
}

/// The cases that show each cost, for `brigade advise`.
pub type AdvicePlan = BTreeMap<Cost, Vec<String>>;

/// The cases with the cost of a switch, for `brigade impact`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImpactPlan {
    /// The cheapest switch.
    pub lowest: String,
    /// The most expensive switch.
    pub highest: String,
    /// The most expensive switch with the CPUs kept awake.
    pub awake: Option<String>,
    /// The most expensive switch on one CPU.
    pub pinned: Option<String>,
}

impl ImpactPlan {
    /// All of its cases, by key.
    pub fn cases(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let needed = [("lowest", Some(&self.lowest)), ("highest", Some(&self.highest))];
        let others = [("awake", self.awake.as_ref()), ("pinned", self.pinned.as_ref())];
        needed.into_iter().chain(others).filter_map(|(key, case)| Some((key, case?)))
    }
}

impl Manifest {
    /// The cases that the tables use, each with its key.
    pub(super) fn planned_cases(&self) -> impl Iterator<Item = (String, &String)> {
        let impact = self.impact.iter().flat_map(ImpactPlan::cases);
        let advice = self.advice.values().flatten();
        let measured = self.limits.iter().flat_map(|limits| &limits.measured);
        let limits = measured.flat_map(|of| of.create.iter().chain(&of.memory));
        (limits.map(|case| ("limits".to_owned(), case)))
            .chain(impact.map(|(key, case)| (format!("impact: {key}"), case)))
            .chain(advice.map(|case| ("advice".to_owned(), case)))
    }
}

/// A figure of one case, or of one case divided by another or minus it, paired
/// by round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Its description; by default the names of the cases.
    pub text: Option<String>,
    /// The case's name.
    pub case: String,
    /// The measurement's name; the principal one by default.
    pub measurement: Option<String>,
    /// The case to divide by.
    pub over: Option<String>,
    /// The case to subtract.
    pub minus: Option<String>,
    /// Whether the figure is memory per task instead of time.
    #[serde(default)]
    pub memory: bool,
    /// Whether the time covers creating a task, running it and waiting for its end.
    #[serde(default)]
    pub whole: bool,
}

/// A part of the first screen: one activity and its costs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScreenSpec {
    /// The activity, such as `CREATE`.
    pub heading: String,
    /// What one figure measures, such as `one hop`.
    pub of: String,
    /// Blocks of rows that are compared with one another.
    pub blocks: Vec<BlockSpec>,
}

/// Rows of the first screen that are divided by one of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockSpec {
    /// What the rows have in common; empty if the heading says it.
    #[serde(default)]
    pub name: String,
    /// The case that the others are divided by.
    pub reference: String,
    /// The rows.
    pub rows: Vec<FigureSpec>,
}

/// The times of recorded machines of one kind.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedSpec {
    /// How many machines.
    pub machines: u32,
    /// The parts of a machine's description that they share.
    pub kind: Vec<String>,
    /// The shortest and the longest time of each case, in nanoseconds.
    pub range_ns: BTreeMap<String, [f64; 2]>,
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
    /// As in a row.
    #[serde(default)]
    pub memory: bool,
    /// As in a row.
    #[serde(default)]
    pub whole: bool,
    /// The ratio that a reader would guess.
    pub guess: f64,
    /// Whether it comes before others, however unsurprising.
    #[serde(default)]
    pub first: bool,
}

impl BlockSpec {
    /// The rows, each divided by the reference.
    pub fn ratios(&self) -> impl Iterator<Item = (&FigureSpec, FigureSpec)> {
        self.rows
            .iter()
            .map(|row| (row, FigureSpec { over: Some(self.reference.clone()), ..row.clone() }))
    }
}

impl SentenceSpec {
    /// Its ratio.
    pub fn ratio(&self) -> FigureSpec {
        FigureSpec {
            case: self.case.clone(),
            over: Some(self.over.clone()),
            memory: self.memory,
            whole: self.whole,
            ..FigureSpec::default()
        }
    }
}

impl FigureSpec {
    /// The case that it is compared with.
    pub fn other(&self) -> Option<&str> {
        self.over.as_deref().or(self.minus.as_deref())
    }

    fn cases(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let over = self.over.iter().map(|over| ("over", over.as_str()));
        let minus = self.minus.iter().map(|minus| ("minus", minus.as_str()));
        over.chain(minus).chain([("case", self.case.as_str())])
    }
}

/// A row of the table of all kinds of tasks: the cases that measure one kind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindSpec {
    /// Its label.
    pub text: String,
    /// The case that hands over.
    pub hop: Option<String>,
    /// The case that creates such tasks.
    pub create: Option<String>,
    /// The case that measures such a task's memory.
    pub memory: Option<String>,
    /// The crate of its runtime, whose version the row shows. A program in another language reports
    /// its version itself.
    #[serde(rename = "crate")]
    pub crate_name: Option<String>,
}

impl KindSpec {
    /// The cases that it uses, each with its key.
    pub fn cases(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("hop", &self.hop), ("create", &self.create), ("memory", &self.memory)]
            .into_iter()
            .filter_map(|(key, case)| Some((key, case.as_deref()?)))
    }
}

/// The kind of a case's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// A kernel thread.
    Thread,
    /// A task of an async runtime.
    AsyncTask,
    /// A coroutine with its own stack.
    Coroutine,
    /// A goroutine.
    Goroutine,
    /// A process.
    Process,
    /// None: only the I/O or the work, to be subtracted.
    Alone,
}

impl TaskKind {
    /// Its name in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::AsyncTask => "async task",
            Self::Coroutine => "coroutine",
            Self::Goroutine => "goroutine",
            Self::Process => "process",
            Self::Alone => "no switch",
        }
    }
}

impl Manifest {
    /// Every row of the main figures and of a group's comparisons, with its
    /// table.
    fn figure_specs(&self) -> impl Iterator<Item = (&'static str, &FigureSpec)> {
        let comparisons = self.groups.iter().flat_map(|group| &group.comparisons);
        let headline = self.headline.iter().map(|row| ("headline", row));
        headline.chain(comparisons.map(|row| ("comparisons", row)))
    }

    /// The cases that rows use, each with its place.
    pub(super) fn cases_of_rows(&self) -> impl Iterator<Item = (String, &str)> {
        let figures = self.figure_specs().flat_map(|(table, row)| {
            row.cases().map(move |(key, case)| (format!("{table}: {key}"), case))
        });
        let kinds = self.kinds.iter().flat_map(KindSpec::cases);
        let screen =
            self.screen.iter().flat_map(|of| &of.blocks).flat_map(|block| {
                block.rows.iter().map(|row| &*row.case).chain([&*block.reference])
            });
        let sentences = self.sentences.iter().flat_map(|of| [&*of.case, &*of.over]);
        let recorded = self.recorded.iter().flat_map(|of| of.range_ns.keys());
        figures
            .chain(kinds.map(|(key, case)| (format!("kind: {key}"), case)))
            .chain(screen.map(|case| ("screen".to_owned(), case)))
            .chain(recorded.map(|case| ("recorded".to_owned(), &**case)))
            .chain(sentences.map(|case| ("sentence".to_owned(), case)))
    }

    /// The pairs of cases that reports compare.
    pub fn partners(&self) -> Vec<[String; 2]> {
        let rows = self.figure_specs().filter_map(|(_, row)| Some([&*row.case, row.other()?]));
        let baselines = self.cases.iter();
        let baselines = baselines.filter_map(|case| Some([&*case.name, case.baseline.as_deref()?]));
        let sentences = self.sentences.iter().map(|of| [&*of.case, &*of.over]);
        rows.chain(sentences)
            .chain(baselines)
            .map(|pair: [&str; 2]| pair.map(str::to_owned))
            .collect()
    }
}
