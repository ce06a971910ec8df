//! Tests thread-creation from outside: flags in, record out.

use contract::{Measurement, Program};

const PROGRAM: Program = Program {
    name: harness::program!().name,
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
fn the_ends_of_its_threads_are_accounted_for() {
    let cpu = PROGRAM.record(&["--tasks=20", "--iters=5"]).cpu.expect("CPU time");
    let ns = cpu.uncounted_ns_per_operation;
    assert!(ns.is_some_and(|ns| ns > 0.0), "{ns:?}");
}
