//! Predictions against what the kernel gives.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use contract::control_group::ControlGroup;
use contract::skip;
use nix::sys::resource::{Resource, setrlimit};
use serde_json::Value;

use crate::{brigade, end, parse};

/// More maps than this machine's default allow would take too many threads.
const MOST_MAPS: u64 = 70_000;

/// A command that `--verify`s a kind under a limit.
fn verified(kind: &str, resource: Resource, limit: u64) -> Value {
    let mut command = brigade(&["--verify", "--json", "--kind", kind]);
    // SAFETY: between fork and exec the closure makes one system call, on
    // numbers; it neither allocates nor locks.
    unsafe { command.pre_exec(move || Ok(setrlimit(resource, limit, limit)?)) };
    confirmed(command)
}

/// What it tells of a prediction, which must be right.
fn confirmed(command: Command) -> Value {
    let ended = end(command);
    assert_eq!(ended.2, Some(0), "{ended:?}");
    let verified = parse(ended)["verified"].clone();
    let difference = verified["difference_percent"].as_f64().expect("a number");
    assert!(difference.abs() <= 1.0, "{verified}");
    assert!(verified["predicted"].as_u64() > Some(100), "{verified}");
    verified
}

#[test]
fn the_file_limit_stops_channels_where_predicted() {
    for (kind, word) in [
        ("thread-pipe", "opening a channel"),
        ("thread-socketpair", "opening a channel"),
        ("thread-eventfd", "opening a channel"),
        ("tokio-pipe", "opening a pipe"),
        ("io-uring", "setting up a ring"),
    ] {
        let verified = verified(kind, Resource::RLIMIT_NOFILE, 1000);
        let stopped_by = verified["stopped_by"].as_str().expect("it was stopped");
        assert!(stopped_by.contains(word) && stopped_by.contains("os error 24"), "{verified}");
    }
}

#[test]
fn the_address_space_limit_stops_stacks_where_predicted() {
    // What is left below the limit may still take a thread, without the second
    // of its two stacks.
    let kinds: [(&str, &[&str]); 2] = [
        ("thread", &["creating a thread", "mapping an alternate signal stack"]),
        ("coroutine", &["mapping a stack"]),
    ];
    for (kind, words) in kinds {
        let verified = verified(kind, Resource::RLIMIT_AS, 4 << 30);
        let stopped_by = verified["stopped_by"].as_str().expect("it was stopped");
        assert!(words.iter().any(|word| stopped_by.contains(word)), "{verified}");
    }
}

/// A group that others share is not filled: 64 tasks are left to them.
#[test]
fn the_limit_of_a_group_is_not_reached() {
    let group = match ControlGroup::with_most_threads(10_000) {
        Ok(group) => group,
        Err(why) => return skip("the limit pids.max of a control group", &why),
    };
    for kind in ["thread", "process"] {
        let flags = ["--verify", "--json", "--kind", kind];
        let verified = confirmed(inside(&group, &brigade(&flags)));
        let number = |name: &str| verified[name].as_u64().expect("a number");
        assert_eq!(number("reached"), number("predicted") - 64, "{verified}");
        assert_eq!(verified["stopped_by"], Value::Null, "{verified}");
        assert!(number("predicted") >= 9990, "the group is empty but for brigade: {verified}");
    }
}

/// Past the maps' limit the standard library aborts the process: no abort is
/// seen here, and the prediction holds.
#[test]
fn the_maps_limit_stops_threads_where_predicted() {
    let maps = std::fs::read_to_string("/proc/sys/vm/max_map_count").expect("a setting");
    if maps.trim().parse::<u64>().expect("a number") > MOST_MAPS {
        return skip("threads up to vm.max_map_count", "it allows too many here");
    }
    let report = crate::report(&["--kind=thread"]);
    if report["kinds"][0]["limits"][0]["resource"] != "maps" {
        return skip("threads up to vm.max_map_count", "another limit binds first");
    }
    let verified = confirmed(brigade(&["--verify", "--json", "--kind=thread"]));
    let stopped_by = verified["stopped_by"].as_str().expect("it was stopped");
    assert!(!stopped_by.contains("killed by"), "{verified}");
    assert!(verified["asked"].as_u64() > verified["reached"].as_u64(), "{verified}");
}

#[test]
fn what_memory_alone_binds_is_not_tried() {
    let (_, complaints, code) = end(brigade(&["--verify", "--kind=goroutine"]));
    assert_eq!(code, Some(1), "{complaints}");
    assert!(complaints.starts_with("brigade: --verify: what binds goroutine is "), "{complaints}");
}

/// The same command, started inside a group.
fn inside(group: &ControlGroup, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &group.entering(), "sh"]).arg(command.get_program()).args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}
