//! Tests async-creation from outside: flags in, record out.

use contract::record::check_measurements;
use contract::{Measurement, Program, runs_natively};

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_async-creation"),
    measurements: &[
        Measurement::per_task("create", "task creation"),
        Measurement::per_task("join", "join"),
        Measurement::once("create_cold", "task creation"),
        Measurement::of_each_task("start", "start"),
    ],
    spread: Some(&[]),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

#[test]
fn every_runtime_creates_and_joins_all_of_its_tasks() {
    for runtime in ["tokio-local", "async-executor", "compio", "local-pool", "coroutine"] {
        let flags = ["--tasks=50", "--iters=20", "--warmups=1", "--runtime", runtime];
        let Some(record) = PROGRAM.record_if_possible(&flags) else { continue };
        check_measurements(&PROGRAM, &record);
        PROGRAM.refuses(&["--workers=2", "--runtime", runtime], &["--workers"]);
    }
    let large = ["--tasks=5", "--iters=20", "--future-bytes=16384"];
    check_measurements(&PROGRAM, &PROGRAM.record(&large));
    PROGRAM.refuses(&["--runtime=local-pool", "--future-bytes=1024"], &["--future-bytes"]);
}

/// The page faults of a process that creates 10,000 tasks this many times.
fn page_faults(iters: &str, more: &[&str]) -> u64 {
    let runtime = "--runtime=tokio-current-thread";
    let flags = [runtime, "--warmups=1", iters, "--command", "cut -d' ' -f10 /proc/{pid}/stat"];
    let shown = PROGRAM.run(&[&flags[..], more].concat()).succeeded().stdout;
    shown.lines().find_map(|line| line.parse().ok()).expect("a number of page faults")
}

#[test]
fn an_iteration_reuses_the_memory_of_the_one_before_unless_the_heap_is_trimmed() {
    if !runs_natively("page faults of tasks") {
        return;
    }
    let added = |more: &[&str]| {
        let [few, many] = ["--iters=5", "--iters=25"].map(|iters| page_faults(iters, more));
        many.saturating_sub(few)
    };
    // Twice 20 iterations of at least 100 pages.
    let trimmed = added(&["--trim-heap"]);
    assert!(trimmed > 4000, "{trimmed}");
    let kept = added(&[]);
    assert!(kept < 1000, "{kept}");
}
