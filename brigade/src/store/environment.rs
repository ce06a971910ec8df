//! The machine and the software behind a run's figures: `environment.json`, a flat object of facts,
//! such as `"kernel.preemption": "dynamic"`.
//!
//! People share results folders, so nothing here names a host, a user, an address or a path.
//! Unknown facts are absent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of [`Environment`]'s schema, `major.minor`.
pub const SCHEMA_VERSION: &str = "1.0";

/// The contents of `environment.json`: read once, before the first case of a
/// run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// Schema version of this object, `major.minor`.
    pub schema_version: String,
    /// Facts by name; the parts of a name are joined by dots. Units are in the names.
    #[serde(flatten)]
    pub facts: BTreeMap<String, String>,
}

impl Default for Environment {
    fn default() -> Self {
        Self { schema_version: SCHEMA_VERSION.to_owned(), facts: BTreeMap::new() }
    }
}

impl Environment {
    /// A fact.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.facts.get(name).map(String::as_str)
    }

    /// A fact that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// The facts whose names begin with `prefix`, by the rest of the name.
    pub fn below(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        let from = self.facts.range(prefix.to_owned()..);
        from.map_while(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }

    /// Adds a fact, if it is known.
    pub fn set(&mut self, name: impl Into<String>, value: Option<impl ToString>) {
        self.facts.extend(value.map(|value| (name.into(), value.to_string())));
    }
}
