//! `--trace`: the kernel's records of switches, joined with the program's own stops.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use harness::trace::{Trace, Way};
use nix::unistd::geteuid;

use crate::invocation::Invocation;
use crate::{Program, skip};

/// A shell that starts the program as the user who owns nothing.
const AS_NOBODY: &str = r#"exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@""#;

/// Every switch that the kernel counts is among the records, and every lap stops at the tasks
/// in turn, as root and as an ordinary user.
pub fn the_switches_are_those_that_the_kernel_counts(program: &Program) {
    for nobody in [false, true] {
        if nobody && !geteuid().is_root() {
            skip(&format!("{} --trace as another user", program.name), "needs root");
        } else if let Some(trace) = traced_by(program.short(), nobody) {
            check(&trace);
        }
    }
}

/// The trace of a run with these flags, whose switches are those that the kernel counts; `None` if
/// it refuses.
pub fn traced(program: &Program, flags: &[&str]) -> Option<Trace> {
    traced_by(program.with(flags), false)
}

fn traced_by(run: Invocation, nobody: bool) -> Option<Trace> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("it is ours");
    let path = folder.path().join("trace");
    let run = run.and(&["--trace", path.to_str().expect("UTF-8")]);
    let run = if nobody { run.from_shell(AS_NOBODY) } else { run }.run();
    if matches!(run.code, Some(3 | 126 | 127)) {
        skip("--trace", run.complaints()[0]);
        return None;
    }
    let _ = run.succeeded();
    let text = fs::read_to_string(&path).expect("the trace");
    let trace = serde_json::from_str(&text).expect("a trace");
    check_spans(&trace);
    Some(trace)
}

fn check(trace: &Trace) {
    assert!(trace.laps.len() > 1);
    let tasks = |lap: usize| trace.laps[lap].stops.iter().map(|stop| stop.task).collect::<Vec<_>>();
    let of_first = tasks(0);
    let [None, between @ .., None] = &of_first[..] else { panic!("{of_first:?}") };
    assert!(!between.is_empty() && between.is_sorted() && !between.contains(&None));
    for (number, lap) in trace.laps.iter().enumerate() {
        assert_eq!(tasks(number), of_first);
        assert!(lap.stops.is_sorted_by_key(|stop| stop.at_ns), "{lap:?}");
    }
}

fn check_spans(trace: &Trace) {
    for span in &trace.spans {
        let leaves = trace
            .switches
            .iter()
            .filter(|switch| switch.own && switch.way != Way::In && span.has(switch.at_ns));
        assert_eq!(leaves.count() as u64, span.counted, "{span:?}");
    }
}
