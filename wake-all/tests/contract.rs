//! wake-all from outside: flags in, record out.

use contract::invocation::at_once;
use contract::limits::{check_that_files_meet_their_limit, check_unseen, reaches_the_kernel};
use contract::record::{self, check_measurements, voluntary_switches};
use contract::{Measurement, Program};
use harness::record::Record;
use nix::sys::resource::Resource;

/// One sample for each event.
const fn of_event(name: &'static str) -> Measurement {
    Measurement { operations: |_| 1, covers_tasks: false, ..Measurement::per_task(name, "event") }
}

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_wake-all"),
    measurements: &[
        Measurement::per_task("last", "wake-up"),
        of_event("first"),
        of_event("first_to_last"),
        of_event("call"),
    ],
    spread: Some(&[]),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

/// Every signal with every runtime that can wait for it.
const WAYS: [[&str; 2]; 12] = [
    ["condvar", "threads"],
    ["futex", "threads"],
    ["barrier", "threads"],
    ["eventfd", "threads"],
    ["tokio-notify", "tokio"],
    ["tokio-notify", "tokio-current-thread"],
    ["tokio-broadcast", "tokio"],
    ["tokio-broadcast", "tokio-current-thread"],
    ["tokio-watch", "tokio"],
    ["tokio-watch", "tokio-current-thread"],
    ["event-listener", "tokio"],
    ["event-listener", "tokio-current-thread"],
];

/// The flags of a way.
fn flags_of([signal, runtime]: [&str; 2]) -> [String; 2] {
    [format!("--by={signal}"), format!("--runtime={runtime}")]
}

fn measured(way: [&str; 2], flags: &[&str]) -> Record {
    let [signal, runtime] = flags_of(way);
    PROGRAM.record(&[&[&*signal, &*runtime], flags].concat())
}

/// The program verifies that each task is woken once by each event.
#[test]
fn every_event_wakes_all_tasks_of_every_kind() {
    for way in WAYS {
        for tasks in ["1", "7", "300"] {
            let record = measured(way, &["--tasks", tasks, "--iters=30", "--warmups=2"]);
            check_measurements(&PROGRAM, &record);
            let mean = |name| record.measurement(name).expect("a measurement").mean_ns;
            assert!(mean("last") >= mean("first"), "{way:?}: {record:?}");
            let apart = mean("last") - mean("first") - mean("first_to_last");
            assert!(apart.abs() < 1.0, "{way:?}: {apart} ns");
            assert_eq!(mean("first_to_last") == 0.0, tasks == "1", "{way:?}");
            let has_slept = if ["futex", "eventfd"].contains(&way[0]) { Some(0) } else { None };
            assert_eq!(record.awake, has_slept, "{way:?}");
        }
    }
}

/// Each wait is a switch, also the one that the next event ends.
#[test]
fn threads_sleep_before_each_event() {
    for flags in [&["--by=futex"][..], &["--by=eventfd"]] {
        record::the_counts_agree_with_the_kernel(&Program {
            flags,
            claimed_switches: Some(1.0),
            ..PROGRAM
        });
    }
    for way in &WAYS[..4] {
        let flags = ["--tasks=200", "--iters=20", "--placement=same-cpu"];
        let counted = voluntary_switches(&measured(*way, &flags));
        assert!(counted > 0.99, "{way:?}: {counted} switches per woken thread");
    }
}

/// The last task waits for something else: none of the events reaches it.
#[test]
fn a_task_that_is_left_out_is_named() {
    at_once(WAYS, |way| {
        let [signal, runtime] = flags_of(way);
        let flags = [&*signal, &*runtime, "--tasks=6", "--fault=lose"];
        // A barrier opens for none without it.
        let task = if way[0] == "barrier" { "task 0 " } else { "task 5 " };
        PROGRAM.run(&flags).failed(1, &[task, "event 1"]);
    });
}

#[test]
fn a_task_that_is_woken_twice_is_named() {
    for way in [WAYS[0], WAYS[4], WAYS[11]] {
        let [signal, runtime] = flags_of(way);
        let run = PROGRAM.run(&[&signal, &runtime, "--tasks=6", "--fault=double"]);
        run.failed(1, &["task 5", "2 times"]);
    }
}

/// One of 50 is more than 1 %, one of 150 is less.
#[test]
fn threads_that_do_not_sleep_fail_the_run() {
    // Locks of an emulator switch threads, and so look like sleep.
    if !contract::runs_natively("threads that do not sleep") {
        return;
    }
    let awake = ["--by=futex", "--fault=awake", "--warmups=0", "--iters=2"];
    PROGRAM.with(&awake).and(&["--tasks=50"]).run().failed(1, &["1 of 50 threads"]);
    let record = PROGRAM.with(&awake).and(&["--tasks=150"]).record();
    // A thread that starts may switch more than once.
    assert!(record.iterations == 2 && matches!(record.awake, Some(1 | 2)), "{record:?}");
}

#[test]
fn what_a_signal_cannot_do_is_a_usage_error() {
    for (flags, named) in [
        (&["--by=tokio-notify"][..], "--by tokio-notify"),
        (&["--by=event-listener"], "--by event-listener"),
        (&["--by=condvar", "--runtime=tokio"], "--by condvar"),
        (&["--by=eventfd", "--runtime=tokio-current-thread"], "--by eventfd"),
        (&["--by=bell"], "--by"),
        (&["--tasks=0"], "--tasks"),
        (&["--workers=2"], "--workers"),
        (&["--by=tokio-watch", "--runtime=tokio-current-thread", "--workers=2"], "--workers"),
        (&["--trace=file"], "--trace"),
        (&["--fault=sleep"], "--fault"),
    ] {
        PROGRAM.refuses(flags, &[named]);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    PROGRAM.run(&["--tasks=4000000000"]).failed(3, &[]);
    check_that_files_meet_their_limit(&PROGRAM, &["--by=eventfd"]);
    check_unseen(&PROGRAM, 50, &["--tasks=100"], "task ");
    if !reaches_the_kernel(Resource::RLIMIT_DATA) {
        return;
    }
    let many = PROGRAM.with(&["--by=tokio-notify", "--runtime=tokio", "--tasks=1000000"]);
    many.limited(Resource::RLIMIT_DATA, 64 << 20, 64 << 20).run().failed(3, &["RLIMIT_DATA"]);
}

#[test]
fn an_interruption_ends_every_kind() {
    for way in WAYS {
        let [signal, runtime] = flags_of(way);
        let run = PROGRAM.with(&[&signal, &runtime, "--tasks=3"]);
        contract::ending::check_interruption(run, 2);
    }
}
