//! thread-creation from outside: flags in, record out.

use contract::{Measurement, Program};

const PROGRAM: Program = Program {
    name: env!("CARGO_PKG_NAME"),
    path: env!("CARGO_BIN_EXE_thread-creation"),
    measurements: &[
        Measurement::per_task("create", "thread creation"),
        Measurement::per_task("join", "join"),
        Measurement::once("create_cold", "thread creation"),
        Measurement::of_each_task("start", "start"),
    ],
    ..Program::NEW
};

contract::keeps!(PROGRAM);

#[test]
fn a_stack_that_no_thread_can_have_is_a_usage_error() {
    for size in ["1", "0", "-1", "1MiB", "99999999999999999999"] {
        PROGRAM.refuses(&["--stack-size", size], &["--stack-size"]);
    }
}

#[test]
fn every_measurement_has_its_lines_in_the_summary() {
    let run = PROGRAM.run(&["--tasks=5", "--iters=5"]).succeeded();
    for name in ["join:", "create_cold:", "start:"] {
        assert!(run.stdout.lines().any(|line| line == name), "no {name} in: {}", run.stdout);
    }
}

#[test]
fn the_ends_of_its_threads_are_accounted_for() {
    let ends = |record: harness::record::Record| {
        record.cpu.expect("the kernel tells").uncounted_ns_per_operation
    };
    let ns = ends(PROGRAM.record(&["--tasks=20", "--iters=5"]));
    assert!(ns.is_some_and(|ns| ns > 0.0), "{ns:?}");
}
