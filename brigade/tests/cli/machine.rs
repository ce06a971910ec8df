//! What brigade says about this machine and itself: `brigade limits`, `advise` on a simulated
//! machine, `impact` from a run; and wrong flags, which are reported on one line with exit code 2.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};

use clap::ValueEnum as _;
use harness::flags::name;
use harness::limits::Kind;
use harness::process_stat::{ProcessStat, kill_family};
use harness::system_files::SystemFiles;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::bench::{
    self, Bench, Ended, RECORD, edit, end_of, eventually, is_running, send, set_disturbance,
};

/// The output, errors and exit code of `brigade limits` with these flags.
fn limits(flags: &[&str]) -> (String, String, Option<i32>) {
    let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
    brigade.arg("limits").args(flags);
    let Ended { code, stdout, stderr } = Ended::from(brigade);
    (stdout, stderr, code)
}

/// Only commands, which must be copied whole, may be wider than a terminal.
#[test]
fn every_kind_has_a_line_and_a_page() {
    let lines = limits(&[]);
    for kind in Kind::value_variants().iter().map(name) {
        assert_eq!(lines.0.matches(&format!("\n{kind} ")).count(), 1, "{kind}: {lines:?}");
        let (text, complaints, code) = limits(&["--kind", &kind]);
        assert_eq!((complaints.as_str(), code), ("", Some(0)), "{kind}");
        assert_eq!(text.matches("\n> ").count(), 1, "one limit is first: {text}");
        for line in text.lines().chain(lines.0.lines()).filter(|line| !line.starts_with("    ")) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn tasks_that_do_not_fit_are_refused() {
    let flags = ["--kind=thread", "--tasks=4294967295"];
    let (_, complaints, code) = limits(&flags);
    assert_eq!((code, complaints.lines().count()), (Some(3), 1), "{complaints}");
    for (tasks, answer, expected) in [("4294967295", " NO ", 3), ("1", " yes ", 0)] {
        let (text, complaints, code) = limits(&["--tasks", tasks]);
        assert_eq!(text.starts_with("NEITHER FITS YET: "), expected == 3, "{text}");
        assert_eq!((code, complaints.as_str()), (Some(expected), ""));
        // Of those with a connection each.
        assert_eq!(text.matches(answer).count(), 2, "{text}");
    }
    assert_eq!(limits(&["--tasks=0"]).2, Some(2));
    let in_json = |flags: &[&str]| -> Value {
        let report = limits(&[flags, &["--json"]].concat()).0;
        let report = serde_json::from_str(&report).expect("JSON");
        bench::check_schema("limits", &report);
        report
    };
    let of_one = in_json(&["--kind=thread", "--tasks=1"]);
    let mut limits_of_one = of_one["kinds"][0]["limits"].as_array().expect("limits").iter();
    assert!(limits_of_one.all(|limit| limit["command"].is_null()), "nothing needs raising");

    let report = in_json(&flags);
    assert_eq!(report["tasks"], 4_294_967_295_u64);
    let kind = &report["kinds"][0];
    let limits = kind["limits"].as_array().expect("limits");
    assert_eq!(kind["fits"], limits[0]["allows"]);
    let allows: Vec<_> = limits.iter().filter_map(|limit| limit["allows"].as_u64()).collect();
    assert!(allows.is_sorted(), "{allows:?}");
    let maps = limits.iter().find(|limit| limit["resource"] == "maps").expect("a limit of maps");
    assert_eq!((&maps["name"], &maps["per_task"]), (&"vm.max_map_count".into(), &4.into()));
    // More than its largest value.
    let ids = limits.iter().find(|limit| limit["name"] == "kernel.pid_max").expect("one of ids");
    assert_eq!(ids["command"], Value::Null, "{ids}");
}

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
    bench::check_schema("advice", &advice);
    let now =
        |setting: &Value| ["name", "now"].map(|key| setting[key].as_str().unwrap().to_owned());
    let seen: Vec<_> = advice["settings"].as_array().unwrap().iter().map(now).collect();
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
    let test = format!("brigade compare {} {} a", wrap("0"), wrap("200000"));
    assert_eq!(advice["settings"][0]["test"], test);
    assert_eq!(advice["settings"][0]["restore"], format!("echo 0 | tee {file}"));
    assert_eq!(advice["settings"][2]["restore"], Value::Null);
    let ended = Ended::from(bench.brigade_with(&manifest, &flags[..3]));
    assert!(ended.code == Some(0) && ended.stdout.contains(&test), "{ended:?}");
}

#[test]
fn a_run_of_one_case_does_not_hide_the_figures_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let brigade = |words: &[&str]| {
        let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
        brigade.current_dir(&folder).env("BRIGADE_LOCK", folder.path().join("lock")).args(words);
        Ended::from(brigade)
    };
    for cases in [&["coroutine-brigade", "async-mem-brigade"][..], &["coroutine-brigade"]] {
        let ended = brigade(&[&["run", "--rounds", "3"], cases].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let mut runs: Vec<_> = fs::read_dir(folder.path().join("brigade-results")).unwrap().collect();
    runs.sort_by_key(|run| run.as_ref().unwrap().path());
    let runs: Vec<_> = runs.into_iter().map(|run| run.unwrap().path()).collect();
    let [all, one] = &runs[..] else { panic!("two runs") };
    // A disturbed one does, if there is no other, but answers nothing.
    for (of_all, of_one, has_both, is_busy) in
        [(0.0, 0.0, true, false), (0.3, 0.0, false, false), (0.3, 0.3, true, true)]
    {
        set_disturbance(all, of_all);
        set_disturbance(one, of_one);
        let ended = brigade(&["advise"]);
        let answer = ended.stdout.lines().next().unwrap();
        assert_eq!(answer.starts_with("BUSY: "), is_busy, "{ended:?}");
        assert!(ended.stdout.contains("coroutine"), "the table stays: {ended:?}");
        assert_eq!(ended.stdout.contains("async task"), has_both, "{ended:?}");
    }
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
    let cheap = record("cheap", 1000);
    let expensive = record("expensive", 40_000);
    let script = format!("case $0 in *expensive*) echo '{expensive}' ;; *) echo '{cheap}' ;; esac");
    Bench::new(&["cheap", "expensive"], &script)
}

fn ends(bench: &Bench, arguments: &[&str]) -> Ended {
    Ended::from(with_plan(bench, arguments))
}

fn with_plan(bench: &Bench, arguments: &[&str]) -> Command {
    let plan = "[impact]\nsame-cpu = ['cheap']\nother-cpu = ['cheap']\nasleep = ['expensive']\n";
    bench.brigade_with(&(bench.manifest() + plan), arguments)
}

#[test]
fn the_switches_of_a_command_are_multiplied_by_their_cost() {
    let bench = with_costs();
    assert_eq!(ends(&bench, &["run"]).code, Some(0));
    let sleeps = "i=0; while [ $i -lt 100 ]; do sleep 0.001; i=$((i + 1)); done";
    let ended = ends(&bench, &["impact", "--json", "--", "sh", "-c", sleeps]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let impact: Value = serde_json::from_str(&ended.stdout).unwrap();
    bench::check_schema("impact", &impact);
    let used = |name: &str| impact["used"][name].as_u64().unwrap() as f64;
    let switches = used("voluntary") + used("involuntary");
    // Both the shell and the sleep block.
    assert!(switches >= 200.0, "{impact}");
    // Every kind takes 75 ns here, and the shell and the sleep alternate.
    let share = switches * 75.0 / used("wall_ns");
    for end in ["low", "high"] {
        let found = impact["share"][end].as_f64().unwrap();
        assert!(found <= share + 1e-9 && found >= share / used("at_once") - 1e-9, "{impact}");
    }
    let kinds = impact["kinds"].as_object().unwrap().values();
    for kind in kinds.chain([&impact["share"]]) {
        let [low, high] = ["low", "high"].map(|end| kind[end].as_f64().unwrap());
        assert!(0.0 <= low && low <= high && high <= 1.0, "{impact}");
    }
}

/// The state of a run is the same in every command.
#[test]
fn costs_of_a_run_on_a_slower_machine_are_those_of_a_slow_run() {
    let bench = with_costs();
    for name in ["one", "two", "three"] {
        assert_eq!(ends(&bench, &["run", "--rounds", "3", "--name", name]).code, Some(0));
    }
    let mut runs = bench.result_folders();
    runs.sort_by_key(|run| bench::json_in(run.join("run.json"))["started_at"].to_string());
    let latest = runs.last().unwrap();
    for run in &runs {
        let reference_ns = if run == latest { 650.0 } else { 500.0 };
        let lines = bench::records_in(run).into_iter().map(|mut line| {
            line["reference"]["kernel_ns"] = reference_ns.into();
            // Its tasks may wait.
            line["record"]["affinity"] = json!([0, 1]);
            line["record"]["switches"]["expected_per_operation"] = 1.0.into();
            line["record"]["interference"]["wall_ns"] = 10_000_000_000_u64.into();
            line["record"]["interference"]["others_cpu_ns"] = 0.into();
            line["record"]["interference"]["steal_ns"] = 0.into();
            line.to_string() + "\n"
        });
        fs::write(run.join("records.jsonl"), lines.collect::<String>()).unwrap();
    }
    let latest = latest.to_str().unwrap();
    for flags in [&["--run", latest][..], &[]] {
        let words = [&["impact", "--json"], flags, &["--", "true"]].concat();
        let ended = ends(&bench, &words);
        let impact: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
        assert_eq!(impact["state"]["word"], "slow", "{flags:?}: {impact}");
    }
}

#[test]
fn the_cost_of_a_kind_of_switch_is_a_range_over_its_cases() {
    let bench = with_costs();
    assert_eq!(bench.ends(&["run"]).code, Some(0));
    for (cases, low, high) in [
        (json!(["cheap"]), 1000.0, 1000.0),
        (json!(["cheap", "expensive"]), 1000.0, 40_000.0),
        (json!(["expensive", "cheap"]), 1000.0, 40_000.0),
    ] {
        let plan = format!("[impact]\nsame-cpu = {cases}\nother-cpu = {cases}\nasleep = {cases}\n");
        let arguments = ["impact", "--json", "--", "true"];
        let ended = Ended::from(bench.brigade_with(&(bench.manifest() + &plan), &arguments));
        let impact: Value = serde_json::from_str(&ended.stdout).unwrap();
        let cost = &impact["costs"]["same-cpu"];
        assert_eq!(cost["cases"], cases, "{impact}");
        assert_eq!(cost["cpu_ns"], json!({ "low": low, "high": high }), "{impact}");
    }
}

#[test]
fn a_running_process_is_watched_and_an_ended_one_is_named() {
    let bench = with_costs();
    assert_eq!(ends(&bench, &["run"]).code, Some(0));
    let mut works = contract::command("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let pid = works.id().to_string();
    let ended = ends(&bench, &["impact", "--pid", &pid, "--time", "0.3", "--json"]);
    works.kill().unwrap();
    works.wait().unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let impact: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(impact["used"]["cpu_ns"].as_u64() > Some(0), "{impact}");
    for pid in [&pid, "4294967295"] {
        let ended = ends(&bench, &["impact", "--pid", pid, "--time", "0.3"]);
        assert!(ended.code == Some(1) && ended.stderr.contains(pid), "{ended:?}");
    }
}

/// A process that only waits for its child, which works.
#[test]
fn the_children_of_a_watched_process_are_counted() {
    let bench = with_costs();
    assert_eq!(ends(&bench, &["run"]).code, Some(0));
    let script = "sh -c 'echo; while :; do sleep 0; done' & wait";
    let mut server = contract::command("sh");
    let mut server = server.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = [0];
    server.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    let pid = server.id().to_string();
    let ended = ends(&bench, &["impact", "--pid", &pid, "--time", "1", "--json"]);
    kill_family(Pid::from_raw(server.id().cast_signed()));
    server.wait().unwrap();
    let impact: Value = serde_json::from_str(&ended.stdout).unwrap();
    let used = &impact["used"];
    assert!(used["processes"].as_u64() >= Some(2), "{impact}");
    assert!(used["cpu_ns"].as_u64() > Some(0) && used["voluntary"].as_u64() > Some(0), "{impact}");
    // Nothing is a share of nothing.
    let mut idle = contract::command("sleep").arg("1000").spawn().unwrap();
    let pid = idle.id().to_string();
    send(&idle, Signal::SIGSTOP);
    let stat = || ProcessStat::read(&SystemFiles::live(), &format!("proc/{pid}"));
    eventually("it is stopped", || stat().is_some_and(|stat| stat.state == 'T'));
    let ended = ends(&bench, &["impact", "--pid", &pid, "--time", "0.1"]);
    idle.kill().unwrap();
    idle.wait().unwrap();
    assert!(ended.code == Some(0) && ended.stdout.starts_with("NO ANSWER: "), "{ended:?}");
}

#[test]
fn the_json_about_a_command_is_not_mixed_with_its_output() {
    let bench = with_costs();
    assert_eq!(ends(&bench, &["run"]).code, Some(0));
    let ended = ends(&bench, &["impact", "--json", "--", "sh", "-c", "echo mixed; exit 7"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let impact: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&impact["exit_code"], &impact["signal"]), (&7.into(), &Value::Null));
    assert!(ended.stderr.starts_with("mixed\n"), "{ended:?}");
}

/// The command may clean up; what it used until then is printed.
#[test]
fn a_signal_to_stop_is_passed_on_to_the_command_which_ends_with_the_runner() {
    let bench = with_costs();
    assert_eq!(ends(&bench, &["run"]).code, Some(0));
    let script = "trap 'echo TERM >signal; exit' TERM; trap 'echo HUP >signal; exit' HUP; \
                  echo $$ >pid.new; mv pid.new pid; while :; do sleep 0.01; done";
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL] {
        let mut brigade = with_plan(&bench, &["impact", "--", "sh", "-c", script]);
        let brigade = brigade.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        eventually("the command is running", || bench.path("pid").exists());
        let pid = fs::read_to_string(bench.path("pid")).unwrap();
        fs::remove_file(bench.path("pid")).unwrap();
        send(&brigade, signal);
        let ended = end_of(brigade);
        if signal == Signal::SIGKILL {
            eventually("the command has ended", || !is_running(pid.trim()));
            continue;
        }
        assert!(!is_running(pid.trim()));
        assert!(ended.code == Some(130) && ended.stdout.contains("of CPU time"), "{ended:?}");
        let received = fs::read_to_string(bench.path("signal")).unwrap();
        assert_eq!(format!("SIG{}", received.trim()), signal.as_str());
    }
}

#[test]
fn costs_of_another_machine_are_used_with_a_warning_and_missing_ones_are_named() {
    let bench = with_costs();
    let ended = ends(&bench, &["impact", "--", "true"]);
    assert!(
        ended.code == Some(1) && ended.stderr.contains("brigade run cheap expensive"),
        "{ended:?}"
    );
    assert_eq!(ends(&bench, &["run", "cheap", "expensive"]).code, Some(0));
    for (command, code) in [("exit 1", 1), ("kill -INT $PPID; exit 7", 130)] {
        let ended = ends(&bench, &["impact", "--", "sh", "-c", command]);
        assert_eq!(ended.code, Some(code), "{ended:?}");
    }
    let folder = bench.result_folders().remove(0);
    let impact = ["impact", "--run", folder.to_str().unwrap(), "--", "true"];
    assert_eq!(ends(&bench, &impact).stderr, "");
    edit(folder.join("environment.json"), |facts| facts["processor.model"] = "Other".into());
    let ended = ends(&bench, &impact);
    assert!(ended.code == Some(0) && ended.stderr.contains("another machine"), "{ended:?}");
}

/// What `brigade` offers a shell for the last of these words.
fn completions(words: &[&str]) -> Vec<String> {
    let mut shell = contract::command(env!("CARGO_BIN_EXE_brigade"));
    shell.args(["--", "brigade"]).args(words);
    shell.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let ended = Ended::from(shell);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    ended.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_groups_cases_and_the_flags_and_values_of_programs() {
    for (words, offered) in [
        (&["run", ""][..], &["hops", "thread-brigade"][..]),
        (&["thread-b"], &["thread-brigade"]),
        (&["thread-brigade", "--"], &["--placement", "--tasks", "--channel"]),
        (&["thread-brigade", "--placement", "s"], &["same-cpu", "spread"]),
        (&["wake-latency", "--gr"], &["--greedy", "--greedy-for"]),
    ] {
        let found = completions(words);
        for word in offered {
            assert!(found.iter().any(|line| line == word), "{words:?}: {found:?}");
        }
    }
    let found = completions(&["thread-brigade", "--"]);
    assert!(!found.iter().any(|flag| flag == "--manifest"), "{found:?}");
}

/// Before anything is measured, waited for or built.
#[test]
fn a_wrong_word_gets_the_nearest_one_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    let missing = folder.path().join("missing");
    let missing = missing.to_str().unwrap();
    let inside = format!("{missing}/file");
    for (words, code, reason) in [
        (&["run", "hopps"][..], 2, "did you mean 'hops'?"),
        (&["runn"], 2, "did you mean 'run'?"),
        (&["thread-brigad"], 2, "did you mean 'thread-brigade'?"),
        (&["pined"], 2, "did you mean 'pinned'?"),
        (&["hops"], 2, "brigade run hops"),
        (&["run", "--round", "3"], 2, "did you mean '--rounds'?"),
        (&["report", "--format", "htm"], 2, "did you mean 'html'?"),
        (&["thread-brigade", "--taskss", "3"], 2, "did you mean '--tasks'?"),
        (&["run", "thread-brigad --tasks 3"], 2, "did you mean 'thread-brigade'?"),
        (&["run", "thread-brigade --taskss 3"], 2, "did you mean '--tasks'?"),
        (&["run", "thread-brigade --placement sprad"], 2, "did you mean 'spread'?"),
        (&["run", "thread-brigade", "--tasks", "3"], 2, "run 'thread-brigade --tasks 3'"),
        (&["trace", "thread-creation"], 2, "--trace"),
        (&["trace", "thread-brigade", "--svg", &inside], 1, &inside),
        (&["run", "rings", "--results", "/dev/null/x"], 1, "--results"),
        (&["compare", "--bin", missing, "--bin", missing, "rings"], 2, "--bin"),
        (&["compare", "--wrap", "no-such-command", "--wrap", "env", "rings"], 2, "no-such-command"),
        (&["compare", "--args", "--taks 5", "--args", "", "pinned"], 2, "did you mean '--tasks'?"),
        (&["impact", "--pid", "4294967295"], 1, "4294967295"),
    ] {
        let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
        brigade.current_dir(folder.path()).env("BRIGADE_LOCK", &lock).args(words);
        let ended = Ended::from(brigade);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{words:?}: {ended:?}");
        assert!(ended.stderr.contains(reason), "{words:?}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{words:?}: {ended:?}");
        assert!(!lock.exists(), "{words:?} took the lock");
    }
}
