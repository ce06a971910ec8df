//! `brigade compare`: saved runs, and two builds, commands or flags side by side.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::bench::{
    Bench, Ended, edit, end_of, eventually, records_in, send, set_disturbance, start,
};
use crate::report::{PYTHON, has, recomputed};

/// A program whose hop takes 1 ms, scattered evenly by 5 % by a hash of its
/// count of invocations, and longer by `SLOWDOWN` or `--slowdown` per mille. It
/// counts in the file `count`.
pub const NOISY: &str = r#"
slowdown=${SLOWDOWN:-0}
while [ $# -gt 0 ]; do [ "$1" = --slowdown ] && slowdown=$2; shift; done
read -r n < count || n=0
echo $((n + 1)) > count
h=$(( (n + 77) * 2654435761 & 4294967295 ))
h=$(( (h ^ h >> 15) * 2246822519 & 4294967295 ))
h=$(( (h ^ h >> 13) * 3266489917 & 4294967295 ))
h=$(( h ^ h >> 16 ))
hop=$(( (950000 + h % 100001) * (1000 + slowdown) / 1000 ))
cat <<END
{"schema_version":"1.1","program":"a","version":"0.1.0","parameters":{"placement":"free"},"tasks":1,"tokens":1,"iterations":2,"warmups":0,"complete":true,"ended_by":"iterations","error":null,"affinity":[0],"measurements":[{"name":"iteration","operation":"hop","operations":2,"count":2,"mean_ns":$((hop * 2)).0,"stddev_ns":0.0,"min_ns":$((hop * 2)),"p50_ns":$((hop * 2)),"p90_ns":$((hop * 2)),"p99_ns":$((hop * 2)),"p999_ns":$((hop * 2)),"max_ns":$((hop * 2)),"ns_per_operation":$hop.0,"ns_per_task":$((hop * 2)).0,"histogram":""}],"cpu":null,"switches":null,"interference":{"steal_ns":null,"psi_cpu_some_ns":null},"memory":null}
END
"#;

/// A bench whose programs are [`NOISY`].
fn noisy(cases: &[&str]) -> Bench {
    let bench = Bench::new(cases, NOISY);
    fs::write(bench.path("count"), "0\n").unwrap();
    bench
}

/// A folder with the bench's program, slowed down by this many per mille.
fn build(bench: &Bench, name: &str, slowdown: u32) -> String {
    let folder = bench.path(name);
    fs::create_dir(&folder).unwrap();
    for program in ["a", "b"] {
        let noisy = NOISY.replace("\"program\":\"a\"", &format!("\"program\":\"{program}\""));
        let script = format!("#!/bin/sh\nSLOWDOWN={slowdown}\n{noisy}");
        contract::executable::write(&folder.join(program), &script);
    }
    name.to_owned()
}

/// The output of a comparison with `--format json`.
pub fn compared(bench: &Bench, arguments: &[&str]) -> Value {
    let ended = bench.ends(&[&["compare", "--format", "json"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn a_slower_build_is_detected_with_the_true_ratio_in_the_interval_and_can_fail() {
    let bench = noisy(&["a", "b"]);
    let old = build(&bench, "old", 0);
    let new = build(&bench, "new", 50);
    for (old, new, code, verdict, truth) in
        [(&old, &new, 4, "slower", 1.05), (&new, &old, 0, "faster", 1.0 / 1.05)]
    {
        let sides = ["--bin", old, "--bin", new, "--fail-on", "slower", "--format", "json"];
        let ended = bench.ends(&[&["compare"][..], &side_by_side(&sides)].concat());
        assert_eq!(ended.code, Some(code), "{ended:?}");
        let comparison: Value = serde_json::from_str(&ended.stdout).unwrap();
        for case in comparison["cases"].as_array().unwrap() {
            assert_eq!(case["verdict"], verdict, "{case}");
            let end = |end: &str| case["ratio"]["interval"][end].as_f64().unwrap();
            assert!((end("low")..=end("high")).contains(&truth), "{case}");
        }
    }
}

/// These flags of a comparison of thirty rounds.
fn side_by_side<'a>(flags: &[&'a str]) -> Vec<&'a str> {
    [&["--rounds", "30", "--seed", "2"], flags].concat()
}

#[test]
fn sides_may_run_under_different_commands() {
    let bench = noisy(&["a"]);
    let sides = ["--wrap", "", "--wrap", "SLOWDOWN=400 nice -n 0"];
    let comparison = compared(&bench, &side_by_side(&sides));
    assert_eq!(comparison["cases"][0]["verdict"], "slower");
    let [_, second] = folders(&bench);
    let command = &records_in(&second)[0]["command"];
    let words: Vec<_> = ["env", "SLOWDOWN=400", "nice", "-n", "0", "a"].into();
    assert_eq!(command.as_array().unwrap()[..6], words);
}

#[test]
fn the_first_word_is_the_verdict() {
    let bench = noisy(&["a"]);
    for (slowdown, margin, expected) in [
        ("400", "3", "SLOWER: "),
        ("-300", "3", "FASTER: "),
        ("0", "20", "NOT SLOWER: "),
        ("0", "0.1", "UNDECIDED: "),
    ] {
        let [same, other] = ["0", slowdown].map(|by| format!("--slowdown {by}"));
        let sides = ["--args", &same, "--args", &other, "--margin", margin];
        let ended = bench.ends(&[&["compare"][..], &side_by_side(&sides)].concat());
        assert!(ended.stdout.starts_with(expected), "{slowdown} {margin}: {ended:?}");
        // More time may decide, if anything is open.
        assert_eq!(ended.stdout.contains(" would decide "), expected == "UNDECIDED: ", "{ended:?}");
    }
}

/// The folders of both sides of the only comparison.
fn folders(bench: &Bench) -> [std::path::PathBuf; 2] {
    bench.result_folders().try_into().unwrap()
}

#[test]
fn both_sides_are_kept_in_balanced_order_and_reported_as_sides() {
    let bench = noisy(&["a", "b"]);
    let comparison =
        compared(&bench, &side_by_side(&["--args", "--slowdown 0", "--args", "--slowdown 400"]));
    let folders = folders(&bench);
    if has(&PYTHON, "ratios of sides computed a second time") {
        let file = bench.path("comparison.json");
        fs::write(&file, comparison.to_string()).unwrap();
        let [old, new] = folders.each_ref().map(|folder| folder.to_str().unwrap());
        let (agrees, text) = recomputed(&[old, new, file.to_str().unwrap()]);
        assert!(agrees, "{text}");
    }
    for (folder, side) in folders.iter().zip(["baseline", "candidate"]) {
        let path = folder.to_str().unwrap();
        assert!(path.ends_with(&format!("-{side}")), "{folder:?}");
        let reported = bench.ends(&["report", "--full", path]);
        assert!(reported.stdout.contains(&format!("{side} of a")), "{reported:?}");
        assert_eq!(bench.ends(&["run", "--resume", path]).code, Some(1), "{side}");
    }
    let [first, second] = folders.map(|folder| records_in(&folder));
    for record in first.iter().chain(&second) {
        let words = record["command"].as_array().unwrap();
        assert!(words.contains(&"2".into()) && !words.contains(&"1".into()), "{record}");
    }
    for case in comparison["cases"].as_array().unwrap() {
        let starts = |records: &[Value]| {
            let records = records.iter().filter(|record| record["case"] == case["rows"][0]["case"]);
            records.map(|record| record["started_at"].as_str().unwrap().to_owned()).collect()
        };
        let (first, second): (Vec<String>, Vec<String>) = (starts(&first), starts(&second));
        assert_eq!(serde_json::json!(first.len()), case["ratio"]["count"]);
        let places = first.chunks_exact(2).zip(second.chunks_exact(2));
        // Of every two rounds each side begins one. Starts within the same
        // millisecond have no order.
        for (first, second) in places.filter(|(first, second)| {
            first.iter().zip(second.iter()).all(|(first, second)| first != second)
        }) {
            assert_ne!(first[0] < second[0], first[1] < second[1]);
        }
    }
}

#[test]
fn an_interrupted_comparison_keeps_its_records_and_reports_them() {
    let script = format!("{NOISY}\n[ \"$n\" -lt 30 ] || {{ touch ready; sleep 100; }}");
    let bench = Bench::new(&["a"], &script);
    fs::write(bench.path("count"), "0\n").unwrap();
    let endless = ["--margin", "0", "--time", "600", "--seed", "1"];
    let flags = [&["compare", "--args", "", "--args", ""][..], &endless].concat();
    let brigade = start(&bench, &flags);
    eventually("15 rounds are over", || bench.path("ready").exists());
    send(&brigade, Signal::SIGINT);
    let ended = end_of(brigade);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(!ended.stdout.is_empty(), "{ended:?}");
    assert!(ended.stderr.ends_with("brigade: interrupted after 15 rounds\n"), "{ended:?}");
    let kept: usize = folders(&bench).iter().map(|folder| records_in(folder).len()).sum();
    assert_eq!(kept, 31);
}

#[test]
fn a_program_that_fails_is_given_up_and_named() {
    let bench = Bench::new(&["a"], "echo oops >&2; exit 1");
    let ended = bench.ends(&["compare", "--args", "", "--args", "", "--format", "json"]);
    assert_eq!((ended.code, ended.stderr.lines().count()), (Some(1), 1), "{ended:?}");
    let comparison: Value = serde_json::from_str(&ended.stdout).unwrap();
    let reason = json!({ "side": "baseline", "error": "exited with 1: oops" });
    let missing = json!([{ "case": "a", "reason": { "not-measured": reason } }]);
    assert_eq!((&comparison["cases"], &comparison["not_compared"]), (&json!([]), &missing));
    assert!(folders(&bench).iter().all(|folder| records_in(folder).len() == 3));
    let ended = bench.ends(&["compare", "--wrap", "no-such-wrapper", "--wrap", ""]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("no-such-wrapper"), "{ended:?}");
    let wrapper = bench.path("wrapper");
    contract::executable::write(&wrapper, "#!/no-such-interpreter\n");
    let ended = bench.ends(&["compare", "--wrap", wrapper.to_str().unwrap(), "--wrap", ""]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("could not be run: "), "{ended:?}");
}

#[test]
fn wrong_flags_are_refused() {
    let bench = noisy(&["a"]);
    build(&bench, "old", 0);
    fs::create_dir(bench.path("empty")).unwrap();
    for (arguments, named) in [
        (&["one"][..], "--bin"),
        (&["one", "two", "three"], "--bin"),
        (&["--bin", "old", "--bin", "empty"], "--bin"),
        (&["--args", "", "--args", "", "--margin", "-1"], "--margin"),
        (&["--args", "", "--args", "", "b"], "'b'"),
    ] {
        let ended = bench.ends(&[&["compare"], arguments].concat());
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(named), "{arguments:?}: {ended:?}");
    }
    assert!(bench.result_folders().is_empty());
}

/// The folders of two runs of the bench's cases, in the same order in every call, so that [`NOISY`]
/// programs measure the same.
fn two_runs(bench: &Bench, rounds: &str) -> [String; 2] {
    for name in ["first", "second"] {
        let run = ["run", "--name", name, "--rounds", rounds, "--seed", "1"];
        assert_eq!(bench.ends(&run).code, Some(0));
    }
    folders(bench).map(|folder| on_an_even_machine(&folder))
}

/// Makes the runs in a folder report the same speed of the machine: the programs of a test are not
/// slowed by other activity, but the reference next to them is.
fn on_an_even_machine(folder: &Path) -> String {
    let folder = folder.to_str().unwrap().to_owned();
    set_reference(&folder, 1.0);
    folder
}

/// Changes how long the reference took, by this factor.
fn set_reference(folder: &str, times: f64) {
    let path = format!("{folder}/records.jsonl");
    let records = fs::read_to_string(&path).unwrap();
    let with_reference = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        assert!(line["reference"]["kernel_ns"].as_f64().unwrap() > 0.0, "{line}");
        line["reference"]["kernel_ns"] = (500.0 * times).into();
        line.to_string() + "\n"
    };
    fs::write(&path, records.lines().map(with_reference).collect::<String>()).unwrap();
}

/// Changes a run so that the machine was half as fast in every third reading.
fn make_unsteady(folder: &str) {
    let lines = records_in(Path::new(folder)).into_iter().cycle().take(24).enumerate();
    let lines = lines.map(|(index, mut line)| {
        line["round"] = (index + 1).into();
        line["reference"]["kernel_ns"] = if index % 3 == 0 { 1000.0 } else { 500.0 }.into();
        line.to_string() + "\n"
    });
    fs::write(format!("{folder}/records.jsonl"), lines.collect::<String>()).unwrap();
}

/// The folders of runs of a case, one after the other, each slowed down by this many per mille.
fn runs_slowed<const N: usize>(bench: &Bench, slowdowns: [&str; N]) -> [String; N] {
    for (number, slowdown) in (1..).zip(slowdowns) {
        let name = format!("run-{number:02}");
        let mut run = bench.brigade(&["run", "--name", &name, "--rounds", "16"]);
        run.env("SLOWDOWN", slowdown);
        assert_eq!(Ended::from(run).code, Some(0));
    }
    let folders = bench.result_folders();
    let folders: Vec<String> = folders.iter().map(|folder| on_an_even_machine(folder)).collect();
    folders.try_into().unwrap()
}

/// The folders of three runs of a case, and of a later run of a build that takes half as long again.
fn three_runs_and_a_slower_one(bench: &Bench) -> [String; 4] {
    let folders = runs_slowed(bench, ["0", "0", "0", "500"]);
    edit(format!("{}/environment.json", folders[3]), |environment| {
        environment["software.git_revision"] = "0".repeat(40).into();
    });
    folders
}

#[test]
fn two_runs_are_compared_case_by_case_and_without_earlier_ones_get_no_verdict() {
    let bench = noisy(&["a", "b"]);
    let [first, second] = two_runs(&bench, "16");
    let ended = bench.ends(&["compare", &first, &second, "--fail-on", "slower"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("NO VERDICT: "), "{ended:?}");
    let comparison = compared(&bench, &[&first, &second]);
    assert_eq!(comparison["no_verdict"], json!({ "few-earlier": 2 }));
    assert_eq!(
        (&comparison["is_one_build"], &comparison["earlier_runs"]),
        (&true.into(), &0.into())
    );
    assert_eq!(
        (&comparison["design"], &comparison["confidence"]),
        (&"two-runs".into(), &0.99.into())
    );
    for case in comparison["cases"].as_array().unwrap() {
        let figure = |side: usize| case["rows"][side]["figure"]["value"].as_f64().unwrap();
        assert_eq!(case["rows"][0]["figure"]["count"], 16);
        assert_eq!(case["verdict"], "unresolved");
        let corrected = comparison["correction"].as_f64().unwrap() * figure(1) / figure(0);
        assert!((case["ratio"]["value"].as_f64().unwrap() / corrected - 1.0).abs() < 1e-9);
    }
    assert_eq!(bench.result_folders().len(), 2, "a comparison of runs makes no folder");
}

#[test]
fn a_run_on_a_slower_machine_is_not_a_slower_program() {
    let bench = noisy(&["a"]);
    let [first, second, old, new] = three_runs_and_a_slower_one(&bench);
    // Another run of the first build, even if a tool was installed meanwhile.
    edit(format!("{first}/environment.json"), |environment| {
        environment["software.tools.abc --version"] = "1".into();
    });
    for (times, code) in [(1.0, 4), (9.0, 0)] {
        set_reference(&new, times);
        let ended = bench.ends(&["compare", &old, &new, "--fail-on", "slower"]);
        assert_eq!(ended.code, Some(code), "{ended:?}");
    }
    // Times of two machines are not corrected.
    edit(format!("{new}/environment.json"), |environment| {
        environment["boot"] = "another".into();
    });
    assert_eq!(compared(&bench, &[&old, &new])["correction"], Value::Null);
    // Now nobody knows how much runs of the first build differ.
    fs::remove_dir_all(second).unwrap();
    let ended = bench.ends(&["compare", &old, &new, "--fail-on", "unresolved"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
}

/// The same run has the same state in every command, and a large correction is next to the verdict.
#[test]
fn a_run_on_a_slower_machine_is_slow_in_a_comparison_too() {
    let bench = noisy(&["a"]);
    let runs = runs_slowed(&bench, ["0"; 4]);
    runs.iter().for_each(|run| set_disturbance(Path::new(run), 0.0));
    let [.., old, new] = &runs;
    for (times, word) in [(1.0, "quiet"), (1.1, "quiet"), (1.3, "slow"), (0.7, "fast")] {
        set_reference(new, times);
        let found = compared(&bench, &[old, new]);
        assert_eq!(found["sides"][1]["states"][0]["word"], word, "{found}");
        let groups = compared(&bench, &[old, "--", new, &runs[0]]);
        assert_eq!(groups["sides"][1]["states"][0]["word"], word, "{groups}");
        let report = bench.ends(&["report", "--format", "json", new]);
        let report: Value = serde_json::from_str(&report.stdout).unwrap();
        assert_eq!(report["run"]["state"], found["sides"][1]["states"][0]);
        let shown = bench.ends(&["compare", old, new]).stdout;
        let is_named = shown.lines().take(4).any(|line| line.contains("Ratios of times"));
        assert_eq!(is_named, word != "quiet", "{times}: {shown}");
    }
}

/// Each is counted once, and neither side nor a later run is one.
#[test]
fn earlier_runs_are_earlier_and_of_one_build() {
    let bench = noisy(&["a"]);
    let [first, second, old, new] = three_runs_and_a_slower_one(&bench);
    let seen = |runs: [&String; 2]| {
        let found = compared(&bench, &runs.map(String::as_str));
        (found["earlier_runs"].clone(), found["no_verdict"].clone())
    };
    let lacking = |number: u32| json!({ "few-earlier": number });
    assert_eq!(seen([&old, &new]), (2.into(), Value::Null));
    // Of three runs of one build one more is needed.
    assert_eq!(seen([&second, &old]), (1.into(), lacking(1)));
    assert_eq!(seen([&first, &second]), (0.into(), lacking(2)));
    let found = compared(&bench, &[&first, &old]);
    assert_eq!((&found["is_one_build"], &found["earlier_runs"]), (&true.into(), &1.into()));
    // A disturbed run shows nothing, nor does one that inherited something else.
    set_disturbance(Path::new(&first), 0.3);
    assert_eq!(seen([&old, &new]), (1.into(), lacking(1)));
    set_disturbance(Path::new(&first), 0.0);
    assert_eq!(seen([&old, &new]), (2.into(), Value::Null));
    for folder in [&first, &second, &old, &new] {
        let nice = if folder == &first { "7" } else { "0" };
        let inherited = json!({ "scheduling.nice": nice, "scheduling.timer_slack_ns": "50000" });
        let lines = records_in(Path::new(folder)).into_iter().map(|mut line| {
            line["record"]["inherited"] = inherited.clone();
            line.to_string() + "\n"
        });
        fs::write(format!("{folder}/records.jsonl"), lines.collect::<String>()).unwrap();
    }
    assert_eq!(seen([&old, &new]), (1.into(), lacking(1)));
}

#[test]
fn a_run_that_was_disturbed_gets_no_verdict_and_is_named() {
    let bench = noisy(&["a"]);
    let [_, _, old, new] = three_runs_and_a_slower_one(&bench);
    let name = |run: &String| Path::new(run).file_name().unwrap().to_str().unwrap().to_owned();
    for (disturbed, share, word) in
        [(&old, 0.4, "BUSY"), (&new, 0.08, "BUSY"), (&new, 0.0, "QUIET")]
    {
        set_disturbance(Path::new(&old), 0.0);
        set_disturbance(Path::new(&new), 0.0);
        set_disturbance(Path::new(disturbed), share);
        let ended = bench.ends(&["compare", &old, &new, "--fail-on", "slower"]);
        let is_quiet = word == "QUIET";
        assert_eq!(ended.code, Some(if is_quiet { 4 } else { 0 }), "{ended:?}");
        assert!(ended.stdout.contains(&format!("{word}: ")), "{ended:?}");
        let refusal = format!("NO VERDICT: {} was BUSY: ", name(disturbed));
        let text = ended.stdout.replace('\n', " ");
        assert_eq!(text.starts_with(&refusal), !is_quiet, "{ended:?}");
    }
    make_unsteady(&old);
    let found = compared(&bench, &[&old, &new]);
    assert_eq!(found["no_verdict"], "disturbed");
    let state = &found["sides"][0]["states"][0];
    assert_eq!((&state["word"], &state["speed_change"]), (&"unsteady".into(), &1.0.into()));
}

/// What disturbs both sides of a round cancels, unless their CPUs differ.
#[test]
fn sides_on_other_cpus_need_undisturbed_ones() {
    let flags = r#"
others=0; cpus=0
while [ $# -gt 0 ]; do case $1 in --cpus) cpus=$2 ;; --others) others=$2 ;; esac; shift; done
"#;
    let script = NOISY.replace("[0]", "[$cpus]").replace(
        "\"interference\":{\"steal_ns\":null",
        "\"interference\":{\"steal_ns\":0,\"wall_ns\":10000000000,\"others_cpu_ns\":$others",
    );
    let bench = Bench::new(&["a"], &format!("{flags}{script}"));
    fs::write(bench.path("count"), "0\n").unwrap();
    let one = "--cpus 0";
    let many = "--cpus 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15";
    let busy = " --others 5000000000";
    let quiet = "";
    for (baseline, candidate, expected) in [
        (format!("{one}{busy}"), format!("{one}{busy}"), Value::Null),
        (format!("{one}{busy}"), format!("{many}{busy}"), "disturbed".into()),
        (format!("{one}{quiet}"), format!("{many}{quiet}"), Value::Null),
        // Half of one CPU is 3 % of sixteen.
        (format!("{one}{quiet}"), format!("{many}{busy}"), "disturbed".into()),
    ] {
        let sides = ["--args", &baseline, "--args", &candidate];
        let found = compared(&bench, &side_by_side(&sides));
        assert_eq!(found["no_verdict"], expected, "{baseline} {candidate}: {found}");
    }
}

/// `show/tests.rs` has what is printed of it.
#[test]
fn the_kernel_of_two_runs_differs() {
    let bench = noisy(&["a"]);
    let [first, second] = two_runs(&bench, "6");
    edit(format!("{first}/environment.json"), |facts| facts["kernel.release"] = "6.1.0".into());
    let found = compared(&bench, &[&first, &second]);
    assert_eq!(found["no_verdict"], json!({ "few-earlier": 2 }));
    let [difference] = &found["environment_differences"].as_array().unwrap()[..] else {
        panic!("one fact differs: {found}")
    };
    let old = (&difference["name"], &difference["values"][0]);
    assert_eq!(old, (&"kernel.release".into(), &"6.1.0".into()));
}

/// Earlier runs show how much runs of the build differ, which is too much to decide.
#[test]
fn runs_of_one_build_are_known_as_such_under_any_kernel() {
    let bench = noisy(&["a"]);
    let [_, _, first, second] = runs_slowed(&bench, ["0"; 4]);
    let compare = || {
        let found = compared(&bench, &[&first, &second]);
        assert_eq!(found["is_one_build"], true, "{found}");
        (found["no_verdict"].clone(), found["cases"][0]["verdict"].clone())
    };
    assert_eq!(compare(), (Value::Null, "unresolved".into()));
    edit(format!("{second}/environment.json"), |facts| facts["kernel.release"] = "6.1.0".into());
    assert_eq!(compare(), (Value::Null, "unresolved".into()));
    set_disturbance(Path::new(&second), 0.4);
    assert_eq!(compare(), ("disturbed".into(), "unresolved".into()));
}

#[test]
fn cases_that_only_one_run_measured_are_not_compared() {
    let bench = noisy(&["a", "b"]);
    for (case, name) in [("a", "one"), ("b", "two")] {
        bench.ends(&["run", "--rounds", "6", case, "--name", name]);
    }
    let [first, second] = folders(&bench);
    let runs = [first.to_str().unwrap(), second.to_str().unwrap()];
    for flags in [&["compare", "--format", "json"][..], &["compare", "--fail-on", "slower"]] {
        let ended = bench.ends(&[flags, &runs[..]].concat());
        assert_eq!((ended.code, ended.stderr.lines().count()), (Some(1), 1), "{ended:?}");
        if let Ok(comparison) = serde_json::from_str::<Value>(&ended.stdout) {
            assert_eq!(comparison["cases"].as_array().unwrap().len(), 0);
            assert_eq!(comparison["not_compared"].as_array().unwrap().len(), 2);
        }
    }
}

/// Every process of the case failed, so the run has no record of it.
#[test]
fn a_case_that_fails_in_the_candidate_is_named_with_its_error_and_can_fail() {
    let bench = noisy(&["a", "b"]);
    let [first, second] = two_runs(&bench, "16");
    let lines = records_in(Path::new(&second)).into_iter().map(|mut line| {
        if line["case"] == "b" {
            line["outcome"] = "failed".into();
            line["error"] = "exited with 1: oops".into();
            line["record"] = Value::Null;
        }
        line.to_string() + "\n"
    });
    fs::write(format!("{second}/records.jsonl"), lines.collect::<String>()).unwrap();
    let found = compared(&bench, &[&first, &second]);
    let reason = json!({ "side": "candidate", "error": "exited with 1: oops" });
    let missing = json!([{ "case": "b", "reason": { "not-measured": reason } }]);
    assert_eq!(
        (found["cases"].as_array().map(Vec::len), &found["not_compared"]),
        (Some(1), &missing)
    );
    for (fail_on, runs, code) in [
        ("slower", [&first, &second], 1),
        ("unresolved", [&first, &second], 1),
        ("slower", [&second, &first], 0),
    ] {
        let ended = bench.ends(&["compare", runs[0], runs[1], "--fail-on", fail_on]);
        assert_eq!(ended.code, Some(code), "{ended:?}");
        let named = "--fail-on: b: the candidate has not measured it: exited with 1: oops";
        assert_eq!(ended.stderr.contains(named), code == 1, "{ended:?}");
    }
}

#[test]
fn each_folder_of_two_groups_is_one_sample() {
    let bench = noisy(&["a"]);
    let slowdowns: [&str; 14] = [["0"; 7], ["500"; 7]].concat().try_into().unwrap();
    let folders = runs_slowed(&bench, slowdowns);
    let (first, second) = folders.split_at(7);
    edit(format!("{}/environment.json", first[1]), |facts| {
        facts["software.rustc"] = "of one run".into()
    });
    // It is no sample.
    set_disturbance(Path::new(&first[6]), 0.3);
    let groups = groups_of(first, second);
    let comparison = compared(&bench, &groups);
    assert_eq!(comparison["design"], "groups");
    assert_eq!(comparison["sides"][1]["states"].as_array().map(Vec::len), Some(7));
    let case = &comparison["cases"][0];
    assert_eq!((&case["verdict"], &case["ratio"]["count"]), (&"slower".into(), &6.into()));
    assert_eq!(comparison["environment_differences"], Value::Array(Vec::new()));
    let ended = bench.ends(&[&["compare", "--fail-on", "slower"], &groups[..]].concat());
    assert_eq!(ended.code, Some(4), "{ended:?}");
    // Nor are runs whose machine changed its speed.
    make_unsteady(&second[6]);
    assert_eq!(compared(&bench, &groups)["cases"][0]["rows"][1]["figure"]["count"], 6);
    for run in &second[..2] {
        make_unsteady(run);
    }
    let ended = bench.ends(&[&["compare", "--fail-on", "slower"], &groups[..]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.starts_with("NO VERDICT: five runs a side are needed"), "{ended:?}");
    assert!(ended.stdout.contains("3 not used"), "{ended:?}");
    // Even if none is left.
    let ended = bench.ends(&["compare", &first[0], "--", &second[0], &second[1]]);
    assert!(ended.stdout.starts_with("NO VERDICT: five runs a side are needed"), "{ended:?}");
    let few = ["compare", &first[0], "--", &second[2], &second[3]];
    let ended = bench.ends(&few);
    assert!(ended.stdout.starts_with("NO VERDICT: five runs a side are needed"), "{ended:?}");
    assert_eq!(compared(&bench, &few[1..])["no_verdict"], json!({ "few-runs": 5 }));
}

/// The arguments of a comparison of two groups of runs.
fn groups_of<'a>(baselines: &'a [String], candidates: &'a [String]) -> Vec<&'a str> {
    let [baselines, candidates] = [baselines, candidates].map(|runs| runs.iter().map(|run| &**run));
    baselines.chain(["--"]).chain(candidates).collect()
}

/// Copies are the same run.
#[test]
fn a_run_that_is_named_twice_and_a_side_among_runs_are_refused() {
    let bench = noisy(&["a"]);
    let [first, second] = two_runs(&bench, "3");
    let copy = bench.path("copy");
    fs::create_dir(&copy).unwrap();
    for file in ["run.json", "environment.json", "records.jsonl"] {
        fs::copy(Path::new(&first).join(file), copy.join(file)).unwrap();
    }
    let copy = copy.to_str().unwrap();
    let sides = ["--args", "", "--args", "", "--name", "sides"];
    assert_eq!(bench.ends(&[&["compare"][..], &side_by_side(&sides)].concat()).code, Some(0));
    let folders = bench.result_folders();
    let folders = folders.iter().map(|folder| folder.to_str().unwrap());
    let sides: Vec<&str> = folders.filter(|folder| folder.contains("sides-")).collect();
    for (arguments, named) in [
        (&[&*first, &first][..], &*first),
        (&[&first, &format!("{first}/")], &first),
        (&[&first, copy], copy),
        (&[&first, &first, "--", &second], &first),
        (&[&first, &second, "--", &first], &first),
        (&[&first, "--", &second, copy], copy),
        (&[&first, "--", &second, sides[0]], sides[0]),
    ] {
        let ended = bench.ends(&[&["compare"], arguments].concat());
        assert_eq!((ended.code, ended.stderr.lines().count()), (Some(2), 1), "{ended:?}");
        assert!(ended.stderr.contains(named), "{ended:?}");
    }
    assert_eq!(compared(&bench, &sides)["design"], "two-runs");
}
