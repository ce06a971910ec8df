//! Tests thread-switch from outside: flags in, record out.

use std::fs;

use contract::{Measurement, Program, has_two_cpus};
use harness::record::{Ending, Record};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_thread-switch"),
    measurements: &[Measurement {
        operations: |_| 2,
        ..Measurement::per_task("iteration", "switch")
    }],
    spread: Some(&[]),
    claimed_switches: Some(1.0),
    fixed_tasks: Some(2),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

#[test]
fn a_trace_has_every_switch() {
    contract::trace::the_switches_are_those_that_the_kernel_counts(&Program {
        flags: &["--via=futex"],
        ..PROGRAM
    });
}

/// Mechanisms that block in the kernel, or yield to it.
const SWITCHING: [&str; 6] = ["pipe", "socketpair", "eventfd", "condvar", "futex", "yield"];
/// Those of them that work only inside one process.
const SWITCHING_THREADS: [&str; 3] = ["park", "channel", "rendezvous"];

fn record(flags: &str) -> Record {
    PROGRAM.record(&flags.split_whitespace().collect::<Vec<_>>())
}

/// Each iteration consists of this many round trips of two operations.
fn check_counts(record: &Record, trips: u64) {
    let iteration = record.principal().expect("a measurement");
    assert_eq!((record.complete, &*iteration.operation), (true, "switch"));
    assert_eq!((iteration.operations, iteration.count), (2 * trips, 200));
}

/// On one CPU each hand-over is a switch. The switches of both processes are counted: one has only
/// every other. The kernel may preempt in addition, so there is no upper bound.
#[test]
fn threads_and_processes_switch_as_often_as_claimed() {
    let threads = SWITCHING.iter().chain(&SWITCHING_THREADS).map(|via| (*via, "thread"));
    for (via, kind) in threads.chain(SWITCHING.map(|via| (via, "process"))) {
        let flags = format!("--via {via} --kind {kind} --placement same-cpu --iters 200");
        let record = record(&flags);
        check_counts(&record, if via == "yield" { 16 } else { 1 });
        assert_eq!(record.parameters["via"], via);
        let switches = record.switches.expect("the kernel counts switches");
        assert_eq!(switches.expected_per_operation, Some(1.0), "{flags}");
        let counted = switches.voluntary_per_operation + switches.involuntary_per_operation;
        assert!(counted >= 0.9, "{flags}: {counted}");
    }
}

#[test]
fn mechanisms_work_across_cpus() {
    if !has_two_cpus() {
        return;
    }
    for kind in ["thread", "process"] {
        let record = record(&format!("--via spin --kind {kind} --placement spread --iters 200"));
        check_counts(&record, 128);
        assert_eq!(record.switches.expect("counted").expected_per_operation, Some(0.0));
    }
    for via in SWITCHING.iter().chain(&SWITCHING_THREADS).filter(|via| **via != "yield") {
        check_counts(&record(&format!("--via {via} --placement spread --iters 200")), 1);
        check_counts(&record(&format!("--via {via} --iters 200")), 1);
    }
}

/// Messages larger than a pipe (64 KiB) or socket buffer travel in pieces.
#[test]
fn messages_of_any_length_arrive() {
    for bytes in [2, 4096, 4097, 1 << 20] {
        for (via, kind) in [("pipe", "thread"), ("pipe", "process"), ("socketpair", "process")] {
            let flags = format!("--via {via} --kind {kind} --message {bytes} --iters 200");
            let record = record(&flags);
            check_counts(&record, 1);
            let claim = record.switches.expect("counted").expected_per_operation;
            assert_eq!(claim.is_some(), bytes <= 4096, "{flags}");
        }
    }
}

#[test]
fn one_thread_alone_does_not_switch() {
    for (via, passes) in [("pipe", 32), ("socketpair --message 65536", 1), ("eventfd", 32)] {
        let record = record(&format!("--self --via {via} --iters 200"));
        let own = record.principal().expect("a measurement");
        assert_eq!((&*own.name, &*own.operation), ("self", "write and read"));
        assert_eq!((own.operations, own.count), (passes, 200));
        let switches = record.switches.expect("counted");
        assert_eq!(switches.expected_per_operation, Some(0.0));
        assert!(switches.voluntary_per_operation < 0.05, "{via}: {switches:?}");
    }
}

#[test]
fn both_sides_work_before_they_hand_over() {
    for flags in [
        &["--placement=same-cpu", "--via=futex"][..],
        &["--placement=same-cpu", "--via=pipe", "--kind=process"],
        &["--placement=same-cpu", "--via=pipe", "--self"],
    ] {
        contract::flags::every_hop_has_its_work(&Program { flags, ..PROGRAM });
    }
}

/// The program between processes, by every mechanism that connects them.
fn between_processes() -> impl Iterator<Item = Program> {
    const BETWEEN: [&[&str]; 7] = [
        &["--kind=process", "--via=pipe"],
        &["--kind=process", "--via=socketpair"],
        &["--kind=process", "--via=eventfd"],
        &["--kind=process", "--via=futex"],
        &["--kind=process", "--via=condvar"],
        &["--kind=process", "--via=yield", "--placement=same-cpu"],
        &["--kind=process", "--via=spin", "--placement=spread"],
    ];
    let possible = if has_two_cpus() { 7 } else { 6 };
    BETWEEN.into_iter().take(possible).map(|flags| Program { flags, ..PROGRAM })
}

/// Even if the kernel notifies nobody of the death.
#[test]
fn a_killed_child_is_a_failed_run_and_not_a_hang() {
    for program in between_processes() {
        let running = contract::ending::measuring(&program);
        let pid = running.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let child = children.expect("it measures").trim().parse().expect("one child");
        kill(Pid::from_raw(child), Signal::SIGKILL).expect("the child is ours");
        let record = running.end().failed(1, &["task 1 "]).record();
        assert_eq!((record.complete, record.ended_by), (false, Ending::Error), "{program:?}");
    }
}

#[test]
fn a_child_dies_with_its_parent() {
    for program in between_processes() {
        contract::ending::nothing_is_left_behind(&program);
    }
}

#[test]
fn flags_that_contradict_one_another_are_usage_errors() {
    let cpu = harness::cpus::allowed().expect("the CPUs of this process")[0].to_string();
    PROGRAM.refuses(&["--via=spin", "--placement=same-cpu"], &["--via spin needs two CPUs"]);
    PROGRAM.refuses(&["--via=spin", "--cpus", &cpu], &["--via spin needs two CPUs"]);
    if has_two_cpus() {
        PROGRAM.refuses(&["--via=yield"], &["--via yield needs one CPU"]);
        PROGRAM.refuses(&["--self", "--placement=spread"], &["--placement spread"]);
    }
    for via in SWITCHING_THREADS {
        PROGRAM.refuses(&["--kind=process", "--via", via], &["--kind process", via]);
    }
    PROGRAM.refuses(&["--via=futex", "--message=2"], &["--message 2", "choose pipe"]);
    PROGRAM.refuses(&["--self", "--message=65537"], &["--message 65537", "--self"]);
    PROGRAM.refuses(&["--self", "--via=futex"], &["--self", "choose pipe"]);
    PROGRAM.refuses(&["--self", "--kind=process"], &["--self"]);
    for bytes in ["0", "16777217", "1KiB"] {
        PROGRAM.refuses(&["--message", bytes], &["--message"]);
    }
}
