//! `brigade advise` on a simulated machine lists settings; `brigade impact` computes the cost of a
//! program's switches, from a run.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, Ended, RECORD};

/// A virtual machine whose CPUs halt, below `machine`.
const MACHINE: [(&str, &str); 12] = [
    ("sys/module/haltpoll/parameters/guest_halt_poll_ns", "0\n"),
    ("sys/devices/system/cpu/cpuidle/current_driver", "haltpoll\n"),
    ("sys/devices/system/cpu/cpuidle/current_governor", "teo\n"),
    ("sys/devices/system/cpu/cpuidle/available_governors", "menu teo\n"),
    ("sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us", "0\n"),
    ("sys/devices/system/cpu/vulnerabilities/l1tf", "Not affected\n"),
    ("sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: Retpolines\n"),
    ("sys/kernel/debug/sched/preempt", "none voluntary (full)\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("proc/pressure/cpu", "some avg10=0.00\n"),
    ("proc/sys/kernel/osrelease", "6.1\n"),
    ("boot/config-6.1", "CONFIG_HZ=250\n"),
];

/// What applies, what is left out since it is as advised, and the commands.
#[test]
fn settings_are_listed_with_the_commands_that_measure_them() {
    let bench = Bench::new(&["a"], "true");
    for (file, text) in MACHINE {
        let path = bench.path("machine").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let manifest = bench.manifest() + "[advice]\nwaking = [\"a\"]\n";
    let flags = ["advise", "--root", "machine", "--json"];
    let ended = Ended::from(bench.brigade_with(&manifest, &flags));
    let advice: Value = serde_json::from_str(&ended.stdout).unwrap();
    let now =
        |setting: &Value| ["name", "now"].map(|key| setting[key].as_str().unwrap().to_owned());
    let seen: Vec<_> = advice.as_array().unwrap().iter().map(now).collect();
    let expected = [
        ["guest_halt_poll_ns", "0"],
        ["pm_qos_resume_latency_us", "0"],
        ["mitigations", "Mitigation: Retpolines"],
        ["preemption", "full"],
        ["psi", "1"],
        ["timer-frequency", "250"],
    ];
    assert_eq!(seen, expected.map(|row| row.map(str::to_owned)));
    let file = "/sys/module/haltpoll/parameters/guest_halt_poll_ns";
    let wrap = |value| {
        format!("--wrap 'sh -c \"echo {value} | tee {file} >/dev/null; exec \\\"\\$@\\\"\" sh'")
    };
    let test = format!("brigade compare {} {} 'a'", wrap("0"), wrap("200000"));
    assert_eq!(advice[0]["test"], test);
    assert_eq!(advice[0]["restore"], format!("echo 0 | tee {file}"));
    assert_eq!(advice[2]["restore"], Value::Null);
    let ended = Ended::from(bench.brigade_with(&manifest, &flags[..3]));
    assert!(ended.code == Some(0) && ended.stdout.contains(&test), "{ended:?}");
}

/// A bench with a run whose cheapest switch takes a microsecond of CPU time and its most expensive
/// one forty, and each 75 ns of wall time.
fn with_costs() -> Bench {
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
    let (cheap, expensive) = (record("cheap", 1000), record("expensive", 40_000));
    let script = format!("case $0 in *expensive*) echo '{expensive}' ;; *) echo '{cheap}' ;; esac");
    Bench::new(&["cheap", "expensive"], &script)
}

fn impact_of(bench: &Bench, arguments: &[&str]) -> Command {
    let manifest = bench.manifest() + "[impact]\nlowest = \"cheap\"\nhighest = \"expensive\"\n";
    bench.brigade_with(&manifest, arguments)
}

fn ends(bench: &Bench, arguments: &[&str]) -> Ended {
    Ended::from(impact_of(bench, arguments))
}

/// A share of a kind, for the cheapest switches and for the most expensive.
fn share(impact: &Value, path: &str) -> [f64; 2] {
    let share = impact.pointer(path).unwrap();
    ["low", "high"].map(|end| share[end].as_f64().unwrap())
}

#[test]
fn the_switches_of_a_command_are_multiplied_by_their_cost() {
    let bench = with_costs();
    assert_eq!(ends(&bench, &["run"]).code, Some(0));
    let sleeps = "i=0; while [ $i -lt 100 ]; do sleep 0.001; i=$((i + 1)); done";
    let ended = ends(&bench, &["impact", "--json", "--", "sh", "-c", sleeps]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let impact: Value = serde_json::from_str(&ended.stdout).unwrap();
    let used = |name: &str| impact["used"][name].as_u64().unwrap() as f64;
    let switches = used("voluntary") + used("involuntary");
    // Both the shell and the sleep block.
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
fn a_running_process_is_watched_and_an_ended_one_is_named() {
    let bench = with_costs();
    assert_eq!(ends(&bench, &["run"]).code, Some(0));
    let mut works = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let pid = works.id().to_string();
    let ended = ends(&bench, &["impact", "--pid", &pid, "--time", "0.3"]);
    works.kill().unwrap();
    works.wait().unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains(" of CPU time, "), "{ended:?}");
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{ended:?}");
    let ended = ends(&bench, &["impact", "--pid", &pid, "--time", "0.3"]);
    let gone = format!("brigade: --pid {pid}: there is no such process\n");
    assert_eq!((ended.code, ended.stderr), (Some(1), gone));
}

#[test]
fn costs_of_another_machine_are_used_with_a_warning() {
    let bench = with_costs();
    assert_eq!(ends(&bench, &["run"]).code, Some(0));
    let folder = bench.result_folders().remove(0);
    let run = folder.to_str().unwrap();
    let impact = ["impact", "--run", run, "--", "true"];
    assert_eq!(ends(&bench, &impact).stderr, "");
    let file = folder.join("environment.json");
    let mut environment: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    environment["processor.model"] = "Other".into();
    fs::write(&file, environment.to_string()).unwrap();
    let ended = ends(&bench, &impact);
    assert!(ended.code == Some(0) && ended.stderr.contains("another machine, other"), "{ended:?}");
}

#[test]
fn a_missing_run_or_command_is_named() {
    let bench = with_costs();
    let ended = ends(&bench, &["impact", "--pid", "4294967295"]);
    assert_eq!(ended.stderr, "brigade: --pid 4294967295: there is no such process\n");
    let ended = ends(&bench, &["impact", "--", "true"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let (_, asked) = ended.stderr.split_once("brigade run ").expect("a command");
    assert_eq!(asked, "'cheap' 'expensive'\n");
    let asked = ["run", "cheap", "expensive"];
    assert_eq!(ends(&bench, &asked).code, Some(0));
    let ended = ends(&bench, &["impact", "--", "false"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.ends_with("false: exit status: 1\n"), "{ended:?}");
    let ended = ends(&bench, &["impact", "--", "sh", "-c", "kill -INT $PPID; exit 7"]);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(ends(&bench, &["impact"]).code, Some(2));
    assert_eq!(bench.ends(&["impact", "--", "true"]).code, Some(2), "no [impact]");
}
