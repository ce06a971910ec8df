//! Real runs, and the suite, damaged at random and read into every format: whatever a folder
//! contains, reading it ends in an error, or in bounded output and a warning for each line that is
//! not used. `.ci/run` tries more of them.

use std::fs;
use std::path::{Path, PathBuf};

use contract::repository::recorded_runs;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::fixtures::WholeRun;
use crate::judge::report::{Report, RunData, RunProgress, report};
use crate::judge::run::Run;
use crate::manifest::Manifest;
use crate::show;
use crate::show::names::Names;
use crate::show::screen::{Place, screen};
use crate::store::results::{ENVIRONMENT, RECORDS, RUN, SavedRun};

/// Lines of records that are used: all of them would take minutes.
const LINES: usize = 12;
/// The longest output of so few lines, in bytes.
const LONGEST_OUTPUT: usize = 4 << 20;

/// Few cases in every test run, as many as `PROPTEST_CASES` says otherwise.
fn some_cases() -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { 24 };
    ProptestConfig { cases, ..config }
}

/// The first lines of a recorded run, each of another case as far as there are so many, and its
/// other files.
fn files(folder: &Path) -> [String; 3] {
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a recorded run");
    let records = read(RECORDS);
    let lines: Vec<&str> = records.lines().take(LINES).collect();
    [read(RUN), read(ENVIRONMENT), lines.join("\n") + "\n"]
}

/// A change to one value of a JSON document.
fn changes() -> impl Strategy<Value = Value> {
    let numbers = prop_oneof![
        Just(json!(1e308)),
        Just(json!(-1)),
        Just(json!(0)),
        Just(json!(0.5)),
        Just(json!(u64::MAX)),
    ];
    let nested = (0..200).fold(json!([]), |inner, _| json!([inner]));
    let texts = prop_oneof![
        Just(json!("")),
        Just(json!("x".repeat(100_000))),
        Just(json!("\u{1b}[2J\u{7}\r\n\u{202e}<script>|`$(id)`")),
        Just(json!("NaN")),
    ];
    let others = prop_oneof![Just(Value::Null), Just(json!(true)), Just(json!({})), Just(nested)];
    prop_oneof![numbers, texts, others]
}

/// What happens to one place of a document.
#[derive(Clone, Debug)]
enum Damage {
    Replace(Value),
    Drop,
    /// An element or a key is there many times.
    Repeat(usize),
}

fn damages() -> impl Strategy<Value = Damage> {
    prop_oneof![
        3 => changes().prop_map(Damage::Replace),
        1 => Just(Damage::Drop),
        1 => (2_usize..10_000).prop_map(Damage::Repeat),
    ]
}

/// Damages the value that a path of random choices leads to.
fn damage(value: &mut Value, path: &[Index], what: &Damage) {
    let (first, rest) = match path.split_first() {
        Some(split) if !is_leaf(value) => split,
        _ => {
            if let Damage::Replace(new) = what {
                *value = new.clone();
            }
            return;
        }
    };
    match value {
        Value::Array(values) => {
            let at = first.index(values.len());
            if !rest.is_empty() && !is_leaf(&values[at]) {
                return damage(&mut values[at], rest, what);
            }
            match what {
                Damage::Replace(new) => values[at] = new.clone(),
                Damage::Drop => drop(values.remove(at)),
                Damage::Repeat(times) => {
                    let repeated = vec![values[at].clone(); *times];
                    values.splice(at..=at, repeated);
                }
            }
        }
        Value::Object(fields) => {
            let name = fields.keys().nth(first.index(fields.len())).expect("a key").clone();
            if !rest.is_empty() && !is_leaf(&fields[&name]) {
                return damage(&mut fields[&name], rest, what);
            }
            match what {
                Damage::Replace(new) => drop(fields.insert(name, new.clone())),
                Damage::Drop => drop(fields.remove(&name)),
                Damage::Repeat(times) => {
                    let value = fields[&name].clone();
                    fields.extend((0..*times).map(|at| (format!("{name}{at}"), value.clone())));
                }
            }
        }
        _ => unreachable!("a leaf"),
    }
}

fn is_leaf(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => true,
    }
}

/// Damages one line, or the whole document if it has one only.
fn damage_line(text: &str, line: Index, path: &[Index], what: &Damage) -> String {
    let Ok(mut document) = serde_json::from_str::<Value>(text) else {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = line.index(lines.len());
        let mut value: Value = serde_json::from_str(&lines[at]).expect("a line of JSON");
        match (path, what) {
            // The line itself.
            ([], Damage::Drop) => drop(lines.remove(at)),
            ([], Damage::Repeat(times)) => {
                let repeated = vec![lines[at].clone(); (*times).min(500)];
                lines.splice(at..=at, repeated);
            }
            _ => {
                damage(&mut value, path, what);
                lines[at] = value.to_string();
            }
        }
        return lines.join("\n") + "\n";
    };
    damage(&mut document, path, what);
    document.to_string()
}

/// Every format of a report.
fn formats(report: &Report) -> Vec<(&'static str, String)> {
    let place = Place { folder: "results/run", ..Place::default() };
    let pictures = report.groups.iter();
    let pictures = pictures.flat_map(|group| show::plot::group(group, &Names::new(report, group)));
    vec![
        ("screen", screen(report, place)),
        ("low screen", screen(report, Place { height: Some(24), ..place })),
        ("full", show::page::text(&show::report::page(report, false))),
        ("markdown", show::formats::markdown(report)),
        ("csv", show::formats::csv(report).expect("CSV")),
        ("json", serde_json::to_string(report).expect("JSON")),
        ("html", show::html::html(report)),
        ("poster", show::picture::picture(report).unwrap_or_default()),
        ("pictures", pictures.map(|picture| picture.file()).collect()),
    ]
}

/// A run that was read.
struct ReadRun {
    run: Run,
    /// How many lines of its records were used.
    used: usize,
    /// How many warnings say that something was not used.
    unused: usize,
}

/// What was read of these files.
fn read(files: &[String; 3]) -> Option<ReadRun> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [RUN, ENVIRONMENT, RECORDS].iter().zip(files) {
        fs::write(folder.path().join(name), text).expect("written");
    }
    let mut invocations = Vec::new();
    let read = SavedRun::read(folder.path(), |one| invocations.push(one)).ok()?;
    let used = invocations.len();
    let unused = read.warnings.count();
    let whole =
        WholeRun { description: read.description, environment: read.environment, invocations };
    Some(ReadRun { run: whole.judged(), used, unused })
}

proptest! {
    #![proptest_config(some_cases())]

    #[test]
    fn damaged_runs_become_bounded_output_and_warnings(
        run in any::<Index>(),
        file in prop_oneof![1 => Just(0_usize), 1 => Just(1), 4 => Just(2)],
        line in any::<Index>(),
        path in prop::collection::vec(any::<Index>(), 0..6),
        what in damages(),
    ) {
        let folders = recorded_runs();
        let folder: &PathBuf = run.get(&folders);
        let mut files = files(folder);
        files[file] = damage_line(&files[file], line, &path, &what);
        let Some(ReadRun { mut run, used, unused }) = read(&files) else { return Ok(()) };
        if file == 2 {
            let lines = files[2].lines().filter(|line| !line.is_empty()).count();
            prop_assert!(used + unused >= lines, "{} + {} of {}", used, unused, lines);
        }
        let suite = Manifest::load(None).expect("the suite");
        let data = RunData {
            name: "run".to_owned(),
            run: &mut run,
            progress: RunProgress::default(),
            alike: &[],
        };
        let report = report(&suite, data);
        for (format, output) in formats(&report) {
            prop_assert!(output.len() <= LONGEST_OUTPUT, "{}: {} bytes", format, output.len());
            let words = output.split(|letter: char| !letter.is_alphanumeric());
            let is_number = |word: &&str| ["NaN", "inf"].contains(word);
            let quotes = what_is_text(&what) == Some("NaN");
            prop_assert!(quotes || words.filter(is_number).count() == 0, "{}", format);
        }
    }

    #[test]
    fn damaged_suites_are_read_or_refused_in_one_line(
        at in any::<Index>(),
        what in prop_oneof![
            Just(String::new()),
            Just("x".repeat(100_000)),
            Just("-1".to_owned()),
            Just("1e308".to_owned()),
            Just("\u{1b}[2J".to_owned()),
            Just("{a,b}".repeat(20)),
            Just("[".repeat(200)),
        ],
    ) {
        let suite = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../suite.toml")).unwrap();
        let mut lines: Vec<&str> = suite.lines().collect();
        let at = at.index(lines.len());
        let (name, _) = lines[at].split_once('=').unwrap_or((lines[at], ""));
        let line = format!("{name}= {what}");
        lines[at] = &line;
        if let Err(error) = Manifest::parse(&lines.join("\n")) {
            prop_assert!(!error.contains('\n') && error.len() < 4096, "{:.200}", error);
        }
    }
}

fn what_is_text(what: &Damage) -> Option<&str> {
    match what {
        Damage::Replace(Value::String(text)) => Some(text),
        _ => None,
    }
}
