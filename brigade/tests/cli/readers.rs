//! Reads Brigade's output with other programs: every figure is computed a second time by
//! `scripts/recompute.py`, CSV is read by DuckDB, and the jq recipes of docs/CI.md are run. A test is
//! skipped if its program is not installed; `.ci/run` installs them all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use contract::{repository, skip};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The output of a program, for a test that is skipped without it.
fn printed(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Whether a command succeeds; without it the test of `what` is skipped.
fn has(command: &[&str], what: &str) -> bool {
    let mut tool = Command::new(command[0]);
    let output = tool.args(&command[1..]).stdin(Stdio::null()).output();
    let has = output.is_ok_and(|output| output.status.success());
    if !has {
        skip(what, &format!("this fails: {}", command.join(" ")));
    }
    has
}

/// What `brigade` prints, in a file of a folder.
fn saved(folder: &Path, name: &str, arguments: &[&str]) -> String {
    let mut brigade = Command::new(env!("CARGO_BIN_EXE_brigade"));
    let text = printed(brigade.current_dir(root()).args(arguments).env("LC_ALL", "C.UTF-8"));
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The output of `scripts/recompute.py`, and whether all figures agree.
fn recomputed(arguments: &[&str]) -> (bool, String) {
    let mut python = Command::new("python3");
    python.arg(root().join("scripts/recompute.py")).args(arguments).current_dir(root());
    let output = python.stdin(Stdio::null()).output().expect("it can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
    (output.status.success(), String::from_utf8(output.stdout).expect("UTF-8"))
}

const PYTHON: [&str; 3] = ["python3", "-c", "import tomllib"];

#[test]
fn every_printed_figure_of_every_recorded_run_follows_from_the_records() {
    if !has(&PYTHON, "figures computed a second time") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let runs = repository::recorded_runs();
    let runs: Vec<&str> = runs.iter().map(|run| run.to_str().unwrap()).collect();
    for run in &runs {
        let files = ["json", "csv", "markdown"].map(|format| {
            let name = if format == "markdown" { "report.md" } else { format };
            let name = name.replace("json", "report.json").replace("csv", "report.csv");
            saved(folder.path(), &name, &["report", "--format", format, run])
        });
        let (agrees, text) = recomputed(&[&[*run], &files.each_ref().map(|of| &**of)[..]].concat());
        assert!(agrees, "{run}: {text}");
    }
    let pair: Vec<&str> = runs.iter().copied().filter(|run| run.contains("-25-17-2cpu")).collect();
    if let [old, new, ..] = pair[..] {
        let file = saved(folder.path(), "c.json", &["compare", old, new, "--format", "json"]);
        let (agrees, text) = recomputed(&[old, new, &file]);
        assert!(agrees, "{text}");
    }
}

#[test]
fn a_figure_wrong_by_one_in_its_last_digit_is_detected() {
    if !has(&PYTHON, "figures wrong by one") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = &repository::recorded_runs()[0];
    let run = run.to_str().unwrap();
    let file = saved(folder.path(), "page.md", &["report", "--format", "markdown", run]);
    let page = fs::read_to_string(&file).unwrap();
    let right =
        page.lines().rfind(|line| line.starts_with("| ") && line.contains(" µs [")).unwrap();
    // The last digit of an interval, and of a count of switches.
    for (end, _) in [right.find("] |"), right.rfind(" | ")].into_iter().flatten().zip(0..) {
        let at = right[..end].rfind(|of: char| of.is_ascii_digit()).expect("a figure");
        let digit = (right.as_bytes()[at] - b'0' + 1) % 10;
        let wrong = format!("{}{digit}{}", &right[..at], &right[at + 1..]);
        fs::write(&file, page.replace(right, &wrong)).unwrap();
        assert!(!recomputed(&[run, &file]).0, "{wrong}");
    }
}

#[test]
fn duckdb_reads_the_csv_with_its_types() {
    if !has(&["python3", "-c", "import duckdb"], "CSV in DuckDB") {
        return;
    }
    const ASK: &str = "
import duckdb, json, sys
rows = duckdb.execute(sys.argv[1])
names = [column[0] for column in rows.description]
print(json.dumps([dict(zip(names, row)) for row in rows.fetchall()], default=str))
";
    let folder = tempfile::tempdir().unwrap();
    let run = &repository::recorded_runs()[0];
    let run = run.to_str().unwrap();
    let file = saved(folder.path(), "report.csv", &["report", "--format", "csv", run]);
    let rows = |query: &str| -> Value {
        let mut python = Command::new("python3");
        serde_json::from_str(&printed(python.args(["-c", ASK, query]))).unwrap()
    };
    let types = rows(&format!("DESCRIBE FROM '{file}'"));
    for (name, kind) in [("case", "VARCHAR"), ("round", "BIGINT"), ("value", "DOUBLE")] {
        let column = types.as_array().unwrap().iter().find(|of| of["column_name"] == name);
        assert_eq!(column.unwrap()["column_type"], kind, "{name}");
    }
    let count = fs::read_to_string(&file).unwrap().lines().count() - 1;
    let query = "SELECT count(*) AS rows, count(parameters::JSON->>'placement') AS placed FROM";
    assert_eq!(rows(&format!("{query} '{file}'")), json!([{ "rows": count, "placed": count }]));
}

/// Each recipe is a jq program in a block that begins with the name of the format.
#[test]
fn the_recipes_of_the_document_make_what_other_tools_read() {
    if !has(&["jq", "--version"], "the jq recipes of docs/CI.md") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = &repository::recorded_runs()[0];
    let run = run.to_str().unwrap();
    saved(folder.path(), "report.json", &["report", "--format", "json", run]);
    let document = fs::read_to_string(root().join("docs/CI.md")).unwrap();
    let made = |tool: &str| -> String {
        let recipe = document.split(&format!("# {tool}\n")).nth(1).unwrap().split("```").next();
        let mut shell = Command::new("sh");
        printed(shell.args(["-euc", recipe.unwrap()]).current_dir(folder.path()))
    };
    let entries: Value = serde_json::from_str(&made("github-action-benchmark")).unwrap();
    let entries = entries.as_array().unwrap();
    let metrics: Value = serde_json::from_str(&made("Bencher")).unwrap();
    assert!(entries.len() > 10 && metrics.as_object().unwrap().len() <= entries.len());
    for entry in entries {
        assert!(entry["value"].is_f64() && entry["unit"].is_string(), "{entry}");
        let mut metric = metrics[entry["name"].as_str().unwrap()].as_object().unwrap().values();
        assert!(metric.any(|of| of["value"] == entry["value"]), "{entry}");
    }
    let text = made("benchstat");
    fs::write(folder.path().join("runs"), &text).unwrap();
    assert!(text.lines().filter(|line| line.starts_with("Benchmark")).count() > entries.len());
    if has(&["sh", "-c", "command -v benchstat"], "Go's format in benchstat") {
        let mut benchstat = Command::new("benchstat");
        let table = printed(benchstat.args(["-format", "csv", "runs"]).current_dir(folder.path()));
        assert!(table.lines().count() > entries.len(), "{table}");
    }
}
