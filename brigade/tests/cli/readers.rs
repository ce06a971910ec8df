//! Reads Brigade's output with other programs: folders of results and CSV with DuckDB, Go's format
//! with benchstat, tables with a Markdown parser, and every figure with `scripts/recompute.py`. A
//! test is skipped if its program is not installed; `.ci/run` installs them all.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use contract::{repository, skip};
use serde_json::{Value, json};

/// A default run, and one on another machine.
const RUNS: [&str; 2] = ["2026-11-22-intel-xeon-6-207-2cpu", "2026-11-22-amd-epyc-2cpu"];

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

/// Whether Python has this module; without it the test of `what` is skipped.
fn has_module(module: &str, package: &str, what: &str) -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", &format!("import {module}")]).stderr(Stdio::null());
    let has = python.status().is_ok_and(|status| status.success());
    if !has {
        skip(what, &format!("Python has no module '{module}': python3 -m pip install {package}"));
    }
    has
}

/// The rows of a query after `scripts/fleet.sql`, in a folder with results.
fn rows(folder: &Path, query: &str) -> Vec<Value> {
    const ASK: &str = "
import duckdb, json, sys
fleet = duckdb.connect()
fleet.execute(open(sys.argv[1]).read())
rows = fleet.execute(sys.argv[2])
names = [column[0] for column in rows.description]
print(json.dumps([dict(zip(names, row)) for row in rows.fetchall()], default=str))
";
    let mut python = Command::new("python3");
    python.args(["-c", ASK]).arg(root().join("scripts/fleet.sql").canonicalize().unwrap());
    let printed = printed(python.arg(query).current_dir(folder));
    serde_json::from_str::<Value>(&printed).unwrap().as_array().unwrap().clone()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn duckdb_reads_all_recorded_runs_and_their_medians_are_those_of_the_records() {
    if !has_module("duckdb", "duckdb", "the recorded runs in DuckDB") {
        return;
    }
    let folders = repository::recorded_runs();
    let recorded = tempfile::tempdir().unwrap();
    fs::create_dir(recorded.path().join("results")).unwrap();
    for folder in &folders {
        let link = recorded.path().join("results").join(folder.file_name().unwrap());
        symlink(folder.canonicalize().unwrap(), link).unwrap();
    }
    let recorded = recorded.path();
    let runs = rows(recorded, "SELECT run, count(*) AS count FROM invocations GROUP BY run");
    assert_eq!(runs.len(), folders.len());
    for folder in folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let counted = runs.iter().find(|run| run["run"] == name).expect("every folder is a run");
        let records = lines(&folder.join("records.jsonl"));
        assert_eq!(counted["count"], records.len(), "{name}");
    }
    let case = "thread-brigade/same-cpu";
    let records = lines(&recorded.join("results").join(RUNS[0]).join("records.jsonl"));
    let mut times: Vec<f64> = records
        .iter()
        .filter(|of| of["case"] == case && of["outcome"] == "measured")
        .map(|of| of["record"]["measurements"][0]["ns_per_operation"].as_f64().unwrap())
        .collect();
    times.sort_by(f64::total_cmp);
    let middle = (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2.0;
    let query = format!(
        "SELECT median_ns, processes FROM medians JOIN runs USING (host)
         WHERE name = '{case}' AND run = '{}'",
        RUNS[0]
    );
    let found = &rows(recorded, &query)[0];
    assert!((found["median_ns"].as_f64().unwrap() / middle - 1.0).abs() < 1e-9, "{found}");
    assert_eq!(found["processes"], times.len());
}

/// A script for fleets, run in this folder.
fn script(name: &str, folder: &Path) -> Command {
    let mut python = Command::new("python3");
    python.arg(root().join("scripts/fleet").join(name)).current_dir(folder);
    python
}

/// The `results` of 24 simulated hosts, the first ones slow, and a folder without files.
fn fleet(slow: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut simulate = script("simulate.py", folder.path());
    simulate.args(["--hosts", "24", "--slower", "1.2", "--cases", "3", "--rounds", "6"]);
    simulate.args(["--slow", &slow.to_string(), "--out", "results", "--like"]);
    printed(simulate.arg(root().join("results").join(RUNS[0]).canonicalize().unwrap()));
    fs::create_dir(folder.path().join("results/broken")).unwrap();
    folder
}

/// The output of `outliers.py` for such a fleet.
fn outliers(slow: u32) -> Value {
    let folder = fleet(slow);
    let runs = fs::read_dir(folder.path().join("results")).unwrap();
    let mut outliers = script("outliers.py", folder.path());
    outliers.arg("--json").args(runs.map(|run| run.unwrap().path()));
    serde_json::from_str(&printed(&mut outliers)).unwrap()
}

#[test]
fn slow_hosts_are_found_with_the_settings_they_share_and_equal_ones_are_not() {
    if !has_module("statsmodels", "duckdb pandas scipy statsmodels", "slow hosts of a fleet") {
        return;
    }
    let found = |fleet: &Value, verdict: &str| {
        let hosts = fleet["hosts"].as_array().unwrap().iter();
        let mut found: Vec<String> = hosts
            .filter(|host| host["verdict"] == verdict)
            .map(|host| host["host"].as_str().unwrap().to_owned())
            .collect();
        found.sort();
        found
    };
    let fleet = outliers(3);
    assert_eq!(found(&fleet, "slower"), ["node-0000", "node-0001", "node-0002"]);
    let best = &fleet["slower"][0];
    assert_eq!(
        (&best["setting"], &best["value"]),
        (&json!("processor.governor"), &json!("powersave"))
    );
    assert_eq!((&best["slower"], &best["alike"]), (&json!(1.0), &json!(0.0)));
    assert_eq!(found(&outliers(0), "alike").len(), 24);
}

#[test]
fn every_query_of_the_document_runs() {
    if !has_module("duckdb", "duckdb", "the queries of docs/FLEET.md") {
        return;
    }
    let document = fs::read_to_string(root().join("docs/FLEET.md")).unwrap();
    let queries: Vec<&str> =
        document.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(queries.len() >= 5);
    let fleet = fleet(3);
    for query in queries {
        rows(fleet.path(), query);
    }
    let views = document.split("\n| View |").nth(1).expect("the table of views");
    let rows_of_it = views.lines().skip(2).map_while(|line| line.strip_prefix("| `"));
    let views: Vec<&str> = rows_of_it.map(|row| row.split('`').next().unwrap()).collect();
    assert!(views.len() >= 10, "{views:?}");
    for view in views {
        assert!(!rows(fleet.path(), &format!("FROM {view} LIMIT 1")).is_empty(), "{view}");
    }
}

/// The report of recorded runs in this format.
fn report(format: &str, runs: &[&str]) -> String {
    let mut brigade = Command::new(env!("CARGO_BIN_EXE_brigade"));
    brigade.current_dir(root()).args(["report", "--format", format]);
    printed(brigade.args(runs.iter().map(|run| format!("results/{run}"))))
}

#[test]
fn duckdb_reads_the_csv_with_its_types() {
    if !has_module("duckdb", "duckdb", "CSV in DuckDB") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = report("csv", &RUNS);
    fs::write(folder.path().join("report.csv"), &text).unwrap();
    let types = rows(&root(), &format!("DESCRIBE FROM '{}/report.csv'", folder.path().display()));
    let of = |name: &str| types.iter().find(|of| of["column_name"] == name).unwrap();
    for (name, kind) in [("case", "VARCHAR"), ("round", "BIGINT"), ("ns", "DOUBLE")] {
        assert_eq!(of(name)["column_type"], kind, "{name}");
    }
    let query = format!(
        "SELECT count(*) AS rows, count(DISTINCT host) AS hosts,
             count(parameters::JSON->>'placement') AS placed
         FROM '{}/report.csv'",
        folder.path().display()
    );
    let count = text.lines().count() - 1;
    let expected = json!([{ "rows": count, "hosts": 2, "placed": count }]);
    assert_eq!(json!(rows(&root(), &query)), expected);
}

#[test]
fn benchstat_reads_every_line_and_compares_hosts() {
    let there = Command::new("benchstat").arg("-h").stderr(Stdio::null()).status().is_ok();
    if !there {
        let how = "go install golang.org/x/perf/cmd/benchstat@latest";
        return skip("Go's format in benchstat", &format!("benchstat is not installed: {how}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs");
    let text = report("benchstat", &RUNS);
    fs::write(&file, &text).unwrap();
    let mut benchstat = Command::new("benchstat");
    benchstat.args(["-col", "host", "-ignore", "run,cpu", "-format", "csv"]).arg(&file);
    let output = benchstat.output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut names: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("Benchmark")?.split(' ').next()).collect();
    names.sort_unstable();
    names.dedup();
    let rows: Vec<&str> = table.lines().filter_map(|line| line.split(',').next()).collect();
    for name in &names {
        assert!(rows.contains(name), "{name}: {table}");
    }
    assert!(names.len() > 40, "{names:?}");
    // In seconds, whatever the text's unit.
    let threads = "Hop/case=thread-brigade/placement=same-cpu/kind=thread,";
    let row = table.lines().find(|line| line.starts_with(threads)).unwrap();
    let seconds: f64 = row.split(',').nth(1).unwrap().parse().unwrap();
    assert!((1e-7..1e-4).contains(&seconds), "{row}");
}

/// The input of its `extractCustomBenchmarkResult`: names, units and values, and a range in words.
#[test]
fn entries_have_the_shape_that_github_action_benchmark_documents() {
    let entries: Value = serde_json::from_str(&report("github", &RUNS[..1])).unwrap();
    let entries = entries.as_array().unwrap();
    let metrics: Value = serde_json::from_str(&report("bmf", &RUNS[..1])).unwrap();
    assert_eq!(entries.len(), metrics.as_object().unwrap().len());
    for entry in entries {
        assert!(entry["value"].is_f64() && ["ns", "B"].contains(&entry["unit"].as_str().unwrap()));
        let same = metrics[entry["name"].as_str().unwrap()].as_object().unwrap().values();
        assert!(same.into_iter().any(|metric| metric["value"] == entry["value"]), "{entry}");
        assert!(entry["range"].as_str().is_none_or(|range| range.starts_with("± ")), "{entry}");
    }
}

#[test]
fn metrics_have_the_shape_that_bencher_documents() {
    for runs in [&RUNS[..1], &RUNS] {
        let metrics: Value = serde_json::from_str(&report("bmf", runs)).unwrap();
        let benchmarks = metrics.as_object().unwrap();
        assert!(benchmarks.len() > 30);
        for (name, measures) in benchmarks {
            assert!(!name.is_empty() && name.len() <= 1024, "{name}");
            for (measure, metric) in measures.as_object().unwrap() {
                let keys: Vec<&str> =
                    metric.as_object().unwrap().keys().map(String::as_str).collect();
                let known = ["lower_value", "upper_value", "value"];
                assert!(keys.contains(&"value") && keys.iter().all(|key| known.contains(key)));
                let figure = |key: &str| metric.get(key).map(|of| of.as_f64().unwrap());
                let value = figure("value").unwrap();
                let [low, high] = known[..2].iter().map(|key| figure(key)).collect::<Vec<_>>()[..]
                else {
                    unreachable!("two ends")
                };
                assert!(low.is_none_or(|low| low <= value), "{name} {measure}: {metric}");
                assert!(high.is_none_or(|high| high >= value), "{name} {measure}: {metric}");
            }
        }
    }
}

/// How many tables a Markdown parser finds, and table markup left in the text.
fn rendered(markdown: &str) -> Value {
    const RENDER: &str = "
import json, sys
from markdown_it import MarkdownIt
tokens = MarkdownIt('commonmark').enable('table').parse(open(sys.argv[1]).read())
widths, row = [], 0
for token in tokens:
    if token.type in ('td_open', 'th_open'): row += 1
    if token.type == 'tr_close': widths.append(row); row = 0
    if token.type == 'table_open': widths.append(None)
inline = [token.content for token in tokens if token.type == 'inline']
print(json.dumps({
    'tables': sum(token.type == 'table_open' for token in tokens),
    'uneven': sum(a != b for a, b in zip(widths, widths[1:]) if a and b),
    'left': [text for text in inline if text.startswith('|') or chr(10) + '|' in text],
    'html': [token.content for token in tokens if token.type == 'html_block'],
}))
";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.md");
    fs::write(&file, markdown).unwrap();
    let text = printed(Command::new("python3").args(["-c", RENDER]).arg(&file));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn tables_of_markdown_render() {
    if !has_module("markdown_it", "markdown-it-py", "tables of Markdown") {
        return;
    }
    let mut brigade = Command::new(env!("CARGO_BIN_EXE_brigade"));
    brigade.current_dir(root()).args(["compare", "--format", "markdown"]);
    // Two runs of one build on one machine.
    let alike = ["2026-11-24-amd-epyc-25-17-2cpu", "2026-11-24-amd-epyc-25-17-2cpu-2"];
    let comparison = printed(brigade.args(alike.map(|run| format!("results/{run}"))));
    for (what, page) in [
        ("a run", report("markdown", &RUNS[..1])),
        ("two runs", report("markdown", &RUNS)),
        ("a comparison", comparison),
    ] {
        let found = rendered(&page);
        let is_rule = |line: &&str| {
            line.starts_with('|') && line.contains("--") && line.chars().all(|c| "|-: ".contains(c))
        };
        let rules = page.lines().filter(is_rule).count();
        assert!(rules > 0 && found["tables"] == rules, "{what}: {rules} tables: {found}");
        assert_eq!((&found["uneven"], &found["left"]), (&json!(0), &json!([])), "{what}");
    }
}

/// The output of `scripts/recompute.py` for these pages, and whether all figures agree.
fn recomputed(pages: &[String]) -> (bool, String) {
    let mut python = Command::new("python3");
    python.arg(root().join("scripts/recompute.py")).args(pages).current_dir(root());
    let output = python.stdin(Stdio::null()).output().expect("it can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
    (output.status.success(), String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn every_printed_figure_follows_from_the_records_by_the_documented_rules() {
    // Python has a TOML parser since 3.11.
    if !has_module("tomllib", "python 3.11", "figures computed a second time") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut pages = vec!["README.md".to_owned(), "docs/OBSERVATIONS.md".to_owned()];
    for run in [RUNS[0], "2026-11-24-hand-overs"] {
        let page = folder.path().join(format!("{run}.md"));
        fs::write(&page, report("markdown", &[run])).unwrap();
        pages.push(format!("results/{run}={}", page.display()));
    }
    let (agrees, text) = recomputed(&pages);
    assert!(agrees, "{text}");
    let compared = |text: &str| text.split(' ').next().and_then(|count| count.parse().ok());
    assert!(
        compared(text.lines().last().unwrap()).is_some_and(|count: u32| count > 2000),
        "{text}"
    );
}

#[test]
fn a_figure_wrong_by_one_in_its_last_digit_is_detected() {
    if !has_module("tomllib", "python 3.11", "figures wrong by one") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let page = report("markdown", &RUNS[..1]);
    let copy = folder.path().join("copy.md");
    let run = format!("results/{}=", RUNS[0]);
    // The run of a page, its text, start of the line, what follows the digit, and which of these.
    for (run, text, start, after, nth) in [
        ("", &readme, "| thread switch, ring of 500, same CPU |", "] |", 0),
        ("", &readme, "| memory of a thread |", " KiB [", 0),
        (&*run, &page, "| thread: futex, same CPU |", " | ", 2),
        ("", &readme, "Quiet.", " independent ones", 0),
    ] {
        let right = text.lines().find(|line| line.starts_with(start)).expect(start);
        let (end, _) = right.match_indices(after).nth(nth).expect(after);
        let at = right[..end].rfind(|of: char| of.is_ascii_digit()).expect("a figure");
        let digit = (right.as_bytes()[at] - b'0' + 1) % 10;
        let wrong = format!("{}{digit}{}", &right[..at], &right[at + 1..]);
        fs::write(&copy, text.replace(right, &wrong)).unwrap();
        let (agrees, printed) = recomputed(&[format!("{run}{}", copy.display())]);
        assert!(!agrees && printed.contains("copy.md:"), "{wrong}: {printed}");
    }
}
