//! A program that keeps one CPU busy and does nothing else, for the tests of
//! what a run says when something else wants that CPU too. It is also the
//! smallest program that keeps the protocol.

use std::process::ExitCode;

use harness::program::Program;
use harness::{Bench, Count, Measured, Spec, clock};

/// How long one iteration lasts, in nanoseconds.
const ITERATION_NS: u64 = 100_000;

/// Keep one thread busy for 100 µs an iteration.
#[derive(clap::Args, serde::Serialize)]
struct Flags {}

const SPEC: Spec = Spec {
    count: Count::Fixed,
    iters: 100_000,
    warmups: Some(0),
    switches: Some(0.0),
    ..Spec::NEW
};

fn main() -> ExitCode {
    let program = Program { name: "busy-thread", version: env!("CARGO_PKG_VERSION") };
    harness::run(program, &SPEC, |_, _| Ok(SPEC), spin)
}

fn spin(_: &Flags, bench: &Bench) -> anyhow::Result<()> {
    for lap in bench.laps(&[Measured::single("iteration", "spin")]) {
        let begun = clock::now();
        while clock::now() - begun < ITERATION_NS {}
        lap.finish();
    }
    bench.observe()
}
