//! One line of `records.jsonl`: one invocation of one case, whatever came of
//! it. A bad result is a line like any other, never a gap.

use harness::record::Record;
use serde::{Deserialize, Serialize};

/// Version of [`Invocation`]'s schema, `major.minor`; it moves as the record's
/// does.
pub const SCHEMA_VERSION: &str = "1.2";

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
    /// Which try of the case in this round, counted from 1: a round is tried
    /// again where the one before was unusable or interrupted. Since 1.1.
    #[serde(default = "first_attempt")]
    pub attempt: u32,
    /// When the process was started: UTC, RFC 3339.
    pub started_at: String,
    /// How long the process lived, in nanoseconds.
    pub duration_ns: u64,
    /// The program's name and its flags: what to type to repeat this.
    pub command: Vec<String>,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether the runner ended the process because it was interrupted itself, which
    /// is no fault of the program's. Since 1.1.
    #[serde(default)]
    pub interrupted: bool,
    /// The exit code; `null` when a signal ended the process or it never ran.
    pub exit_code: Option<i32>,
    /// The signal that ended the process, if one did.
    pub signal: Option<i32>,
    /// What went wrong, in one line, if anything did.
    pub error: Option<String>,
    /// What the program measured, as it printed it; `null` when it printed
    /// no record.
    pub record: Option<Record>,
    /// How fast the machine was just before the process was started; `null` where
    /// it was not measured. Since 1.2.
    #[serde(default)]
    pub reference: Option<Reference>,
}

/// The time of work that belongs to no program: what it takes longer or shorter in
/// one run than in another, the machine does and not what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reference {
    /// The CPU that did it, another one each time.
    pub cpu: usize,
    /// A write of a byte to a pipe and its read, both by one thread, in nanoseconds.
    pub kernel_ns: f64,
    /// A step of plain computation that waits for the one before, in nanoseconds.
    pub user_ns: f64,
}

/// Before 1.1 every round was tried once.
fn first_attempt() -> u32 {
    1
}

/// What came of an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The program ended with 0 and printed a complete record.
    Measured,
    /// The program ended otherwise, or what it printed is not one record.
    Failed,
    /// The program did not end within the case's time-out and was killed.
    TimedOut,
    /// The program refused: it exited with 3, a limit.
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_from_before_attempts_is_a_first_one() {
        let line = r#"{"schema_version":"1.0","case":"a","round":2,
            "started_at":"2026-01-01T00:00:00Z","duration_ns":1,"command":["a"],
            "outcome":"failed","exit_code":1,"signal":null,"error":"x","record":null}"#;
        let invocation: Invocation = serde_json::from_str(line).unwrap();
        assert_eq!((invocation.attempt, invocation.interrupted), (1, false));
        assert_eq!(invocation.reference, None);
    }
}
