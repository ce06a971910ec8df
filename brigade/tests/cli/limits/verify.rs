//! Predictions against what a program reaches. The program is a script here;
//! `task-memory` has tests of what the kernel gives.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::{brigade, end, parse, report};

/// What the program prints after its number of tasks.
const RECORD: &str = include_str!("record.json");

/// A folder with a program that runs `script`, in which $asked is the number
/// of tasks to make.
fn folder(script: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!(
        "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --tasks ] && asked=$2; shift; done\n{script}\n"
    );
    let program = folder.path().join("fake");
    contract::executable::write(&program, &script);
    let manifest = "[profiles.default]\nrounds = 1\n[limits]\nprogram = 'fake'\n\
                    [programs.fake]\npath = 'fake'\n\
                    check = { tasks = 1, iters = 2, warmups = 0, operations = 2 }\n";
    fs::write(folder.path().join("suite.toml"), manifest).expect("a manifest");
    folder
}

/// What `--verify` reports of coroutines when the program runs `script`, and
/// the exit code.
fn verified(script: &str) -> (Value, Option<i32>) {
    let folder = folder(script);
    let manifest = folder.path().join("suite.toml");
    let mut command = brigade(&["--kind=coroutine", "--verify", "--json", "--manifest"]);
    command.arg(manifest);
    let ended = end(command);
    let code = ended.2;
    (parse(ended)["verified"].clone(), code)
}

/// A script that prints a record of so many tasks and what was refused.
fn printing(tasks: &str, refused: &str) -> String {
    format!("cat <<END\n{}\nEND", RECORD.trim().replace("TASKS", tasks).replace("REFUSED", refused))
}

#[test]
fn what_the_program_reached_confirms_the_prediction() {
    let refused = "\"creating task 7: no\"";
    let (verified, code) = verified(&printing("$((asked * 100 / 102))", refused));
    assert_eq!(code, Some(0), "{verified}");
    assert_eq!(verified["stopped_by"], "creating task 7: no");
    assert!(verified["difference_percent"].as_f64().is_some_and(|percent| percent.abs() < 0.1));
    assert!(verified["asked"].as_u64() > verified["reached"].as_u64());
}

#[test]
fn a_prediction_that_is_wrong_is_a_failure() {
    let (verified, code) = verified(&printing("$((asked / 2))", "null"));
    assert_eq!((code, &verified["stopped_by"]), (Some(1), &Value::Null));
    assert!(verified["difference_percent"].as_f64() < Some(-40.0), "{verified}");
}

#[test]
fn a_program_that_dies_is_survived_and_reported() {
    let (verified, code) = verified("kill -ABRT $$");
    assert_eq!((code, &verified["reached"]), (Some(1), &0.into()));
    assert!(verified["stopped_by"].as_str().expect("a reason").contains("SIGABRT"), "{verified}");
}

#[test]
fn without_a_program_that_makes_tasks_nothing_is_verified() {
    let folder = folder("");
    let manifest = folder.path().join("suite.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replace("[limits]\nprogram = 'fake'\n", "")).expect("a manifest");
    let mut command = brigade(&["--kind=coroutine", "--verify", "--manifest"]);
    command.arg(manifest);
    let (_, complaints, code) = end(command);
    assert_eq!(code, Some(2), "{complaints}");
    assert!(complaints.contains("no table [limits]"), "{complaints}");
}

#[test]
fn what_memory_alone_binds_is_not_tried() {
    let (_, complaints, code) = end(brigade(&["--verify", "--kind=goroutine"]));
    assert_eq!(code, Some(1), "{complaints}");
    assert!(complaints.starts_with("brigade: --verify: what binds goroutine is "), "{complaints}");
    assert_eq!(report(&["--kind=goroutine"])["verified"], Value::Null);
}
