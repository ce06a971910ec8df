//! `brigade advise` on a simulated machine: it lists settings, and restores what it tries. `brigade
//! impact`: the cost of a program's switches, from a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::bench::{Bench, Ended, RECORD, end_of, eventually, rounds_in, send};
use crate::compare::NOISY;

const HALT_POLL: &str = "machine/sys/module/haltpoll/parameters/guest_halt_poll_ns";

/// A virtual machine whose CPUs halt, in the folder `machine`.
const MACHINE: [(&str, &str); 7] = [
    ("machine/run/utmp", ""),
    (HALT_POLL, "0\n"),
    ("machine/sys/devices/system/cpu/cpuidle/current_driver", "haltpoll\n"),
    ("machine/sys/devices/system/cpu/cpuidle/current_governor", "haltpoll\n"),
    ("machine/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us", "0\n"),
    ("machine/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us", "0\n"),
    ("machine/proc/sys/kernel/sched_autogroup_enabled", "1\n"),
];

/// A bench on that machine; its case takes half as long again while CPUs halt.
fn bench() -> Bench {
    let slow = format!("[ $(cat {HALT_POLL}) = 0 ] && SLOWDOWN=500\n{NOISY}");
    let bench = Bench::new(&["thread-brigade/spread"], &slow);
    fs::write(bench.path("count"), "0\n").unwrap();
    for (file, text) in MACHINE {
        let path = bench.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    bench
}

/// `brigade advise` with the bench's manifest, whose case shows the cost of
/// waking.
fn command(bench: &Bench, flags: &[&str]) -> Command {
    let manifest = bench.manifest() + "[advice]\nwaking = [\"a\"]\n";
    bench.brigade_with(&manifest, &[&["advise", "--root", "machine"], flags].concat())
}

fn advise(bench: &Bench, flags: &[&str]) -> Ended {
    Ended::from(command(bench, flags))
}

#[test]
fn settings_are_listed_with_value_effect_source_and_commands() {
    let bench = bench();
    let ended = advise(&bench, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let change = "echo 200000 > /sys/module/haltpoll/parameters/guest_halt_poll_ns\n";
    assert!(ended.stdout.contains(change), "{}", ended.stdout);
    let advice: Value = serde_json::from_str(&advise(&bench, &["--json"]).stdout).unwrap();
    assert_eq!(advice["settings"][0]["name"], "guest_halt_poll_ns");
}

#[test]
fn a_faster_setting_is_found_and_the_old_one_restored() {
    let bench = bench();
    let flags = ["--try", "guest_halt_poll_ns=200000", "--seed", "1", "--rounds", "30"];
    let ended = advise(&bench, &flags);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let rounds = bench.result_folders().iter().map(|of| rounds_in(of).len()).collect::<Vec<_>>();
    assert_eq!(rounds, [30, 30]);
    assert!(ended.stdout.contains("0 slower, 1 faster"), "{ended:?}");
    assert!(ended.stdout.contains("guest_halt_poll_ns=200000\n"), "{ended:?}");
    assert!(ended.stderr.contains("is 0; it alternates with 200000 and ends as 0\n"), "{ended:?}");
    assert!(ended.stderr.ends_with("brigade: guest_halt_poll_ns is 0 again\n"), "{ended:?}");
    assert_eq!(fs::read_to_string(bench.path(HALT_POLL)).unwrap(), "0");
}

#[test]
fn a_setting_is_restored_however_the_runner_ends() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL] {
        let bench = bench();
        let mut brigade = command(&bench, &["--try", "guest_halt_poll_ns"]);
        let brigade = brigade.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let is = |value: &str| fs::read_to_string(bench.path(HALT_POLL)).unwrap() == value;
        eventually("it is tried", || is("200000"));
        send(&brigade, signal);
        let expected = if signal == Signal::SIGKILL { None } else { Some(130) };
        assert_eq!(end_of(brigade).code, expected, "{signal}");
        eventually("it is put back", || is("0"));
    }
}

/// The runner and the restorer are both killed.
#[test]
fn an_unrestored_setting_is_reported_and_restored() {
    let bench = bench();
    let mut brigade = command(&bench, &["--try", "guest_halt_poll_ns"]);
    let brigade = brigade.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let value = || fs::read_to_string(bench.path(HALT_POLL)).unwrap();
    eventually("it is tried", || value() == "200000");
    let journal = bench.path("machine/run/brigade-settings.json");
    let ended = advise(&bench, &[]);
    assert_eq!(ended.stderr, "", "an attempt is running");
    assert_eq!(advise(&bench, &["--restore"]).code, Some(1));
    assert!(journal.exists(), "the running attempt keeps its journal");
    for pid in holders(&journal) {
        kill(Pid::from_raw(pid), Signal::SIGSTOP).unwrap();
    }
    for pid in holders(&journal) {
        kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    }
    end_of(brigade);
    eventually("nobody is left", || holders(&journal).is_empty());
    fs::write(bench.path(HALT_POLL), "200000").unwrap();
    let ended = advise(&bench, &[]);
    let warning = "guest_halt_poll_ns changed: brigade advise --restore restores 0\n";
    assert!(ended.stderr.ends_with(warning), "{ended:?}");
    // Another attempt would lose the only copy of the old value.
    fs::write(bench.path(HALT_POLL), "1").unwrap();
    let again = advise(&bench, &["--try", "guest_halt_poll_ns"]);
    assert!(again.code == Some(1) && again.stderr.contains("restore first"), "{again:?}");
    assert_eq!(value(), "1");
    assert_eq!(advise(&bench, &["--restore"]).code, Some(0));
    assert_eq!((value(), journal.exists()), ("0".to_owned(), false));
    assert_eq!(advise(&bench, &["--restore"]).code, Some(1));
    assert_eq!(advise(&bench, &[]).stderr, "");
    assert!(bench.path(HALT_POLL).exists());
}

/// The processes that have a file open.
fn holders(path: &Path) -> Vec<i32> {
    let opens = |pid: &i32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files.map(|file| fs::read_link(file.path())).any(|link| link.is_ok_and(|link| link == path))
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(opens).collect()
}

#[test]
fn a_setting_that_cannot_be_tried_is_refused() {
    let bench = bench();
    for (wish, code, reason) in [
        ("halt_poll", 2, "no such setting on this machine; try one of: guest_halt_poll_ns"),
        ("sched_autogroup_enabled", 2, "suite.toml lists no case for it; use --case"),
    ] {
        let ended = advise(&bench, &["--try", wish]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{ended:?}");
        assert!(ended.stderr.contains(reason), "{ended:?}");
    }
    let psi: PathBuf = bench.path("machine/proc/pressure/cpu");
    fs::create_dir_all(psi.parent().unwrap()).unwrap();
    fs::write(psi, "some avg10=0.00\n").unwrap();
    let ended = advise(&bench, &["--try", "psi"]);
    assert!(
        ended.stderr.contains("it cannot be changed by writing a file: boot with psi=0"),
        "{ended:?}"
    );
    assert!(bench.result_folders().is_empty());
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
