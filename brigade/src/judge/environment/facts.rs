//! The facts of an environment, each with its name and in words, so that a new one
//! needs no word here.

use std::collections::BTreeMap;

use serde_json::Value;

use super::difference::{IN_FULL, text};
use crate::store::environment::Environment;

/// What names a boot or a version of the file, and nothing that figures depend on.
const OF_NO_FIGURE: [&str; 2] = ["boot", "schema_version"];

impl Environment {
    /// What is known of the machine and its software, by its name in `environment.json`,
    /// such as `kernel.release`.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = BTreeMap::new();
        // An environment always serializes.
        collect("", &serde_json::to_value(self).unwrap_or_default(), &mut facts);
        facts
    }
}

fn collect(name: &str, value: &Value, facts: &mut BTreeMap<String, String>) {
    if OF_NO_FIGURE.contains(&name) || name == IN_FULL {
        return;
    }
    let Value::Object(parts) = value else {
        facts.extend(text(value).map(|content| (name.to_owned(), content)));
        return;
    };
    for (part, value) in parts {
        let inner = if name.is_empty() { part.clone() } else { format!("{name}.{part}") };
        collect(&inner, value, facts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_have_names_and_words_and_what_is_not_known_has_none() {
        let text = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../results/2026-11-22-intel-xeon-6-207-2cpu/environment.json"
        ));
        let environment: Environment = serde_json::from_str(text).unwrap();
        let facts = environment.facts();
        let fact = |name: &str| facts.get(name).map(String::as_str);
        assert_eq!(fact("processor.microcode"), Some("0x1"));
        assert_eq!(fact("processor.mitigations.retbleed"), Some("Vulnerable"));
        assert_eq!(fact("kernel.boot_parameters.psi"), Some("1"));
        assert_eq!(fact("kernel.autogroup"), Some("true"));
        assert!(fact("processor.caches").unwrap().starts_with("L1 48 KiB data for 1"));
        for absent in ["boot", "kernel.sched_ext", "schema_version", ""] {
            assert_eq!(fact(absent), None, "{absent}");
        }
    }
}
