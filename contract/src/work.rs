//! `--work`: work of a known length at every hop, of programs that offer it.

use harness::record::Record;
use serde_json::Value;

use crate::Program;

/// Flags that make a run short.
const SHORT: &[&str] = &["--tasks", "5", "--iters", "20", "--warmups", "3"];

/// Units beside which the hop itself is short.
const UNITS: u64 = 50_000;

/// Runs of which the quickest lap and the quickest unit are compared: any one
/// of them may have met a busy machine.
const RUNS: usize = 3;

/// The least share of the known work that the quickest lap must have taken:
/// less than all of it, for the two were not measured at the same moment, and
/// more than what one hop of six would make, or three.
const LEAST_SHARE: f64 = 0.7;

fn with_work(program: &Program, units: u64) -> Record {
    program.with(SHORT).and(&["--json", "--work", &units.to_string()]).run().succeeded().record()
}

/// Negative amounts, fractions, words, more than anyone waits for.
pub fn amounts_that_make_no_sense_are_usage_errors(program: &Program) {
    for amount in ["-1", "1.5", "1e3", "much", "", "2000000000"] {
        program.refuses(&["--work", amount], &["--work"]);
    }
}

/// What was asked for, and how long a unit takes here.
pub fn the_record_tells_the_units_and_their_length(program: &Program) {
    let record = with_work(program, 100);
    let work = record.work.expect("it offers --work");
    assert_eq!((work.units, &record.parameters["work"]), (100, &Value::from(100)));
    let ns = work.ns_per_unit.expect("there was work to measure");
    assert!(ns > 0.0 && ns.is_finite(), "{ns}");
}

/// And says so: there was nothing to measure.
pub fn without_the_flag_there_is_none(program: &Program) {
    let record = program.record(SHORT);
    let work = record.work.expect("it offers --work");
    assert_eq!((work.units, work.ns_per_unit), (0, None));
    assert_eq!(record.parameters["work"], 0);
}

/// Not at some of the hops: the shortest lap has all of it.
pub fn every_hop_has_it(program: &Program) {
    let records: Vec<_> = (0..RUNS).map(|_| with_work(program, UNITS)).collect();
    let least = |figure: fn(&Record) -> f64| records.iter().map(figure).fold(f64::MAX, f64::min);
    let unit_ns =
        least(|record| record.work.and_then(|work| work.ns_per_unit).expect("there was work"));
    let hop_ns = least(|record| {
        let lap = record.principal().expect("a measurement");
        lap.min_ns as f64 / lap.operations as f64
    });
    let known = UNITS as f64 * unit_ns;
    assert!(hop_ns > LEAST_SHARE * known, "a hop of {hop_ns} ns has {known} ns of work");
}
