//! Cases of pairs of CPUs: those of this machine, which a run keeps.

use std::fs;

use contract::skip;
use serde_json::Value;

use crate::bench::{Bench, Ended, RECORD, records_in};

/// A bench with a case for each pair of CPUs.
fn bench() -> Bench {
    let keys = "placement = 'spread'\naxes = { cpus = 'pairs' }";
    let mut bench = Bench::new(&["core/{cpus}"], &format!("echo '{RECORD}'"));
    bench.case_keys = keys;
    bench
}

/// The CPUs that this process may use, if they are several.
fn cpus(what: &str) -> Option<Vec<usize>> {
    let cpus = harness::cpus::allowed().unwrap();
    if cpus.len() < 2 {
        skip(what, "it needs two CPUs");
        return None;
    }
    Some(cpus)
}

#[test]
fn every_pair_is_a_case_that_is_pinned_to_its_cpus() {
    let Some(cpus) = cpus("pairs of CPUs") else { return };
    let bench = bench();
    let ended = bench.ends(&["run", "--rounds", "1", "--all-pairs"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let records = records_in(&bench.result_folders()[0]);
    assert_eq!(records.len(), cpus.len() * (cpus.len() - 1) / 2);
    let pair = format!("{},{}", cpus[0], cpus[1]);
    let first = records.iter().find(|of| of["case"] == format!("core/{pair}")).expect("a pair");
    let words: Vec<&str> =
        first["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(words.windows(2).any(|of| of == ["--cpus", &pair]), "{words:?}");
    assert!(words.windows(2).any(|of| of == ["--placement", "spread"]), "{words:?}");
    let run = fs::read_to_string(bench.result_folders()[0].join("run.json")).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    assert!(run["procedure"]["command"].as_array().unwrap().contains(&"--all-pairs".into()));
}

#[test]
fn a_run_goes_on_with_the_pairs_that_it_began_with() {
    let Some(_) = cpus("pairs of CPUs") else { return };
    let bench = bench();
    assert_eq!(bench.ends(&["run", "--rounds", "2"]).code, Some(0));
    let folder = &bench.result_folders()[0];
    let (whole, records) = (records_in(folder), folder.join("records.jsonl"));
    let text = fs::read_to_string(&records).unwrap();
    fs::write(&records, format!("{}\n", text.lines().next().unwrap())).unwrap();
    fs::remove_file(folder.join("run-end.json")).unwrap();
    let ended = bench.resumes();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let names =
        |records: &[Value]| -> Vec<Value> { records.iter().map(|of| of["case"].clone()).collect() };
    assert_eq!(names(&records_in(folder)), names(&whole));
}

#[test]
fn on_one_cpu_pairs_are_skipped_with_the_reason() {
    let bench = bench();
    let cpu = harness::cpus::allowed().unwrap()[0].to_string();
    for (arguments, code) in [(&["run", "--rounds", "1"][..], 0), (&["list", "letters"], 0)] {
        let brigade = bench.brigade(arguments);
        let mut confined = std::process::Command::new("taskset");
        confined.args(["-c", &cpu]).arg(brigade.get_program()).args(brigade.get_args());
        confined.current_dir(bench.path("")).env("BRIGADE_LOCK", bench.path("lock"));
        let ended = Ended::from(confined);
        assert_eq!(ended.code, Some(code), "{ended:?}");
        let said = ended.stdout.replace("\n  ", " ");
        let expected = "core/pairs: skipped: it needs 2 CPUs, and this process may use 1";
        assert!(said.contains(expected), "{ended:?}");
    }
}
