//! The rows that reports show besides cases: figures to read first, comparisons and
//! kinds of tasks.

use serde::{Deserialize, Serialize};

use super::Manifest;

/// A figure of one case, or of one case over or minus another, paired by round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// What it is a figure of; the names of the cases by default.
    pub text: Option<String>,
    /// The case's name.
    pub case: String,
    /// The measurement's name; the principal one by default.
    pub measurement: Option<String>,
    /// The case that its time is divided by.
    pub over: Option<String>,
    /// The case whose time is subtracted.
    pub minus: Option<String>,
    /// Whether the figure is memory per task, and not time.
    #[serde(default)]
    pub memory: bool,
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

/// A row of the table of all kinds of tasks: the cases that measure what one costs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindSpec {
    /// What it is called.
    pub text: String,
    /// The case of a hand-over.
    pub hop: Option<String>,
    /// The case that creates such tasks.
    pub create: Option<String>,
    /// The case that reads what such a task holds in memory.
    pub memory: Option<String>,
    /// The crate of its runtime, whose version the row shows. A program in another
    /// language reports that itself.
    #[serde(rename = "crate")]
    pub crate_name: Option<String>,
}

impl KindSpec {
    /// The cases that it names, each with the key that names it.
    pub fn cases(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("hop", &self.hop), ("create", &self.create), ("memory", &self.memory)]
            .into_iter()
            .filter_map(|(key, case)| Some((key, case.as_deref()?)))
    }
}

/// What the tasks of a case are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// A thread of the kernel.
    Thread,
    /// A task of an async runtime.
    AsyncTask,
    /// A coroutine with a stack of its own.
    Coroutine,
    /// A goroutine.
    Goroutine,
    /// A process.
    Process,
    /// None: the I/O or the work alone, to be subtracted.
    Alone,
}

impl TaskKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Thread,
        Self::AsyncTask,
        Self::Coroutine,
        Self::Goroutine,
        Self::Process,
        Self::Alone,
    ];

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
    /// Every row of the headline and of a group's comparisons, with its table.
    fn figure_specs(&self) -> impl Iterator<Item = (&'static str, &FigureSpec)> {
        let comparisons = self.groups.iter().flat_map(|group| &group.comparisons);
        let headline = self.headline.iter().map(|row| ("headline", row));
        headline.chain(comparisons.map(|row| ("comparisons", row)))
    }

    /// The cases that rows name, each with the place that names it.
    pub(super) fn cases_of_rows(&self) -> impl Iterator<Item = (String, &str)> {
        let figures = self.figure_specs().flat_map(|(table, row)| {
            row.cases().map(move |(key, case)| (format!("{table}: {key}"), case))
        });
        let kinds = self.kinds.iter().flat_map(KindSpec::cases);
        figures.chain(kinds.map(|(key, case)| (format!("kind: {key}"), case)))
    }

    /// The pairs of cases that reports compare.
    pub fn partners(&self) -> Vec<[String; 2]> {
        let rows = self.figure_specs().filter_map(|(_, row)| Some([&row.case, row.other()?]));
        let baselines = self.cases.iter();
        let baselines = baselines.filter_map(|case| Some([&case.name, case.baseline.as_deref()?]));
        rows.chain(baselines).map(|pair: [&str; 2]| pair.map(str::to_owned)).collect()
    }
}
