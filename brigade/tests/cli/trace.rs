//! `brigade trace` from a trace that a script writes: the page, the picture and the events.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use harness::trace::{RecordedSpan, SCHEMA_VERSION, Stop, Switch, Trace, TracedLap, Way};
use serde_json::{Value, json};

use crate::bench::{Bench, Ended, RECORD, json_in};

/// Cases whose tasks are threads, async tasks and goroutines.
const CASES: [&str; 6] = [
    "thread-brigade --placement same-cpu",
    "thread-brigade",
    "thread-brigade --placement spread",
    "thread-switch --via futex --placement same-cpu",
    "async-brigade",
    "goroutine-brigade",
];
/// Wake-ups on a CPU that four hogs use, most of whatever runs there.
const LATE: &str = "[programs.wake-latency]
[[group]]
name = 'late'
question = 'Who is in the way?'
cases = ['wake-latency --hogs 4 --max-time 0.4 --placement same-cpu']
";
/// Another program that starts one as a user who owns nothing.
const AS_NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// Two laps from the driver on CPU 0 to task 0 on CPU 1 and back, of 20 µs each, in which
/// CPU 1 sleeps. At the end of the second a program called `hog` keeps the driver waiting.
fn trace() -> Trace {
    use Way::{In, Out, Preempted};
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
        TracedLap { stops: vec![sent, stop(Some(0), 2, 1, at + 10_000), back] }
    };
    let before = [(900, 1, 2, Out), (901, 1, 0, In)];
    let switches = before.into_iter().chain(lap(10_000)).chain(lap(40_000));
    Trace {
        schema_version: SCHEMA_VERSION.to_owned(),
        pid: 1,
        whole_machine: true,
        laps: [10_000, 40_000].map(stops).to_vec(),
        spans: vec![RecordedSpan {
            begun_ns: 0,
            ended_ns: 99_000,
            counted: 5,
            cpu_ns: None,
            throttled: None,
        }],
        switches: switches.map(switch).collect(),
        names: [(99, "hog".to_owned())].into(),
        stops: Vec::new(),
    }
}

/// A bench whose program writes this trace.
fn tracing(trace: &Trace) -> Bench {
    let script = format!(
        "while [ $# -gt 0 ]; do [ \"$1\" = --trace ] && cat > \"$2\" <<'END'\n{}\nEND\nshift\ndone\n\
         echo '{RECORD}'",
        serde_json::to_string(trace).unwrap()
    );
    Bench::new(&["a"], &script)
}

fn traced() -> Bench {
    tracing(&trace())
}

/// Copies the binary in a process of its own. A test that forks while this one writes keeps the
/// file open, and it could not be started.
fn copy_brigade(to: &Path) {
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_brigade")).arg(to).status();
    assert!(copied.unwrap().success());
}

#[test]
fn the_page_has_the_parts_of_a_hop_a_timeline_and_the_worst_hops() {
    let ended = traced().ends(&["trace", "a"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let page = &ended.stdout;
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    for words in [
        "a: 4 hops in 2 laps",
        "5 switches were recorded and 5 counted by the kernel, 1.25 per hop",
        "gap: CPU asleep and waking",
        "gap: queued behind another task",
        "(hog), CPU 0",
        "CPU 0  ",
        "token  |^",
    ] {
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(&words), "{words}: {page}");
    }
}

/// A task that releases a lock notes it without its name, which is still that of its thread.
#[test]
fn a_thread_has_its_tasks_name_after_a_release() {
    let mut locked = trace();
    for TracedLap { stops } in &mut locked.laps {
        let release = Stop { task: None, at_ns: stops[1].at_ns + 1_000, ..stops[1] };
        stops.insert(2, release);
    }
    let ended = tracing(&locked).ends(&["trace", "a"]);
    let legend = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(legend.contains("a driver; b task 0;"), "{ended:?}");
}

#[test]
fn the_picture_is_one_file_of_svg() {
    let bench = traced();
    assert_eq!(bench.ends(&["trace", "a", "--svg", "lap.svg"]).code, Some(0));
    let picture = fs::read_to_string(bench.path("lap.svg")).unwrap();
    assert!(picture.starts_with("<svg xmlns=") && picture.trim_end().ends_with("</svg>"));
    for words in [
        "CPU 0",
        "CPU 1",
        "the token",
        "asleep and waking, 6.00 µs",
        "class=\"cell h1\"",
        "(hog), CPU 0",
    ] {
        assert!(picture.contains(words), "{words}: {picture}");
    }
}

/// As `/dev/null` is not.
#[test]
fn a_pipe_is_written_to_and_not_replaced_by_a_file() {
    let bench = traced();
    let path = bench.path("pipe");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // Open for both, so that nobody waits for the other end.
    let mut pipe = fs::File::options().read(true).write(true).open(&path).unwrap();
    for flag in ["--svg", "--events"] {
        assert_eq!(bench.ends(&["trace", "a", flag, "pipe"]).code, Some(0));
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo(), "{flag}");
        assert_eq!(bench.ends(&["trace", "a", flag, "file"]).code, Some(0));
        let mut text = vec![0; fs::metadata(bench.path("file")).unwrap().len() as usize];
        pipe.read_exact(&mut text).unwrap();
        assert_eq!(text, fs::read(bench.path("file")).unwrap(), "{flag}");
    }
}

/// What the description of the Trace Event Format demands of the events that are written.
fn event_schema() -> Value {
    let of = |kinds: &[&str], fields: &[&str]| {
        json!({
            "if": { "properties": { "ph": { "enum": kinds } } },
            "then": { "required": fields },
        })
    };
    let number = json!({ "type": "number", "minimum": 0 });
    json!({
        "type": "object",
        "required": ["traceEvents"],
        "properties": {
            "displayTimeUnit": { "enum": ["ms", "ns"] },
            "traceEvents": { "type": "array", "minItems": 1, "items": {
                "type": "object",
                "required": ["name", "ph", "pid", "tid"],
                "properties": {
                    "name": { "type": "string" },
                    "ph": { "enum": ["X", "M", "s", "f"] },
                    "pid": { "type": "integer" },
                    "tid": { "type": "integer" },
                    "ts": number,
                    "dur": number,
                    "bp": { "const": "e" },
                },
                "allOf": [
                    of(&["X"], &["ts", "dur"]),
                    of(&["s", "f"], &["ts", "id", "cat"]),
                    of(&["M"], &["args"]),
                ],
            } },
        },
    })
}

#[test]
fn events_keep_to_the_trace_event_format() {
    let bench = traced();
    assert_eq!(bench.ends(&["trace", "a", "--events", "events.json"]).code, Some(0));
    let written = json_in(bench.path("events.json"));
    let schema = jsonschema::validator_for(&event_schema()).unwrap();
    let wrong: Vec<String> = schema.iter_errors(&written).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let of = |kind: &str| {
        let events = written["traceEvents"].as_array().unwrap().iter();
        events.filter(|event| event["ph"] == kind).cloned().collect::<Vec<_>>()
    };
    let ids =
        |kind: &str| of(kind).iter().map(|event| event["id"].as_u64()).collect::<BTreeSet<_>>();
    assert_eq!((ids("s").len(), ids("s")), (4, ids("f")), "every flow that starts ends");
    let lap = |name: &str| of("X").into_iter().find(|event| event["name"] == name).unwrap();
    assert_eq!((&lap("lap 0")["dur"], &lap("lap 1")["ts"]), (&json!(20.0), &json!(30.0)));
    let mut broken = written.clone();
    broken["traceEvents"][0]["ph"] = json!("Z");
    assert!(!schema.is_valid(&broken));
}

#[test]
fn a_kernel_that_refuses_is_a_reason_to_skip() {
    let bench = Bench::new(&["a"], "echo 'fake: --trace: denied; allow it' >&2; exit 3");
    let ended = bench.ends(&["trace", "a"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.starts_with("a: skipped: ") && ended.stdout.contains("allow it"));
}

#[test]
fn a_trace_that_does_not_fit_together_fails() {
    let broken = Trace { spans: Vec::new(), ..trace() };
    let ended = tracing(&broken).ends(&["trace", "a"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("lap 0 of the trace lies outside its recorded spans"),
        "{ended:?}"
    );
}

/// In a trace of this machine the parts of every lap add up to it, and every switch that the
/// kernel counts is among the records, for root and for an ordinary user.
#[test]
fn parts_add_up_to_each_lap_and_records_to_what_the_kernel_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    copy_brigade(&path("brigade"));
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suite.toml").canonicalize().unwrap();
    for under in [&[][..], &AS_NOBODY] {
        if !under.is_empty() && !nix::unistd::geteuid().is_root() {
            contract::skip("brigade trace as another user", "needs root");
            continue;
        }
        for case in CASES {
            let home = path(if under.is_empty() { "own" } else { "other" });
            fs::create_dir_all(&home).unwrap();
            fs::set_permissions(&home, Permissions::from_mode(0o777)).unwrap();
            let brigade = path("brigade");
            let words = [under, &[brigade.to_str().unwrap(), "trace", case]].concat();
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).arg("--manifest").arg(&suite).args(["--events", "events"]);
            command.current_dir(&home).envs(["HOME", "XDG_CACHE_HOME"].map(|name| (name, &home)));
            command.env("BRIGADE_LOCK", home.join("lock"));
            // A machine that stops the program for long loses records, which is refused.
            let mut ended = (0..3).map(|_| Ended::from(command.output().unwrap()));
            let ended = ended.find(|ended| !ended.stderr.contains("records were lost")).unwrap();
            if ended.code == Some(3) {
                contract::skip(&format!("brigade trace {case}"), ended.stdout.trim());
                continue;
            }
            assert_eq!(ended.code, Some(0), "{case}: {ended:?}");
            check(case, &ended.stdout, &json_in(home.join("events")));
        }
    }
}

/// The worst wake-ups next to a hog name it, for an ordinary user too: the program started it. On a
/// busy machine those of one trace may all have waited for others.
#[test]
fn late_wake_ups_are_blamed_on_the_hog() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let brigade = folder.path().join("brigade");
    copy_brigade(&brigade);
    let manifest = folder.path().join("suite.toml");
    fs::write(&manifest, LATE).unwrap();
    for under in [&[][..], &AS_NOBODY] {
        if !under.is_empty() && !nix::unistd::geteuid().is_root() {
            contract::skip("brigade trace as another user", "needs root");
            continue;
        }
        let words = [under, &[brigade.to_str().unwrap(), "trace", "late"]].concat();
        let names_hog = |_| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).arg("--manifest").arg(&manifest);
            command.current_dir(&folder).env("HOME", folder.path());
            command.env("BRIGADE_LOCK", folder.path().join(format!("lock{}", under.len())));
            let ended = Ended::from(command.output().unwrap());
            if ended.code == Some(3) {
                contract::skip("brigade trace of wake-ups", ended.stdout.trim());
                return true;
            }
            assert_eq!(ended.code, Some(0), "{ended:?}");
            let page = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            let (_, worst) = page.split_once("The worst wake-ups ").unwrap();
            assert_eq!(worst.split("- ").filter(|item| item.contains(" until task ")).count(), 10);
            worst.split(['(', ')', ',']).any(|name| name.trim() == "hog")
        };
        assert!((0..10).any(names_hog), "{words:?}");
    }
}

fn check(case: &str, page: &str, events: &Value) {
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, rest) = page.split_once(" switches were recorded and ").unwrap();
    let recorded = before.rsplit(' ').next().unwrap();
    let counted = rest.split(' ').next().unwrap();
    assert_eq!(recorded, counted, "{case}: {page}");
    let slices = || events["traceEvents"].as_array().unwrap().iter().filter(|of| of["ph"] == "X");
    let number = |of: &Value, field: &str| of[field].as_f64().unwrap();
    let is_lap = |of: &Value| of["name"].as_str().unwrap().starts_with("lap ");
    let laps: Vec<&Value> = slices().filter(|of| is_lap(of)).collect();
    assert!(laps.len() > 1, "{case}");
    let mut sums = vec![0.0; laps.len()];
    for part in slices().filter(|of| of["tid"] == 0 && !is_lap(of)) {
        let middle = number(part, "ts") + number(part, "dur") / 2.0;
        let begun = laps.partition_point(|lap| number(lap, "ts") <= middle);
        sums[begun - 1] += number(part, "dur");
    }
    for (lap, sum) in laps.iter().zip(sums) {
        let whole = number(lap, "dur");
        assert!((sum - whole).abs() <= 0.01 * whole, "{case}: {sum} of {whole} µs");
    }
}
