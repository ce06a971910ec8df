//! `--trace`: the kernel's records of switches, joined with the program's own stops.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use harness::trace::{Direction, Switch, Trace};

use crate::invocation::Invocation;
use crate::process::{AS_NOBODY, can_be_nobody};
use crate::{Program, skip};

/// Every switch that the kernel counts is among the records, and every lap stops at the tasks
/// in turn, as root and as an ordinary user.
pub fn the_switches_are_those_that_the_kernel_counts(program: &Program) {
    for nobody in [false, true] {
        let Some(trace) = traced_as(nobody, program.short()) else { continue };
        let laps = trace.batches.iter().flat_map(|batch| &batch.laps);
        let tasks = laps.map(|stops| stops.iter().map(|stop| stop.task));
        let tasks: Vec<Vec<Option<u32>>> = tasks.map(Iterator::collect).collect();
        let [None, between @ .., None] = &tasks[0][..] else { panic!("{tasks:?}") };
        assert!(!between.is_empty() && between.is_sorted() && !between.contains(&None));
        assert!(tasks.len() > 1 && tasks.iter().all(|lap| *lap == tasks[0]), "{tasks:?}");
    }
}

/// The trace of a run with these flags, whose switches are those that the kernel counts; `None` if
/// it refuses.
pub fn traced(program: &Program, flags: &[&str]) -> Option<Trace> {
    traced_as(false, program.with(flags))
}

fn traced_as(nobody: bool, run: Invocation) -> Option<Trace> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("it is ours");
    let path = folder.path().join("trace");
    let run = run.and(&["--trace", path.to_str().expect("UTF-8")]);
    if nobody && !can_be_nobody("--trace as another user") {
        return None;
    }
    let run = if nobody { run.from_shell(AS_NOBODY) } else { run }.run();
    if matches!(run.code, Some(3 | 126 | 127)) {
        skip("--trace", run.complaints()[0]);
        return None;
    }
    let _ = run.succeeded();
    let text = fs::read_to_string(&path).expect("the trace");
    let trace: Trace = serde_json::from_str(&text).expect("a trace");
    for batch in &trace.batches {
        assert!(batch.laps.iter().all(|stops| stops.is_sorted_by_key(|stop| stop.at_ns)));
        let leaves = |switch: &&Switch| switch.own && switch.way != Direction::In;
        let recorded = batch.switches.iter().filter(leaves).count() as u64;
        assert_eq!(recorded, batch.counted, "{batch:?}");
    }
    Some(trace)
}
