//! What a program prints for the runner: the record.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use harness::record::{Ending, Measurement, Record};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::Value;

use crate::Program;

/// Decodes the histogram of a measurement without the harness's help.
pub(crate) fn histogram_of(measurement: &Measurement) -> Histogram<u64> {
    let bytes = BASE64.decode(&measurement.histogram).expect("base64");
    Deserializer::new().deserialize(&mut &bytes[..]).expect("HdrHistogram's V2 + deflate")
}

fn check_close(what: &str, found: f64, expected: f64) {
    let close = (found - expected).abs() <= expected.abs() * 1e-12;
    assert!(close, "{what}: {found} instead of {expected}");
}

/// The committed schema of a record, which is generated from its types.
const SCHEMA: &str = include_str!("../../harness/record.schema.json");

/// One line on standard output and nothing else, valid by the schema, with
/// every field that the schema knows and no other.
pub fn the_record_is_valid_by_its_schema(program: &Program) {
    let run = program.short().and(&["--json"]).run().succeeded();
    let printed: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let schema = serde_json::from_str(SCHEMA).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<_> = validator.iter_errors(&printed).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let read = serde_json::to_value(run.record()).expect("a record serializes");
    assert_eq!(printed, read);
}

/// The counts, the program and the way it ended.
pub fn the_record_holds_what_was_asked_for(program: &Program) {
    let record = program.short_record();
    assert_eq!(record.program, program.name);
    assert_eq!((record.tasks, record.tokens), (program.tasks(), 1));
    assert_eq!((record.iterations, record.warmups), (20, 3));
    assert_eq!((record.complete, record.ended_by), (true, Ending::Iterations));
    assert_eq!(record.error, None);
    if program.fixed_tasks.is_none() {
        assert_eq!(record.parameters["tasks"], 5);
    }
    assert_eq!(record.parameters["iters"], 20);
    assert_eq!(record.parameters["warmups"], 3);
    assert_eq!(record.parameters["json"], true);
    assert_eq!(record.parameters["placement"], "free");
}

/// Every flag that `--help` offers, the program's own among them, and no
/// other.
pub fn the_parameters_are_the_flags_of_the_help(program: &Program) {
    let help = program.run(&["--help"]).succeeded().stdout;
    let offered: BTreeSet<_> = help
        .lines()
        .filter_map(|line| line.trim_start().trim_start_matches("-h, ").strip_prefix("--"))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|flag| !["help", "version"].contains(flag))
        .map(|flag| flag.replace('-', "_"))
        .collect();
    let recorded: BTreeSet<_> = program.short_record().parameters.into_keys().collect();
    assert_eq!(recorded, offered, "{help}");
}

/// The alias means the same.
pub fn threads_is_another_name_for_tasks(program: &Program) {
    let record = program.record(&["--threads", "4", "--iters", "2", "--warmups", "0"]);
    assert_eq!((record.tasks, &record.parameters["tasks"]), (4, &Value::from(4)));
}

/// Names, operations and counts, in order.
pub fn measurements_are_those_described(program: &Program) {
    let record = program.short_record();
    assert_eq!(record.measurements.len(), program.measurements.len(), "{record:#?}");
    for (found, expected) in record.measurements.iter().zip(program.measurements) {
        assert_eq!((&*found.name, &*found.operation), (expected.name, expected.operation));
        assert_eq!(found.operations, (expected.operations)(record.tasks), "{}", found.name);
        let samples = (expected.samples)(record.tasks, record.iterations);
        assert_eq!(found.count, samples, "samples of {}", found.name);
        assert_eq!(found.ns_per_task.is_some(), expected.covers_tasks, "{}", found.name);
    }
}

/// From the smallest sample to the largest, the mean between them.
pub fn percentiles_are_in_order_between_the_extremes(program: &Program) {
    for found in program.short_record().measurements {
        let order =
            [found.min_ns, found.p50_ns, found.p90_ns, found.p99_ns, found.p999_ns, found.max_ns];
        assert!(order.is_sorted(), "{}: {order:?}", found.name);
        let extremes = found.min_ns as f64..=found.max_ns as f64;
        assert!(extremes.contains(&found.mean_ns), "{}: {}", found.name, found.mean_ns);
        let width = (found.max_ns - found.min_ns) as f64;
        match found.stddev_ns {
            None => assert!(found.count < 2, "{}: no stddev", found.name),
            Some(stddev) => assert!((0.0..=width).contains(&stddev), "{}: {stddev}", found.name),
        }
    }
}

/// Per operation and per task are never mixed up.
pub fn figures_per_operation_and_per_task_follow_from_the_mean(program: &Program) {
    let record = program.short_record();
    for found in &record.measurements {
        let each = found.mean_ns / found.operations as f64;
        check_close("ns_per_operation", found.ns_per_operation, each);
        if let Some(per_task) = found.ns_per_task {
            check_close("ns_per_task", per_task, found.mean_ns / record.tasks as f64);
        }
    }
}

/// Read by HdrHistogram's own library: the record's percentiles and count. The
/// histogram rounds up to three digits; the record stops at the exact maximum.
pub fn the_histogram_decodes_to_the_same_percentiles(program: &Program) {
    for found in program.short_record().measurements {
        let histogram = histogram_of(&found);
        assert_eq!(histogram.len(), found.count, "{}", found.name);
        let decoded = [50.0, 90.0, 99.0, 99.9]
            .map(|percent| histogram.value_at_percentile(percent).min(found.max_ns));
        let recorded = [found.p50_ns, found.p90_ns, found.p99_ns, found.p999_ns];
        assert_eq!(decoded, recorded, "{}", found.name);
        assert!(histogram.equivalent(histogram.max(), found.max_ns), "{}", found.name);
        assert!(histogram.equivalent(histogram.min(), found.min_ns), "{}", found.name);
    }
}

/// The smallest run is a run, without a deviation but with everything else.
pub fn one_task_and_one_iteration_are_enough(program: &Program) {
    let record = program.record(&["--tasks", "1", "--iters", "1", "--warmups", "0"]);
    assert_eq!((record.tasks, record.iterations, record.warmups), (1, 1, 0));
    assert!(record.complete);
    for found in &record.measurements {
        assert_eq!((found.count, found.stddev_ns), (1, None), "{}", found.name);
        assert_eq!(found.min_ns, found.max_ns, "{}", found.name);
    }
}

/// It has figures, and they fit one another.
pub fn memory_is_that_of_this_process(program: &Program) {
    let memory = program.short_record().memory.expect("Linux tells about memory");
    assert!(memory.rss_bytes > 0, "{memory:?}");
    assert!(memory.peak_rss_bytes >= memory.rss_bytes, "{memory:?}");
    assert!(memory.virtual_bytes >= memory.rss_bytes, "{memory:?}");
    assert!(memory.page_table_bytes.is_none_or(|bytes| bytes > 0), "{memory:?}");
}

/// The kernel's counts are there, beside the claim; crossings where traced. A program that
/// keeps a schedule claims no switch for what did not wait.
pub fn switches_are_counted_and_claimed_as_described(program: &Program) {
    let record = program.short_record();
    let switches = record.switches.expect("the kernel counts switches");
    let spared = record.schedule.map_or(0, |kept| kept.missed + kept.called_late.unwrap_or(0));
    match (switches.expected_per_operation, program.claimed_switches) {
        (Some(found), Some(claimed)) => {
            check_close("claim", found, claimed - spared as f64 / record.iterations as f64);
        }
        (found, claimed) => assert_eq!(found, claimed),
    }
    assert!(switches.voluntary_per_operation >= 0.0, "{switches:?}");
    assert!(switches.involuntary_per_operation >= 0.0, "{switches:?}");
    assert_eq!(switches.cross_cpu_share.is_some(), program.traces, "{switches:?}");
    assert!(switches.cross_cpu_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
    assert!(record.cpu.is_some());
}

/// The voluntary switches per operation of a run with these flags: those of
/// threads that blocked. Preemption depends on the kernel and on what else the
/// machine does, so nothing is asserted about it.
pub fn voluntary_switches(record: &Record) -> f64 {
    record.switches.expect("the kernel counts switches").voluntary_per_operation
}
