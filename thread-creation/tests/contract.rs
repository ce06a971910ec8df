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

/// `create_cold` is measured once; the last line has no wall time.
#[test]
fn a_summary_prints_one_sample_once_and_names_cpu_time() {
    let shown = PROGRAM.run(&["--tasks=20", "--iters=5"]).succeeded().stdout;
    let cold: Vec<&str> = shown.lines().filter(|line| line.starts_with("create_cold:")).collect();
    assert!(matches!(cold[..], [line] if line.ends_with(" per thread creation, in one sample")));
    assert!(
        shown.lines().any(|line| line.starts_with("CPU time per thread creation: ")),
        "{shown}"
    );
}
