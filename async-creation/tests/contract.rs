//! Tests async-creation from outside: flags in, record out.

use contract::record::check_measurements;
use contract::{Measurement, Program};

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
        PROGRAM.refuses(&["--workers=2", "--runtime", runtime], &["--workers 2"]);
    }
}

#[test]
fn futures_may_be_large_and_flags_must_fit_the_runtime() {
    for bytes in ["1024", "16384"] {
        let record = PROGRAM.record(&["--tasks=5", "--iters=20", "--future-bytes", bytes]);
        check_measurements(&PROGRAM, &record);
    }
    PROGRAM.refuses(&["--runtime=local-pool", "--future-bytes=1024"], &["--future-bytes 1024"]);
}
