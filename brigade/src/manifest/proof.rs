//! What `brigade prove` runs.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::Manifest;
use super::place::{Complaint, Table, unknown};

/// The table `[prove]`: what `brigade prove` runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofPlan {
    /// The profile whose cases are run against themselves.
    pub profile: String,
    /// How long an invocation measures, in seconds.
    pub seconds: f64,
    /// Pairs of invocations in a comparison of a case with itself.
    pub pairs: u32,
    /// Units of work at a hop, from a case's shortest to its longest.
    pub units: Vec<u64>,
    /// Rounds of each experiment whose interval they narrow: of known work, of the ring
    /// in C and of linearity. They are repeated until it shows something.
    pub rounds: u32,
    /// The most rounds of such an experiment; without it they are not repeated.
    #[serde(default)]
    pub most_rounds: Option<u32>,
    /// How often a case is run with each of these in a round; the quickest
    /// counts.
    #[serde(default = "ProofPlan::default_repeats")]
    pub repeats: u32,
    /// The cases to which work is added.
    pub work: Vec<WorkedCase>,
    /// Where hops must cross from one CPU to another, and where not.
    #[serde(default)]
    pub crossing: Vec<Crossing>,
    /// Comparisons of work with 5 % more work; 0 for none.
    #[serde(default)]
    pub comparisons: u32,
    /// A case on one CPU that is disturbed on purpose.
    #[serde(default)]
    pub disturbed: Option<String>,
    /// A case of threads over pipes on one CPU, compared with a ring in C.
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
    /// Their numbers of tasks, the fewest first.
    pub tasks: Vec<u64>,
    /// Units of work at a hop.
    pub units: u64,
}

impl ProofPlan {
    fn default_repeats() -> u32 {
        1
    }

    /// How often an experiment is looked at, at the most.
    pub fn looks(&self) -> u32 {
        self.most_rounds.unwrap_or(self.rounds) / self.rounds
    }
}

/// A case to which work is added.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkedCase {
    /// The case.
    pub case: String,
    /// Flags besides its own.
    #[serde(default)]
    pub flags: Vec<String>,
}

/// Two cases of a program that traces its hops.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crossing {
    /// The one whose neighbours are on different CPUs.
    pub spread: String,
    /// The one whose tasks are all on one.
    pub same_cpu: String,
}

/// The fewest pairs of invocations in a comparison.
const FEWEST_PAIRS: u32 = 8;

/// The fewest rounds that have an interval, if so many looks at it share an error of
/// 1 %: all of n rounds lie on one side of their centre with probability 2 · 2⁻ⁿ.
pub fn fewest_rounds(looks: u32) -> u32 {
    (200.0 * f64::from(looks)).log2().ceil() as u32
}

/// Checks that no profile ends with a proof that there is no plan for.
fn validate_absence(manifest: &Manifest) -> Result<(), Complaint> {
    match manifest.profiles.iter().find(|(_, profile)| profile.prove) {
        None => Ok(()),
        Some((name, _)) => Err(Complaint {
            table: Table::Profile(name.clone()),
            key: "prove",
            reason: format!("profile '{name}': prove: there is no table [prove] to follow"),
        }),
    }
}

/// Checks that what is named is there, and that there is enough of it.
pub(super) fn validate(manifest: &Manifest) -> Result<(), Complaint> {
    let Some(plan) = &manifest.prove else { return validate_absence(manifest) };
    let complaint = |key, reason: String| Complaint {
        table: Table::Prove,
        key,
        reason: format!("prove: {key}: {reason}"),
    };
    if !manifest.profiles.contains_key(&plan.profile) {
        let reason = unknown("profile", &plan.profile, manifest.profiles.keys());
        return Err(complaint("profile", reason));
    }
    if !(plan.seconds > 0.0 && plan.seconds.is_finite()) {
        return Err(complaint("seconds", format!("{} is no time to measure", plan.seconds)));
    }
    if plan.rounds == 0 || plan.most_rounds.is_some_and(|most| most < plan.rounds) {
        return Err(complaint("rounds", "there is nothing to repeat".to_owned()));
    }
    let looks = plan.looks();
    for (key, count, fewest) in
        [("pairs", plan.pairs, FEWEST_PAIRS), ("rounds", plan.rounds, fewest_rounds(looks))]
    {
        if count < fewest {
            return Err(complaint(key, format!("{count} are too few: use {fewest} or more")));
        }
    }
    if plan.repeats == 0 {
        return Err(complaint("repeats", "0 leaves nothing to measure".to_owned()));
    }
    if plan.units.iter().collect::<BTreeSet<_>>().len() < 2 {
        return Err(complaint("units", "a slope needs two different amounts".to_owned()));
    }
    if plan.linear.as_ref().is_some_and(|linear| linear.tasks.len() < 2) {
        return Err(complaint("linear", "it needs two numbers of tasks".to_owned()));
    }
    let worked = plan.work.iter().map(|worked| ("work", &worked.case));
    let crossing = plan.crossing.iter().flat_map(|pair| [&pair.spread, &pair.same_cpu]);
    let disturbed = plan.disturbed.iter().map(|case| ("disturbed", case));
    let ring = plan.ring.iter().map(|case| ("ring", case));
    let linear = plan.linear.iter().flat_map(|linear| &linear.cases).map(|case| ("linear", case));
    let counted = plan.counted.iter().map(|case| ("counted", case));
    let crossing = crossing.map(|case| ("crossing", case));
    let mut named =
        worked.chain(crossing).chain(disturbed).chain(ring).chain(linear).chain(counted);
    named.try_for_each(|(key, case)| {
        manifest.case(case).map(drop).map_err(|reason| complaint(key, reason))
    })
}
