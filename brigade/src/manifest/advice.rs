//! Settings of a machine that move a cost, and which cases show it, for `brigade
//! advise`.

use serde::{Deserialize, Serialize};

use super::Manifest;
use super::place::{Complaint, Table};

/// A cost that a setting can move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// Of waking a CPU that has fallen asleep.
    Waking,
    /// Of switches and system calls.
    Switching,
    /// Of making threads and processes.
    Creation,
}

/// How much a setting is expected to move the cases that it touches: what orders
/// settings, and no measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// By a factor.
    Factor,
    /// By a tenth or more.
    Tenths,
    /// By some percent.
    Percents,
}

/// A setting of this machine that could be another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value now.
    pub value: String,
    /// The value that the costs may be lower with.
    pub advised: String,
    /// How much that is expected to move.
    pub effect: Effect,
    /// What it does.
    pub does: String,
    /// Where that is documented.
    pub source: String,
    /// The cost that it moves.
    pub cost: Cost,
    /// The cases that show it, as far as the manifest has them.
    pub cases: Vec<String>,
    /// The command that changes it.
    pub change: String,
    /// The files that hold it, if it can be changed while the machine runs.
    pub files: Vec<String>,
}

impl Setting {
    /// The commands that test it.
    pub fn test(&self) -> String {
        match self.files.is_empty() {
            false => format!("brigade advise --try {}={}", self.name, self.advised),
            true => format!(
                "brigade run --case {}, before and after; brigade compare BEFORE AFTER",
                self.cases.join(" ")
            ),
        }
    }
}

/// The cases of each cost.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdvicePlan {
    waking: Vec<String>,
    switching: Vec<String>,
    creation: Vec<String>,
}

impl AdvicePlan {
    /// The cases of a cost, by name.
    pub fn cases(&self, cost: Cost) -> &[String] {
        match cost {
            Cost::Waking => &self.waking,
            Cost::Switching => &self.switching,
            Cost::Creation => &self.creation,
        }
    }
}

/// Checks that every case is there.
pub(super) fn validate(manifest: &Manifest) -> Result<(), Complaint> {
    let costs =
        [("waking", Cost::Waking), ("switching", Cost::Switching), ("creation", Cost::Creation)];
    costs.into_iter().try_for_each(|(key, cost)| {
        manifest.advice.cases(cost).iter().try_for_each(|case| {
            manifest.case(case).map(drop).map_err(|reason| Complaint {
                table: Table::Advice,
                key,
                reason: format!("advice: {key}: {reason}"),
            })
        })
    })
}
