//! A folder or a manifest from a stranger: it is read within bounds and shown as text, and nothing
//! outside it is touched.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::json;

use crate::bench::{Bench, Ended, RECORD, edit, end_of, eventually, start};
use crate::resume::killed;

/// The end of a file that `--resume` would cut off.
const TORN: &str = "{\"schema_version\":\"1.1\",\"case\":\"";

/// Resumes the killed run of a bench whose records have been replaced, and checks that this is
/// refused with these words, at once.
fn check_refusal(bench: &Bench, says: &str) {
    let folder = bench.result_folders()[0].to_str().unwrap().to_owned();
    let mut brigade = start(bench, &["run", "--resume", &folder]);
    eventually("it is refused", || brigade.try_wait().unwrap().is_some());
    let ended = end_of(brigade);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.contains(says), "{ended:?} does not contain {says:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
}

/// A killed run whose records `replaced` replaces, from a file elsewhere.
fn with_records(replaced: impl Fn(&Path, &Path)) -> (Bench, PathBuf) {
    let bench = killed();
    let (records, elsewhere) =
        (bench.result_folders()[0].join("records.jsonl"), bench.path("precious"));
    let text = fs::read_to_string(&records).unwrap() + TORN;
    fs::write(&elsewhere, text).unwrap();
    fs::remove_file(&records).unwrap();
    replaced(&elsewhere, &records);
    (bench, elsewhere)
}

#[test]
fn linked_records_are_not_touched() {
    let hard = |from: &Path, to: &Path| fs::hard_link(from, to).unwrap();
    let soft = |from: &Path, to: &Path| symlink(from, to).unwrap();
    for (link, says) in
        [(&soft as &dyn Fn(&Path, &Path), "it is a link"), (&hard, "it has 2 names")]
    {
        let (bench, elsewhere) = with_records(link);
        check_refusal(&bench, says);
        assert!(fs::read_to_string(elsewhere).unwrap().ends_with(TORN), "{says}");
    }
}

#[test]
fn endless_records_are_refused_at_once() {
    for (replaced, says) in [
        ((|path| mkfifo(path, Mode::S_IRWXU).unwrap()) as fn(&Path), "it is not a regular file"),
        (|path| symlink("/dev/zero", path).unwrap(), "it is a link"),
        (|path| fs::create_dir(path).unwrap(), "records.jsonl"),
        (|path| File::create(path).unwrap().set_len(1 << 40).unwrap(), "bytes, more than"),
    ] {
        let (bench, _) = with_records(|_, path| replaced(path));
        check_refusal(&bench, says);
    }
}

#[test]
fn a_run_that_cannot_be_resumed_is_not_repaired() {
    let (bench, _) = with_records(|from, to| assert!(fs::copy(from, to).is_ok()));
    let folder = bench.result_folders()[0].clone();
    let run = fs::read_to_string(folder.join("run.json")).unwrap();
    for (from, to, says) in [
        ("\"a\",", "\"z\",", "suite.toml no longer has case 'z'"),
        ("\"schema_version\": \"1.", "\"schema_version\": \"9.", "update Brigade"),
    ] {
        fs::write(folder.join("run.json"), run.replace(from, to)).unwrap();
        check_refusal(&bench, says);
        let records = fs::read_to_string(folder.join("records.jsonl")).unwrap();
        assert!(records.ends_with(TORN), "{says}: {records}");
    }
}

/// Nor does it wait for years between two rounds.
#[test]
fn a_run_takes_neither_flags_nor_spacing_from_its_folder_alone() {
    let bench = killed();
    let file = bench.result_folders()[0].join("run.json");
    let run = fs::read_to_string(&file).unwrap();
    for flag in ["--command", "--histogram=/tmp/x"] {
        let run = run.replace("\"--max-time\",", &format!("\"--max-time\", \"1\", \"{flag}\","));
        fs::write(&file, run).unwrap();
        check_refusal(
            &bench,
            &format!("its profile gives {flag} to every program, but suite.toml"),
        );
    }
    fs::write(&file, run).unwrap();
    for seconds in [1e9, 1e300, -1.0] {
        edit(&file, |run| run["procedure"]["spacing_seconds"] = seconds.into());
        check_refusal(&bench, "s apart, but suite.toml allows 60; start a new run");
    }
}

#[test]
fn the_name_of_an_incomplete_runs_folder_is_escaped() {
    let bench = killed();
    let folder = bench.path("results/\u{1b}[31mred");
    fs::rename(&bench.result_folders()[0], &folder).unwrap();
    for flags in [&["report"][..], &["report", "--full"]] {
        let ended = bench.ends(&[flags, &[folder.to_str().unwrap()]].concat());
        assert!(ended.stdout.contains("resume with: brigade run --resume "), "{ended:?}");
        assert!(!ended.stdout.contains('\u{1b}'), "{ended:?}");
    }
}

#[test]
fn a_report_is_escaped_for_its_format() {
    let hostile = "\u{1b}[31m<script>alert(1)</script>\u{202e}";
    let bench = Bench::printing(RECORD);
    bench.ends(&["run"]);
    let folder = bench.result_folders()[0].clone();
    edit(folder.join("run.json"), |run| {
        run["skipped"] = json!([{ "case": "b", "reason": hostile }]);
        run["procedure"]["command"] = json!(["brigade", hostile]);
    });
    let records = fs::read_to_string(folder.join("records.jsonl")).unwrap();
    let records = records.replace("\"iteration\"", &json!(hostile).to_string());
    fs::write(folder.join("records.jsonl"), records).unwrap();

    let folder = folder.to_str().unwrap();
    for format in ["text", "markdown", "html", "csv", "json", "benchstat", "bmf", "github"] {
        let ended =
            bench.ends(&["report", "--full", folder, "--format", format, "--output", "report"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let text = fs::read_to_string(bench.path("report")).unwrap();
        // This format has no names of measurements.
        let is_named = text.to_lowercase().contains("script");
        assert!(is_named || ["bmf", "github"].contains(&format), "{format}: {text}");
        let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(acts), "{format}: {text:?}");
        // An indented block of code is shown verbatim.
        let is_markup = |line: &&str| line.contains("<script>") && !line.starts_with("    ");
        assert!(format != "markdown" || !text.lines().any(|line| is_markup(&line)), "{text}");
    }
    bench.resumes();
    let page = fs::read_to_string(Path::new(folder).join("report.md")).unwrap();
    assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page:?}");
}

#[test]
fn a_run_whose_records_are_all_rejected_is_a_failure() {
    let bench = Bench::printing(RECORD);
    bench.ends(&["run"]);
    let folder = bench.result_folders()[0].clone();
    let records = fs::read_to_string(folder.join("records.jsonl")).unwrap();
    let records = records.replace("\"mean_ns\":", "\"mean_ns\":-");
    fs::write(folder.join("records.jsonl"), records).unwrap();
    let ended = bench.ends(&["report", folder.to_str().unwrap()]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.ends_with(": none of its records can be used\n"), "{ended:?}");
}

#[test]
fn figures_beyond_any_run_are_refused_in_one_line() {
    let bench = Bench::printing(RECORD);
    let timeout = |seconds: &str| {
        let rule = format!("rules = [{{ words = '', timeout_seconds = {seconds} }}]\n");
        rule + &bench.manifest()
    };
    for (manifest, arguments, says) in [
        (timeout("9223372036854775807"), &["run"][..], "timeout_seconds is 9223372036854775807"),
        (timeout("0"), &["run"], "timeout_seconds is 0"),
        (bench.manifest(), &["run", "--rounds", "4294967295"], "4294967295"),
        (bench.manifest(), &["run", "--time", "1e300"], "1e300"),
        (bench.manifest(), &["run", "--rounds", "4294967296"], "4294967296"),
    ] {
        let ended = Ended::from(bench.brigade_with(&manifest, arguments));
        assert_eq!(ended.code, Some(2), "{says}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        assert!(ended.stderr.contains(says), "{ended:?} does not contain {says:?}");
        assert!(bench.result_folders().is_empty(), "{says}: it started");
    }
}

/// Turns a terminal red, sets its title, clears it, moves up a line, reverses
/// the text, hides behind a carriage return and C1 controls, and forges a line.
const HOSTILE: &str =
    "\u{1b}[31m\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[A\u{202e}x\u{2066}\r\u{9b}7m\nforged";

/// The beginning of [`HOSTILE`] as it is shown.
const SHOWN: &str = "\\u001b[31m\\u001b]0;title\\u0007\\u001b[2J\\u001b[A\\u202ex\\u2066";

/// Checks that the output contains no control characters, and shows the hostile
/// text.
fn check_shown(ended: &Ended) {
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    let reverses = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let acts = |c: char| (c.is_control() && c != '\n') || reverses(c);
    assert!(!printed.contains(acts), "{printed:?}");
    assert!(!printed.lines().any(|line| line.starts_with("forged")), "{printed:?}");
    assert!(printed.split_whitespace().collect::<String>().contains(SHOWN), "{printed:?}");
}

/// [`HOSTILE`] as written for a shell's `printf` or in JSON.
fn as_json() -> String {
    let quoted = serde_json::to_string(HOSTILE).unwrap();
    quoted.trim_matches('"').to_owned()
}

#[test]
fn standard_error_of_a_program_is_escaped() {
    let bench = Bench::new(&["a"], "cat words >&2; exit 1");
    fs::write(bench.path("words"), HOSTILE.replace(['\r', '\n'], "")).unwrap();
    for command in ["run", "check"] {
        let ended = bench.ends(&[command]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        check_shown(&ended);
    }
}

#[test]
fn the_words_of_a_record_are_escaped() {
    for (from, exits, code) in [
        (r#""name":"iteration""#, 0, 0),
        (r#""operation":"hop""#, 0, 0),
        (r#""program":"a""#, 0, 1),
        (r#""error":null"#, 3, 3),
    ] {
        let (key, _) = from.split_once(':').unwrap();
        let record = RECORD.replacen(from, &format!("{key}:\"{}\"", as_json()), 1);
        assert_ne!(record, RECORD);
        let bench = Bench::new(&["a"], &format!("cat record; exit {exits}"));
        fs::write(bench.path("record"), record).unwrap();
        let ended = bench.ends(&["run"]);
        assert_eq!(ended.code, Some(code), "{from}: {ended:?}");
        check_shown(&ended);
    }
}

#[test]
fn the_words_of_a_manifest_are_escaped() {
    let toml = format!("\"{}\"", as_json());
    let bench = Bench::printing(RECORD);
    for (from, to, commands) in [
        ("'letters'", toml.clone(), &["list"][..]),
        ("'Which?'", toml.clone(), &["list"]),
        ("flags", toml.clone(), &["run", "list", "check"]),
        ("[\"a\"]", format!("[{toml}]"), &["run", "list"]),
    ] {
        for command in commands {
            let manifest = bench.manifest().replacen(from, &to, 1);
            let ended = Ended::from(bench.brigade_with(&manifest, &[command]));
            check_shown(&ended);
        }
    }
}

#[test]
fn a_quoted_flag_is_escaped() {
    let bench = Bench::printing(RECORD);
    for arguments in [["run", HOSTILE], ["list", HOSTILE]] {
        let ended = bench.ends(&arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        check_shown(&ended);
    }
}
