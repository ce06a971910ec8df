//! Whether a record can be true: its figures agree with one another, and it
//! is of what was asked for. A program may be broken and a file may be forged;
//! estimates are made of neither.

use harness::histogram::LONGEST_HISTOGRAM;
use harness::record::{CpuTime, LONGEST_NAME, Measurement, Record, Switches};
use serde_json::Value;

/// No figure of a record reaches this: in nanoseconds, 30 years.
const ABSURD: f64 = 1e18;

/// How far two ways to compute a figure may lie apart, as a share of it.
const ROUNDING: f64 = 1e-6;

/// The most values among a record's parameters, measurements or affinity: that
/// of anything that a record has several of.
const MOST: usize = 10_000;

/// Verifies that a record does not contradict itself.
///
/// # Errors
/// The first contradiction.
pub fn verify(record: &Record) -> Result<(), String> {
    let Record { program, version, measurements, affinity, ledger, parameters, .. } = record;
    [program, version].into_iter().try_for_each(|name| verify_name(name))?;
    let points = ledger.as_ref().map_or(0, Vec::len);
    let values = parameters.values().map(values_in).sum();
    for (what, count) in [
        ("measurements", measurements.len()),
        ("CPUs", affinity.len()),
        ("neighbours", record.neighbours.as_ref().map_or(0, Vec::len)),
        ("points in its ledger", points),
        ("values of parameters", values),
    ] {
        if count > MOST {
            return Err(format!("has {count} {what}, more than {MOST}"));
        }
    }
    measurements
        .iter()
        .try_for_each(|measurement| verify_measurement(measurement, record.tasks))?;
    match record.principal() {
        Some(Measurement { count, .. }) if *count != record.iterations => {
            let iterations = record.iterations;
            return Err(format!("reports {count} samples, not {iterations}, its iterations"));
        }
        _ => {}
    }
    let missed = record.schedule.map_or(0, |kept| kept.missed.max(kept.called_late.unwrap_or(0)));
    if missed > record.iterations {
        return Err(format!("missed {missed} of {} iterations", record.iterations));
    }
    record.cpu.as_ref().map_or(Ok(()), verify_cpu)?;
    verify_figures("system calls", [record.system_calls_per_operation.unwrap_or(0.0)])?;
    record.switches.as_ref().map_or(Ok(()), verify_switches)
}

/// Verifies that a record is of this program, under this placement.
///
/// # Errors
/// What it is of instead.
pub fn verify_origin(record: &Record, program: &str, asked: &str) -> Result<(), String> {
    if record.program != program {
        return Err(format!("is the record of '{}', not of '{program}'", record.program));
    }
    match record.parameters.get("placement").and_then(Value::as_str) {
        Some(placement) if placement != asked => {
            Err(format!("reports the placement '{placement}', not '{asked}'"))
        }
        _ => Ok(()),
    }
}

fn verify_name(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    if (1..=LONGEST_NAME).contains(&length) {
        return Ok(());
    }
    Err(format!("has a name of {length} characters, not of 1 to {LONGEST_NAME}"))
}

/// How many values a parameter holds, itself included.
fn values_in(value: &Value) -> usize {
    1 + match value {
        Value::Array(values) => values.iter().map(values_in).sum(),
        Value::Object(values) => values.values().map(values_in).sum(),
        _ => 0,
    }
}

fn verify_measurement(measurement: &Measurement, tasks: u64) -> Result<(), String> {
    let Measurement { name, operation, operations, count, histogram, .. } = measurement;
    [name, operation].into_iter().try_for_each(|name| verify_name(name))?;
    if *count == 0 || *operations == 0 {
        return Err(format!("'{name}': has {count} samples of {operations} operations"));
    }
    if histogram.len() > LONGEST_HISTOGRAM {
        return Err(format!("'{name}': has a histogram of {} bytes", histogram.len()));
    }
    verify_location(measurement)
        .and_then(|()| verify_quotients(measurement, tasks))
        .map_err(|reason| format!("'{name}': {reason}"))
}

/// Mean, deviation and percentiles must lie where the extremes let them.
fn verify_location(measurement: &Measurement) -> Result<(), String> {
    let Measurement { mean_ns, min_ns, max_ns, p50_ns, p90_ns, p99_ns, p999_ns, .. } = measurement;
    let (min, max) = (*min_ns as f64, *max_ns as f64);
    let slack = max * ROUNDING;
    if max >= ABSURD {
        return Err(format!("its longest sample, {max_ns} ns, is absurd"));
    }
    if !(min - slack..=max + slack).contains(mean_ns) {
        return Err(format!("its mean, {mean_ns} ns, is not between {min_ns} and {max_ns} ns"));
    }
    let deviation = measurement.stddev_ns.unwrap_or(0.0);
    if !(0.0..=max - min + slack).contains(&deviation) {
        return Err(format!("its deviation, {deviation} ns, is not within its range"));
    }
    if ![p50_ns, p90_ns, p99_ns, p999_ns, max_ns].is_sorted() {
        return Err("its percentiles do not rise".to_owned());
    }
    Ok(())
}

fn verify_quotients(measurement: &Measurement, tasks: u64) -> Result<(), String> {
    let Measurement { mean_ns, operations, ns_per_operation, ns_per_task, .. } = measurement;
    verify_quotient("operations", *mean_ns, *operations, *ns_per_operation)?;
    match ns_per_task {
        Some(_) if tasks == 0 => Err("has a mean per task, and there are no tasks".to_owned()),
        Some(ns_per_task) => verify_quotient("tasks", *mean_ns, tasks, *ns_per_task),
        None => Ok(()),
    }
}

/// Verifies a figure that is the mean over some number of operations or tasks.
fn verify_quotient(of: &str, mean_ns: f64, divisor: u64, figure: f64) -> Result<(), String> {
    let right = mean_ns / divisor as f64;
    if (figure - right).abs() <= right * ROUNDING {
        return Ok(());
    }
    Err(format!("its mean over {divisor} {of} is {right} ns, not {figure}"))
}

fn verify_cpu(cpu: &CpuTime) -> Result<(), String> {
    let uncounted = cpu.uncounted_ns_per_operation.unwrap_or(0.0);
    let counted = [cpu.user_ns_per_operation, cpu.system_ns_per_operation];
    verify_figures("CPU time", [counted[0], counted[1], uncounted])
}

fn verify_switches(switches: &Switches) -> Result<(), String> {
    let Switches { voluntary_per_operation, involuntary_per_operation, .. } = *switches;
    let expected = switches.expected_per_operation.unwrap_or(0.0);
    verify_figures("switches", [voluntary_per_operation, involuntary_per_operation, expected])?;
    match switches.cross_cpu_share {
        Some(share) if !(0.0..=1.0).contains(&share) => {
            Err(format!("reports a share of crossing hops of {share}"))
        }
        _ => Ok(()),
    }
}

fn verify_figures<const N: usize>(what: &str, figures: [f64; N]) -> Result<(), String> {
    match figures.into_iter().find(|figure| !(0.0..ABSURD).contains(figure)) {
        Some(figure) => Err(format!("reports {what} of {figure} per operation")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use harness::record::ScheduleKept;

    use super::*;
    use crate::store::sample;

    fn kept(missed: u64, called_late: Option<u64>) -> ScheduleKept {
        ScheduleKept { missed, called_late }
    }

    fn sound() -> Record {
        sample::case("ring/free", [20.0])[0].record.clone().expect("a record")
    }

    /// What is wrong with a sound record after this change to it.
    fn wrong(change: fn(&mut Record)) -> String {
        let mut record = sound();
        change(&mut record);
        verify(&record).err().unwrap_or_default()
    }

    #[test]
    fn a_sound_record_is_sound() {
        assert_eq!(verify(&sound()), Ok(()));
    }

    #[test]
    fn figures_that_contradict_one_another_are_told() {
        for (change, expected) in [
            ((|r| r.measurements[0].count = 0) as fn(&mut Record), "has 0 samples"),
            (|r| r.measurements[0].operations = 0, "of 0 operations"),
            (|r| r.measurements[0].operations += 1, "its mean over"),
            (|r| r.measurements[0].count += 1, "samples, not"),
            (|r| r.iterations += 1, "its iterations"),
            (|r| r.measurements[0].mean_ns = -1.0, "its mean, -1 ns, is not between"),
            (|r| r.measurements[0].mean_ns = f64::NAN, "its mean, NaN ns"),
            (|r| r.measurements[0].mean_ns = 1e300, "is not between"),
            (|r| r.measurements[0].max_ns = u64::MAX, "is absurd"),
            (|r| r.measurements[0].min_ns = u64::MAX, "is not between"),
            (|r| r.measurements[0].stddev_ns = Some(-1.0), "its deviation"),
            (|r| r.measurements[0].stddev_ns = Some(1e9), "its deviation"),
            (
                |r| r.measurements[0].stddev_ns = Some(r.measurements[0].max_ns as f64),
                "its deviation",
            ),
            (|r| r.measurements[0].p50_ns = r.measurements[0].p99_ns + 1, "do not rise"),
            (|r| r.measurements[0].p999_ns = r.measurements[0].max_ns + 1, "do not rise"),
            (|r| r.measurements[0].ns_per_operation *= 1.001, "its mean over"),
            (|r| r.measurements[0].ns_per_task = Some(0.0), "tasks is"),
            (|r| (r.tasks, r.measurements[0].ns_per_task) = (0, Some(1.0)), "there are no tasks"),
            (|r| r.cpu.as_mut().unwrap().user_ns_per_operation = -1.0, "CPU time of -1"),
            (|r| r.cpu.as_mut().unwrap().system_ns_per_operation = 1e19, "CPU time of"),
            (|r| r.system_calls_per_operation = Some(-3.0), "system calls of -3"),
            (|r| r.schedule = Some(kept(r.iterations + 1, None)), "missed"),
            (|r| r.schedule = Some(kept(0, Some(u64::MAX))), "missed"),
            (|r| r.switches.as_mut().unwrap().voluntary_per_operation = -0.5, "switches of -0.5"),
            (|r| r.switches.as_mut().unwrap().expected_per_operation = Some(-1.0), "switches of"),
            (|r| r.switches.as_mut().unwrap().cross_cpu_share = Some(1.5), "hops of 1.5"),
        ] {
            let reason = wrong(change);
            assert!(reason.contains(expected), "{reason:?} does not say {expected:?}");
        }
    }

    #[test]
    fn sizes_beyond_any_records_are_told() {
        for (change, expected) in [
            ((|r| r.program = String::new()) as fn(&mut Record), "a name of 0 characters"),
            (|r| r.measurements[0].name = "x".repeat(LONGEST_NAME + 1), "a name of 201 characters"),
            (|r| r.measurements[0].histogram = "A".repeat(LONGEST_HISTOGRAM + 1), "a histogram of"),
            (|r| r.affinity = vec![0; MOST + 1], "10001 CPUs"),
            (
                |r| {
                    drop(r.parameters.insert("a".to_owned(), Value::Array(vec![Value::Null; MOST])))
                },
                "values of parameters",
            ),
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
            let reason = wrong(change);
            assert!(reason.contains(expected), "{reason:?} does not say {expected:?}");
        }
    }

    #[test]
    fn the_largest_sizes_are_sound() {
        let mut record = sound();
        record.program = "x".repeat(LONGEST_NAME);
        record.affinity = vec![0; MOST];
        record.measurements[0].histogram = "A".repeat(LONGEST_HISTOGRAM);
        assert_eq!(verify(&record), Ok(()));
    }

    #[test]
    fn a_record_is_of_its_case_or_told_what_of() {
        let verify = |record: &Record| verify_origin(record, "ring", "spread");
        let mut record = sound();
        record.program = "ring".to_owned();
        record.parameters.insert("placement".to_owned(), "spread".into());
        assert_eq!(verify(&record), Ok(()));
        record.parameters.insert("placement".to_owned(), "free".into());
        let reason = "reports the placement 'free', not 'spread'".to_owned();
        assert_eq!(verify(&record), Err(reason));
        record.parameters.remove("placement");
        assert_eq!(verify(&record), Ok(()), "a program may offer none");
        record.program = "line".to_owned();
        let reason = "is the record of 'line', not of 'ring'".to_owned();
        assert_eq!(verify(&record), Err(reason));
    }
}
