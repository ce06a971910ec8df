//! The rows of the table of all kinds of tasks, as `[[kind]]` describes them.

use serde::Deserialize;

/// A kind of task: the cases that tell what it costs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// What it is called.
    pub text: String,
    /// The case of a hand-over.
    pub hop: Option<String>,
    /// The case that creates such tasks.
    pub create: Option<String>,
    /// The case that reads what such a task holds in memory.
    pub memory: Option<String>,
    /// The crate of its runtime, whose version stands beside it. A guest tells the
    /// version of its own.
    #[serde(rename = "crate")]
    pub crate_name: Option<String>,
}

impl Kind {
    /// The cases that it names, each with the key that names it.
    pub fn cases(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("hop", &self.hop), ("create", &self.create), ("memory", &self.memory)]
            .into_iter()
            .filter_map(|(key, case)| Some((key, case.as_deref()?)))
    }
}
