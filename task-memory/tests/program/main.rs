//! Tests the program from outside: flags in, record out.

mod needs;

use contract::{Measurement, Program, fits_here};
use harness::limits::Kind;
use harness::record::LedgerPoint;

/// 23 steps of 52 tasks, from half of them on.
const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_task-memory"),
    flags: &["--kind=tokio", "--tasks=2392"],
    measurements: &[Measurement {
        operations: |_| 52,
        covers_tasks: false,
        ..Measurement::per_task("create", "task creation")
    }],
    fixed_tasks: Some(2392),
    ..Program::NEW
};

contract::keeps! { PROGRAM;
    record::the_record_is_valid,
    record::the_counts_agree_with_the_kernel,
    placement::the_placement_is_obeyed,
}

/// How many bytes a figure of this process rose in a sweep per added task.
fn rise(program: &Program, flags: &[&str], figure: fn(&LedgerPoint) -> Option<u64>) -> f64 {
    let points = program.record(flags).ledger.expect("a ledger");
    let first = points.first().expect("a point");
    let last = points.last().expect("a point");
    let rise = figure(last).expect("a figure") as f64 - figure(first).expect("a figure") as f64;
    rise / (last.tasks - first.tasks) as f64
}

fn resident(point: &LedgerPoint) -> Option<u64> {
    point.resident_bytes
}

/// Each kind, and every runtime with everything that its tasks can wait for.
#[test]
fn every_kind_is_swept_from_first_count_to_last() {
    let kinds =
        "thread thread-futex thread-eventfd thread-pipe coroutine process io-uring local-pool";
    let runtimes = ["tokio", "tokio-local", "async-executor", "compio"];
    let waiting = runtimes.map(|kind| {
        ["channel", "timer", "pipe"].map(|waiting| format!("{kind} --waiting={waiting}"))
    });
    let has_rings = fits_here(Kind::IoUring, 50);
    for kind in kinds.split(' ').map(str::to_owned).chain(waiting.into_iter().flatten()) {
        if (kind == "io-uring" || kind.starts_with("compio")) && !has_rings {
            continue;
        }
        let flags = format!("--from=10 --to=50 --steps=4 --kind={kind}");
        let record = PROGRAM.record(&flags.split(' ').collect::<Vec<_>>());
        let points = record.ledger.as_ref().expect("a ledger");
        let counts: Vec<_> = points.iter().map(|point| point.tasks).collect();
        assert_eq!(counts, [10, 20, 30, 40, 50], "{kind}");
        assert_eq!((record.tasks, record.iterations), (50, 4), "{kind}");
        let create = record.principal().expect("a measurement");
        assert_eq!((create.name.as_str(), create.operations, create.count), ("create", 10, 4));
    }
}

/// So much that the few resident pages of stack that a forked process inherits
/// do not matter.
const TOUCHED: f64 = 409_600.0;

/// Checks that the memory that tasks of `kind` touch shows in `figure`.
#[track_caller]
fn check_touched(program: &Program, kind: &str, figure: fn(&LedgerPoint) -> Option<u64>) {
    let touching = |bytes| {
        let flags = ["--kind", kind, "--from=20", "--to=100", "--steps=2", "--touch", bytes];
        rise(program, &flags, figure)
    };
    let idle = touching("0");
    let touched = touching("400KiB");
    assert!((touched - idle - TOUCHED).abs() < TOUCHED * 0.1, "{kind}: {idle}, {touched}");
}

/// Processes map a binary in different pieces by chance, and each page is divided among those that
/// map it. Only this test maps the binary: it is a copy.
#[test]
fn touched_memory_becomes_resident() {
    for kind in ["thread", "tokio", "async-executor", "coroutine"] {
        check_touched(&PROGRAM, kind, resident);
    }
    if !contract::runs_natively("memory that processes share") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join(PROGRAM.name);
    contract::executable::copy(PROGRAM.path.as_ref(), &copy);
    let path = copy.to_str().expect("UTF-8").to_owned().leak();
    let program = Program { path, ..PROGRAM };
    // The first run reads the binary into the page cache: not compared.
    program.record(&["--kind=process", "--from=20", "--to=100", "--steps=2"]);
    check_touched(&program, "process", |point| point.proportional_bytes);
}

#[test]
fn a_larger_stack_is_address_space_and_not_memory() {
    if !contract::runs_natively("address space of a stack") {
        return;
    }
    for kind in ["thread", "thread-socketpair", "coroutine"] {
        let flags = ["--kind", kind, "--from=10", "--to=110", "--steps=2", "--stack-size=4MiB"];
        assert!(rise(&PROGRAM, &flags, |point| point.virtual_bytes) >= 4e6, "{kind}");
        assert!(rise(&PROGRAM, &flags, resident) < 64e3, "{kind}");
    }
}

#[test]
fn impossible_requests_are_refused_in_one_line() {
    for (flags, named) in [
        (&["--touch", "1MiB"][..], "--touch"),
        (&["--kind", "tokio", "--stack-size", "1MiB"], "--stack-size"),
        (&["--kind=local-pool", "--waiting=timer"], "--waiting"),
        (&["--until-refused"], "--tasks"),
        (&["--from", "50", "--to", "50"], "--from"),
    ] {
        PROGRAM.refuses(flags, &[named]);
    }
    assert_eq!(PROGRAM.run(&["--to=4000000000"]).failed(3, &[]).stdout, "");
}

#[test]
fn a_task_that_cannot_be_created_is_named_and_those_before_it_end() {
    for kind in ["thread", "process"] {
        let flags = ["--kind", kind, "--from=10", "--to=50", "--steps=4", "--json"];
        if let Some(run) = contract::limits::check_unseen(&PROGRAM, 30, &flags, "task 29") {
            // The first step was measured.
            let record = run.record();
            assert_eq!((record.iterations, record.complete), (1, false), "{kind}");
        }
    }
}

/// The command kills one of them; a stack overflows before a process has touched everything.
#[test]
fn processes_that_die_fail_the_run() {
    let kill = "kill -9 $(cut -d' ' -f3 /proc/{pid}/task/{pid}/children)";
    let flags = ["--kind=process", "--from=3", "--to=5", "--steps=1"];
    PROGRAM.with(&flags).and(&["--command", kill]).run().failed(1, &["task 2 failed", "SIGKILL"]);

    let flags = ["--kind=process", "--touch=3MiB", "--from=3", "--to=5", "--steps=1"];
    let stack = nix::sys::resource::Resource::RLIMIT_STACK;
    if !contract::limits::reaches_the_kernel(stack) {
        return;
    }
    let run = PROGRAM.with(&flags).limited(stack, 1 << 20, 1 << 20).run();
    assert_eq!(run.code, Some(1), "{run:#?}");
}
