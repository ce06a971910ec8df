//! thread-switch keeps what every program keeps.

use contract::{Measurement, Program, Spread};

const PROGRAM: Program = Program {
    name: env!("CARGO_PKG_NAME"),
    path: env!("CARGO_BIN_EXE_thread-switch"),
    measurements: &[Measurement {
        operations: |_| 2,
        ..Measurement::per_task("iteration", "switch")
    }],
    spread: Spread::Offered(&[]),
    claimed_switches: Some(1.0),
    fixed_tasks: Some(2),
    ..Program::NEW
};

contract::keeps!(PROGRAM);
