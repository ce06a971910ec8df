//! The rows that a report begins with, as `[[headline]]` describes them.

use serde::Deserialize;

/// A figure to read first: of a case, or of one case over another.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Headline {
    /// What it is a figure of.
    pub text: String,
    /// The case's name.
    pub case: String,
    /// The measurement's name; the principal one by default.
    pub measurement: Option<String>,
    /// The case that its time is divided by, for a ratio.
    pub over: Option<String>,
    /// Whether the figure is memory per task, and not time.
    #[serde(default)]
    pub memory: bool,
}
