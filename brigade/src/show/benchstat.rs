//! A report in the format of Go's benchmarks, as benchstat reads it: a line for
//! each value of each process that counts, with what a case is as keys.

use crate::judge::report::model::{Case, MeasurementEstimate, Report, TaskKind};

/// The report in that format.
pub fn benchstat(report: &Report) -> String {
    let mut text = String::from("goos: linux\npkg: brigade\n");
    for (index, run) in report.runs.iter().enumerate() {
        text += &format!("run: {}\nhost: {}\n", run.name, run.label);
        text += &format!("cpu: {}\n", run.machine);
        for case in report.groups.iter().flat_map(|group| &group.cases) {
            let Some(estimate) = &case.estimates[index] else { continue };
            for measurement in &estimate.measurements {
                let name = name(case, estimate.placement.as_deref(), measurement);
                for ns in estimate.by_round(measurement).values() {
                    text += &format!("{name} {} {ns} ns/op\n", measurement.operations.max(1));
                }
            }
        }
    }
    text
}

/// The name of a benchmark: what an operation is, then the case, its placement and
/// the kind of its tasks.
fn name(case: &Case, placement: Option<&str>, of: &MeasurementEstimate) -> String {
    let placement = placement.unwrap_or("free");
    let base = case.name.strip_suffix(placement).and_then(|name| name.strip_suffix('/'));
    let kind = case.kind.map_or("unknown", TaskKind::as_str);
    let operation = match of.name.as_str() {
        "iteration" => &of.operation,
        name => name,
    };
    format!(
        "Benchmark{}/case={}/placement={}/kind={}",
        capitalised(operation),
        word(base.unwrap_or(&case.name)),
        word(placement),
        word(kind)
    )
}

/// Words as one, each with a capital letter: what follows `Benchmark` must not
/// begin with a small one.
fn capitalised(words: &str) -> String {
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_ascii_uppercase() + rest
    };
    words.map(capital).collect()
}

/// A name as a part of another: nothing in it ends the part, the name or the line.
fn word(name: &str) -> String {
    let mut word = String::with_capacity(name.len());
    for c in name.replace(", ", ",").chars() {
        match c {
            c if c.is_ascii_alphanumeric() || "-_.,:+".contains(c) => word.push(c),
            ' ' => word.push('-'),
            c => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    word += &format!("%{byte:02X}");
                }
            }
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::super::fixture::report_of;
    use super::*;

    #[test]
    fn every_value_has_a_line_whose_name_tells_its_case() {
        let text = benchstat(&report_of(&[1.0]));
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("Benchmark") || line.contains("case=threads"))
            .collect();
        insta::assert_snapshot!(lines[..7].join("\n"), @r"
        goos: linux
        pkg: brigade
        run: run-1
        host: amd-epyc-l2-512k-2cpu
        cpu: AMD EPYC, 2 CPUs, L1 32 KiB, L2 512 KiB, L3 32 MiB, kvm guest, preemption dynamic
        BenchmarkHop/case=threads/placement=same-cpu/kind=unknown 10 1790 ns/op
        BenchmarkHop/case=threads/placement=same-cpu/kind=unknown 10 1772.1 ns/op
        ");
        assert_eq!(text.matches("BenchmarkCreateJoin/case=create/").count(), 6);
    }

    #[test]
    fn a_hostile_name_is_one_word() {
        assert_eq!(word("a/b c\n%é, d"), "a%2Fb-c%0A%25%C3%A9,d");
        assert_eq!(capitalised("<b>1 create_cold"), "B1CreateCold");
        assert_eq!(capitalised("thread creation"), "ThreadCreation");
    }
}
