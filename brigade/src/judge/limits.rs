//! What `brigade limits --json` prints. Its schema is committed as
//! `brigade/limits.schema.json`.

use harness::Amounts;
use harness::limits::{Forecast, Kind, Limit, Line};
use serde::{Deserialize, Serialize};

/// Version of [`LimitsReport`]'s schema, `major.minor`, which rises as that of
/// the environment does.
const SCHEMA_VERSION: &str = "1.1";

/// How many tasks of each kind fit on this machine, and why.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitsReport {
    /// Schema version of this object, `major.minor`.
    schema_version: String,
    /// The number of tasks that was asked about; `null` where none was.
    tasks: Option<u64>,
    /// The kinds of tasks that were asked about.
    kinds: Vec<KindReport>,
    /// How good the prediction was; `null` without `--verify`.
    verified: Option<Verified>,
}

/// One kind of task.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct KindReport {
    /// The kind.
    kind: Kind,
    /// What one task needs.
    per_task: Amounts,
    /// What the program needs besides, with as many tasks as fit.
    #[serde(rename = "besides")]
    fixed: Amounts,
    /// How many tasks fit; `null` where no limit binds.
    fits: Option<u64>,
    /// Every limit that the tasks meet. The first binds, unless it allows
    /// `null`; the second does when the first is raised.
    limits: Vec<LimitReport>,
}

/// What one limit says of a kind of task.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LimitReport {
    /// The limit.
    #[serde(flatten)]
    limit: Limit,
    /// How much of its resource one task takes.
    per_task: u64,
    /// How many tasks fit into it; `null` where it does not bind.
    allows: Option<u64>,
    /// Whether it is the one that binds.
    binding: bool,
    /// Commands, each of which makes room: for the tasks that were asked
    /// about, if they do not fit, otherwise for twice as many as are allowed.
    commands: Vec<String>,
}

/// What came of making tasks up to the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verified {
    /// How many tasks were predicted to fit.
    pub predicted: u64,
    /// How many were to be made: 2 % more, or fewer where the limit is one
    /// that others share.
    pub asked: u64,
    /// How many were made.
    pub reached: u64,
    /// The difference of reached and predicted, in percent of predicted.
    pub difference_percent: f64,
    /// What the kernel refused, or how the process died; `null` where all that
    /// were asked for were made.
    pub stopped_by: Option<String>,
}

/// As far as reached and predicted may lie apart, in percent.
const TOLERANCE_PERCENT: f64 = 1.0;

impl Verified {
    /// Whether the prediction was right.
    pub fn confirms(&self) -> bool {
        self.difference_percent.abs() <= TOLERANCE_PERCENT
    }
}

impl LimitsReport {
    /// Puts forecasts into the form of the schema.
    pub fn new(
        forecasts: &[(Kind, Forecast)],
        tasks: Option<u64>,
        verified: Option<Verified>,
    ) -> Self {
        let kinds = forecasts.iter().map(|(kind, forecast)| KindReport {
            kind: *kind,
            per_task: kind.per_task(),
            fixed: forecast.besides(),
            fits: forecast.fits(),
            limits: forecast.lines().iter().map(|line| report(line, forecast, tasks)).collect(),
        });
        let kinds = kinds.collect();
        Self { schema_version: SCHEMA_VERSION.to_owned(), tasks, kinds, verified }
    }
}

fn report(line: &Line, forecast: &Forecast, tasks: Option<u64>) -> LimitReport {
    LimitReport {
        limit: line.limit.clone(),
        per_task: line.per_task,
        allows: line.allows,
        binding: forecast.binding() == Some(line),
        commands: commands(line, forecast, tasks),
    }
}

/// The commands that make room for `tasks` tasks, if they do not fit, or
/// without a number for twice as many as are allowed.
pub fn commands(line: &Line, forecast: &Forecast, tasks: Option<u64>) -> Vec<String> {
    let Some(allows) = line.allows else { return Vec::new() };
    let wanted = tasks.unwrap_or(allows.max(1).saturating_mul(2));
    if wanted <= allows {
        return Vec::new();
    }
    line.limit.commands_for(forecast.need(wanted, line.limit.resource))
}
