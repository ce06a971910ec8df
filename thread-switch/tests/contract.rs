//! Tests thread-switch from outside: flags in, record out.

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

/// Mechanisms that block in the kernel, or yield to it; the last three work only inside one process.
const SWITCHING: [&str; 9] =
    ["pipe", "socketpair", "eventfd", "condvar", "futex", "yield", "park", "channel", "rendezvous"];

fn record(flags: &str) -> Record {
    PROGRAM.record(&flags.split_whitespace().collect::<Vec<_>>())
}

/// Each of 200 iterations consists of this many round trips of two operations, which claim this
/// many switches. Returns those that the kernel counted.
fn check(flags: &str, trips: u64, claim: Option<f64>) -> f64 {
    let record = record(&format!("{flags} --iters 200"));
    let iteration = record.principal().expect("a measurement");
    assert_eq!((record.complete, &*iteration.operation), (true, "switch"));
    assert_eq!((iteration.operations, iteration.count), (2 * trips, 200), "{flags}");
    let switches = record.switches.expect("the kernel counts switches");
    assert_eq!(switches.expected_per_operation, claim, "{flags}");
    switches.voluntary_per_operation + switches.involuntary_per_operation
}

/// On one CPU each hand-over is a switch. The switches of both processes are counted: one has only
/// every other. The kernel may preempt in addition, so there is no upper bound.
#[test]
fn threads_and_processes_switch_as_often_as_claimed() {
    let threads = SWITCHING.map(|via| (via, "thread"));
    for (via, kind) in threads.into_iter().chain(SWITCHING[..6].iter().map(|via| (*via, "process")))
    {
        let flags = format!("--via {via} --kind {kind} --placement same-cpu");
        let counted = check(&flags, if via == "yield" { 16 } else { 1 }, Some(1.0));
        assert!(counted >= 0.9, "{flags}: {counted}");
    }
}

#[test]
fn mechanisms_work_across_cpus() {
    if !has_two_cpus() {
        return;
    }
    for kind in ["thread", "process"] {
        check(&format!("--via spin --kind {kind} --placement spread"), 128, Some(0.0));
    }
    for via in SWITCHING.iter().filter(|via| **via != "yield") {
        check(&format!("--via {via} --placement spread"), 1, Some(1.0));
        check(&format!("--via {via}"), 1, Some(1.0));
    }
}

#[test]
fn one_thread_alone_does_not_switch() {
    for via in ["pipe", "socketpair", "eventfd"] {
        let record = record(&format!("--self --via {via} --iters 200"));
        let own = record.principal().expect("a measurement");
        assert_eq!((&*own.operation, own.operations), ("write and read", 32));
        let switches = record.switches.expect("counted");
        assert_eq!(switches.expected_per_operation, Some(0.0));
        assert!(switches.voluntary_per_operation < 0.05, "{via}: {switches:?}");
    }
}

#[test]
fn both_sides_work_before_they_hand_over() {
    for more in ["--via=futex", "--kind=process", "--self"] {
        let flags = [more, "--placement=same-cpu"].to_vec().leak();
        let program = Program { flags, ..PROGRAM };
        contract::flags::every_hop_has_its_work(&program);
        contract::flags::units_timed_between_laps_cost_no_hop(&Program {
            flags: &flags[..1],
            ..PROGRAM
        });
    }
}

/// Between processes, a killed child is a failed run even if the kernel notifies nobody, and a
/// child dies with its parent.
#[test]
fn neither_process_outlives_the_other() {
    for via in ["pipe", "socketpair", "eventfd", "futex", "condvar", "yield", "spin"] {
        let placement = match via {
            "spin" if !has_two_cpus() => continue,
            "spin" => "--placement=spread",
            _ => "--placement=same-cpu",
        };
        let flags = ["--kind=process", placement, "--via", via].to_vec().leak();
        let program = Program { flags, ..PROGRAM };
        let running = contract::ending::measuring(&program);
        let child = contract::machine::children(running.pid())[0];
        kill(Pid::from_raw(child), Signal::SIGKILL).expect("the child is ours");
        let run = running.end().failed(1, &["task 1 "]);
        // Nothing is reported if it died inside the C library's condition variable.
        if via != "condvar" || !run.stdout.is_empty() {
            let record = run.record();
            assert_eq!((record.complete, record.ended_by), (false, Ending::Error), "{via}");
        }
        contract::ending::signals_keep_the_record_and_leave_no_process(&program);
    }
}

#[test]
fn one_signal_ends_a_run_whose_child_was_stopped() {
    let flags = &["--kind=process", "--via=pipe", "--placement=same-cpu"];
    contract::ending::a_lap_that_never_ends_is_left_after_one_signal(&Program { flags, ..PROGRAM });
}

#[test]
fn flags_that_contradict_one_another_are_usage_errors() {
    PROGRAM.refuses(&["--via=spin", "--placement=same-cpu"], &["--via spin"]);
    if has_two_cpus() {
        PROGRAM.refuses(&["--via=yield"], &["--via yield"]);
    }
    for via in &SWITCHING[6..] {
        PROGRAM.refuses(&["--kind=process", "--via", via], &["--kind process", via]);
    }
    for more in ["--via=futex", "--kind=process"] {
        PROGRAM.refuses(&["--self", more], &["--self"]);
    }
}
