//! Limits: as many tasks are created as `brigade limits` predicts, within one percent, and the
//! kernel refuses the next.

use contract::control_group::ControlGroup;
use contract::invocation::Invocation;
use harness::record::Record;
use nix::sys::resource::Resource;
use serde_json::Value;

use crate::lab::{Outcome, brigade, shown};

/// How many tasks `brigade limits` predicts.
fn predicted(text: &str) -> u64 {
    let report: Value = serde_json::from_str(text).expect("JSON");
    report["kinds"][0]["fits"].as_u64().unwrap_or_else(|| panic!("no limit binds: {report}"))
}

/// Under a limit that `inside` sets, tasks of `kind` are created until the kernel refuses one.
fn reached(kind: &str, inside: impl Fn(Invocation) -> Invocation) -> Outcome {
    let limits = inside(brigade(&format!("limits --kind {kind} --json"))).run();
    let predicted = predicted(&limits.stdout);
    let creates = format!("task-memory --kind {kind} --until-refused --quiet --json");
    let creates = brigade(&format!("{creates} --tasks {}", 2 * predicted + 100));
    let run = inside(creates).run();
    let record = Record::parse(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    let refused = record.ledger.and_then(|mut points| points.pop()?.refused);
    let off = record.tasks.abs_diff(predicted) as f64 / predicted as f64;
    let figures = format!("{} of {predicted}, then {refused:?}", record.tasks);
    Outcome::new(off <= 0.01 && refused.is_some(), figures)
}

#[test]
#[ignore = "part of the proof"]
fn as_many_threads_as_a_user_may_have() {
    // Root is exempt from the limit, so it becomes a user without any other thread here.
    let user = 100_000 + std::process::id();
    let script = format!(r#"exec setpriv --reuid={user} --regid={user} --clear-groups "$@""#);
    if brigade("list").from_shell(&script).run().code != Some(0) {
        return contract::skip("the limit RLIMIT_NPROC", "cannot run as another user");
    }
    shown("threads under RLIMIT_NPROC", || {
        let limited =
            |run: Invocation| run.from_shell(&script).limited(Resource::RLIMIT_NPROC, 1000, 1000);
        reached("thread", limited)
    });
}

#[test]
#[ignore = "part of the proof"]
fn as_many_threads_as_a_control_group_may_have() {
    let group = match ControlGroup::with_most_threads(1000) {
        Ok(group) => group,
        Err(why) => return contract::skip("the limit pids.max of a control group", &why),
    };
    shown("threads under pids.max", || reached("thread", |run| run.from_shell(&group.entering())));
}

#[test]
#[ignore = "part of the proof"]
fn as_many_threads_as_fit_without_a_limit_of_ours() {
    shown("threads", || reached("thread", |run| run));
}

#[test]
#[ignore = "part of the proof"]
fn as_many_tasks_as_fit_into_the_memory_of_a_process() {
    for (limit, bytes) in [(Resource::RLIMIT_DATA, 1 << 30), (Resource::RLIMIT_AS, 4 << 30)] {
        for kind in ["thread", "coroutine"] {
            shown(&format!("{kind}s under {limit:?}"), || {
                reached(kind, |run| run.limited(limit, bytes, bytes))
            });
        }
    }
}

/// Since Linux 6.14 each namespace has its `pid_max`; before, this would change the machine's.
#[test]
#[ignore = "part of the proof"]
fn as_many_threads_as_a_pid_namespace_may_have() {
    let is_own = r#"test "$(printf "6.14\n%s\n" $(uname -r) | sort -V | head -1)" = 6.14"#;
    let inside = format!(r#"{is_own} && echo 1000 >/proc/sys/kernel/pid_max && exec "$@""#);
    let script = format!(r#"exec unshare -pf --mount-proc sh -c '{inside}' sh "$@""#);
    if brigade("list").from_shell(&script).run().code != Some(0) {
        return contract::skip("kernel.pid_max", "no PID namespace with a limit of its own");
    }
    shown("threads under kernel.pid_max", || reached("thread", |run| run.from_shell(&script)));
}
