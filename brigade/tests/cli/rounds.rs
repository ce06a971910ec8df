//! `brigade run`: how many rounds a case gets, and why no more.

use std::collections::BTreeMap;
use std::fs;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::bench::{Bench, Ended, RECORD, end_of, eventually, lines_of, send, start_with};

/// A bench whose case `steady` always measures the same; `noisy`, which has one
/// more flag, measures 1, 1.1, 1.2 … 2.5 times as much in turn: no two modes.
fn steady_and_noisy() -> (Bench, String) {
    let times = (10..26).map(|tenths| {
        let factor = f64::from(tenths) / 10.0;
        RECORD
            .replace("150.0", &format!("{:.1}", 150.0 * factor))
            .replace(
                "\"ns_per_operation\":75.0",
                &format!("\"ns_per_operation\":{:.1}", 75.0 * factor),
            )
            .replace("\"max_ns\":200", "\"max_ns\":500")
    });
    let turns: String =
        (0..).zip(times).map(|(turn, record)| format!("{turn}) echo '{record}';;\n")).collect();
    let script = format!(
        "[ \"$1\" = noisy ] || {{ echo '{RECORD}'; exit; }}\n\
         case $(( $(wc -l <runs) % 16 )) in\n{turns}esac\necho run >>runs"
    );
    let bench = Bench::new(&["steady", "noisy"], &script);
    fs::write(bench.path("runs"), "").unwrap();
    let manifest = bench.manifest().replacen(
        "rounds = 3",
        "rounds = 2\nbudget_seconds = 2\ntarget_percent = 0.5",
        1,
    );
    (bench, manifest)
}

/// How many lines each case has.
fn lines_by_case(records: &[Value]) -> BTreeMap<&str, usize> {
    let mut lines = BTreeMap::new();
    for record in records {
        *lines.entry(record["case"].as_str().unwrap()).or_default() += 1;
    }
    lines
}

#[test]
fn a_precise_case_ends_and_the_budget_goes_to_the_other() {
    let (bench, manifest) = steady_and_noisy();
    let ended = Ended::from(bench.brigade_with(&manifest, &["run"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let records = bench.records();
    let lines = lines_by_case(&records);
    assert_eq!(lines["steady"], 12);
    assert!(lines["noisy"] > 12, "{lines:?}");

    let end = bench.json("run-end.json");
    let steady = serde_json::json!({
        "case": "steady", "rounds": 12, "half_width_percent": 0.0, "reason": "resolved"
    });
    assert_eq!(end["cases"][0], steady);
    assert_eq!(end["cases"][1]["reason"], "budget-spent");
    assert_eq!(end["cases"][1]["rounds"], lines["noisy"]);
    assert!(ended.stdout.contains("\n- wider than ± 0.5 %: noisy ± "), "{ended:?}");
    assert!(!ended.stdout.contains("steady ±"), "{ended:?}");

    let spent = |records: &[Value]| -> u64 {
        records.iter().map(|record| record["duration_ns"].as_u64().unwrap()).sum()
    };
    let (last, before) = records.split_last().unwrap();
    assert_eq!(last["case"], "noisy");
    assert!(spent(before) < 2_000_000_000 && spent(&records) >= 2_000_000_000);
}

/// A bench whose program has a busy neighbour in its first `times` runs.
fn disturbed(times: u32) -> Bench {
    let unusable = RECORD
        .replace("\"wall_ns\":null", "\"wall_ns\":1000000000")
        .replace("\"others_cpu_ns\":null", "\"others_cpu_ns\":900000000");
    assert_ne!(unusable, RECORD);
    let script = format!(
        "echo run >>runs\n\
         if [ $(wc -l <runs) -le {times} ]; then echo '{unusable}'; else echo '{RECORD}'; fi"
    );
    Bench::new(&["a"], &script)
}

fn rounds_and_attempts(bench: &Bench) -> Vec<(u64, u64)> {
    let number = |value: &Value| value.as_u64().unwrap();
    let records = bench.records();
    records.iter().map(|record| (number(&record["round"]), number(&record["attempt"]))).collect()
}

#[test]
fn a_case_is_repeated_at_most_twice() {
    let bench = disturbed(100);
    let ended = bench.ends(&["run"]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(rounds_and_attempts(&bench), [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1)]);
    assert!(ended.stdout.contains("3 of 3 invocations"), "{ended:?}");
}

/// It may be stopped for longer than requested, on a busy machine.
#[test]
fn the_time_in_which_a_signal_stopped_a_process_is_recorded_and_it_is_run_again() {
    let stop = "(sleep 0.3; kill -CONT $$) & kill -STOP $$; wait;";
    let script =
        format!("echo run >>runs\nif [ $(wc -l <runs) -le 1 ]; then {stop} fi\necho '{RECORD}'");
    let bench = Bench::new(&["a"], &script);
    let ended = bench.ends(&["run"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let stopped: Vec<u64> =
        bench.records().iter().map(|of| of["stopped_ns"].as_u64().unwrap()).collect();
    assert_eq!(stopped.len(), 4, "one is run again: {stopped:?}");
    assert!(stopped[0] > 100_000_000, "{stopped:?}");
    assert_eq!(stopped[1..], [0; 3]);
    assert!(ended.stdout.contains("a signal"), "{ended:?}");
}

#[test]
fn an_interruption_ends_the_wait_between_two_invocations() {
    let bench = Bench::new(&["a"], &format!("touch ran; echo '{RECORD}'"));
    let manifest = bench.manifest().replacen("rounds = 3", "rounds = 2\nspread_seconds = 120", 1);
    let brigade = start_with(&bench, &manifest, &["run"]);
    eventually("a record is there", || lines_of(&bench) > 0);
    send(&brigade, Signal::SIGINT);
    assert_eq!(end_of(brigade).code, Some(130));
    assert_eq!(bench.records().len(), 1);
}

#[test]
fn tasks_that_share_a_cpu_share_another_one_in_the_next_round() {
    let mut bench = Bench::new(&["a"], &format!("echo '{RECORD}'"));
    bench.case_keys = "placement = 'same-cpu'";
    assert_eq!(bench.ends(&["run"]).code, Some(0));
    let cpus = harness::cpus::allowed().unwrap();
    let records = bench.records();
    for (round, record) in records.iter().enumerate() {
        let command: Vec<&str> = record["command"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        let cpu = cpus[round % cpus.len()].to_string();
        assert_eq!(command[command.len() - 2..], ["--cpus", &cpu], "{command:?}");
    }

    // A flag of the case overrides it.
    let own = bench.manifest().replace("placement =", "flags = ['--cpus', '0']\nplacement =");
    fs::remove_dir_all(bench.path("results")).unwrap();
    assert_eq!(Ended::from(bench.brigade_with(&own, &["run"])).code, Some(0));
    let once = |record: &Value| record["command"].to_string().matches("--cpus").count() == 1;
    assert!(bench.records().iter().all(once));
}
