use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::*;

const GOOD: &str = r#"
[programs]
fake = { path = "fake", defaults = "--kind thread" }
guest = { form = "laps" }
[[group]]
name = "g"
question = "What?"
cases = ["fake --tasks {1,2} --placement {same-cpu,free}", "guest"]
comparisons = [{ case = "fake --tasks {1,2}", minus = "fake --tasks {1,2} --placement same-cpu" }]
[[group]]
name = "h"
question = "How?"
cases = ["fake --placement same-cpu --kind thread --tasks 2", "fake"]
"#;

/// Parses the valid manifest with `from` replaced by `to`.
fn parse_with(from: &str, to: &str) -> Result<Manifest, String> {
    assert!(GOOD.contains(from), "{from:?} is not in the manifest");
    Manifest::parse(&GOOD.replacen(from, to, 1))
}

fn names<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Vec<&'a str> {
    cases.into_iter().map(|case| &*case.name).collect()
}

/// The suite, and the machine's folder of recorded runs.
fn suite() -> Manifest {
    Manifest::load(Some(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FILE_NAME))).unwrap()
}

proptest! {
    #[test]
    fn a_damaged_manifest_is_reported_with_its_line(
        place in any::<Index>(),
        length in 0_usize..12,
        piece in "|\\[|\\]|=|-1|''|\"|\n|#|\\{|b|,",
    ) {
        let mut text = GOOD.to_owned();
        let at = place.index(text.len());
        let end = text.len().min(at + length);
        text.replace_range(at..end, &piece);
        if let Err(error) = Manifest::parse(&text) {
            let line = error.split(':').nth(1).and_then(|line| line.parse::<usize>().ok());
            prop_assert!(line.is_none_or(|line| line <= text.lines().count() + 1), "{}", error);
            prop_assert!(error.starts_with(':') && !error.contains('\n'), "{}", error);
        }
    }
}

#[test]
fn a_case_of_two_groups_is_one_case_and_groups_and_cases_are_chosen() {
    let manifest = Manifest::parse(GOOD).unwrap();
    let all = [
        "fake --tasks 1 --placement same-cpu",
        "fake --tasks 1",
        "fake --tasks 2 --placement same-cpu",
        "fake --tasks 2",
        "guest",
        "fake",
    ];
    assert_eq!(names(&manifest.cases), all);
    assert_eq!(manifest.groups[1].cases, ["fake --tasks 2 --placement same-cpu", "fake"]);
    let chosen = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        names(manifest.chosen(&words).unwrap())
    };
    assert_eq!(chosen(&[]), all);
    assert_eq!(chosen(&["fake --placement=free --tasks=1", "h"]), [all[1], all[2], all[5]]);
    manifest.chosen(&["fake --tasks 3".to_owned()]).unwrap_err();
    let pairs = manifest.partners();
    assert_eq!(pairs, [[all[1], all[0]].map(str::to_owned), [all[3], all[2]].map(str::to_owned)]);
}

#[test]
fn errors_name_the_place_and_the_reason() {
    for (from, to, expected) in [
        ("question =", "qestion =", ":7: unknown key `qestion`, expected one of `name`, "),
        ("\"g\"", "\"h\"", ": group 'h': another group"),
        ("[\"fake --t", "[\"fakes --t", ": group 'g': unknown program 'fakes'; known: fake, guest"),
        ("{1,2}", "{1,2", ": group 'g': 'fake --tasks {1,2"),
        ("same-cpu,free", "near", ": group 'g': 'fake --tasks 1 --placement near': unknown plac"),
        ("\"guest\"", "\"guest --placement spread\"", "'guest --placement spread': a guest's"),
        ("minus = \"fake --tasks {1,2}", "minus = \"fake --tasks {1,3}", "unknown case 'fake --t"),
        ("minus = \"fake --tasks {1,2}", "minus = \"fake --tasks {1,2,3}", "makes 2 cases, but"),
        ("path =", "build = { in = '', command = ['make'] }, path =", ":3: a program has either"),
        ("path =", "needs = [{ command = [] }], path =", ":3: a `command` needs"),
        ("[[group]]", "[impact]\nlowest = 'x'\nhighest = 'fake'\n[[group]]", ": impact: unknown"),
    ] {
        let error = parse_with(from, to).unwrap_err();
        assert!(error.contains(expected), "{error:?} does not contain {expected:?}");
        assert!(!error.contains('\n'), "{error:?} is more than one line");
    }
}

#[test]
fn a_similar_name_is_suggested() {
    assert_eq!(meant("runds", &["flags", "rounds"]), "; did you mean 'rounds'?");
    assert_eq!(meant("x", &["flags", "rounds"]), "");
}

#[test]
fn every_name_parses_back_to_its_case() {
    let suite = suite();
    let mut seen = BTreeSet::new();
    for case in &suite.cases {
        assert!(seen.insert(&case.name), "{} is twice", case.name);
        assert_eq!(suite.case(&case.name).unwrap().name, case.name);
        let found = suite.case_of(&case.program, &case.parameters()).unwrap();
        assert_eq!(found.name, case.name);
        // The program has these anyway.
        let whole = format!("{} {}", case.name, suite.program_of(case).defaults);
        let has_default =
            case.parameters().len() < suite.parsed(&whole).unwrap().parameters().len();
        assert!(has_default || suite.case(&whole).is_ok(), "{whole}");
    }
}

/// Recorded cases, under whatever names, by program and given flags.
#[test]
fn every_case_of_a_recorded_default_run_that_the_screen_has_is_found() {
    let suite = suite();
    let mut found = BTreeMap::new();
    for folder in contract::repository::recorded_runs() {
        let run: Value =
            serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
        for detail in run["details"].as_array().unwrap() {
            let parameters = serde_json::from_value(detail["parameters"].clone()).unwrap();
            let case = suite.case_of(detail["program"].as_str().unwrap(), &parameters);
            found.extend(case.map(|case| (detail["case"].to_string(), case.name.clone())));
        }
    }
    for (recorded, name) in [
        ("thread-brigade/free", "thread-brigade"),
        ("thread-futex/same-cpu", "thread-brigade --channel futex --placement same-cpu"),
        ("process-brigade/same-cpu", "thread-brigade --kind process --placement same-cpu"),
        ("async-brigade", "async-brigade"),
        ("async-brigade-ct", "async-brigade --runtime tokio-current-thread"),
        ("goroutine-one", "goroutine-brigade --workers 1"),
        ("thread-creation/warm", "thread-creation --tasks 20"),
        ("goroutine-creation", "goroutine-brigade creation"),
        ("fork", "process-creation --via fork"),
        ("memory-tokio", "task-memory --kind tokio --tasks 200000"),
        ("memory-thread", "task-memory --kind thread --tasks 4000"),
    ] {
        assert_eq!(found.get(&format!("\"{recorded}\"")).map(String::as_str), Some(name));
    }
}
