//! Tests blocking-crossing from outside: flags in, record out.

use contract::record::{check_measurements, voluntary_switches};
use contract::{Measurement, Program};

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_blocking-crossing"),
    measurements: &[Measurement {
        operations: |callers| callers * 32,
        ..Measurement::per_task("iteration", "call")
    }],
    ..Program::NEW
};

contract::keeps!(PROGRAM);

#[test]
fn every_way_makes_all_calls_of_all_callers() {
    for via in ["inline", "spawn-blocking", "block-in-place", "channel"] {
        for tasks in ["1", "8"] {
            let flags = ["--via", via, "--tasks", tasks, "--work=10", "--iters=20"];
            check_measurements(&PROGRAM, &PROGRAM.record(&flags));
        }
    }
}

/// A call on a dedicated thread blocks one thread and wakes another, at least on one CPU, where
/// nobody can poll for the answer while it runs.
#[test]
fn a_call_elsewhere_is_a_switch_and_an_inline_call_is_none() {
    let switches = |via: &str| {
        let flags = ["--placement=same-cpu", "--runtime=tokio-current-thread", "--iters=20"];
        voluntary_switches(&PROGRAM.with(&flags).and(&["--via", via]).record())
    };
    assert!(switches("inline") < 0.1);
    for via in ["spawn-blocking", "channel"] {
        assert!(switches(via) > 0.9, "{via}: {}", switches(via));
    }
    let impossible = ["--via=block-in-place", "--runtime=tokio-current-thread"];
    PROGRAM.refuses(&impossible, &["--via", "--runtime"]);
}

/// A thread that cannot be created fails one of four callers; the second one finds a thread.
#[test]
fn a_caller_that_fails_ends_the_run() {
    let traced = |inject: &str| {
        let script = format!("exec strace -f -o /dev/null -e trace=clone3 {inject} \"$@\"");
        let flags = ["--runtime=tokio-current-thread", "--tasks=4", "--max-time=0.1"];
        PROGRAM.with(&flags).from_shell(&script).run()
    };
    let untouched = traced("");
    if untouched.code != Some(0) {
        return contract::skip("a caller that fails", &untouched.stderr);
    }
    let run = traced("-e inject=clone3:error=EAGAIN:when=1");
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.stderr.contains("blocking-crossing: task "), "{run:#?}");
}
