//! A report in Bencher Metric Format: an object of benchmarks, each with its
//! measures, each of these with a value and the ends of its interval.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::judge::report::model::Report;
use crate::judge::statistics::Estimate;

/// A measure of a benchmark. Ends that are not known are left out.
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

/// The report in that format: `latency` is in nanoseconds per operation, `memory`
/// in bytes per task. Of several runs each name begins with the run's.
///
/// # Errors
/// Never: it is written to memory.
pub fn bmf(report: &Report) -> serde_json::Result<String> {
    let mut benchmarks: BTreeMap<String, BTreeMap<&str, Metric>> = BTreeMap::new();
    for (index, run) in report.runs.iter().enumerate() {
        let prefix = if report.runs.len() == 1 { String::new() } else { format!("{}: ", run.name) };
        for case in report.groups.iter().flat_map(|group| &group.cases) {
            let Some(estimate) = &case.estimates[index] else { continue };
            for (order, measurement) in estimate.measurements.iter().enumerate() {
                let name = match order {
                    0 => format!("{prefix}{}", case.name),
                    _ => format!("{prefix}{}, {}", case.name, measurement.name),
                };
                let metrics = benchmarks.entry(name).or_default();
                metrics.insert("latency", (&measurement.time_ns).into());
            }
            for part in &estimate.memory {
                let name = format!("{prefix}{}, {}", case.name, part.name);
                let metrics = benchmarks.entry(name).or_default();
                metrics.insert("memory", (&part.bytes_per_task).into());
            }
        }
    }
    Ok(serde_json::to_string_pretty(&benchmarks)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::report_of;
    use super::*;

    #[test]
    fn every_measurement_is_a_benchmark_with_its_interval() {
        let json = bmf(&report_of(&[1.0])).unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let metric = &value["create, create_join"]["latency"];
        assert_eq!(
            metric,
            &serde_json::json!({
                "value": 800.0, "lower_value": 800.0, "upper_value": 800.0
            })
        );
        assert_eq!(value.as_object().unwrap().len(), 6);
        let both = bmf(&report_of(&[1.0, 2.0])).unwrap();
        assert!(both.contains("\"run-2: tasks\"") && !both.contains("\"tasks\""), "{both}");
    }
}
