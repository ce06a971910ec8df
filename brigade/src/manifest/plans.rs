//! The tables `[prove]`, `[advice]` and `[impact]`: which cases those commands use.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Manifest;
use super::unknown;

/// The fewest rounds with an interval of 99 %: all of n rounds lie on one side of their
/// centre with probability 2 · 2⁻ⁿ.
const FEWEST_ROUNDS: u32 = 8;

/// What `brigade prove` runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvePlan {
    /// The profile whose cases are compared with themselves.
    pub profile: String,
    /// How long an invocation measures, in seconds.
    pub seconds: f64,
    /// Pairs of invocations in a comparison of a case with itself.
    pub pairs: u32,
    /// Rounds of known work, of linearity and of the ring in C.
    pub rounds: u32,
    /// Units of work at a hop.
    pub units: Vec<u64>,
    /// The cases to which work is added.
    pub work: Vec<String>,
    /// How many tasks they have, where that can be chosen.
    pub tasks: u64,
    /// Comparisons of work with 5 % more work; 0 for none.
    #[serde(default)]
    pub comparisons: u32,
    /// Cases that record which hops cross from one CPU to another.
    #[serde(default)]
    pub crossing: Vec<String>,
    /// A case on one CPU, to be disturbed on purpose.
    #[serde(default)]
    pub disturbed: Option<String>,
    /// A case of threads over pipes on one CPU, to be compared with a ring in C.
    #[serde(default)]
    pub ring: Option<String>,
    /// Cases whose hop takes as long among more tasks.
    #[serde(default)]
    pub linear: Option<Linear>,
    /// Cases whose hop is one call that writes and one that reads.
    #[serde(default)]
    pub counted: Vec<String>,
}

/// Cases with the same work and growing numbers of tasks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// The cases.
    pub cases: Vec<String>,
    /// Their numbers of tasks, the smallest first.
    pub tasks: Vec<u64>,
    /// Units of work at a hop.
    pub units: u64,
}

/// A cost that a setting can move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// Of waking a sleeping CPU.
    Waking,
    /// Of switches and system calls.
    Switching,
    /// Of creating threads and processes.
    Creation,
}

/// The cases that show each cost, for `brigade advise`.
pub type AdvicePlan = BTreeMap<Cost, Vec<String>>;

/// The cases from which `brigade impact` takes the cost of a switch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImpactPlan {
    /// The cheapest switch.
    pub lowest: String,
    /// The most expensive one.
    pub highest: String,
    /// The most expensive one, with the CPUs kept awake.
    pub awake: Option<String>,
    /// The same on one CPU.
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

impl ProvePlan {
    /// All of its cases, by key.
    fn cases(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let linear = self.linear.iter().flat_map(|linear| &linear.cases);
        let single = [("disturbed", self.disturbed.as_ref()), ("ring", self.ring.as_ref())];
        let single = single.into_iter().filter_map(|(key, case)| Some((key, case?)));
        (self.work.iter().map(|case| ("work", case)))
            .chain(self.crossing.iter().map(|case| ("crossing", case)))
            .chain(self.counted.iter().map(|case| ("counted", case)))
            .chain(linear.map(|case| ("linear", case)))
            .chain(single)
    }

    /// Whether there is enough to prove.
    fn validate(&self, manifest: &Manifest) -> Result<(), String> {
        if !manifest.profiles.contains_key(&self.profile) {
            return Err(unknown("profile", &self.profile, manifest.profiles.keys()));
        }
        if !(self.seconds > 0.0 && self.seconds.is_finite()) {
            return Err(format!("seconds: {} is no time to measure", self.seconds));
        }
        for (key, count) in [("pairs", self.pairs), ("rounds", self.rounds)] {
            if count < FEWEST_ROUNDS {
                return Err(format!("{key}: {count} are too few: use {FEWEST_ROUNDS} or more"));
            }
        }
        if self.units.iter().collect::<BTreeSet<_>>().len() < 2 {
            return Err("units: a slope needs two different amounts".to_owned());
        }
        if self.linear.as_ref().is_some_and(|linear| linear.tasks.len() < 2) {
            return Err("linear: it needs two numbers of tasks".to_owned());
        }
        Ok(())
    }
}

/// Checks that a profile that asks for a proof gets one, and that there is enough to prove.
pub(super) fn validate(manifest: &Manifest) -> Result<(), String> {
    if let Some(plan) = &manifest.prove {
        return plan.validate(manifest).map_err(|reason| format!("prove: {reason}"));
    }
    match manifest.profiles.iter().find(|(_, profile)| profile.prove) {
        Some((name, _)) => {
            Err(format!("profile '{name}': prove: there is no table [prove] to follow"))
        }
        None => Ok(()),
    }
}

impl Manifest {
    /// The cases that the tables name, each with the place that names it.
    pub(super) fn planned_cases(&self) -> impl Iterator<Item = (String, &String)> {
        let prove = self.prove.iter().flat_map(ProvePlan::cases);
        let impact = self.impact.iter().flat_map(ImpactPlan::cases);
        let advice = self.advice.values().flatten();
        (prove.map(|(key, case)| (format!("prove: {key}"), case)))
            .chain(impact.map(|(key, case)| (format!("impact: {key}"), case)))
            .chain(advice.map(|case| ("advice".to_owned(), case)))
    }
}
