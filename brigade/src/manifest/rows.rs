//! What reports, `brigade advise` and `brigade impact` ask of the cases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
}

impl FigureSpec {
    /// The case that it is compared with.
    pub fn other(&self) -> Option<&str> {
        self.over.as_deref().or(self.minus.as_deref())
    }

    pub(super) fn cases_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.case].into_iter().chain(&mut self.over).chain(&mut self.minus)
    }
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
    /// The ratio that a reader would guess.
    pub guess: f64,
    /// Whether it comes before others, however unsurprising.
    #[serde(default)]
    pub first: bool,
}

impl SentenceSpec {
    /// Its ratio.
    pub fn ratio(&self) -> FigureSpec {
        let (case, over) = (self.case.clone(), Some(self.over.clone()));
        FigureSpec { case, over, ..FigureSpec::default() }
    }
}

/// A cost that a setting can affect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
