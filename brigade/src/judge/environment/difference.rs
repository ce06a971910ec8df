//! In what two environments differ: every fact by its name, so that a new one
//! is compared without a word here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::store::environment::{Cache, Environment};

/// The name of the difference between CPUs that are not of one kind.
pub const CPUS: &str = "processor";

/// The facts that [`CPUS`] stands for.
const OF_CPUS: [&str; 4] =
    ["processor.model", "processor.family", "processor.model_number", "processor.caches"];

/// Facts about the programs that were measured, not about the machine.
const OF_PROGRAMS: [&str; 4] =
    ["schema_version", "software.brigade", "software.git_revision", "software.git_dirty"];

/// Which CPUs share what: the arrangement and the caches tell as much, in fewer words.
const IN_FULL: &str = "processor.sharing";

/// The value of a fact that an environment has no place for, such as a boot
/// parameter that was not given; one that could not be had is `null`.
const ABSENT: &str = "absent";

/// A fact that is not the same in both environments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Difference {
    /// Its name in `environment.json`, such as `kernel.release`; `processor` for
    /// CPUs of two kinds.
    pub name: String,
    /// Its value in each, in words; `null` where it could not be had.
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

/// In what the conditions of two runs differ, apart from what was measured: first,
/// in one difference, their CPUs, if those are not of one kind.
///
/// # Errors
/// Never: an environment always serializes.
pub fn between_machines(
    first: &Environment,
    second: &Environment,
) -> serde_json::Result<Vec<Difference>> {
    let cpus = are_of_two_kinds(first, second).then(|| Difference {
        name: CPUS.to_owned(),
        values: [first, second].map(|of| Some(of.cpu())),
    });
    let is_shown = |of: &Difference| {
        let stands_for = cpus.is_some() && OF_CPUS.contains(&of.name.as_str());
        !stands_for && !OF_PROGRAMS.contains(&of.name.as_str()) && !of.name.starts_with(IN_FULL)
    };
    let mut others = differences(first, second)?;
    others.retain(is_shown);
    Ok(cpus.into_iter().chain(others).collect())
}

/// Whether the CPUs are of two kinds, by what is known of both.
fn are_of_two_kinds(first: &Environment, second: &Environment) -> bool {
    fn differ<T: PartialEq>(first: Option<T>, second: Option<T>) -> bool {
        first.zip(second).is_some_and(|(first, second)| first != second)
    }
    let [first, second] = [first, second].map(|of| &of.processor);
    let caches = |of: &[Cache]| {
        let sizes = of.iter().map(|cache| (cache.level, cache.holds.clone(), cache.size_bytes));
        (!of.is_empty()).then(|| sizes.collect::<Vec<_>>())
    };
    first.architecture != second.architecture
        || differ(first.model.as_ref(), second.model.as_ref())
        || differ(first.family, second.family)
        || differ(first.model_number, second.model_number)
        || differ(caches(&first.caches), caches(&second.caches))
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

/// A value in words; `None` for one that could not be had.
fn text(value: &Value) -> Option<String> {
    if let Ok(caches) = serde_json::from_value::<Vec<Cache>>(value.clone()) {
        let words = caches.iter().map(|cache| {
            format!("{} {} for {} of its CPUs", cache.words(), cache.holds, cache.shared_by_cpus)
        });
        return Some(words.collect::<Vec<_>>().join(", "));
    }
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

    /// Environments of two machines whose CPUs have one model name and caches of
    /// different sizes, as recorded in this repository.
    fn unlike() -> [Environment; 2] {
        let text = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../results/2026-11-22-amd-epyc-2cpu/environment.json"
        ));
        let mut second: Environment = serde_json::from_str(text).unwrap();
        (second.processor.family, second.processor.model_number) = (Some(26), Some(2));
        [environment(), second]
    }

    #[test]
    fn cpus_of_one_name_and_two_kinds_come_first_and_in_words() {
        let [first, second] = unlike();
        let found = between_machines(&first, &second).unwrap();
        let values = [
            "AMD EPYC, L1 32 KiB, L2 512 KiB, L3 32 MiB",
            "AMD EPYC family 26 model 2, L1 48 KiB, L2 1 MiB, L3 32 MiB",
        ];
        let values = values.map(|value| Some(value.to_owned()));
        assert_eq!(found[0], Difference { name: CPUS.to_owned(), values });
        for of in &found[1..] {
            assert!(!OF_CPUS.contains(&of.name.as_str()), "{of:?}");
            let json = |value: &Option<String>| {
                value.as_ref().is_some_and(|value| value.contains(['{', '[', '"']))
            };
            assert!(!of.values.iter().any(json), "{of:?}");
        }
    }

    #[test]
    fn cpus_of_one_kind_are_no_difference_whatever_else_is() {
        let (first, mut second) = (environment(), environment());
        second.processor.family = Some(23);
        second.processor.caches[3].shared_by_cpus = 4;
        let found = between_machines(&first, &second).unwrap();
        let named: Vec<&str> = found.iter().map(|of| of.name.as_str()).collect();
        assert_eq!(named, ["processor.caches", "processor.family"]);
        let caches = "L1 32 KiB data for 1 of its CPUs, L1 32 KiB instruction for 1 of its CPUs, \
                      L2 512 KiB unified for 1 of its CPUs, L3 32 MiB unified for 4 of its CPUs";
        assert_eq!(found[0].values[1].as_deref(), Some(caches));
    }

    #[test]
    fn what_was_measured_is_no_difference_between_machines() {
        let mut second = environment();
        second.software.git_revision = Some("0".repeat(40));
        assert_eq!(between_machines(&environment(), &second).unwrap(), []);
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
