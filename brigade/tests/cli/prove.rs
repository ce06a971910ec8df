//! `brigade prove`: a truthful instrument passes, and each lie fails the property
//! that it breaks, by name.
//!
//! The program is a script that behaves like one with two tasks on one CPU: a hop
//! takes 1 µs and its work. Its times scatter by a percent, seeded by the number
//! of the invocation, so every run of a test is the same.

use contract::{has_two_cpus, skip};
use nix::sys::signal::Signal;
use nix::unistd::geteuid;
use serde_json::Value;

use crate::bench::{Bench, Ended, eventually};
use crate::interruption::{end_of, send, start_with};

/// The properties, as a proof names them.
const PROPERTIES: [&str; 7] =
    ["A/A", "known work", "known switches", "known crossing", "clock", "empty lap", "accounting"];

/// Those that a test does not judge: they are measured on the real machine's clock, and
/// judged with made-up ones beside their code.
const OF_THE_MACHINE: [&str; 2] = ["clock", "empty lap"];

/// Prints a record. `awk` gets the number of this invocation of the case, from 0,
/// and changes the figures by `lie`.
fn script(lie: &str) -> String {
    let program = r#"
count=$#; units=0; placement=free; tasks=1
while [ $# -gt 0 ]; do
    case "$1" in
        --work) units=$2; shift ;;
        --placement) placement=$2; shift ;;
        --tasks) tasks=$2; shift ;;
    esac
    shift
done
counter="$0.$placement.$units.$count.$tasks"; number=0
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
    printf "{\"schema_version\":\"1.2\",\"program\":\"fake\",\"version\":\"0.1.0\",\"parameters\":{},"
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
rounds = 10
most_rounds = 30
work = [{ case = "near/same-cpu" }]
crossing = [{ spread = "far/spread", same_cpu = "near/same-cpu" }]
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

fn prove_with(lie: &str, manifest: &str, flags: &[&str]) -> Ended {
    let bench = Bench::new(&[], &script(lie));
    Ended::from(bench.brigade_with(manifest, &[&["prove", "--seed", "1"], flags].concat()))
}

/// The properties that do not hold when the program lies, with their standings.
fn not_holding(lie: &str) -> Vec<(String, String)> {
    let ended = prove_with(lie, MANIFEST, &["--json"]);
    let proof: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let properties = proof["properties"].as_array().expect("a list");
    let names: Vec<&str> = properties.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, PROPERTIES, "{ended:?}");
    let word = |of: &Value, key| of[key].as_str().expect("a word").to_owned();
    let standings = properties.iter().map(|of| (word(of, "name"), word(of, "standing")));
    let mut bad: Vec<_> = standings.filter(|(_, is)| is != "holds" && is != "unjudged").collect();
    let any = |standing| bad.iter().any(|(_, is)| is == standing);
    let code = if any("fails") { 1 } else { 5 * i32::from(any("not-shown")) };
    assert_eq!(ended.code, Some(code), "{ended:?}");
    bad.retain(|(name, _)| !OF_THE_MACHINE.contains(&name.as_str()));
    bad
}

/// The properties that fail when the program lies, in their order.
fn failing(lie: &str) -> Vec<String> {
    let (names, standings): (Vec<_>, Vec<_>) = not_holding(lie).into_iter().unzip();
    assert!(standings.iter().all(|standing| standing == "fails"), "{names:?}: {standings:?}");
    names
}

#[test]
fn an_instrument_that_tells_the_truth_is_proven() {
    assert!(failing("").is_empty(), "{:?}", prove_with("", MANIFEST, &[]));
}

#[test]
fn hops_that_are_counted_twice_are_found() {
    let lie = "operations *= 2; switches /= 2";
    assert_eq!(failing(lie), ["known work", "known switches"]);
}

/// How many of the two cases run here.
fn cases() -> usize {
    if has_two_cpus() { 2 } else { 1 }
}

/// Cases are compared with themselves ten times in all, so that a round of one of two
/// is ten invocations; sides come as first, second in one round and as second, first
/// in the next.
#[test]
fn three_percent_on_every_second_side_are_found() {
    let a_round = 20 / cases();
    let lie = "round = int(number / N); if ((number + round) % 2 == 1) lap *= 1.03";
    assert_eq!(failing(&lie.replace('N', &a_round.to_string())), ["A/A"]);
}

#[test]
fn work_that_is_left_out_of_the_laps_is_found() {
    assert_eq!(failing("lap -= 0.1 * units * unit * operations"), ["known work"]);
}

#[test]
fn six_percent_of_work_in_the_mean_alone_are_found() {
    assert_eq!(failing("mean = lap + 0.06 * units * unit * operations"), ["known work"]);
}

/// All means are of six percent more than there was.
#[test]
fn six_percent_in_every_mean_do_not_fit_into_the_time_that_passed() {
    assert_eq!(failing("mean = 1.06 * lap"), ["known work", "accounting"]);
}

/// The properties of a plan with known differences and a known disturbance, when
/// the program lies.
fn further_properties(lie: &str) -> Vec<(String, String)> {
    let keys = "comparisons = 12\ndisturbed = \"near/same-cpu\"\nrounds = 10";
    let manifest = MANIFEST.replacen("rounds = 10", keys, 1);
    let ended = prove_with(lie, &manifest, &["--json"]);
    let proof: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let further = proof["properties"].as_array().expect("a list").iter().skip(PROPERTIES.len());
    let word = |of: &Value, key| of[key].as_str().expect("a word").to_owned();
    further.map(|of| (word(of, "name"), word(of, "standing"))).collect()
}

#[test]
fn known_differences_must_come_out_as_what_they_are() {
    let disturbance = ("known disturbance".to_owned(), "unjudged".to_owned());
    let differences = |standing: &str| ("known differences".to_owned(), standing.to_owned());
    assert_eq!(further_properties(""), [differences("holds"), disturbance.clone()]);
    let lie = "if (units == 4200) lap *= 1.1";
    assert_eq!(further_properties(lie), [differences("fails"), disturbance]);
}

/// The standing of the last property of a plan with this table, when the program lies.
fn last_property(table: &str, lie: &str) -> (String, String) {
    let manifest = MANIFEST.replacen("[programs.fake]", &format!("{table}[programs.fake]"), 1);
    let ended = prove_with(lie, &manifest, &["--json"]);
    let proof: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let last = proof["properties"].as_array().and_then(|all| all.last()).expect("a property");
    let word = |key| last[key].as_str().expect("a word").to_owned();
    (word("name"), word("standing"))
}

#[test]
fn hops_that_take_longer_among_more_tasks_are_found() {
    let table = "[prove.linear]\ncases = [\"near/same-cpu\"]\ntasks = [4, 16]\n\
                 units = 1000\n";
    let linear = |standing: &str| ("linearity".to_owned(), standing.to_owned());
    assert_eq!(last_property(table, ""), linear("holds"));
    assert_eq!(last_property(table, "if (tasks == 16) lap *= 1.07"), linear("fails"));
    assert_eq!(last_property(table, "if (tasks == 16) mean = 1.07 * lap"), linear("fails"));
}

/// The script makes no calls for its hops.
#[test]
fn hops_without_system_calls_are_found() {
    let counted = MANIFEST.replacen("rounds = 10", "rounds = 10\ncounted = [\"near/same-cpu\"]", 1);
    let ended = prove_with("", &counted, &[]);
    if !geteuid().is_root() && ended.stdout.contains("1 cannot be measured here") {
        return skip("system calls", "only root may read those of a process that has ended");
    }
    assert!(ended.stdout.contains("\nsystem calls: FAILS\n"), "{ended:?}");
}

#[test]
fn a_machine_too_busy_to_tell_is_no_lie_and_no_proof() {
    let busy = "lap *= 1 + 0.6 * (rand() - 0.5) * (units > 0)";
    assert_eq!(not_holding(busy), [("known work".to_owned(), "not-shown".to_owned())]);
}

#[test]
fn one_disturbed_round_is_made_up_for_by_further_ones() {
    let once = "if (units == 4000 && number == 3) lap *= 1.5";
    assert!(not_holding(once).is_empty());
}

/// Ten rounds of linearity show nothing; those of known work do. Each number of tasks
/// has noise of its own.
#[test]
fn rounds_are_repeated_until_they_show_something() {
    let linear = "[prove.linear]\ncases = [\"near/same-cpu\"]\ntasks = [4, 16]\nunits = 1000\n";
    let manifest = MANIFEST.replacen("[programs.fake]", &format!("{linear}[programs.fake]"), 1);
    let noise = "for (turn = 0; turn < tasks; turn++) rand()\n\
                 if (tasks > 1) lap *= 1 + 0.12 * (rand() - 0.5)\n";
    for (lie, standing) in [("", "holds"), ("if (tasks == 16) lap *= 1.1", "fails")] {
        let ended = prove_with(&format!("{noise}{lie}"), &manifest, &["--json"]);
        let proof: Value = serde_json::from_str(&ended.stdout).expect("a proof");
        let properties = proof["properties"].as_array().expect("a list");
        let of = |name: &str| properties.iter().find(|of| of["name"] == name).expect("a property");
        let (linearity, work) = (of("linearity"), &of("known work")["figures"][0]["what"]);
        let pairs = linearity["figures"][0]["what"].as_str().expect("a name");
        assert_eq!(linearity["standing"], standing, "{linearity}");
        assert!(pairs.ends_with(" 20 pairs") || pairs.ends_with(" 30 pairs"), "{linearity}");
        assert_eq!(*work, "near/same-cpu: slope over known work, 10 rounds");
    }
}

#[test]
fn hops_that_stay_where_they_must_cross_are_found() {
    assert_eq!(failing("crossing = 1"), ["known crossing"]);
    if !has_two_cpus() {
        return skip("hops that must cross", "there is one CPU");
    }
    assert_eq!(failing("crossing = 0"), ["known crossing"]);
}

#[test]
fn a_page_names_what_fails_and_fits_a_terminal() {
    let ended = prove_with("operations *= 2; switches /= 2", MANIFEST, &[]);
    assert!(ended.stdout.starts_with("FAILS: known work, known switches"), "{ended:?}");
    let slope = "\nknown work: FAILS\n- near/same-cpu: slope over known work, 10 rounds: 0.5";
    assert!(ended.stdout.contains(slope), "{ended:?}");
    for line in ended.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert_eq!((ended.code, &*ended.stderr), (Some(1), ""));
}

#[test]
fn a_program_that_fails_is_not_proven() {
    let bench = Bench::new(&[], "echo 'too bad' >&2; exit 1");
    let ended = Ended::from(bench.brigade_with(MANIFEST, &["prove", "--seed", "1"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.starts_with("FAILS: A/A, known work, known switches"));
    assert!(ended.stdout.contains("near/same-cpu: – FAILS: must be"), "{}", ended.stdout);
}

#[test]
fn a_stop_says_that_there_is_no_proof() {
    let script = "trap 'exit 130' INT; touch ready; while :; do sleep 0.01; done";
    let bench = Bench::new(&[], script);
    let brigade = start_with(&bench, MANIFEST, &["prove"]);
    eventually("the program is running", || bench.path("ready").exists());
    send(&brigade, Signal::SIGINT);
    let ended = end_of(brigade);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(130), ""), "{ended:?}");
    assert!(
        ended.stderr.ends_with(
            "brigade: interrupted: there is no proof, as not every \
         property was examined\n"
        ),
        "{ended:?}"
    );
}

#[test]
fn calls_are_counted_of_a_process_that_ends_with_the_runner() {
    let counting = "case \"$*\" in *\"--iters 400 \"*)\n\
                    touch counting; while :; do sleep 0.01; done;;\nesac\n";
    let manifest =
        MANIFEST.replacen("rounds = 10", "rounds = 10\ncounted = [\"near/same-cpu\"]", 1);
    let bench = Bench::new(&[], &format!("{counting}{}", script("")));
    let brigade = start_with(&bench, &manifest, &["prove"]);
    eventually("calls are counted", || bench.path("counting").exists());
    send(&brigade, Signal::SIGINT);
    assert_eq!(end_of(brigade).code, Some(130));
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
fn a_run_of_a_profile_that_asks_for_it_ends_with_a_proof() {
    let manifest = MANIFEST.replacen("rounds = 3", "rounds = 8\nprove = true", 1);
    let bench = Bench::new(&[], &script("crossing = 1"));
    let run = ["run", "--seed", "1", "--name", "x"];
    let ended = Ended::from(bench.brigade_with(&manifest, &run));
    assert_eq!(ended.code, Some(1), "what it measured is not proven: {ended:?}");
    let folder = bench.result_folders().remove(0);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let proof: Value = serde_json::from_str(&read("prove.json")).unwrap();
    assert_eq!(proof["seed"], 1);
    assert!(read("prove.md").contains("    FAILS: known crossing"));
    assert!(read("report.md").contains("\n## The instrument\n\n    FAILS: known crossing"));

    let folder = folder.to_str().unwrap();
    let shown = Ended::from(bench.brigade_with(&manifest, &["report", folder]));
    assert_eq!(shown.stdout + &format!("{folder}/report.html\n"), ended.stdout);
    std::fs::write(format!("{folder}/prove.json"), "{}").unwrap();
    let shown = Ended::from(bench.brigade_with(&manifest, &["report", folder]));
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains("prove.json: missing field"), "{shown:?}");
    assert!(!shown.stdout.contains("instrument"), "{shown:?}");
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
fn what_cannot_be_followed_is_refused() {
    for (from, to, reason) in [
        ("pairs = 8", "pairs = 7", ":7: prove: pairs: 7 are too few: use 8 or more"),
        ("rounds = 10", "rounds = 9", ":9: prove: rounds: 9 are too few: use 10 or more"),
        ("most_rounds = 30", "most_rounds = 9", ":9: prove: rounds: there is nothing to repeat"),
        ("[1000, 4000]", "[5, 5]", ":8: prove: units: a slope needs two different amounts"),
        ("seconds = 0.1", "seconds = 0", ":6: prove: seconds: 0 is no time to measure"),
        ("\"far/spread\"", "\"far\"", ":12: prove: crossing: unknown case 'far'; known: near"),
        ("{ case = \"near/same-cpu\" }", "{ case = \"near\" }", ":11: prove: work: unknown case"),
        ("profile = \"default\"", "profile = \"slow\"", ":5: prove: profile: unknown profile"),
    ] {
        assert!(MANIFEST.contains(from), "{from}");
        let ended = prove_with("", &MANIFEST.replacen(from, to, 1), &[]);
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{ended:?}");
        assert!(ended.stderr.contains(reason), "{reason}: {ended:?}");
    }
    let ended = prove_with("", &MANIFEST.replacen("[prove]", "[prave]", 1), &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let ended = prove_with("", MANIFEST, &["--seconds", "0"]);
    assert!(ended.stderr.contains("--seconds"), "{ended:?}");
    let plain = "[profiles.default]\nrounds = 3\n";
    let rest = &MANIFEST[MANIFEST.find("[programs").unwrap()..];
    let proving = plain.replace("rounds = 3", "rounds = 3\nprove = true");
    let ended = prove_with("", &format!("{proving}{rest}"), &[]);
    assert!(ended.stderr.contains(":3: profile 'default': prove: there is no table"), "{ended:?}");
    let ended = prove_with("", &format!("{plain}{rest}"), &[]);
    assert!(ended.stderr.contains("no table [prove]"), "{ended:?}");
    assert_eq!(ended.code, Some(2));
}

/// A run that is stopped while its proof is made is not complete: its proof is
/// still to be made.
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
    assert!(ended.stdout.contains("not complete; to go on: brigade run --resume "), "{ended:?}");
    let folder = bench.result_folders()[0].clone();
    let exist = || ["prove.json", "run-end.json"].map(|name| folder.join(name).exists());
    assert_eq!(exist(), [false, false]);

    let path = folder.to_str().unwrap();
    let told = Ended::from(bench.brigade_with(&manifest, &["report", path]));
    assert!(told.stdout.contains("not complete; to go on: brigade run --resume "), "{told:?}");

    std::fs::write(bench.path("go"), "").unwrap();
    let resume = || Ended::from(bench.brigade_with(&manifest, &["run", "--resume", path]));
    let proven = resume();
    assert_eq!(exist(), [true, true], "{proven:?}");
    let again = resume();
    assert!(again.stdout.starts_with("nothing to do: the run is complete"), "{again:?}");
    assert_eq!(again.code, proven.code, "{again:?}");

    // As a Brigade left it that ended a run before its proof.
    std::fs::remove_file(folder.join("prove.json")).unwrap();
    let proven = resume();
    assert_eq!((exist(), proven.code), ([true, true], again.code), "{proven:?}");
}

#[test]
fn a_run_whose_proof_fails_has_failed_when_it_is_resumed() {
    let manifest = MANIFEST.replacen("rounds = 3", "rounds = 1\nprove = true", 1);
    let bench = Bench::new(&[], &script("operations = 3"));
    let lie = "switches = 3.0";
    std::fs::write(bench.path("fake"), format!("#!/bin/sh\n{}\n", script(lie))).unwrap();
    let ended = Ended::from(bench.brigade_with(&manifest, &["run", "--seed", "1"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let folder = bench.result_folders()[0].to_str().unwrap().to_owned();
    let again = Ended::from(bench.brigade_with(&manifest, &["run", "--resume", &folder]));
    assert_eq!(again.code, Some(1), "{again:?}");
}
