//! `brigade trace` from a trace that a script writes, and of this machine.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::slice;

use harness::trace::{Batch, Direction, SCHEMA_VERSION, Stop, Switch, Trace};
use nix::unistd::{SysconfVar, geteuid, sysconf};
use serde_json::Value;
use tempfile::TempDir;

use crate::bench::{Bench, Ended, RECORD, json_in};

/// The manifest of the project.
const SUITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../suite.toml");
/// Cases whose tasks are threads, async tasks, and threads that share a lock.
const CASES: [&str; 3] =
    ["thread-brigade --placement same-cpu", "async-brigade", "lock-hand-over --inside 2000"];
/// Another program that starts one as a user who owns nothing.
const AS_NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// Two laps from the driver on CPU 0 to task 0 on CPU 1 and back, of 20 µs each, in which
/// CPU 1 sleeps. At the end of the second a program called `hog` keeps the driver waiting.
fn trace() -> Trace {
    use Direction::{In, Out, Preempted};
    let switch =
        |(at_ns, cpu, tid, way)| Switch { at_ns, cpu, tid, own: (1..50).contains(&tid), way };
    let lap = |at: u64| {
        let back =
            |tid| if at == 40_000 { (at + 13_000, 0, tid, In) } else { (at + 13_001, 0, 0, In) };
        [
            (at + 2_000, 0, 1, Out),
            (at + 2_001, 0, 0, In),
            (at + 8_000, 1, 0, Out),
            (at + 8_001, 1, 2, In),
            (at + 12_000, 1, 2, Out),
            (at + 12_001, 1, 0, In),
            (at + 12_990, 0, 0, Out),
            back(99),
            if at == 40_000 { (at + 19_000, 0, 99, Preempted) } else { (at + 18_999, 0, 0, Out) },
            (at + 19_010, 0, 1, In),
        ]
    };
    let stops = |at: u64| {
        let stop = |task, tid, cpu, at_ns| Stop { task, tid, cpu, at_ns };
        let [sent, back] = [at, at + 20_000].map(|at| stop(None, 1, 0, at));
        vec![sent, stop(Some(0), 2, 1, at + 10_000), back]
    };
    let before = [(900, 1, 2, Out), (901, 1, 0, In)];
    let switches = before.into_iter().chain(lap(10_000)).chain(lap(40_000));
    let batch = Batch {
        begun_ns: 0,
        ended_ns: 99_000,
        counted: 5,
        laps: [10_000, 40_000].map(stops).to_vec(),
        switches: switches.map(switch).collect(),
    };
    Trace {
        schema_version: SCHEMA_VERSION.to_owned(),
        whole_machine: true,
        lost_records: 0,
        batches: vec![batch],
        names: [(99, "hog".to_owned())].into(),
    }
}

/// A trace of which records were lost.
fn lossy() -> Trace {
    Trace { lost_records: 1, ..trace() }
}

/// A trace without the switches that the kernel counted.
fn without_switches() -> Trace {
    let mut lacks = trace();
    lacks.batches[0].switches.clear();
    lacks
}

/// A bench whose program writes this trace.
fn tracing(trace: &Trace) -> Bench {
    tracing_in_turn(slice::from_ref(trace))
}

/// A bench whose program writes the first of these traces, the next time the second, and so on; when none
/// is left, the last one again.
fn tracing_in_turn(traces: &[Trace]) -> Bench {
    let script = r#"
        while [ $# -gt 0 ]; do [ "$1" = --trace ] && file=$2; shift; done
        if [ "$file" ]; then
            set -- "${0%/*}"/*.trace
            cat "$1" > "$file"
            [ $# = 1 ] || rm "$1"
        fi"#;
    let bench = Bench::new(&["a"], &format!("{script}\necho '{RECORD}'"));
    for (turn, trace) in traces.iter().enumerate() {
        let text = serde_json::to_string(trace).unwrap();
        fs::write(bench.path(&format!("{turn}.trace")), text).unwrap();
    }
    bench
}

/// What is written to `file` by this flag.
fn written(trace: &Trace, flag: &str) -> Vec<u8> {
    let bench = tracing(trace);
    assert_eq!(bench.ends(&["trace", "a", flag, "file"]).code, Some(0));
    fs::read(bench.path("file")).unwrap()
}

#[test]
fn the_page_and_the_picture_have_the_parts_of_a_hop() {
    insta::assert_snapshot!(tracing(&trace()).ends(&["trace", "a"]).stdout, @"
    50 % of a hop is waiting for a sleeping CPU to wake up. Tracing makes a hop take
    10.0 µs instead of 75.0 ns.

    a: 4 hops in 2 laps
    Traced, half of the hops take less than 10.0 µs, one in a hundred more than
    10.0 µs. 100 % go to another CPU. The kernel counted 5 switches, 1.25 per hop;
    each was recorded.

    part of a hop                                p50     p99 share
    sender's call, the receiver's CPU asleep 2.00 µs 2.00 µs  20 %
    gap: the CPU switches threads            10.5 ns 21.9 ns   0 %
    gap: CPU asleep and waking               6.00 µs 6.96 µs  50 %
    gap: queued behind another task                0 5.82 µs  15 %
    receiver on CPU, until its call returns  1.49 µs 2.00 µs  15 %

    The worst hops
    - 10.0 µs from driver on CPU 0 to task 0 on CPU 1: 2.00 µs of it receiver on
      CPU, until its call returns, CPU 1
    - 10.0 µs from task 0 on CPU 1 to driver on CPU 0: 8.99 µs of it gap: CPU asleep
      and waking, CPU 0
    - 10.0 µs from driver on CPU 0 to task 0 on CPU 1: 2.00 µs of it receiver on
      CPU, until its call returns, CPU 1
    - 10.0 µs from task 0 on CPU 1 to driver on CPU 0: 6.00 µs of it gap: queued
      behind another task (hog), CPU 0
    ");
    let mut locked = trace();
    // A task that releases a lock notes it without its name, which is still that of its thread.
    for stops in &mut locked.batches[0].laps {
        stops.insert(2, Stop { task: None, at_ns: stops[1].at_ns + 1_000, ..stops[1] });
    }
    let picture = String::from_utf8(written(&locked, "--svg")).unwrap();
    let axis = "15\u{a0}µs</text>";
    let facts = ["<svg xmlns=", "CPU 1", "the token", "6.00 µs", "<title>task 0,", "cell h1", axis];
    for fact in facts {
        assert!(picture.contains(fact), "{fact}: {picture}");
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    let bench = tracing(&trace());
    fs::write(bench.path("precious"), "precious").unwrap();
    symlink(bench.path("precious"), bench.path("file")).unwrap();
    for flag in ["--svg", "--events"] {
        let ended = bench.ends(&["trace", "a", flag, "file"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("writing file"), "{ended:?}");
        assert_eq!(fs::read_to_string(bench.path("precious")).unwrap(), "precious");
    }
}

/// What the description of the Trace Event Format demands.
#[test]
fn events_keep_to_the_trace_event_format() {
    let events: Value = serde_json::from_slice(&written(&trace(), "--events")).unwrap();
    let events = events["traceEvents"].as_array().unwrap();
    for event in events {
        let needs: &[&str] = match event["ph"].as_str().unwrap() {
            "X" => &["ts", "dur"],
            "s" | "f" => &["ts", "id", "cat"],
            "M" => &["args"],
            kind => panic!("{kind}"),
        };
        let has = |field: &&str| event.get(*field).is_some();
        assert!(["name", "pid", "tid"].iter().chain(needs).all(has), "{event}");
        let is_positive = |time: &Value| time.as_f64().is_some_and(|number| number >= 0.0);
        assert!(["ts", "dur"].iter().filter_map(|key| event.get(key)).all(is_positive), "{event}");
    }
    let ids = |kind: &str| {
        let of_kind = events.iter().filter(|event| event["ph"] == kind);
        of_kind.map(|event| event["id"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((ids("s").len(), ids("s")), (4, ids("f")), "every flow that starts ends");
    let lap = |name: &str| events.iter().find(|event| event["name"] == name).unwrap();
    assert_eq!((&lap("lap 0")["dur"], &lap("lap 1")["ts"]), (&20.0.into(), &40.0.into()));
}

#[test]
fn a_refusal_is_a_limit_and_a_trace_that_lacks_a_switch_or_all_laps_fails() {
    let bench = Bench::new(&["a"], "echo 'fake: --trace: denied; allow it' >&2; exit 3");
    let ended = bench.ends(&["trace", "a"]);
    assert!(ended.code == Some(3) && ended.stderr.contains("allow it"), "{ended:?}");
    for broken in [Trace { batches: Vec::new(), ..trace() }, lossy(), without_switches()] {
        let ended = tracing(&broken).ends(&["trace", "a"]);
        assert_eq!((ended.code, &*ended.stdout), (Some(1), ""), "{ended:?}");
    }
}

#[test]
fn a_trace_that_lacks_something_is_taken_again() {
    let whole = tracing(&trace()).ends(&["trace", "a"]);
    let bench = tracing_in_turn(&[lossy(), without_switches(), trace()]);
    let ended = bench.ends(&["trace", "a"]);
    assert_eq!((ended.code, ended.stdout), (Some(0), whole.stdout), "{}", ended.stderr);
    assert!(!bench.path("1.trace").exists(), "both were read");
}

/// A lap with more switches than a ring buffer of an ordinary user has room for.
#[test]
fn records_that_the_kernel_loses_are_counted() {
    let setting = fs::read_to_string("/proc/sys/kernel/perf_event_mlock_kb").unwrap_or_default();
    let cpus = sysconf(SysconfVar::_NPROCESSORS_ONLN).unwrap().unwrap();
    let all_kib = setting.trim().parse::<i64>().map(|kib| kib * cpus);
    if !all_kib.is_ok_and(|kib| (0..4096).contains(&kib)) {
        return contract::skip("lost records of a trace", "a user may lock 4 MiB for them here");
    }
    let mut user = vec!["prlimit", "--memlock=0"];
    if geteuid().is_root() {
        user.extend(AS_NOBODY);
    }
    let words = "thread-brigade --placement same-cpu --tasks 8000 --max-time 0.05 --trace trace";
    if let Some((ended, home)) = ended_as(&user, &words.split(' ').collect::<Vec<_>>()) {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let trace = json_in(home.path().join("trace"));
        assert!(trace["lost_records"].as_u64() > Some(0));
    }
}

/// How `brigade` with these arguments ended as the user that these words turn into, and the folder it
/// ran in; `None` if that is impossible here.
fn ended_as(user: &[&str], arguments: &[&str]) -> Option<(Ended, TempDir)> {
    if user.contains(&AS_NOBODY[0]) && !geteuid().is_root() {
        contract::skip("a trace as another user", "needs root");
        return None;
    }
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), Permissions::from_mode(0o777)).unwrap();
    let brigade = home.path().join("brigade");
    contract::executable::copy(Path::new(env!("CARGO_BIN_EXE_brigade")), &brigade);
    let words = [user, &[brigade.to_str().unwrap()], arguments].concat();
    let mut command = contract::command(words[0]);
    command.args(&words[1..]).current_dir(&home);
    command.env("XDG_CACHE_HOME", home.path().join("cache"));
    command.env("BRIGADE_LOCK", home.path().join("lock"));
    let ended = Ended::from(command);
    if ended.code == Some(3) {
        contract::skip(&format!("brigade {arguments:?}"), ended.stderr.trim());
        return None;
    }
    Some((ended, home))
}

#[test]
fn of_tasks_in_one_thread_there_is_no_switch_to_see() {
    let stop =
        |task: u32| Stop { task: Some(task), tid: 1, cpu: 0, at_ns: 1000 + 100 * u64::from(task) };
    let batch = Batch {
        begun_ns: 0,
        ended_ns: 1_000_000,
        counted: 0,
        laps: vec![vec![stop(0), stop(1), stop(2)]],
        switches: Vec::new(),
    };
    let trace = Trace { batches: vec![batch], ..trace() };
    let page = tracing(&trace).ends(&["trace", "a"]).stdout;
    // As long as in a process that does not trace.
    insta::assert_snapshot!(page, @"
    No switch to see: 75.0 ns a hop, all of it in one thread's own code. perf shows
    which: perf record -g -- brigade a

    a: 2 hops in 1 lap
    Traced, half of the hops take less than 100 ns, one in a hundred more than
    100 ns. 0 % go to another CPU. The kernel counted 0 switches, 0 per hop; each
    was recorded.

    part of a hop                          p50    p99 share
    one thread on CPU, without a switch 100 ns 100 ns 100 %

    The worst hops
    - 100 ns from task 0 on CPU 0 to task 1 on CPU 0: 100 ns of it one thread on
      CPU, without a switch, CPU 0
    - 100 ns from task 1 on CPU 0 to task 2 on CPU 0: 100 ns of it one thread on
      CPU, without a switch, CPU 0
    ");
}

/// In a trace of this machine the parts of every lap add up to it, for root and for an ordinary user.
#[test]
fn parts_add_up_to_each_lap() {
    for case in CASES {
        for user in [&[][..], &AS_NOBODY] {
            if let Some((ended, home)) =
                ended_as(user, &["trace", case, "--events", "events", "--manifest", SUITE])
            {
                assert_eq!(ended.code, Some(0), "{case}: {ended:?}");
                check(case, &json_in(home.path().join("events")));
            }
        }
    }
}

/// Nothing is measured.
#[test]
fn what_has_no_hops_to_trace_is_a_usage_error() {
    for case in ["wake-latency", "thread-brigade --kind process", "python-brigade"] {
        let bench = Bench::new(&["a"], "");
        let ended = bench.ends(&["trace", case, "--manifest", SUITE]);
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{case}: {ended:?}");
    }
}

fn check(case: &str, trace: &Value) {
    let slices = || trace["traceEvents"].as_array().unwrap().iter().filter(|one| one["ph"] == "X");
    let number = |event: &Value, field: &str| event[field].as_f64().unwrap();
    let is_lap = |event: &Value| event["name"].as_str().unwrap().starts_with("lap ");
    let laps: Vec<&Value> = slices().filter(|event| is_lap(event)).collect();
    assert!(laps.len() > 1, "{case}");
    let mut sums = vec![0.0; laps.len()];
    for part in slices().filter(|event| event["tid"] == 0 && !is_lap(event)) {
        let middle = number(part, "ts") + number(part, "dur") / 2.0;
        let begun = laps.partition_point(|lap| number(lap, "ts") <= middle);
        sums[begun - 1] += number(part, "dur");
    }
    for (lap, sum) in laps.iter().zip(sums) {
        let whole = number(lap, "dur");
        assert!((sum - whole).abs() <= 0.01 * whole, "{case}: {sum} of {whole} µs");
    }
}
