//! What `limits`, `advise` and `impact` print with `--json`. The committed schemas are generated from
//! these types; a test compares them.

use harness::limits::Forecast;
use serde::Serialize;

use crate::judge::advice::Setting;
use crate::judge::environment::Unusual;
use crate::judge::impact::Impact;

/// Version of the schemas of `limits` and `advise`, `major.minor`.
const SCHEMA_VERSION: &str = "1.0";

/// Version of the schema of `impact`, `major.minor`.
const IMPACT_VERSION: &str = "2.0";

/// The answer of `brigade limits`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limits<'a> {
    /// Schema version of this object, `major.minor`.
    schema_version: &'static str,
    /// The wanted number of tasks; `null` without one.
    tasks: Option<u64>,
    /// The kind that was asked for; both kinds of connections for a number of tasks; or else all.
    kinds: &'a [Forecast],
}

impl<'a> Limits<'a> {
    pub fn new(tasks: Option<u64>, kinds: &'a [Forecast]) -> Self {
        Self { schema_version: SCHEMA_VERSION, tasks, kinds }
    }
}

/// The answer of `brigade advise`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Advice<'a> {
    /// Schema version of this object, `major.minor`.
    schema_version: &'static str,
    /// Settings another value of which may lower costs.
    settings: &'a [Setting],
    /// Unusual facts that processes inherit from this one.
    inherited: &'a [Unusual],
}

impl<'a> Advice<'a> {
    pub fn new(settings: &'a [Setting], inherited: &'a [Unusual]) -> Self {
        Self { schema_version: SCHEMA_VERSION, settings, inherited }
    }
}

/// The answer of `brigade impact`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImpactOfProgram<'a> {
    /// Schema version of this object, `major.minor`.
    schema_version: &'static str,
    #[serde(flatten)]
    impact: &'a Impact,
    /// The exit code of the command; `null` for a process, or if a signal ended it.
    exit_code: Option<i32>,
    /// The signal that ended the command.
    signal: Option<i32>,
}

impl<'a> ImpactOfProgram<'a> {
    pub fn new(impact: &'a Impact, exit_code: Option<i32>, signal: Option<i32>) -> Self {
        Self { schema_version: IMPACT_VERSION, impact, exit_code, signal }
    }
}
