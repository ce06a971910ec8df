//! Tests blocking-crossing from outside: flags in, record out.

use contract::record::check_measurements;
use contract::{Measurement, Program};
use harness::record::Record;

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_blocking-crossing"),
    measurements: &[Measurement {
        operations: |callers| callers * 32,
        ..Measurement::per_task("iteration", "call")
    }],
    spread: Some(&[]),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

fn record(flags: &[&str]) -> Record {
    PROGRAM.record(&[flags, &["--iters=20", "--warmups=2"]].concat())
}

#[test]
fn every_way_makes_all_calls_of_all_callers() {
    for via in ["inline", "spawn-blocking", "block-in-place", "channel"] {
        for tasks in ["1", "8"] {
            check_measurements(&PROGRAM, &record(&["--via", via, "--tasks", tasks, "--work=10"]));
        }
    }
}

/// A call on a dedicated thread blocks one thread and wakes another, at least on one CPU, where
/// nobody can poll for the answer while it runs.
#[test]
fn a_call_elsewhere_is_a_switch_and_an_inline_call_is_none() {
    let switches = |via: &str| {
        let flags = ["--via", via, "--placement=same-cpu", "--runtime=tokio-current-thread"];
        record(&flags).switches.expect("switches").voluntary_per_operation
    };
    assert!(switches("inline") < 0.1);
    for via in ["spawn-blocking", "channel"] {
        assert!(switches(via) > 0.9, "{via}: {}", switches(via));
    }
}

#[test]
fn impossible_flags_are_refused() {
    PROGRAM.refuses(
        &["--via=block-in-place", "--runtime=tokio-current-thread"],
        &["--via block-in-place", "--runtime tokio"],
    );
    PROGRAM.refuses(&["--runtime=tokio-local", "--workers=2"], &["--workers 2"]);
}
