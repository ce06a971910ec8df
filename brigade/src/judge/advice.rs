//! Which settings of a machine move what is measured, as `brigade advise` has it.

use serde::{Deserialize, Serialize};

use crate::manifest::AdvicePlan;
pub use crate::manifest::{Effect, Setting};

/// Version of [`Advice`]'s schema, `major.minor`.
pub const SCHEMA_VERSION: &str = "1.0";

/// All that applies to a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Advice {
    /// Schema version, `major.minor`.
    pub schema_version: String,
    /// The settings, the greatest expected effect first.
    pub settings: Vec<Setting>,
}

impl Advice {
    /// Puts settings into order; of like effect they stay as they are.
    pub fn of(mut settings: Vec<Setting>, plan: &AdvicePlan) -> Self {
        settings.sort_by_key(|setting| setting.effect);
        for setting in &mut settings {
            setting.cases = plan.cases(setting.cost).to_vec();
        }
        Self { schema_version: SCHEMA_VERSION.to_owned(), settings }
    }
}
