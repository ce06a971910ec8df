//! In what two cases that stand in one sentence were not measured alike, by what
//! their records say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::estimate::shown;
use super::model::{Case, Unlike};
use crate::judge::sample::Run;

/// Conditions of a measurement: a sentence that sets two of them against each other
/// says so, whatever it is about. A missing number is 0.
const CONDITIONS: [&str; 4] = ["placement", "tasks", "work", "working_set"];

/// Parameters that say which mechanism of a program is measured: between two
/// programs they have nothing in common.
const MECHANISMS: [&str; 7] =
    ["executor", "kind", "runtime", "scenario", "spawn", "subcommand", "via"];

/// A case's program and its parameters, with the number of tasks that its records
/// have.
#[derive(Clone, Debug)]
pub struct Conditions {
    program: String,
    parameters: BTreeMap<String, Value>,
}

impl Conditions {
    /// Those of a case that was measured in these runs.
    pub fn of(case: &Case, runs: &[Run]) -> Self {
        let mut parameters = case.key.parameters.clone();
        if let Some(run) = runs.first() {
            parameters.entry("tasks".to_owned()).or_insert_with(|| run.record.tasks.into());
        }
        Self { program: case.key.program.clone(), parameters }
    }

    /// The number of tasks of both, if it is one.
    pub fn common_tasks(&self, other: &Self) -> Option<u64> {
        let tasks = self.parameters.get("tasks")?.as_u64()?;
        (other.parameters.get("tasks")?.as_u64()? == tasks).then_some(tasks)
    }

    /// The parameters in which the two differ, apart from the one that a sentence
    /// about two cases of one program is about: the only one.
    pub fn unlike(&self, other: &Self) -> Vec<Unlike> {
        let same_program = self.program == other.program;
        let names: BTreeSet<&String> =
            self.parameters.keys().chain(other.parameters.keys()).collect();
        let differing: Vec<Unlike> = names
            .into_iter()
            .filter(|name| self.parameters.get(*name) != other.parameters.get(*name))
            .filter(|name| same_program || self.is_common(other, name))
            .map(|name| Unlike {
                parameter: shown(name),
                values: [self, other].map(|of| text(of.parameters.get(name))),
            })
            .collect();
        match &differing[..] {
            [only] if same_program && !is_condition(&only.parameter) => Vec::new(),
            _ => differing,
        }
    }

    /// Whether two programs can be compared by this parameter.
    fn is_common(&self, other: &Self, name: &str) -> bool {
        let both = || self.parameters.contains_key(name) && other.parameters.contains_key(name);
        is_condition(name) || both() && !MECHANISMS.contains(&name)
    }
}

fn is_condition(name: &str) -> bool {
    CONDITIONS.contains(&name)
}

fn text(value: Option<&Value>) -> String {
    match value {
        None => "none".to_owned(),
        Some(Value::String(text)) => shown(text),
        Some(other) => shown(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conditions(program: &str, parameters: Value) -> Conditions {
        let parameters = serde_json::from_value(parameters).unwrap();
        Conditions { program: program.to_owned(), parameters }
    }

    #[track_caller]
    fn check(first: (&str, Value), second: (&str, Value), expected: &[&str]) {
        let [first, second] = [first, second].map(|(program, of)| conditions(program, of));
        let said = first.unlike(&second).into_iter().map(|unlike| {
            let Unlike { parameter, values: [first, second] } = unlike;
            format!("{parameter} {first} against {second}")
        });
        assert_eq!(said.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn conditions_that_differ_are_named() {
        check(
            ("threads", json!({ "placement": "same-cpu", "tasks": 500, "channel": "pipe" })),
            ("async", json!({ "placement": "free", "tasks": 2, "runtime": "tokio", "work": 5 })),
            &["placement same-cpu against free", "tasks 500 against 2", "work none against 5"],
        );
        check(
            ("threads", json!({ "channel": "pipe" })),
            ("async", json!({ "channel": "socketpair" })),
            &["channel pipe against socketpair"],
        );
    }

    #[test]
    fn what_a_sentence_is_about_is_not_named_again() {
        let via = |via: &str| ("switch", json!({ "via": via, "placement": "same-cpu" }));
        check(via("pipe"), via("futex"), &[]);
        let placed = |placement: &str| ("ring", json!({ "placement": placement }));
        check(placed("free"), placed("spread"), &["placement free against spread"]);
        check(
            ("switch", json!({ "via": "pipe", "message": 1 })),
            ("switch", json!({ "via": "futex", "message": 64 })),
            &["message 1 against 64", "via pipe against futex"],
        );
        check(
            ("go", json!({ "runtime": "go1.26" })),
            ("async", json!({ "runtime": "tokio" })),
            &[],
        );
    }

    #[test]
    fn tasks_of_one_number_are_known() {
        let ring = |tasks: u64| conditions("ring", json!({ "tasks": tasks }));
        assert_eq!(ring(500).common_tasks(&ring(500)), Some(500));
        assert_eq!(ring(500).common_tasks(&ring(2)), None);
    }
}
