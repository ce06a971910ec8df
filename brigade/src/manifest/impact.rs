//! Which cases tell what a switch costs, for `brigade impact`.

use serde::Deserialize;

use super::Manifest;
use super::place::{Complaint, Table};

/// Cases, by name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImpactPlan {
    /// Of the cheapest switch.
    pub lowest: String,
    /// Of the dearest.
    pub highest: String,
    /// Of the dearest, with the CPUs kept awake.
    pub awake: Option<String>,
    /// Of the same on one CPU.
    pub pinned: Option<String>,
}

impl ImpactPlan {
    /// All of them.
    pub fn cases(&self) -> Vec<&str> {
        self.keyed().into_iter().map(|(_, case)| case).collect()
    }

    fn keyed(&self) -> Vec<(&'static str, &str)> {
        let needed = [("lowest", &self.lowest), ("highest", &self.highest)];
        let others = [("awake", &self.awake), ("pinned", &self.pinned)];
        let others = others.into_iter().filter_map(|(key, case)| Some((key, case.as_deref()?)));
        needed.into_iter().map(|(key, case)| (key, case.as_str())).chain(others).collect()
    }
}

/// Checks that every case is there.
pub(super) fn validate(manifest: &Manifest) -> Result<(), Complaint> {
    let plan = manifest.impact.iter().flat_map(ImpactPlan::keyed);
    plan.into_iter().try_for_each(|(key, case)| {
        manifest.case(case).map(drop).map_err(|reason| Complaint {
            table: Table::Impact,
            key,
            reason: format!("impact: {key}: {reason}"),
        })
    })
}
