//! Tests coroutine-brigade from outside: flags in, record out.

use contract::{Measurement, Program};

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_coroutine-brigade"),
    measurements: &[Measurement::HOPS],
    traces: true,
    claimed_switches: Some(0.0),
    ..Program::NEW
};

contract::keeps!(PROGRAM);
