//! thread-switch from outside: flags in, record out.

use std::fs;

use contract::invocation::{Running, eventually};
use contract::{Measurement, Program, has_two_cpus};
use harness::record::{Ending, Record};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const PROGRAM: Program = Program {
    name: env!("CARGO_PKG_NAME"),
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

/// Mechanisms that block in the kernel, or yield to it.
const SWITCHING: [&str; 6] = ["pipe", "socketpair", "eventfd", "condvar", "futex", "yield"];
/// Those of them that work inside one process only.
const SWITCHING_THREADS: [&str; 3] = ["park", "channel", "rendezvous"];

fn record(flags: &str) -> Record {
    PROGRAM.record(&flags.split_whitespace().collect::<Vec<_>>())
}

/// A run of 200 iterations, each of so many round trips of two operations.
fn check_counts(record: &Record, trips: u64) {
    assert_eq!((record.tasks, record.iterations), (2, 200));
    assert_eq!((record.complete, record.ended_by), (true, Ending::Iterations));
    let iteration = record.principal().expect("a measurement");
    assert_eq!((&*iteration.name, &*iteration.operation), ("iteration", "switch"));
    assert_eq!((iteration.operations, iteration.count), (2 * trips, 200));
}

/// On one CPU each hand-over is a switch. The switches of both processes are counted: one has
/// only every other. The kernel may preempt on top of that, so there is no upper bound.
#[test]
fn threads_and_processes_switch_as_often_as_claimed() {
    let threads = SWITCHING.iter().chain(&SWITCHING_THREADS).map(|via| (*via, "thread"));
    for (via, kind) in threads.chain(SWITCHING.map(|via| (via, "process"))) {
        let flags = format!("--via {via} --kind {kind} --placement same-cpu --iters 200");
        let record = record(&flags);
        check_counts(&record, if via == "yield" { 16 } else { 1 });
        let named = ["via", "kind"].map(|flag| record.parameters[flag].clone());
        assert_eq!(named, [via, kind]);
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

/// Beyond what a pipe holds (64 KiB) and a socket buffers, a message travels
/// in pieces.
#[test]
fn messages_of_any_length_come_through() {
    for bytes in [2, 4096, 4097, 65_537, 1 << 20] {
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

/// Both sides work: the driver alone would make half of it. The quickest lap
/// and the quickest unit of a few runs are compared, for any one of them may
/// have met a busy machine.
#[test]
fn both_sides_work_before_they_hand_over() {
    for flags in ["--via futex", "--via pipe --kind process", "--via pipe --self"] {
        let (mut lap_ns, mut unit_ns, mut operations) = (f64::MAX, f64::MAX, 0);
        for _ in 0..5 {
            let record = record(&format!("{flags} --placement same-cpu --iters 20 --work 50000"));
            let lap = record.principal().expect("a measurement");
            operations = lap.operations;
            lap_ns = lap_ns.min(lap.min_ns as f64);
            let work = record.work.expect("it offers --work");
            unit_ns = unit_ns.min(work.ns_per_unit.expect("there was work to measure"));
        }
        let known = 50_000.0 * unit_ns * operations as f64;
        assert!(lap_ns > 0.7 * known, "{flags}: a lap of {lap_ns} ns has {known} ns of work");
    }
}

/// A run between processes that does not end by itself, and its child, once it measures.
fn measuring(via: &str) -> (Running, Pid) {
    let flags = format!("--kind process --json --iters 1000000000000 --warmups 0 --via {via}");
    let mut running = PROGRAM.with(&flags.split_whitespace().collect::<Vec<_>>()).start();
    let children = |pid: i32| fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let child = |pid| children(pid).ok()?.split_whitespace().next()?.parse().ok();
    running.wait_until("it had a child", |pid| child(pid).is_some());
    let child = child(running.pid()).expect("a child");
    running.wait_until("it was measuring", |pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Of 52 fields the 15th and the 14th, in clock ticks.
        let ticks = stat.rsplit(' ').skip(52 - 15).take(2);
        ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() > 5
    });
    (running, Pid::from_raw(child))
}

fn mechanisms_between_processes() -> impl Iterator<Item = &'static str> {
    let spin = has_two_cpus().then_some("spin --placement spread");
    let others = ["pipe", "socketpair", "eventfd", "futex", "condvar"];
    others.into_iter().chain(["yield --placement same-cpu"]).chain(spin)
}

/// Also where the kernel reports the death to nobody.
#[test]
fn a_child_that_is_killed_is_a_failed_run_and_not_a_hang() {
    for via in mechanisms_between_processes() {
        let (running, child) = measuring(via);
        kill(child, Signal::SIGKILL).expect("the child is ours");
        let run = running.end().failed(1, &["task 1 "]);
        let record = run.record();
        assert_eq!((record.complete, record.ended_by), (false, Ending::Error), "{via}");
    }
}

#[test]
fn a_child_dies_with_its_parent() {
    for via in mechanisms_between_processes() {
        let (running, child) = measuring(via);
        running.signal(Signal::SIGKILL);
        let _ = running.end();
        eventually("the child has ended", || kill(child, None).is_err());
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
    PROGRAM.refuses(&["--tasks=2"], &["--tasks"]);
    for bytes in ["0", "-1", "16777217", "1KiB", ""] {
        PROGRAM.refuses(&["--message", bytes], &["--message"]);
    }
}
