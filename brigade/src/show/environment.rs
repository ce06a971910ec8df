//! In what the conditions of two runs differ, in plain words: CPUs of two kinds
//! come first, since every figure depends on them.

use crate::judge::environment::difference::{CPUS, Difference};

/// CPUs of two kinds in a line, if they are.
pub fn different_cpus(differences: &[Difference]) -> Option<String> {
    let cpus = differences.iter().find(|of| of.name == CPUS)?;
    let [Some(first), Some(second)] = &cpus.values else { return None };
    Some(format!("different CPUs: {first} against {second}"))
}

/// All others in a line each. `names` are what to call the two.
pub fn others(differences: &[Difference], names: [&str; 2]) -> Vec<String> {
    let others = || differences.iter().filter(|of| of.name != CPUS);
    let known = others().filter_map(|Difference { name, values }| {
        let [Some(first), Some(second)] = values else { return None };
        let show = |value| shown(name, value);
        Some(format!("different {}: {} against {}", words(name), show(first), show(second)))
    });
    let unknown = names.iter().enumerate().filter_map(|(side, name)| {
        let missing = others().filter(|of| of.values[side].is_none());
        let missing: Vec<String> = missing.map(|of| words(&of.name)).collect();
        (!missing.is_empty()).then(|| format!("not known of {name}: {}", missing.join(", ")))
    });
    known.chain(unknown).collect()
}

/// The name of a fact, as in `environment.json`, in words.
fn words(name: &str) -> String {
    let parts: Vec<&str> = name.splitn(3, '.').collect();
    let words = match parts.as_slice() {
        ["memory_total_bytes"] => "memory".to_owned(),
        ["processor", "mitigations", of] => format!("mitigation of {of}"),
        ["software", "measured_crates" | "tools", of] => return (*of).to_owned(),
        ["processor" | "software", of] => (*of).to_owned(),
        ["limits", "cgroup", of] => format!("limit of the control group on {of}"),
        ["limits", of] => format!("limit of {of}"),
        ["limits", of, "soft"] => format!("limit of {of}"),
        ["limits", of, hard] => format!("{hard} limit of {of}"),
        ["kernel", "boot_parameters", of] => format!("boot parameter {of}"),
        parts => parts.join(" "),
    };
    words.replace('_', " ").replace(" cpus", " CPUs")
}

/// The value of a fact in words.
fn shown(name: &str, value: &str) -> String {
    match (name, value.parse::<f64>()) {
        ("memory_total_bytes", Ok(bytes)) => format!("{:.2} GiB", bytes / f64::from(1 << 30)),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(name: &str, values: [Option<&str>; 2]) -> Difference {
        Difference { name: name.to_owned(), values: values.map(|of| of.map(str::to_owned)) }
    }

    #[test]
    fn every_fact_is_a_line_in_plain_words() {
        let of = |name, first, second| difference(name, [Some(first), Some(second)]);
        let differences = [
            of("processor", "AMD EPYC, L2 512 KiB", "AMD EPYC family 25 model 17, L2 1 MiB"),
            of("kernel.release", "6.1.0", "6.18.0"),
            of("kernel.boot_parameters.isolcpus", "absent", "1"),
            of("memory_total_bytes", "8589934592", "17179869184"),
            of("processor.online_cpus", "2", "4"),
            of("processor.mitigations.vmscape", "Vulnerable", "Not affected"),
            of("limits.open_files.soft", "1024", "unlimited"),
            of("limits.memory_maps", "65530", "200000"),
            of("software.measured_crates.async_executors", "0.6", "0.7"),
            of("software.tools.go version", "go1.25", "go1.26"),
            difference("software.rustc", [None, Some("1.95")]),
            difference("processor.idle_driver", [None, Some("haltpoll")]),
        ];
        assert_eq!(
            different_cpus(&differences).as_deref(),
            Some(
                "different CPUs: AMD EPYC, L2 512 KiB against \
                 AMD EPYC family 25 model 17, L2 1 MiB"
            )
        );
        assert_eq!(different_cpus(&differences[1..]), None);
        assert_eq!(
            others(&differences, ["A", "B"]),
            [
                "different kernel release: 6.1.0 against 6.18.0",
                "different boot parameter isolcpus: absent against 1",
                "different memory: 8.00 GiB against 16.00 GiB",
                "different online CPUs: 2 against 4",
                "different mitigation of vmscape: Vulnerable against Not affected",
                "different limit of open files: 1024 against unlimited",
                "different limit of memory maps: 65530 against 200000",
                "different async_executors: 0.6 against 0.7",
                "different go version: go1.25 against go1.26",
                "not known of A: rustc, idle driver",
            ]
        );
    }
}
