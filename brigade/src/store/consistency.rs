//! Checks whether a record is plausible: its figures agree with one another, and it matches the
//! requested case. A program may be broken and a file forged; estimates use neither.

use anyhow::{Context, ensure};
use harness::histogram::LONGEST_HISTOGRAM;
use harness::record::{LONGEST_NAME, Measurement, Record};
use serde_json::Value;

/// Every figure of a record is below this: in nanoseconds, 30 years.
const ABSURD: f64 = 1e18;

/// The tolerated difference between two ways to compute a figure, as a share of
/// it.
const ROUNDING: f64 = 1e-6;

/// The most values among a record's parameters, measurements or affinity.
const MOST: usize = 10_000;

/// Verifies that a record does not contradict itself.
///
/// # Errors
/// The first contradiction.
pub fn verify(record: &Record) -> anyhow::Result<()> {
    let Record { tasks, iterations, measurements, .. } = record;
    verify_name(&record.program)?;
    verify_name(&record.version)?;
    for (what, count) in [
        ("measurements", measurements.len()),
        ("CPUs", record.affinity.len()),
        ("neighbours", record.neighbours.as_ref().map_or(0, Vec::len)),
        ("points in its ledger", record.ledger.as_ref().map_or(0, Vec::len)),
        ("values of parameters", record.parameters.values().map(values_in).sum()),
    ] {
        ensure!(count <= MOST, "has {count} {what}, more than {MOST}");
    }
    for of in measurements {
        verify_measurement(of, *tasks).with_context(|| format!("'{}'", of.name))?;
    }
    if let Some(Measurement { count, .. }) = record.principal() {
        ensure!(count == iterations, "reports {count} samples, not {iterations}, its iterations");
    }
    let missed = record.schedule.map_or(0, |kept| kept.missed.max(kept.called_late.unwrap_or(0)));
    ensure!(missed <= *iterations, "missed {missed} of {iterations} iterations");
    let (cpu, switches) = (record.cpu.as_ref(), record.switches.as_ref());
    for (what, figure) in [
        ("CPU time", cpu.map(|of| of.user_ns_per_operation)),
        ("CPU time", cpu.map(|of| of.system_ns_per_operation)),
        ("CPU time", cpu.and_then(|of| of.uncounted_ns_per_operation)),
        ("system calls", record.system_calls_per_operation),
        ("switches", switches.map(|of| of.voluntary_per_operation)),
        ("switches", switches.map(|of| of.involuntary_per_operation)),
        ("switches", switches.and_then(|of| of.expected_per_operation)),
    ] {
        let figure = figure.unwrap_or(0.0);
        ensure!((0.0..ABSURD).contains(&figure), "reports {what} of {figure} per operation");
    }
    let share = switches.and_then(|of| of.cross_cpu_share).unwrap_or(0.0);
    ensure!((0.0..=1.0).contains(&share), "reports a share of crossing hops of {share}");
    Ok(())
}

/// Verifies that a record is from this program, under this placement.
///
/// # Errors
/// The program or placement in the record, if it differs.
pub fn verify_origin(record: &Record, program: &str, requested: &str) -> anyhow::Result<()> {
    let found = &record.program;
    ensure!(found == program, "is a record of '{found}', not of '{program}'");
    let placement = record.parameters.get("placement").and_then(Value::as_str).unwrap_or(requested);
    ensure!(placement == requested, "reports the placement '{placement}', not '{requested}'");
    Ok(())
}

fn verify_name(name: &str) -> anyhow::Result<()> {
    let length = name.chars().count();
    let range = 1..=LONGEST_NAME;
    ensure!(
        range.contains(&length),
        "has a name of {length} characters, not of 1 to {LONGEST_NAME}"
    );
    Ok(())
}

/// The number of values in a parameter, itself included.
fn values_in(value: &Value) -> usize {
    1 + match value {
        Value::Array(values) => values.iter().map(values_in).sum(),
        Value::Object(values) => values.values().map(values_in).sum(),
        _ => 0,
    }
}

fn verify_measurement(of: &Measurement, tasks: u64) -> anyhow::Result<()> {
    let Measurement { operations, count, mean_ns, min_ns, max_ns, .. } = of;
    verify_name(&of.name)?;
    verify_name(&of.operation)?;
    ensure!(*count > 0 && *operations > 0, "has {count} samples of {operations} operations");
    let length = of.histogram.len();
    ensure!(length <= LONGEST_HISTOGRAM, "has a histogram of {length} bytes");
    let (min, max) = (*min_ns as f64, *max_ns as f64);
    let slack = max * ROUNDING;
    ensure!(max < ABSURD, "its longest sample, {max_ns} ns, is implausible");
    ensure!(
        (min - slack..=max + slack).contains(mean_ns),
        "its mean, {mean_ns} ns, is not between {min_ns} and {max_ns} ns"
    );
    let deviation = of.stddev_ns.unwrap_or(0.0);
    let range = 0.0..=max - min + slack;
    ensure!(range.contains(&deviation), "its deviation, {deviation} ns, is not within its range");
    let percentiles = [of.p50_ns, of.p90_ns, of.p99_ns, of.p999_ns, *max_ns];
    ensure!(percentiles.is_sorted(), "its percentiles decrease");
    verify_quotient("operations", *mean_ns, *operations, of.ns_per_operation)?;
    of.ns_per_task.map_or(Ok(()), |figure| verify_quotient("tasks", *mean_ns, tasks, figure))
}

/// Verifies a figure that is the mean over a number of operations or tasks.
fn verify_quotient(of: &str, mean_ns: f64, divisor: u64, figure: f64) -> anyhow::Result<()> {
    ensure!(divisor > 0, "has a mean per task, but no tasks");
    let right = mean_ns / divisor as f64;
    let is_right = (figure - right).abs() <= right * ROUNDING;
    ensure!(is_right, "its mean over {divisor} {of} is {right} ns, not {figure}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use harness::record::ScheduleKept;

    use super::*;
    use crate::store::fixtures as sample;

    fn kept(missed: u64, called_late: Option<u64>) -> ScheduleKept {
        ScheduleKept { missed, called_late }
    }

    fn sound() -> Record {
        sample::case("ring/free", [20.0])[0].record.clone().expect("a record")
    }

    #[test]
    fn contradictory_or_oversized_records_are_refused() {
        verify(&sound()).unwrap();
        for (change, expected) in [
            ((|r| r.measurements[0].count = 0) as fn(&mut Record), "has 0 samples"),
            (|r| r.measurements[0].operations = 0, "of 0 operations"),
            (|r| r.measurements[0].operations += 1, "its mean over"),
            (|r| r.measurements[0].count += 1, "samples, not"),
            (|r| r.iterations += 1, "its iterations"),
            (|r| r.measurements[0].mean_ns = -1.0, "its mean, -1 ns, is not between"),
            (|r| r.measurements[0].mean_ns = f64::NAN, "its mean, NaN ns"),
            (|r| r.measurements[0].mean_ns = 1e300, "is not between"),
            (|r| r.measurements[0].max_ns = u64::MAX, "is implausible"),
            (|r| r.measurements[0].min_ns = u64::MAX, "is not between"),
            (|r| r.measurements[0].stddev_ns = Some(-1.0), "its deviation"),
            (|r| r.measurements[0].stddev_ns = Some(1e9), "its deviation"),
            (|r| r.measurements[0].p50_ns = r.measurements[0].p99_ns + 1, "percentiles decrease"),
            (|r| r.measurements[0].p999_ns = r.measurements[0].max_ns + 1, "percentiles decrease"),
            (|r| r.measurements[0].ns_per_operation *= 1.001, "its mean over"),
            (|r| r.measurements[0].ns_per_task = Some(0.0), "tasks is"),
            (|r| (r.tasks, r.measurements[0].ns_per_task) = (0, Some(1.0)), "but no tasks"),
            (|r| r.cpu.as_mut().unwrap().user_ns_per_operation = -1.0, "CPU time of -1"),
            (|r| r.cpu.as_mut().unwrap().system_ns_per_operation = 1e19, "CPU time of"),
            (|r| r.system_calls_per_operation = Some(-3.0), "system calls of -3"),
            (|r| r.schedule = Some(kept(r.iterations + 1, None)), "missed"),
            (|r| r.schedule = Some(kept(0, Some(u64::MAX))), "missed"),
            (|r| r.switches.as_mut().unwrap().voluntary_per_operation = -0.5, "switches of -0.5"),
            (|r| r.switches.as_mut().unwrap().expected_per_operation = Some(-1.0), "switches of"),
            (|r| r.switches.as_mut().unwrap().cross_cpu_share = Some(1.5), "hops of 1.5"),
            (|r| r.program = String::new(), "a name of 0 characters"),
            (|r| r.measurements[0].name = "x".repeat(LONGEST_NAME + 1), "a name of 201 characters"),
            (|r| r.measurements[0].histogram = "A".repeat(LONGEST_HISTOGRAM + 1), "a histogram of"),
            (|r| r.affinity = vec![0; MOST + 1], "10001 CPUs"),
            (
                |r| {
                    let inner = (0..MOST).map(|key| (key.to_string(), Value::Null)).collect();
                    drop(r.parameters.insert("a".to_owned(), Value::Object(inner)))
                },
                "values of parameters",
            ),
            (
                |r| {
                    let one = r.measurements[0].clone();
                    r.measurements.resize(MOST + 1, one);
                },
                "10001 measurements",
            ),
        ] {
            let mut record = sound();
            change(&mut record);
            let reason = format!("{:#}", verify(&record).expect_err(expected));
            assert!(reason.contains(expected), "{reason:?} does not contain {expected:?}");
        }
    }

    #[test]
    fn a_record_must_match_its_case() {
        let mut record = sound();
        record.program = "ring".to_owned();
        for (program, placement, reason) in [
            ("ring", Some("spread"), ""),
            ("ring", None, ""),
            ("ring", Some("free"), "reports the placement 'free', not 'spread'"),
            ("line", Some("spread"), "is a record of 'line', not of 'ring'"),
        ] {
            record.program = program.to_owned();
            record.parameters.remove("placement");
            let placement = placement.map(|of| ("placement".to_owned(), of.into()));
            record.parameters.extend(placement);
            let found = verify_origin(&record, "ring", "spread").err();
            assert_eq!(found.map_or(String::new(), |error| error.to_string()), reason);
        }
    }
}
