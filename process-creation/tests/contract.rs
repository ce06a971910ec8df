//! Tests the program from outside: flags in, record out.

use contract::invocation::filters_calls;
use contract::record::check_measurements;
use contract::{Measurement, Program};
use harness::record::Record;

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_process-creation"),
    measurements: &[
        Measurement::per_task("launch", "process"),
        Measurement::per_task("join", "process"),
    ],
    ..Program::NEW
};

contract::keeps!(PROGRAM);

/// The record of a run with these flags; `None` if this machine refuses them, as emulators do
/// clone-vm.
fn record(flags: &[&str]) -> Option<Record> {
    PROGRAM.record_if_possible(&[&["--iters=20", "--warmups=2"], flags].concat())
}

/// Whether a process may share its parent's memory here; reports a skipped test if not.
fn can_share_memory() -> bool {
    record(&["--via=clone-vm"]).is_some()
}

#[test]
fn every_mechanism_launches_and_joins() {
    for via in [
        "fork",
        "vfork",
        "clone-vm",
        "thread",
        "fork --exec",
        "vfork --exec",
        "clone-vm --exec",
        "posix-spawn --exec",
    ] {
        let operation = if via == "thread" { "thread" } else { "process" };
        let via: Vec<&str> = via.split(' ').collect();
        let flags = [&["--resident-mib=1", "--tasks=3", "--via"], &via[..]].concat();
        let Some(record) = record(&flags) else {
            assert_eq!(via[0], "clone-vm", "only this one may be refused");
            continue;
        };
        let measurements = ["launch", "join"].map(|name| Measurement::per_task(name, operation));
        let measurements = measurements.to_vec().leak();
        check_measurements(&Program { measurements, ..PROGRAM }, &record);
    }
}

/// Such a child runs its parent's handler of the same signal. Not every signal arrives while one lives.
#[test]
fn a_signal_to_children_that_share_memory_counts_once() {
    for flags in [&["--via=vfork"], &["--via=clone-vm"]] {
        if flags == &["--via=clone-vm"] && !can_share_memory() {
            continue;
        }
        let program = Program { flags, ..PROGRAM };
        for _ in 0..4 {
            contract::ending::signals_keep_the_record_and_leave_no_process(&program);
        }
    }
}

#[test]
fn the_parent_has_the_requested_memory() {
    if !can_share_memory() {
        return;
    }
    let resident = |mib| PROGRAM.memory(&["--via", "clone-vm", "--resident-mib", mib], "VmRSS");
    assert!(resident("32") >= resident("0") + (30 << 20));
}

#[test]
fn impossible_requests_are_refused_in_one_line() {
    PROGRAM.refuses(&["--resident-mib=4294967295"], &["--resident-mib"]);
    PROGRAM.refuses(&["--via=posix-spawn"], &["--exec"]);
    PROGRAM.refuses(&["--via=thread", "--exec"], &["--exec"]);
    PROGRAM.run(&["--via=thread", "--tasks=400000000"]).failed(3, &["400000000 tasks"]);
    PROGRAM.run(&["--resident-mib=1048576"]).failed(3, &["memory"]);
}

/// By a filter of system calls; emulators refuse it, too.
#[test]
fn a_process_that_may_not_share_memory_is_refused() {
    if filters_calls() {
        let run = PROGRAM.with(&["--via=clone-vm"]).denied(libc::SYS_clone).run();
        run.failed(3, &["--via clone-vm"]);
    }
}

#[test]
fn a_task_that_cannot_be_launched_is_named_and_the_others_are_joined() {
    for via in ["fork", "vfork", "posix-spawn", "clone-vm"] {
        if via == "clone-vm" && !can_share_memory() {
            continue;
        }
        let flags = ["--resident-mib=0", "--tasks=50", "--iters=3", "--exec", "--via", via];
        // A process counts until it is reaped.
        contract::limits::check_unseen(&PROGRAM, 20, &flags, "task 19");
    }
}
