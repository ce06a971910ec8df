//! `brigade prove`: a truthful program passes, and each lie fails the property that it violates.
//!
//! The program is a script that simulates two tasks on one CPU: a hop takes 1 µs plus its work. Its
//! times scatter by a percent, seeded by the number of the invocation, so every run of a test is
//! the same.

use std::collections::BTreeMap;

use contract::has_two_cpus;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::bench::{Bench, Ended, end_of, eventually, send, start_with};

/// Prints a record. `awk` gets the number of this invocation of the case, from 0, and changes the
/// figures by `lie`.
fn script(lie: &str) -> String {
    let program = r#"
units=0; placement=free; tasks=1; seconds=none
while [ $# -gt 0 ]; do
    case "$1" in
        --max-time) seconds=$2; shift ;;
        --work) units=$2; shift ;;
        --placement) placement=$2; shift ;;
        --tasks) tasks=$2; shift ;;
        --trace) echo 'fake: perf is denied' >&2; exit 3 ;;
    esac
    shift
done
counter="$0.$placement.$units.$seconds.$tasks"; number=0
[ -e "$counter" ] && read -r number < "$counter"
echo $((number + 1)) > "$counter"
awk -v units=$units -v placement=$placement -v tasks=$tasks -v number=$number 'BEGIN {
    srand(1 + 10007 * number + units + length(placement)); rand()
    unit = 1.25; operations = tasks + 1
    hop = (1000 + units * unit) * (1 + 0.02 * (rand() - 0.5))
    lap = hop * operations; mean = 0
    switches = 1.0; crossing = (placement == "spread") ? 1 : 0
    LIE
    wall = 2 * lap * 1.001 + 1
    if (mean == 0) mean = lap
    work = (units > 0) ? unit : "null"
    printf "{\"schema_version\":\"1.0\",\"program\":\"fake\",\"version\":\"0.1.0\",\"parameters\":{},"
    printf "\"tasks\":1,\"tokens\":1,\"iterations\":2,\"warmups\":0,\"complete\":true,"
    printf "\"ended_by\":\"iterations\",\"error\":null,\"affinity\":[0],\"measurements\":[{"
    printf "\"name\":\"iteration\",\"operation\":\"hop\",\"operations\":%d,\"count\":2,", operations
    printf "\"mean_ns\":%f,\"stddev_ns\":0.0,\"min_ns\":%d,\"p50_ns\":%d,\"p90_ns\":%d,", mean, lap, lap, lap
    printf "\"p99_ns\":%d,\"p999_ns\":%d,\"max_ns\":%d,", lap, lap, 2 * lap
    printf "\"ns_per_operation\":%f,\"ns_per_task\":null,\"histogram\":\"\"}],", mean / operations
    printf "\"cpu\":null,\"switches\":{\"voluntary_per_operation\":%f,", switches
    printf "\"involuntary_per_operation\":0.0,\"expected_per_operation\":1.0,\"migrations\":null,"
    printf "\"cross_cpu_share\":%f},\"interference\":{\"steal_ns\":null,", crossing
    printf "\"psi_cpu_some_ns\":null,\"wall_ns\":%d},", wall
    printf "\"memory\":null,\"ledger\":null,"
    print "\"work\":{\"units\":" units ",\"ns_per_unit\":" work ",\"mean_ns_per_unit\":" work "}}"
}'
"#;
    program.replace("LIE", lie)
}

const MANIFEST: &str = r#"
[profiles.default]
rounds = 3
[prove]
profile = "default"
seconds = 0.1
pairs = 8
units = [1000, 4000]
rounds = 12
tasks = 4
work = ["near/same-cpu"]
crossing = ["far/spread", "near/same-cpu"]
[programs.fake]
path = "fake"
check = { iters = 2, warmups = 0, operations = 2 }
[[group]]
name = "g"
question = "What?"
[[group.case]]
name = "near/same-cpu"
program = "fake"
placement = "same-cpu"
profiles = ["default"]
[[group.case]]
name = "far/spread"
program = "fake"
placement = "spread"
profiles = ["default"]
"#;

/// More properties of the plan.
const FURTHER: &str = r#"
comparisons = 12
disturbed = "near/same-cpu"
timed = "near/same-cpu"
watched = ["near/same-cpu"]
traced = ["near/same-cpu"]
calls = { "near/same-cpu" = 2 }
linear = { cases = ["near/same-cpu"], tasks = [4, 16], units = 1000 }
[programs.fake]"#;

fn prove_with(lie: &str, manifest: &str, flags: &[&str]) -> Ended {
    let bench = Bench::new(&[], &script(lie));
    Ended::from(bench.brigade_with(manifest, &[&["prove", "--seed", "1"], flags].concat()))
}

/// The status of each property if the program lies. The clock and the empty lap are the real
/// machine's; tests next to their code judge fixed ones.
fn statuses(lie: &str, manifest: &str) -> BTreeMap<String, String> {
    let ended = prove_with(lie, manifest, &["--json"]);
    let proof: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let properties = proof["properties"].as_array().expect("a list");
    let word = |of: &Value, key: &str| of[key].as_str().expect("a word").to_owned();
    let mut all: BTreeMap<String, String> =
        properties.iter().map(|of| (word(of, "name"), word(of, "status"))).collect();
    let any = |status| all.values().any(|is| is == status);
    let code = if any("fails") { 1 } else { 5 * i32::from(any("not-shown")) };
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert!(all.remove("clock").is_some() && all.remove("empty lap").is_some(), "{ended:?}");
    all
}

/// The properties with this status.
fn having(status: &str, of: &BTreeMap<String, String>) -> Vec<String> {
    of.iter().filter(|(_, is)| *is == status).map(|(name, _)| name.clone()).collect()
}

/// The number of cases that run here: one or two.
fn cases() -> usize {
    if has_two_cpus() { 2 } else { 1 }
}

/// The truth, and lies with the properties that they violate.
#[test]
fn each_lie_fails_the_property_that_it_violates() {
    // Ten comparisons of cases with themselves in all, so a round of one of two is ten invocations,
    // whose sides alternate as first, second and second, first.
    let a_round = (20 / cases()).to_string();
    let second_side = "round = int(number / N); if ((number + round) % 2 == 1) lap *= 1.03";
    let mut lies = vec![
        ("".to_owned(), vec![]),
        ("operations *= 2; switches /= 2".to_owned(), vec!["known switches", "known work"]),
        (second_side.replace('N', &a_round), vec!["A/A"]),
        ("lap -= 0.1 * units * unit * operations".to_owned(), vec!["known work"]),
        ("mean = lap + 0.06 * units * unit * operations".to_owned(), vec!["known work"]),
        // All means are six percent too large.
        ("mean = 1.06 * lap".to_owned(), vec!["accounting", "known work"]),
        ("crossing = 1".to_owned(), vec!["known crossing"]),
        ("if (units == 0) lap = 3000".to_owned(), vec!["independent rounds"]),
        // Twelve rounds tolerate a disturbed one.
        ("if (units == 4000 && number == 3) lap *= 1.5".to_owned(), vec![]),
        // Four are too many to decide, and twelve more rounds decide.
        ("if (units > 0 && number < 12 && number % 3 == 0) lap *= 1.2".to_owned(), vec![]),
    ];
    if has_two_cpus() {
        lies.push(("crossing = 0".to_owned(), vec!["known crossing"]));
    }
    for (lie, broken) in lies {
        let found = statuses(&lie, MANIFEST);
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        let all = [
            "A/A",
            "accounting",
            "independent rounds",
            "known crossing",
            "known switches",
            "known work",
        ];
        assert_eq!(names, all, "{lie}");
        assert_eq!(having("fails", &found), broken, "{lie}: {found:?}");
        assert!(having("not-shown", &found).is_empty(), "{lie}: {found:?}");
    }
}

#[test]
fn a_machine_too_busy_is_neither_lie_nor_proof() {
    let found = statuses("lap *= 1 + 0.6 * (rand() - 0.5) * (units > 0)", MANIFEST);
    assert_eq!(having("not-shown", &found), ["known work"]);
    assert!(having("fails", &found).is_empty(), "{found:?}");
}

/// The script makes no hops and no calls, whatever it reports, takes no time, and does not see the
/// CPU time of others.
#[test]
fn more_properties_follow_from_the_plan() {
    let manifest = MANIFEST.replacen("[programs.fake]", FURTHER.trim_start(), 1);
    for (lie, broken) in [
        ("", ""),
        ("if (units == 4200) lap *= 1.1", "known differences"),
        ("if (tasks == 16) lap *= 1.07", "linearity"),
        ("if (tasks == 16) mean = 1.07 * lap", "linearity"),
    ] {
        let found = statuses(lie, &manifest);
        for (name, expected) in [
            ("known disturbance", "unjudged"),
            ("traced hops", "unjudged"),
            ("second clock", "fails"),
            ("system calls", "fails"),
            ("known differences", if broken == "known differences" { "fails" } else { "holds" }),
            ("linearity", if broken == "linearity" { "fails" } else { "holds" }),
        ] {
            assert_eq!(found[name], expected, "{name}: {lie}: {found:?}");
        }
    }
    let text = prove_with("", &manifest, &[]).stdout;
    assert!(text.contains("near/same-cpu: – (exited with 3: fake: perf is denied)"), "{text}");
}

#[test]
fn a_program_that_fails_is_not_proven() {
    let bench = Bench::new(&[], "echo 'too bad' >&2; exit 1");
    let ended = Ended::from(bench.brigade_with(MANIFEST, &["prove", "--seed", "1"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.starts_with("FAILS: A/A, known work, known switches"));
    let line = "- near/same-cpu: FAILS: exited with 1: too bad\n";
    assert!(ended.stdout.contains(line) && !ended.stdout.contains(&line.repeat(2)), "{ended:?}");
}

#[test]
fn a_stop_ends_a_proof_and_its_processes() {
    let counting =
        MANIFEST.replacen("[programs.fake]", "watched = [\"near/same-cpu\"]\n[programs.fake]", 1);
    let waits = "touch ready; while :; do sleep 0.01; done";
    let waits_watched =
        format!("case \"$*\" in *\"--iters 400 \"*) {waits};; esac\n{}", script(""));
    for script in [format!("trap 'exit 130' INT; {waits}"), waits_watched] {
        let bench = Bench::new(&[], &script);
        let brigade = start_with(&bench, &counting, &["prove"]);
        eventually("the program is running", || bench.path("ready").exists());
        send(&brigade, Signal::SIGINT);
        let ended = end_of(brigade);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(130), ""), "{ended:?}");
    }
}

#[test]
fn the_halves_of_a_saved_run_are_compared() {
    let bench = Bench::new(&[], &script(""));
    let run = bench.brigade_with(MANIFEST, &["run", "--rounds", "10", "--name", "x"]).output();
    assert!(run.unwrap().status.success());
    let folder = bench.result_folders().remove(0);
    let prove = ["prove", "--seed", "1", "--run", folder.to_str().unwrap()];
    let ended = Ended::from(bench.brigade_with(MANIFEST, &prove));
    let judged = format!("late against early rounds, false verdicts of {}:", cases());
    assert!(ended.stdout.contains(&judged), "{ended:?}");
    let missing = ["prove", "--run", "nowhere"];
    let ended = Ended::from(bench.brigade_with(MANIFEST, &missing));
    assert_eq!((ended.code, &*ended.stdout), (Some(1), ""), "{ended:?}");
}

#[test]
fn a_run_of_a_profile_that_requests_it_ends_with_a_proof() {
    let manifest = MANIFEST.replacen("rounds = 3", "rounds = 8\nprove = true", 1);
    let bench = Bench::new(&[], &script("crossing = 1"));
    let run = ["run", "--seed", "1", "--name", "x"];
    let ended = Ended::from(bench.brigade_with(&manifest, &run));
    assert_eq!(ended.code, Some(1), "what it measured is not proven: {ended:?}");
    let folder = bench.result_folders().remove(0);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let proof: Value = serde_json::from_str(&read("prove.json")).unwrap();
    assert_eq!(proof["seed"], 1);
    assert!(read("report.md").contains("FAILS: known crossing"));

    let folder = folder.to_str().unwrap();
    let shown = Ended::from(bench.brigade_with(&manifest, &["report", "--full", folder]));
    assert_eq!(shown.stdout, ended.stdout);
    let screen = Ended::from(bench.brigade_with(&manifest, &["report", folder])).stdout;
    assert!(screen.contains("proof FAILS: known crossing"), "{screen}");
    let resumed = Ended::from(bench.brigade_with(&manifest, &["run", "--resume", folder]));
    assert_eq!(resumed.code, Some(1), "its proof still fails: {resumed:?}");
    std::fs::write(format!("{folder}/prove.json"), "{}").unwrap();
    let shown = Ended::from(bench.brigade_with(&manifest, &["report", folder]));
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains("prove.json: missing field"), "{shown:?}");
    assert!(!shown.stdout.contains("proof FAILS"), "{shown:?}");
}

#[test]
fn a_run_of_some_cases_proves_nothing() {
    let manifest = MANIFEST.replacen("rounds = 3", "rounds = 1\nprove = true", 1);
    let bench = Bench::new(&[], &script(""));
    let run = bench.brigade_with(&manifest, &["run", "--case", "far/spread"]).output();
    assert!(run.unwrap().status.success());
    assert!(!bench.result_folders()[0].join("prove.json").exists());
}

#[test]
fn an_impossible_plan_is_refused() {
    for (from, to, reason) in [
        ("pairs = 8", "pairs = 7", "prove: pairs: 7 are too few: use at least 8"),
        ("[1000, 4000]", "[5, 5]", "prove: units: a slope needs two different amounts"),
        ("seconds = 0.1", "seconds = 0", "prove: seconds: 0: use more than 0"),
        ("\"far/spread\"", "\"far\"", "unknown case 'far'; known: near"),
        ("profile = \"default\"", "profile = \"slow\"", "prove: unknown profile"),
    ] {
        assert!(MANIFEST.contains(from), "{from}");
        let ended = prove_with("", &MANIFEST.replacen(from, to, 1), &[]);
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{ended:?}");
        assert!(ended.stderr.contains(reason), "{reason}: {ended:?}");
    }
    let rest = &MANIFEST[MANIFEST.find("[programs").unwrap()..];
    for (key, reason) in [
        ("", "no table [prove]"),
        ("prove = true\n", "profile 'default': prove: there is no table"),
    ] {
        let manifest = format!("[profiles.default]\nrounds = 3\n{key}{rest}");
        let ended = prove_with("", &manifest, &[]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(reason), "{ended:?}");
    }
}

/// A run that is stopped during its proof is not complete: the proof is
/// missing.
#[test]
fn a_run_that_is_stopped_during_its_proof_is_completed() {
    let waits = "case \"$*\" in *--max-time*)\n\
                 touch proving; while [ ! -e go ]; do sleep 0.01; done;;\nesac\n";
    let manifest = MANIFEST.replacen("rounds = 3", "rounds = 1\nprove = true", 1);
    let bench = Bench::new(&[], &format!("{waits}{}", script("")));
    let brigade = start_with(&bench, &manifest, &["run", "--seed", "1"]);
    eventually("the proof is being made", || bench.path("proving").exists());
    send(&brigade, Signal::SIGINT);
    let ended = end_of(brigade);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stdout.contains("not complete; resume with: brigade run --resume "), "{ended:?}");
    let folder = bench.result_folders()[0].clone();
    let exist = || ["prove.json", "run-end.json"].map(|name| folder.join(name).exists());
    assert_eq!(exist(), [false, false]);

    let path = folder.to_str().unwrap();
    let reported = Ended::from(bench.brigade_with(&manifest, &["report", path]));
    assert!(
        reported.stdout.contains("not complete; resume with: brigade run --resume "),
        "{reported:?}"
    );

    std::fs::write(bench.path("go"), "").unwrap();
    let resume = || Ended::from(bench.brigade_with(&manifest, &["run", "--resume", path]));
    let proven = resume();
    assert_eq!(exist(), [true, true], "{proven:?}");
    let again = resume();
    assert!(again.stdout.starts_with("nothing to do: the run is complete"), "{again:?}");
    assert_eq!(again.code, proven.code, "{again:?}");
}
