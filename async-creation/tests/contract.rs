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
        PROGRAM.refuses(&["--workers=2", "--runtime", runtime], &["--workers"]);
    }
    let large = ["--tasks=5", "--iters=20", "--future-bytes=16384"];
    check_measurements(&PROGRAM, &PROGRAM.record(&large));
    PROGRAM.refuses(&["--runtime=local-pool", "--future-bytes=1024"], &["--future-bytes"]);
}
