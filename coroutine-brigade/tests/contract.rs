//! Tests coroutine-brigade from outside: flags in, record out.

use contract::record::voluntary_switches;
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

#[test]
fn a_scheduler_passes_the_token_over_channels_and_over_sockets() {
    for scheduler in ["may", "may-socketpair"] {
        let flags = ["--scheduler", scheduler, "--tasks=50", "--iters=200"];
        let record = PROGRAM.record(&flags);
        assert_eq!((record.complete, record.iterations), (true, 200), "{scheduler}");
        let switches = voluntary_switches(&record);
        assert!(switches < 0.1, "{scheduler}: {switches}");
    }
    PROGRAM.refuses(&["--scheduler=green"], &["--scheduler", "green"]);
}

#[test]
fn sockets_of_a_scheduler_are_files_that_the_limit_refuses() {
    let flags = ["--scheduler=may-socketpair"];
    contract::limits::check_that_files_meet_their_limit(&PROGRAM, &flags);
}
