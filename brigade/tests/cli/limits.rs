//! `brigade limits` from outside: its output, its exit codes, and its predictions compared with
//! what a program reaches. That program is a script here; `task-memory` tests the kernel's limits.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use clap::ValueEnum as _;
use harness::limits::Kind;
use serde_json::Value;

/// The output, errors and exit code of `brigade limits` with these flags.
fn limits(flags: &[&str]) -> (String, String, Option<i32>) {
    // A separate lock, so that these tests do not wait for one another.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let lock = format!("limits-{}.lock", NUMBER.fetch_add(1, Relaxed));
    let mut command = Command::new(env!("CARGO_BIN_EXE_brigade"));
    command.env("BRIGADE_LOCK", Path::new(env!("CARGO_TARGET_TMPDIR")).join(lock));
    let ended = command.arg("limits").args(flags).output();
    let Output { status, stdout, stderr } = ended.expect("brigade starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(stdout), text(stderr), status.code())
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Only commands, which must be copied whole, may be wider than a terminal.
#[test]
fn every_kind_has_a_line_and_a_page() {
    let lines = limits(&[]);
    for kind in Kind::value_variants() {
        assert_eq!(lines.0.matches(&format!("\n{kind} ")).count(), 1, "{kind}: {lines:?}");
        let (text, complaints, code) = limits(&["--kind", &kind.to_string()]);
        assert_eq!((complaints.as_str(), code), ("", Some(0)), "{kind}");
        assert_eq!(text.matches("\n> ").count(), 1, "one limit is first: {text}");
        for line in text.lines().chain(lines.0.lines()).filter(|line| !line.starts_with("    ")) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn tasks_that_do_not_fit_are_refused_with_the_programs_words() {
    let (text, complaints, code) = limits(&["--kind=thread", "--tasks=4294967295"]);
    assert_eq!((code, complaints.lines().count()), (Some(3), 1), "{complaints}");
    assert!(complaints.starts_with("brigade: 4294967295 tasks need "), "{complaints}");
    assert!(complaints.contains(", enough for "), "{complaints}");
    assert!(text.contains("To fit 4,294,967,295, run all of:"), "{text}");
    // More than the largest `kernel.pid_max`.
    assert!(text.contains("kernel.pid_max\n    nothing: use fewer"), "{text}");

    let (text, complaints, code) = limits(&["--tasks=4294967295"]);
    let kinds = Kind::value_variants().len();
    assert_eq!((code, &*complaints), (Some(3), ""));
    assert_eq!(text.matches(" NO ").count(), kinds, "{text}");
    let (text, _, code) = limits(&["--tasks=1"]);
    assert_eq!((code, text.matches(" yes ").count()), (Some(0), kinds), "{text}");
    let (text, complaints, code) = limits(&["--kind=tokio-tcp", "--verify"]);
    assert_eq!((&*text, code), ("", Some(1)), "{complaints}");

    let (text, complaints, code) = limits(&["--kind=thread", "--tasks=1"]);
    assert_eq!((complaints.as_str(), code), ("", Some(0)));
    assert!(!text.contains("sudo"), "nothing needs raising: {text}");
}

#[test]
fn wrong_flags_are_usage_errors() {
    for flags in [&["--kind=fibre"][..], &["--tasks=0"], &["--verify"], &["--tasks=-1"]] {
        assert_eq!(limits(flags).2, Some(2), "{flags:?}");
    }
}

#[test]
fn the_json_has_the_same_content_as_the_page() {
    let report = parse(&limits(&["--kind=thread", "--tasks=4294967295", "--json"]).0);
    assert_eq!((&report["tasks"], &report["verified"]), (&4_294_967_295_u64.into(), &Value::Null));
    let kind = &report["kinds"][0];
    let limits = kind["limits"].as_array().expect("limits");
    assert_eq!(kind["fits"], limits[0]["allows"]);
    let allows: Vec<_> = limits.iter().filter_map(|limit| limit["allows"].as_u64()).collect();
    assert!(allows.is_sorted(), "{allows:?}");
    assert_eq!(limits.iter().filter(|limit| limit["binding"] == true).count(), 1);
    let maps = limits.iter().find(|limit| limit["resource"] == "maps").expect("a limit of maps");
    assert_eq!(maps["source"], "/proc/sys/vm/max_map_count");
    let number = |value: &Value| value.as_u64().expect("a number");
    let free = number(&maps["value"]) - number(&maps["in_use"]) - number(&kind["besides"]["maps"]);
    assert_eq!((&maps["allows"], &kind["per_task"]["maps"]), (&(free / 4).into(), &4.into()));
}

/// The output, errors and exit code of `--verify` for coroutines, if the program is this script, in
/// which $asked is the number of tasks to create, and the manifest has this table.
fn verify(script: &str, table: &str) -> (String, String, Option<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = "while [ $# -gt 0 ]; do [ \"$1\" = --tasks ] && asked=$2; shift; done";
    let script = format!("#!/bin/sh\n{asked}\n{script}\n");
    contract::executable::write(&folder.path().join("fake"), &script);
    let manifest = folder.path().join("suite.toml");
    let text = "[programs.fake]\npath = 'fake'\n";
    fs::write(&manifest, format!("{text}{table}")).expect("a manifest");
    let manifest = manifest.to_str().expect("UTF-8");
    limits(&["--kind=coroutine", "--verify", "--json", "--manifest", manifest])
}

#[test]
fn the_number_that_the_program_reaches_confirms_or_refutes_the_prediction() {
    let printing = |tasks: &str, refused: &str| {
        let record = include_str!("limits/record.json").trim();
        let record = record.replace("TASKS", tasks).replace("REFUSED", refused);
        format!("cat <<END\n{record}\nEND")
    };
    let refused = printing("$((asked * 100 / 102))", "\"cannot create task 7: no\"");
    let half = printing("$((asked / 2))", "null");
    for (script, code, difference, why) in [
        (&*refused, 0, -0.1..0.1, Some("task 7: no")),
        (&half, 1, -51.0..-40.0, None),
        ("kill -ABRT $$", 1, -100.0..-99.9, Some("SIGABRT")),
    ] {
        let ended = verify(script, "[limits]\nprogram = 'fake'\n");
        assert_eq!(ended.2, Some(code), "{ended:?}");
        let verified = &parse(&ended.0)["verified"];
        let percent = verified["difference_percent"].as_f64().expect("a difference");
        assert!(difference.contains(&percent), "{verified}");
        assert!(verified["asked"].as_u64() > verified["reached"].as_u64(), "{verified}");
        let stopped_by = verified["stopped_by"].as_str();
        assert_eq!(stopped_by.is_some(), why.is_some(), "{verified}");
        assert!(why.is_none_or(|why| stopped_by.is_some_and(|text| text.contains(why))));
    }
}

#[test]
fn without_a_program_that_creates_tasks_nothing_is_verified() {
    let (_, complaints, code) = verify("", "");
    assert_eq!(code, Some(2), "{complaints}");
    assert!(complaints.contains("no table [limits]"), "{complaints}");
}
