//! What is read may be planted, huge, edited or endless: a folder of a run, a neighbour of it, a
//! manifest, a guest's output. Each has a bound, and nothing that contradicts itself is believed.

use std::fs::{self, File};
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};

use crate::bench::{Bench, Ended, RECORD, edit};

/// `brigade` with at most 2 GiB of address space.
fn in_bounded_memory(bench: &Bench, arguments: &[&str]) -> Ended {
    let limited = ["sh", "-c", "ulimit -v 2097152 && exec \"$0\" \"$@\""];
    Ended::from(bench.brigade_under(&limited, arguments))
}

/// A bench with a run of three rounds, which inherited this bound.
fn measured() -> Bench {
    let bench = Bench::printing(RECORD);
    let ended = in_bounded_memory(&bench, &["run"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    bench
}

/// Makes a copy of a run as an earlier one, in which this file has 20 GiB.
fn plant_huge(run: &Path, name: &str, file: &str) {
    let folder = run.with_file_name(name);
    fs::create_dir(&folder).unwrap();
    for entry in fs::read_dir(run).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    edit(folder.join("run.json"), |run| run["started_at"] = "2020-01-01T00:00:00.000Z".into());
    File::options().write(true).open(folder.join(file)).unwrap().set_len(20 << 30).unwrap();
}

#[test]
fn a_neighbour_that_cannot_be_read_costs_one_warning() {
    let bench = measured();
    assert_eq!(bench.ends(&["run", "--name", "another"]).code, Some(0));
    let [run, another] = bench.result_folders().try_into().unwrap();
    plant_huge(&run, "9999-huge-run", "run.json");
    plant_huge(&run, "9999-huge-records", "records.jsonl");
    fs::create_dir(run.with_file_name("9999-no-run")).unwrap();
    let [run, another] = [&run, &another].map(|folder| folder.to_str().unwrap());
    for (arguments, code, unread) in [
        (&["report", run][..], 0, 2),
        (&["compare", run, another], 0, 2),
        (&["run", "--rounds", "1", "--name", "next"], 0, 2),
        // These read no other run's records.
        (&["limits", "--tasks", "5"], 0, 1),
        (&["advise"], 0, 1),
    ] {
        let ended = in_bounded_memory(&bench, arguments);
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:?}");
        for (name, count) in [("9999-huge-run", 1), ("9999-huge-records", unread - 1)] {
            let warnings = ended.stderr.lines().filter(|line| line.contains(name)).count();
            assert_eq!(warnings, count, "{arguments:?}: {name}: {ended:?}");
        }
        assert!(!ended.stderr.contains("9999-no-run"), "{ended:?}");
    }
    let named = bench.path("results/9999-huge-run");
    let ended = in_bounded_memory(&bench, &["report", named.to_str().unwrap()]);
    assert_eq!((ended.code, ended.stderr.lines().count()), (Some(1), 1), "{ended:?}");
    assert!(ended.stderr.contains("21474836480 bytes, more than 1048576"), "{ended:?}");
}

#[test]
fn a_run_whose_figures_were_edited_is_refused_line_by_line() {
    let bench = measured();
    let folder = bench.result_folders().remove(0);
    let records = folder.join("records.jsonl");
    let text = fs::read_to_string(&records).unwrap();
    let edited = text.replace("\"ns_per_operation\":75.0", "\"ns_per_operation\":7.5");
    assert_ne!(edited, text);
    fs::write(&records, &edited).unwrap();
    let folder = folder.to_str().unwrap();
    let ended = bench.ends(&["report", folder, "--format", "json"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["groups"][0]["rows"][0]["figure"], Value::Null, "{report}");
    for line in 1..=3 {
        let named = format!("records.jsonl line {line}: 'iteration': its mean over 2 operations");
        assert!(ended.stderr.contains(&named), "{ended:?}");
    }
    // The others are used; of many, five are named and the rest is counted.
    let good = text.lines().next().unwrap();
    fs::write(&records, format!("{good}\n{}", "{}\n".repeat(50_000))).unwrap();
    let ended = in_bounded_memory(&bench, &["report", folder, "--format", "json"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["groups"][0]["rows"][0]["figure"]["value"], json!(75.0));
    assert_eq!(ended.stderr.lines().count(), 6, "{ended:?}");
    assert!(ended.stderr.ends_with("and 49995 more like these\n"), "{ended:?}");
}

/// Printed by a program, by a guest, and planted in a folder.
#[test]
fn a_name_is_bounded_where_it_enters() {
    let long = "x".repeat(70_000);
    let laps = |name: &str| {
        format!(
            "{{\"schema_version\":\"1.0\",\"form\":\"laps\",\"program\":\"a\",\"tasks\":1,\
             \"measurements\":[{{\"name\":\"{name}\",\"operation\":\"hop\",\"operations\":1,\
             \"laps_ns\":[100,200]}}]}}"
        )
    };
    let record = |name: &str| RECORD.replace("\"iteration\"", &format!("\"{name}\""));
    for (printed, form) in [(record(&long), ""), (laps(&long), ", form = 'laps', tasks = 'thread'")]
    {
        let bench = Bench::new(&["a"], "cat printed");
        fs::write(bench.path("printed"), printed).unwrap();
        let manifest = bench.manifest().replace("path = 'a'", &format!("path = 'a'{form}"));
        let ended = Ended::from(bench.brigade_with(&manifest, &["run", "--rounds", "1"]));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""), "{ended:?}");
        let records = bench.records();
        assert_eq!(
            (&records[0]["outcome"], &records[0]["record"]),
            (&json!("failed"), &Value::Null)
        );
        let error = records[0]["error"].as_str().unwrap();
        assert!(error.contains("70000 bytes") && error.len() < 400, "{error}");
        for page in ["report.md", "report.html"] {
            assert!(bench.result_folders()[0].join(page).exists(), "{page}");
        }
    }
    let bench = measured();
    let folder = bench.result_folders().remove(0);
    let records = folder.join("records.jsonl");
    let text = fs::read_to_string(&records).unwrap();
    fs::write(&records, text.replace("\"iteration\"", &format!("\"{long}\""))).unwrap();
    for format in ["text", "markdown", "html", "csv", "json"] {
        let words = ["report", "--full", folder.to_str().unwrap(), "--format", format];
        let ended = bench.ends(&words);
        assert_eq!((ended.code, ended.stderr.lines().count()), (Some(0), 3), "{ended:?}");
        assert!(ended.stdout.len() < 100_000, "{format}: {} bytes", ended.stdout.len());
    }
    // Names of cases are in run.json, too.
    fs::write(&records, text).unwrap();
    edit(folder.join("run.json"), |run| run["cases"][0] = json!(&long));
    let ended = bench.ends(&["report", folder.to_str().unwrap()]);
    assert_eq!((ended.code, ended.stderr.lines().count()), (Some(1), 1), "{ended:?}");
    assert!(ended.stderr.len() < 1000, "{ended:?}");
}

#[test]
fn a_manifest_without_end_is_refused_at_once() {
    let bench = Bench::new(&["a"], "touch ran");
    mkfifo(&bench.path("fifo"), Mode::S_IRWXU).unwrap();
    for manifest in ["fifo", "/dev/zero"] {
        let ended = bench.ends(&["run", "--manifest", manifest]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("it is not a regular file"), "{ended:?}");
    }
    let alternatives = "{1,2}".repeat(20);
    let manifest = bench.manifest().replace("[\"a\"]", &format!("[\"a --x {alternatives}\"]"));
    let ended = Ended::from(bench.brigade_with(&manifest, &["list"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("1048576 cases, more than 2000"), "{ended:?}");
    let ended = bench.ends(&["run", &format!("a --x {}", "y".repeat(100_000))]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(!bench.path("ran").exists());
}
