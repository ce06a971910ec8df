//! `brigade impact`: what a program's switches come to, by the costs of a run.

use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, Ended, RECORD};

/// A bench with a run whose cheapest switch takes a microsecond of CPU time and its
/// most expensive one forty, and each 75 ns of wall time.
fn bench() -> Bench {
    let record = |kind: &str, cpu_ns: u32| {
        let cpu = format!(
            "\"cpu\":{{\"user_ns_per_operation\":0.0,\"system_ns_per_operation\":{cpu_ns}.0}}"
        );
        RECORD
            .replacen("\"parameters\":{}", &format!("\"parameters\":{{\"kind\":\"{kind}\"}}"), 1)
            .replacen("\"cpu\":null", &cpu, 1)
            .replacen("\"wall_ns\":null", "\"wall_ns\":300", 1)
            .replacen("\"voluntary_per_operation\":0.0", "\"voluntary_per_operation\":1.0", 1)
    };
    let (cheap, dear) = (record("cheap", 1000), record("dear", 40_000));
    let script = format!("case \"$*\" in *dear*) echo '{dear}' ;; *) echo '{cheap}' ;; esac");
    Bench::new(&["cheap", "dear"], &script)
}

fn command(bench: &Bench, arguments: &[&str]) -> Command {
    let manifest = bench.manifest() + "[impact]\nlowest = \"cheap\"\nhighest = \"dear\"\n";
    bench.brigade_with(&manifest, arguments)
}

fn ends(bench: &Bench, arguments: &[&str]) -> Ended {
    Ended::from(command(bench, arguments))
}

/// A share of a kind, from the cheapest to the most expensive.
fn share(impact: &Value, path: &str) -> [f64; 2] {
    let share = impact.pointer(path).unwrap();
    ["low", "high"].map(|end| share[end].as_f64().unwrap())
}

#[test]
fn the_switches_of_a_command_are_multiplied_with_their_cost() {
    let bench = bench();
    assert_eq!(ends(&bench, &["run"]).code, Some(0));
    let sleeps = "i=0; while [ $i -lt 100 ]; do sleep 0.001; i=$((i + 1)); done";
    let ended = ends(&bench, &["impact", "--json", "--", "sh", "-c", sleeps]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let impact: Value = serde_json::from_str(&ended.stdout).unwrap();
    let used = |name: &str| impact["used"][name].as_u64().unwrap() as f64;
    let switches = used("voluntary") + used("involuntary");
    // Each sleep is slept and waited for.
    assert!(switches >= 200.0, "{impact}");
    for (name, of_ns, [low_ns, high_ns]) in [
        ("/cpu_share", used("cpu_ns"), [1000.0, 40_000.0]),
        ("/wall_share/highest", used("wall_ns"), [75.0 / used("at_once"), 75.0]),
    ] {
        let expected = [low_ns, high_ns].map(|ns| (switches * ns / of_ns).min(1.0));
        let found = share(&impact, name);
        assert!((found[0] - expected[0]).abs() < 1e-9, "{name}: {expected:?}: {impact}");
        assert!((found[1] - expected[1]).abs() < 1e-9, "{name}: {expected:?}: {impact}");
    }
}

#[test]
fn a_running_process_is_watched_and_one_that_is_gone_is_named() {
    let bench = bench();
    assert_eq!(ends(&bench, &["run"]).code, Some(0));
    let mut works = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let pid = works.id().to_string();
    let ended = ends(&bench, &["impact", "--pid", &pid, "--seconds", "0.3"]);
    works.kill().unwrap();
    works.wait().unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains(" of CPU time, "), "{ended:?}");
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{ended:?}");
    let ended = ends(&bench, &["impact", "--pid", &pid, "--seconds", "0.3"]);
    let gone = format!("brigade: --pid {pid}: there is no such process\n");
    assert_eq!((ended.code, ended.stderr), (Some(1), gone));
}

#[test]
fn a_missing_run_or_command_is_named() {
    let bench = bench();
    let ended = ends(&bench, &["impact", "--", "true"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("brigade run --case cheap dear"), "{ended:?}");
    assert_eq!(ends(&bench, &["run"]).code, Some(0));
    let ended = ends(&bench, &["impact", "--", "false"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.ends_with("false: exit status: 1\n"), "{ended:?}");
    assert_eq!(ends(&bench, &["impact"]).code, Some(2));
    assert_eq!(bench.ends(&["impact", "--", "true"]).code, Some(2), "no [impact]");
}
