//! In what two environments differ: every fact by its name, so that a new one
//! is compared without a word here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::store::environment::Environment;

/// The value of a fact that an environment has no place for, such as a boot
/// parameter that was not given; one that could not be had is `null`.
const ABSENT: &str = "absent";

/// A fact that is not the same in both environments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Difference {
    /// Its name in `environment.json`, such as `kernel.release`.
    pub name: String,
    /// Its value in each, as text; `null` where it could not be had.
    pub values: [Option<String>; 2],
}

/// In what two environments differ, in the order of `environment.json`.
///
/// # Errors
/// Never: an environment always serializes.
pub fn differences(
    first: &Environment,
    second: &Environment,
) -> serde_json::Result<Vec<Difference>> {
    let mut found = Vec::new();
    compare("", &serde_json::to_value(first)?, &serde_json::to_value(second)?, &mut found);
    Ok(found)
}

fn compare(name: &str, first: &Value, second: &Value, found: &mut Vec<Difference>) {
    let (Value::Object(ours), Value::Object(theirs)) = (first, second) else {
        if first != second {
            found.push(Difference { name: name.to_owned(), values: [first, second].map(text) });
        }
        return;
    };
    let absent = Value::from(ABSENT);
    let only_theirs = theirs.keys().filter(|key| !ours.contains_key(*key));
    for key in ours.keys().chain(only_theirs) {
        let inner = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
        let side = |of: &Map<String, Value>| of.get(key).unwrap_or(&absent).clone();
        compare(&inner, &side(ours), &side(theirs), found);
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        let text = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../results/2026-11-21-amd-epyc-2cpu-2/environment.json"
        ));
        serde_json::from_str(text).unwrap()
    }

    fn names(second: &Environment) -> Vec<String> {
        let found = differences(&environment(), second).unwrap();
        found.into_iter().map(|difference| difference.name).collect()
    }

    #[test]
    fn an_environment_does_not_differ_from_itself() {
        assert_eq!(names(&environment()), [""; 0]);
    }

    #[test]
    fn every_difference_is_named_whatever_it_is_of() {
        let mut second = environment();
        second.kernel.release = Some("6.1.0".to_owned());
        second.processor.governor = "performance".to_owned();
        second.processor.mitigations.insert("vmscape".to_owned(), "Vulnerable".to_owned());
        second.limits.memory_maps = None;
        second.software.rustc = Some("rustc 2.0.0".to_owned());
        second.software.measured_crates.insert("tokio".to_owned(), Some("2.0.0".to_owned()));
        let mut found = names(&second);
        found.sort();
        assert_eq!(
            found,
            [
                "kernel.release",
                "limits.memory_maps",
                "processor.governor",
                "processor.mitigations.vmscape",
                "software.measured_crates.tokio",
                "software.rustc",
            ]
        );
    }

    #[test]
    fn both_values_are_told() {
        let mut second = environment();
        second.limits.memory_maps = None;
        let found = differences(&environment(), &second).unwrap();
        assert_eq!(found[0].values, [Some("65530".to_owned()), None]);
    }

    #[test]
    fn what_one_has_no_place_for_is_absent_and_not_unknown() {
        let mut second = environment();
        let parameters = &mut second.kernel.boot_parameters;
        parameters.insert("isolcpus".to_owned(), Some("1".to_owned()));
        let found = differences(&environment(), &second).unwrap();
        let values = [Some("absent".to_owned()), Some("1".to_owned())];
        assert_eq!(
            found,
            [Difference { name: "kernel.boot_parameters.isolcpus".to_owned(), values }]
        );
    }
}
