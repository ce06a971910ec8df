//! `brigade run`: how many rounds a case gets.

use serde_json::Value;

use crate::bench::{Bench, RECORD};

/// Also if one round does not fit.
#[test]
fn no_invocation_begins_after_the_time_is_up() {
    let bench = Bench::new(&["a", "b", "c"], &format!("sleep 0.2; echo '{RECORD}'"));
    let ended = bench.ends(&["run", "--time", "0.5"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let durations = bench.records().into_iter().map(|of| of["duration_ns"].as_u64().unwrap());
    let durations: Vec<u64> = durations.collect();
    let before: u64 = durations.iter().rev().skip(1).sum();
    assert!(before < 500_000_000 && durations.len() <= 3, "{durations:?}");
    let procedure = &bench.json("run.json")["procedure"];
    assert_eq!(procedure["seconds"], 0.5);
    assert!(bench.resumes().stdout.starts_with("nothing to do"), "it is complete");
}

/// It may be stopped for longer than requested, on a busy machine.
#[test]
fn the_time_in_which_a_signal_stopped_a_process_is_recorded() {
    let stop = "(sleep 0.3; kill -CONT $$) & kill -STOP $$; wait;";
    let script =
        format!("echo run >>runs\nif [ $(wc -l <runs) -le 1 ]; then {stop} fi\necho '{RECORD}'");
    let bench = Bench::new(&["a"], &script);
    let ended = bench.ends(&["run"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let stopped: Vec<u64> =
        bench.records().iter().map(|of| of["stopped_ns"].as_u64().unwrap()).collect();
    assert!(stopped[0] > 100_000_000, "{stopped:?}");
    assert_eq!(stopped[1..], [0; 2]);
}

#[test]
fn tasks_that_share_a_cpu_share_another_one_in_the_next_round() {
    let record = format!("echo '{RECORD}'");
    let bench = Bench::new(&["a --placement same-cpu"], &record);
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
    let bench = Bench::new(&["a --cpus 0 --placement same-cpu"], &record);
    assert_eq!(bench.ends(&["run"]).code, Some(0));
    let once = |record: &Value| record["command"].to_string().matches("--cpus").count() == 1;
    assert!(bench.records().iter().all(once));
}
