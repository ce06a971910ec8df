//! Tests yield-cost from outside: flags in, record out.

use contract::record::check_measurements;
use contract::{Measurement, Program};
use harness::record::Record;

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_yield-cost"),
    measurements: &[Measurement {
        operations: |_| 5000,
        ..Measurement::per_task("iteration", "cycle")
    }],
    claimed_switches: Some(0.0),
    fixed_tasks: Some(1),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

/// Every scenario, and its required flags.
const SCENARIOS: [&[&str]; 8] = [
    &["--scenario=no-switch"],
    &["--scenario=await-ready"],
    &["--scenario=yield-local-pool"],
    &["--scenario=yield-tokio-ct"],
    &["--scenario=yield-tokio-mt"],
    &["--scenario=coroutine"],
    &["--scenario=sched-yield", "--placement=same-cpu"],
    &["--scenario=thread-event"],
];

fn record(flags: &[&str]) -> Record {
    PROGRAM.record(&[flags, &["--iters=3", "--warmups=1"]].concat())
}

#[test]
fn every_scenario_measures_blocks_of_cycles_and_a_unit_of_work() {
    for flags in SCENARIOS {
        let record = record(&[flags, &["--work=10"]].concat());
        check_measurements(&PROGRAM, &record);
        let work = record.work.expect("there is work");
        assert!(work.units == 10 && work.ns_per_unit > Some(0.0), "{work:?}");
    }
}

#[test]
fn threads_that_yield_to_one_another_are_switched_by_the_kernel() {
    let record = record(SCENARIOS[6]);
    assert_eq!(record.tasks, 2);
    let switches = record.switches.expect("the kernel counts switches");
    let counted = switches.voluntary_per_operation + switches.involuntary_per_operation;
    assert!(counted > 0.9, "{counted}");
    PROGRAM.refuses(&SCENARIOS[6][..1], &["--scenario", "--placement"]);
}

/// Threads that exist must not wait for one that was never created.
#[test]
fn a_thread_that_cannot_be_created_is_a_limit_and_not_a_hang() {
    for (scenario, what) in [(6, "task 1"), (7, "task 1"), (4, "runtime")] {
        contract::limits::check_unseen(&PROGRAM, 1, SCENARIOS[scenario], what);
    }
}
