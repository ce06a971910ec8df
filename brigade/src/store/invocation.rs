//! One line of `records.jsonl`: one invocation of one case. A bad result is a
//! line like any other, never a gap.

use std::collections::BTreeMap;

use harness::record::Record;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of [`Invocation`]'s schema, `major.minor`.
pub const SCHEMA_VERSION: &str = "1.0";

/// One invocation of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Invocation {
    /// Schema version of this line, `major.minor`.
    pub schema_version: String,
    /// The case's name in `suite.toml`.
    pub case: String,
    /// The round, counted from 1.
    pub round: u32,
    /// Which attempt at the case in this round, counted from 1: a round is
    /// repeated if an attempt was unusable or interrupted.
    pub attempt: u32,
    /// When the process started: UTC, RFC 3339.
    pub started_at: String,
    /// How long the process lived, in nanoseconds.
    pub duration_ns: u64,
    /// How much of that time a signal had stopped it, in nanoseconds; `null` in older records.
    pub stopped_ns: Option<u64>,
    /// The program's name and flags, to repeat this invocation.
    pub command: Vec<String>,
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether the runner ended the process because it was interrupted, which is not the program's
    /// fault.
    pub interrupted: bool,
    /// The exit code; `null` if a signal ended the process or it never ran.
    pub exit_code: Option<i32>,
    /// The signal that ended the process, if any.
    pub signal: Option<i32>,
    /// The error in one line, if there was one.
    pub error: Option<String>,
    /// The program's record, as printed; `null` if there is none.
    pub record: Option<Record>,
    /// The machine's speed just before the process started; `null` if not measured.
    pub reference: Option<Reference>,
}

/// The time of reference work, the same for all programs: if it differs between two runs, the
/// machine differs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reference {
    /// The CPU used; a different one each time.
    pub cpu: usize,
    /// Writing a byte to a pipe and reading it, both in one thread, in nanoseconds.
    pub kernel_ns: f64,
}

/// The outcome of an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The program exited with 0 and printed a complete record.
    Measured,
    /// The program ended otherwise, or did not print exactly one record.
    Failed,
    /// The program exceeded the case's time-out and was killed.
    TimedOut,
    /// The program exited with 3: a limit refused it.
    Refused,
}

/// Parameters that affect how long to measure or what to write, not what is measured. `cpus` only
/// says where, which matters under `spread`: a case may name two CPUs.
const NOT_MEASURED: [&str; 9] =
    ["command", "cpus", "histogram", "iters", "json", "max_time", "quiet", "rounds", "warmups"];

/// A program and the parameters that affect what it measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedCase {
    /// The program's name.
    pub program: String,
    /// Its parameters, by the long names of their flags with underscores. Absent, `null`, `false`
    /// or 0 is left out: an older program without a flag behaves as if it were not given.
    pub parameters: BTreeMap<String, Value>,
}

impl RecordedCase {
    /// The case of a record.
    pub fn of(record: &Record) -> Self {
        let is_pinned = record.parameters.get("placement").is_some_and(|of| of == "spread");
        let counts = |name: &str| !NOT_MEASURED.contains(&name) || (name == "cpus" && is_pinned);
        let given = record.parameters.iter().map(|(name, value)| (name, single(value)));
        let given = given.filter(|(name, value)| counts(name) && is_given(value));
        let parameters = given.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { program: record.program.clone(), parameters }
    }
}

/// The only element of a list with one element: a flag that may be repeated.
fn single(value: &Value) -> &Value {
    match value {
        Value::Array(values) if values.len() == 1 => &values[0],
        value => value,
    }
}

fn is_given(value: &Value) -> bool {
    !(value.is_null() || *value == Value::Bool(false) || value.as_f64() == Some(0.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::fixtures as sample;

    fn key(parameters: Value) -> RecordedCase {
        let mut record = sample::case("ring", [1.0])[0].record.clone().expect("a record");
        record.parameters = serde_json::from_value(parameters).expect("parameters");
        RecordedCase::of(&record)
    }

    #[test]
    fn parameters_that_do_not_affect_the_measurement_do_not_distinguish_cases() {
        let plain = key(json!({ "tasks": 500, "via": "pipe" }));
        let other = json!({
            "tasks": 500, "via": "pipe", "iters": 7, "max_time": 0.1, "json": true, "work": 0,
            "self": false, "workers": null, "resident_mib": [0],
        });
        assert_eq!(key(other), plain);
        let given = BTreeMap::from([("tasks", json!(500)), ("via", json!("pipe"))]);
        assert!(plain.parameters.iter().map(|(name, value)| (&**name, value.clone())).eq(given));
    }

    #[test]
    fn cpus_distinguish_cases_only_if_tasks_are_pinned_to_them() {
        let of = |placement: &str, cpus: &str| key(json!({ "placement": placement, "cpus": cpus }));
        assert_eq!(of("same-cpu", "0"), of("same-cpu", "1"));
        assert_ne!(of("spread", "0,1"), of("spread", "0,2"));
    }

    #[test]
    fn other_parameters_distinguish_cases() {
        let plain = key(json!({ "tasks": 500 }));
        for other in [json!({ "tasks": 2 }), json!({ "tasks": 500, "work": 1 }), json!({})] {
            assert_ne!(key(other), plain);
        }
        assert_eq!(key(json!({ "mib": [8] })), key(json!({ "mib": 8 })));
    }
}
