//! What it prints and how it exits.

use clap::ValueEnum as _;
use harness::limits::Kind;

use super::{brigade, end, report};

#[test]
fn without_a_kind_every_kind_has_a_line() {
    let (text, complaints, code) = end(brigade(&[]));
    assert_eq!((complaints.as_str(), code), ("", Some(0)));
    for &kind in Kind::value_variants() {
        assert_eq!(text.matches(&format!("\n{kind} ")).count(), 1, "{kind}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// Only commands, which have to be copied whole, may be wider.
#[test]
fn with_a_kind_the_page_fits_a_terminal() {
    for &kind in Kind::value_variants() {
        let (text, complaints, code) = end(brigade(&["--kind", &kind.to_string()]));
        assert_eq!((complaints.as_str(), code), ("", Some(0)), "{kind}");
        let prose = text.lines().filter(|line| !line.starts_with("    "));
        prose.for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
        assert_eq!(text.matches("\n> ").count(), 1, "one limit binds: {text}");
    }
}

#[test]
fn tasks_that_do_not_fit_are_refused_with_the_sentence_of_the_programs() {
    let (text, complaints, code) = end(brigade(&["--kind=thread", "--tasks=4294967295"]));
    assert_eq!(code, Some(3), "{complaints}");
    assert!(complaints.starts_with("brigade: 4294967295 tasks need "), "{complaints}");
    assert!(complaints.contains(" tasks fit into; "), "{complaints}");
    assert_eq!(complaints.lines().count(), 1, "{complaints}");
    assert!(text.contains("To make room for 4,294,967,295, run all of:"), "{text}");
    // More than `kernel.pid_max` can be.
    assert!(text.contains("kernel.pid_max\n    nothing: use fewer"), "{text}");
}

#[test]
fn tasks_that_fit_are_not_refused() {
    let (text, complaints, code) = end(brigade(&["--kind=thread", "--tasks=1"]));
    assert_eq!((complaints.as_str(), code), ("", Some(0)));
    assert!(!text.contains("sudo"), "nothing needs raising: {text}");
}

#[test]
fn without_a_kind_every_kind_that_does_not_fit_is_named() {
    let (_, complaints, code) = end(brigade(&["--tasks=4294967295"]));
    assert_eq!(code, Some(3));
    assert_eq!(complaints.lines().count(), Kind::value_variants().len(), "{complaints}");
    assert!(complaints.contains("brigade: tokio-pipe: 4294967295 tasks need "), "{complaints}");
}

#[test]
fn wrong_flags_are_usage_errors() {
    for flags in [&["--kind=fibre"][..], &["--tasks=0"], &["--verify"], &["--tasks=-1"]] {
        assert_eq!(end(brigade(flags)).2, Some(2), "{flags:?}");
    }
}

#[test]
fn the_json_has_what_the_page_has() {
    let report = report(&["--kind=thread", "--tasks=4294967295"]);
    assert_eq!(report["schema_version"], "1.0");
    assert_eq!(report["tasks"], 4_294_967_295_u64);
    let kind = &report["kinds"][0];
    let limits = kind["limits"].as_array().expect("limits");
    assert_eq!(kind["fits"], limits[0]["allows"]);
    let allows: Vec<_> = limits.iter().filter_map(|limit| limit["allows"].as_u64()).collect();
    assert!(allows.is_sorted(), "{allows:?}");
    assert_eq!(limits.iter().filter(|limit| limit["binding"] == true).count(), 1);
    let maps = limits.iter().find(|limit| limit["resource"] == "maps").expect("a limit of maps");
    assert_eq!(maps["source"], "/proc/sys/vm/max_map_count");
    let all: u64 = maps["value"].as_u64().expect("its value");
    let used = maps["in_use"].as_u64().expect("what is in use");
    let fixed = kind["besides"]["maps"].as_u64().expect("what the program needs fixed");
    assert_eq!(maps["allows"], (all - used - fixed) / 4);
    assert_eq!(kind["per_task"]["maps"], 4);
}
