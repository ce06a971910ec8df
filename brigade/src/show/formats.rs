//! A report for other tools: CSV, Go's benchmark format and Bencher Metric Format.

use std::borrow::Cow;
use std::collections::BTreeMap;

use csv::Writer;
use serde::Serialize;
use serde_json::json;

use crate::judge::report::model::{Case, JudgedOutcome, MeasurementEstimate, Report, TaskKind};
use crate::judge::statistics::Estimate;

/// A CSV row. `verdict` is the outcome of the invocation; `ns` is the mean time per operation, or
/// empty.
#[derive(Serialize)]
struct Row<'a> {
    run: Cow<'a, str>,
    host: Cow<'a, str>,
    case: Cow<'a, str>,
    program: Cow<'a, str>,
    parameters: String,
    measurement: Cow<'a, str>,
    round: u32,
    attempt: u32,
    verdict: JudgedOutcome,
    ns: Option<f64>,
}

/// The report as CSV, with one row per value and invocation, and one per invocation without
/// measurements.
///
/// # Errors
/// Never: it is written to memory.
pub fn csv(report: &Report) -> anyhow::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    for case in report.groups.iter().flat_map(|group| &group.cases) {
        for (run, estimate) in report.runs.iter().zip(&case.estimates) {
            let Some(estimate) = estimate else { continue };
            for (index, invocation) in estimate.invocations.iter().enumerate() {
                let measured = estimate.measurements.iter();
                let measured = measured.map(|of| (cell(&of.name), of.values_ns[index]));
                let mut values: Vec<_> = measured.filter(|(_, ns)| ns.is_some()).collect();
                if values.is_empty() {
                    values.push(("".into(), None));
                }
                for (measurement, ns) in values {
                    writer.serialize(Row {
                        run: cell(&run.name),
                        host: cell(&run.label),
                        case: cell(&case.name),
                        program: cell(&case.key.program),
                        parameters: case.key.parameters_json(),
                        measurement,
                        round: invocation.round,
                        attempt: invocation.attempt,
                        verdict: invocation.outcome,
                        ns,
                    })?;
                }
            }
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// Text as a cell that no spreadsheet interprets as a formula.
fn cell(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return format!("'{text}").into();
    }
    text.into()
}

/// The report in Go's benchmark format, for benchstat: one line per value and usable process.
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

/// The name of a benchmark: the operation, then the case, its placement and its kind of task.
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

/// Words joined into one, each capitalized: Go requires that after `Benchmark`.
fn capitalised(words: &str) -> String {
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_ascii_uppercase() + rest
    };
    words.map(capital).collect()
}

/// A name with characters replaced that would end it or the line.
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

/// One measure of a benchmark in Bencher Metric Format. Unknown bounds are omitted.
#[derive(Serialize)]
struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

impl From<&Estimate> for Metric {
    fn from(estimate: &Estimate) -> Self {
        let ends = estimate.interval;
        Self {
            value: estimate.value,
            lower_value: ends.map(|ends| ends.low),
            upper_value: ends.map(|ends| ends.high),
        }
    }
}

/// Every time and memory figure of a report, with its benchmark's name: the case, and the
/// measurement unless it is the principal one. With several runs, each name begins with the run's.
fn benchmarks(report: &Report) -> Vec<(String, Quantity, &Estimate)> {
    let mut benchmarks = Vec::new();
    for (index, run) in report.runs.iter().enumerate() {
        let prefix = if report.runs.len() == 1 { String::new() } else { format!("{}: ", run.name) };
        for case in report.groups.iter().flat_map(|group| &group.cases) {
            let Some(estimate) = &case.estimates[index] else { continue };
            for (order, measurement) in estimate.measurements.iter().enumerate() {
                let name = match order {
                    0 => format!("{prefix}{}", case.name),
                    _ => format!("{prefix}{}, {}", case.name, measurement.name),
                };
                benchmarks.push((name, LATENCY, &measurement.time_ns));
            }
            for part in &estimate.memory {
                let name = format!("{prefix}{}, {}", case.name, part.name);
                benchmarks.push((name, MEMORY, &part.bytes_per_task));
            }
        }
    }
    benchmarks
}

/// Bencher's name of the measure, and its unit.
type Quantity = (&'static str, &'static str);

const LATENCY: Quantity = ("latency", "ns");
const MEMORY: Quantity = ("memory", "B");

/// The report in Bencher Metric Format.
///
/// # Errors
/// Never: it is written to memory.
pub fn bmf(report: &Report) -> serde_json::Result<String> {
    let mut all: BTreeMap<String, BTreeMap<&str, Metric>> = BTreeMap::new();
    for (name, (measure, _), estimate) in benchmarks(report) {
        all.entry(name).or_default().insert(measure, estimate.into());
    }
    Ok(serde_json::to_string_pretty(&all)? + "\n")
}

/// The report for github-action-benchmark's tool `customSmallerIsBetter`.
///
/// # Errors
/// Never: it is written to memory.
pub fn github(report: &Report) -> serde_json::Result<String> {
    let entry = |(name, (_, unit), estimate): (String, Quantity, &Estimate)| {
        let half = estimate.interval.map(|ends| (ends.high - ends.low) / 2.0);
        let range = half.map(|half| format!("± {half:.3}"));
        json!({ "name": name, "unit": unit, "value": estimate.value, "range": range })
    };
    let entries: Vec<_> = benchmarks(report).into_iter().map(entry).collect();
    Ok(serde_json::to_string_pretty(&entries)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::report_of;
    use super::*;

    const HEADINGS: &str = "run,host,case,program,parameters,measurement,round,attempt,verdict,ns";

    #[test]
    fn every_value_and_every_failed_invocation_has_a_row() {
        let text = csv(&report_of(&[1.0])).unwrap();
        let of =
            |case: &str| -> Vec<&str> { text.lines().filter(|line| line.contains(case)).collect() };
        assert_eq!(text.lines().next(), Some(HEADINGS));
        insta::assert_snapshot!(of(",tasks,").join("\n"), @r#"
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,1,1,clean,923.1
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,2,1,clean,886.9
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,3,1,clean,909.5249999999999
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,4,1,clean,905.0
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,5,1,clean,900.475
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,6,1,clean,915.86
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,7,1,clean,921.29
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,8,1,clean,891.425
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,9,1,clean,907.7149999999999
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,10,1,clean,905.0
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,11,1,clean,895.95
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,12,1,clean,914.05
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",,13,1,failed,
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",,13,1,interrupted,
        "#);
        let measurements: Vec<_> =
            of(",create,").iter().map(|line| line.contains("create_join")).collect();
        assert_eq!(measurements, [false, true].repeat(12));
    }

    #[test]
    fn no_cell_of_text_is_a_formula() {
        let mut report = report_of(&[1.0]);
        report.groups[0].cases[0].name = "=cmd|'/c calc'!A1".to_owned();
        report.runs[0].name = "@SUM(1)".to_owned();
        let text = csv(&report).unwrap();
        assert!(text.contains("\n'@SUM(1),") && text.contains(",'=cmd|"), "{text}");
        assert!(!text.contains("\n@") && !text.contains(",="), "{text}");
    }

    #[test]
    fn a_hostile_name_is_one_word() {
        assert_eq!(word("a/b c\n%é, d"), "a%2Fb-c%0A%25%C3%A9,d");
        assert_eq!(capitalised("<b>1 create_cold"), "B1CreateCold");
        assert_eq!(capitalised("thread creation"), "ThreadCreation");
    }
}
