//! A folder or a manifest from a stranger: nothing outside it is touched, and its words do not act
//! on the reader's terminal or page.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::json;

use crate::bench::{Bench, Ended, RECORD, edit};
use crate::resume::killed;

/// The end of a file that `--resume` would cut off.
const TORN: &str = "{\"schema_version\":\"1.1\",\"case\":\"";

/// Resumes the killed run of a bench, and checks that this is refused in one line.
fn check_refusal(bench: &Bench, says: &str) {
    let ended = bench.resumes();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.contains(says), "{ended:?} does not contain {says:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
}

#[test]
fn resuming_touches_no_file_elsewhere_and_none_before_it_is_sure() {
    for (replace, says) in [
        ((|from, to| symlink(from, to).unwrap()) as fn(&Path, &Path), "resuming"),
        (|from, to| fs::hard_link(from, to).unwrap(), "it is not a file of its own"),
        (|_, to| mkfifo(to, Mode::S_IRWXU).unwrap(), "it is not a file of its own"),
        (|_, to| symlink("/dev/zero", to).unwrap(), "resuming"),
        (|_, to| fs::create_dir(to).unwrap(), "resuming"),
    ] {
        let bench = killed();
        let records = bench.result_folders()[0].join("records.jsonl");
        let elsewhere = bench.path("precious");
        let text = fs::read_to_string(&records).unwrap() + TORN;
        fs::write(&elsewhere, &text).unwrap();
        fs::remove_file(&records).unwrap();
        replace(&elsewhere, &records);
        check_refusal(&bench, says);
        assert_eq!(fs::read_to_string(elsewhere).unwrap(), text, "{says}");
    }
    let bench = killed();
    let folder = bench.result_folders()[0].clone();
    let records = fs::read_to_string(folder.join("records.jsonl")).unwrap() + TORN;
    fs::write(folder.join("records.jsonl"), &records).unwrap();
    let run = fs::read_to_string(folder.join("run.json")).unwrap();
    let run = run.replace("\"schema_version\": \"1.", "\"schema_version\": \"9.");
    fs::write(folder.join("run.json"), run).unwrap();
    check_refusal(&bench, "update Brigade");
    assert_eq!(fs::read_to_string(folder.join("records.jsonl")).unwrap(), records);
}

#[test]
fn a_run_takes_no_flags_from_its_folder() {
    let bench = killed();
    edit(bench.result_folders()[0].join("run.json"), |run| {
        let flag = json!("--command=touch ran");
        run["procedure"]["flags"].as_array_mut().unwrap().push(flag.clone());
        for words in run["procedure"]["commands"].as_object_mut().unwrap().values_mut() {
            words.as_array_mut().unwrap().push(flag.clone());
        }
    });
    check_refusal(&bench, "has changed since the run began");
}

#[test]
fn figures_beyond_any_run_are_usage_errors() {
    let bench = Bench::printing(RECORD);
    let timeout = "rules = [{ words = '', timeout_seconds = 9223372036854775807 }]\n";
    for (manifest, arguments) in [
        (timeout.to_owned() + &bench.manifest(), &["run"][..]),
        (bench.manifest(), &["run", "--rounds", "4294967295"]),
        (bench.manifest(), &["run", "--time", "1e300"]),
    ] {
        let ended = Ended::from(bench.brigade_with(&manifest, arguments));
        assert_eq!((ended.code, ended.stderr.lines().count()), (Some(2), 1), "{ended:?}");
        assert!(bench.result_folders().is_empty(), "it started");
    }
}

/// Turns a terminal red, sets its title, clears it, moves up a line, reverses the text, hides
/// behind a carriage return and C1 controls, is markup, and forges a line.
const HOSTILE: &str = "\u{1b}[31m\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[A\u{202e}x\u{2066}\r\u{9b}7m\
                       <script>alert(1)</script>\nforged";

/// The beginning of [`HOSTILE`] as it is shown.
const SHOWN: &str = "\\u001b[31m\\u001b]0;title\\u0007\\u001b[2J\\u001b[A\\u202ex\\u2066";

fn acts(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Checks that the output contains no control characters, and shows the hostile text.
fn check_shown(ended: &Ended) {
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!printed.contains(acts), "{printed:?}");
    assert!(!printed.lines().any(|line| line.starts_with("forged")), "{printed:?}");
    assert!(printed.split_whitespace().collect::<String>().contains(SHOWN), "{printed:?}");
}

#[test]
fn words_of_programs_manifests_and_flags_are_escaped() {
    let bench = Bench::new(&["a"], "cat words >&2; exit 1");
    fs::write(bench.path("words"), HOSTILE.replace(['\r', '\n'], "")).unwrap();
    for arguments in [&["run"][..], &["check"], &["run", HOSTILE]] {
        check_shown(&bench.ends(arguments));
    }
    for (from, exits) in [(r#""name":"iteration""#, 0), (r#""error":null"#, 3)] {
        let (key, _) = from.split_once(':').unwrap();
        let record = RECORD.replacen(from, &format!("{key}:{}", json!(HOSTILE)), 1);
        let bench = Bench::new(&["a"], &format!("cat record; exit {exits}"));
        fs::write(bench.path("record"), record).unwrap();
        check_shown(&bench.ends(&["run"]));
    }
    let manifest = |from: &str| bench.manifest().replacen(from, &json!(HOSTILE).to_string(), 1);
    for (from, arguments) in [("'Which?'", &["list"][..]), ("flags", &["check"])] {
        check_shown(&Ended::from(bench.brigade_with(&manifest(from), arguments)));
    }
}

#[test]
fn a_report_is_escaped_for_its_format() {
    let bench = Bench::printing(RECORD);
    bench.ends(&["run"]);
    let folder = bench.path("results/\u{1b}[31mred");
    fs::rename(&bench.result_folders()[0], &folder).unwrap();
    edit(folder.join("run.json"), |run| {
        run["skipped"] = json!([{ "case": "b", "reason": HOSTILE }]);
        run["procedure"]["command"] = json!(["brigade", HOSTILE]);
    });
    let records = fs::read_to_string(folder.join("records.jsonl")).unwrap();
    let records = records.replace("\"iteration\"", &json!(HOSTILE).to_string());
    fs::write(folder.join("records.jsonl"), records).unwrap();
    let folder = folder.to_str().unwrap();
    for format in ["text", "markdown", "html", "csv", "json"] {
        let ended =
            bench.ends(&["report", "--full", folder, "--format", format, "--output", "report"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let text = fs::read_to_string(bench.path("report")).unwrap();
        assert!(text.to_lowercase().contains("script"), "{format}: {text}");
        assert!(!text.contains(acts), "{format}: {text:?}");
        // An indented block of code is shown verbatim.
        let is_markup = |line: &str| line.contains("<script>alert") && !line.starts_with("    ");
        let is_page = ["markdown", "html"].contains(&format);
        assert!(!is_page || !text.lines().any(is_markup), "{text}");
    }
}
