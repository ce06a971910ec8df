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

/// The program's constant is a property of corosensei's stacks: count the maps.
#[test]
fn a_coroutine_takes_two_maps() {
    const TASKS: u64 = 200;
    let maps = |tasks: u64| {
        let flags = ["--iters=1", "--warmups=0", "--quiet", "--command=wc -l < /proc/{pid}/maps"];
        let run = PROGRAM.with(&["--tasks", &tasks.to_string()]).and(&flags).run().succeeded();
        run.stdout.trim().parse::<u64>().expect("a count")
    };
    let added = maps(TASKS + 1) - maps(1);
    // The kernel merges adjacent maps with the same properties.
    assert!((2 * TASKS - 5..=2 * TASKS + 5).contains(&added), "{added}");
}
