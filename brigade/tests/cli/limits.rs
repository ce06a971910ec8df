//! `brigade limits` from outside: its output and its exit codes.

use std::process::{Command, Output};

use clap::ValueEnum as _;
use harness::limits::Kind;
use serde_json::Value;

/// The output, errors and exit code of `brigade limits` with these flags.
fn limits(flags: &[&str]) -> (String, String, Option<i32>) {
    let ended = Command::new(env!("CARGO_BIN_EXE_brigade")).arg("limits").args(flags).output();
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

    let (text, complaints, code) = limits(&["--kind=thread", "--tasks=1"]);
    assert_eq!((complaints.as_str(), code), ("", Some(0)));
    assert!(!text.contains("sudo"), "nothing needs raising: {text}");
}

#[test]
fn wrong_flags_are_usage_errors() {
    for flags in [&["--kind=fibre"][..], &["--tasks=0"], &["--tasks=-1"]] {
        assert_eq!(limits(flags).2, Some(2), "{flags:?}");
    }
}

#[test]
fn the_json_has_the_same_content_as_the_page() {
    let report = parse(&limits(&["--kind=thread", "--tasks=4294967295", "--json"]).0);
    assert_eq!(report["tasks"], 4_294_967_295_u64);
    let kind = &report["kinds"][0];
    let limits = kind["limits"].as_array().expect("limits");
    assert_eq!(kind["fits"], limits[0]["allows"]);
    let allows: Vec<_> = limits.iter().filter_map(|limit| limit["allows"].as_u64()).collect();
    assert!(allows.is_sorted(), "{allows:?}");
    let maps = limits.iter().find(|limit| limit["resource"] == "maps").expect("a limit of maps");
    assert_eq!((&maps["name"], &maps["per_task"]), (&"vm.max_map_count".into(), &4.into()));
}
