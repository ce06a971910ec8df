//! What a run inherits is recorded, compared, and never guessed: each test starts `brigade` under
//! something unusual.

use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

use contract::control_group::{ControlGroup, UNMOUNT};
use contract::invocation::deny;
use harness::cpus;
use harness::record::{Ending, Record};
use serde_json::{Value, json};

use crate::bench::{Bench, Ended, RECORD, changed, end_of, eventually, json_in};
use crate::compare::compared;

/// A brigade of threads that is over soon.
const SHORT: &str = "thread-brigade --tasks 3 --iters 10 --json";

/// Whether a shell script that ends with `exec "$@"` works here, for this user.
fn can(script: &str) -> bool {
    contract::can("inheritance", contract::command("sh").args(["-c", script, "sh", "true"]))
}

/// `brigade` with these words, started by a script.
fn run_under(script: &str, words: &str) -> Ended {
    // A job in the background ignores SIGINT.
    let mut command = contract::command("env");
    command.args(["--default-signal", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_brigade")]);
    command.args(words.split(' '));
    Ended::from(command)
}

fn record(ended: &Ended) -> Record {
    Record::parse(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[test]
fn a_record_has_what_its_process_inherited() {
    for (script, name, value) in [
        ("exec nice -n 19", "scheduling.nice", "19"),
        ("exec chrt -b 0", "scheduling.policy", "batch"),
        ("exec chrt -f 10", "scheduling.priority", "fifo 10"),
        ("exec chrt -R -f 10", "scheduling.reset_on_fork", "yes"),
        ("echo 5000000 >/proc/$$/timerslack_ns && exec", "scheduling.timer_slack_ns", "5000000"),
        ("exec setarch -R", "process.personality", "40000"),
        ("exec setpriv --no-new-privs", "process.no_new_privileges", "1"),
        ("echo 500 >/proc/$$/oom_score_adj && exec", "process.oom_score_adj", "500"),
        ("exec taskset -c 0", "process.allowed_cpus", "0"),
        (
            "exec env --ignore-signal=CHLD --ignore-signal=ALRM",
            "process.ignored_signals",
            "SIGALRM, SIGCHLD",
        ),
        ("exec env --block-signal=TERM", "process.blocked_signals", "SIGTERM"),
        ("exec prlimit --data=4294967296", "limits.data_size.soft", "4294967296"),
        ("exec prlimit --sigpending=77:77", "limits.pending_signals.hard", "77"),
        ("exec unshare -pf --mount-proc", "process.namespaces", "pid"),
        ("exec unshare -T --monotonic 100000 --", "process.namespaces", "time"),
        ("exec env TOKIO_WORKER_THREADS=1", "variables.TOKIO_WORKER_THREADS", "1"),
        ("exec env GODEBUG=asyncpreemptoff=1", "variables.GODEBUG", "asyncpreemptoff=1"),
    ] {
        let script = format!("{script} \"$@\"");
        if can(&script) {
            let record = record(&run_under(&script, SHORT));
            assert_eq!(record.inherited.get(name).map(String::as_str), Some(value), "{script}");
        }
    }
    let secret =
        r#"exec env JAVA_TOOL_OPTIONS=-Duser.home=/home/alice LD_LIBRARY_PATH=/alice "$@""#;
    let ended = run_under(secret, SHORT);
    assert!(record(&ended).inherited.contains_key("variables.LD_LIBRARY_PATH"));
    assert!(!ended.stdout.contains("alice"), "{}", ended.stdout);
}

#[test]
fn folders_of_libraries_that_cargo_run_adds_are_not_inherited() {
    let folders = |variables: &str| {
        let ended = run_under(&format!("exec env {variables} \"$@\""), SHORT);
        record(&ended).inherited.get("variables.LD_LIBRARY_PATH").cloned()
    };
    // A toolchain that another one links to.
    let toolchains = tempfile::tempdir().expect("a folder");
    let [real, link] = ["real", "link"].map(|name| toolchains.path().join(name));
    fs::create_dir_all(real.join("lib/x")).expect("create a toolchain");
    symlink(&real, &link).expect("link to it");
    let real = real.display();
    let link = link.display();
    let cargo = format!("CARGO={real}/bin/cargo LD_LIBRARY_PATH=${{1%/*}}/deps:{link}/lib");
    assert_eq!(folders(&cargo), None);
    let given = folders("-u CARGO LD_LIBRARY_PATH=/given");
    assert!(given.is_some());
    assert_eq!(folders(&format!("{cargo}/x:/given")), given);
    assert_ne!(folders(&format!("{cargo}x:/given")), given, "another folder of libraries");
}

#[test]
fn what_a_filter_forbids_to_ask_is_unknown() {
    for (call, name) in [
        (libc::SYS_personality, "process.personality"),
        (libc::SYS_get_mempolicy, "process.memory_policy"),
        (libc::SYS_sched_getattr, "scheduling.policy"),
    ] {
        let mut command = contract::command(env!("CARGO_BIN_EXE_brigade"));
        command.args(SHORT.split(' '));
        // SAFETY: it makes two system calls.
        unsafe { command.pre_exec(move || deny(call)) };
        let record = record(&Ended::from(command));
        assert_eq!(record.inherited.get(name), None, "{:?}", record.inherited);
    }
}

/// gVisor counts no switches of threads that sleep, and refuses some settings.
#[test]
fn in_a_sandbox_programs_measure_and_what_it_lacks_is_unknown() {
    const SANDBOX: &str = "exec runsc --network=none --platform=ptrace --ignore-cgroups --rootless \
                           do \"$@\"";
    if !can(SANDBOX) {
        return;
    }
    for words in ["lock-hand-over", "wake-latency", "echo-server --tasks 2", "thread-switch"] {
        let ended = run_under(SANDBOX, &format!("{words} --iters 20 --warmups 0 --json --quiet"));
        let record = record(&ended);
        assert!(record.complete, "{ended:?}");
        assert_eq!(record.switches.map(|counts| counts.voluntary_per_operation), None, "{words}");
        assert_ne!(record.inherited.get("net.loopback_mtu").map(|mtu| &**mtu), Some("0"));
    }
}

/// In network namespaces of their own, with other settings.
#[test]
fn servers_over_tcp_record_the_settings_of_their_network() {
    const SERVER: &str = "echo-server --tasks 3 --iters 2 --json";
    // With a namespace of users, so that anybody may; only root may steer packets.
    for (namespaces, change, name, value) in [
        ("-rn", "true", "net.loopback_mtu", "65536"),
        ("-rn", "ip link set lo mtu 1500", "net.loopback_mtu", "1500"),
        (
            "-rn",
            "echo reno >/proc/sys/net/ipv4/tcp_congestion_control",
            "net.congestion_control",
            "reno",
        ),
        (
            "-rn",
            "echo 4096 20000 30000 >/proc/sys/net/ipv4/tcp_rmem",
            "net.receive_buffer_bytes",
            "20000",
        ),
        ("-rn", "tc qdisc add dev lo root pfifo", "net.loopback_qdisc", "pfifo"),
        (
            "-nm",
            "mount -t sysfs sysfs /sys && echo 1 >/sys/class/net/lo/queues/rx-0/rps_cpus",
            "net.loopback_receive_cpus",
            "0",
        ),
    ] {
        let inside = format!("ip link set lo up && {change} && exec \"$@\"");
        let script = format!("exec unshare {namespaces} sh -c '{inside}' sh \"$@\"");
        if can(&script) {
            let record = record(&run_under(&script, SERVER));
            assert_eq!(record.inherited.get(name).map(String::as_str), Some(value), "{script}");
        }
    }
    let unix = record(&run_under("exec \"$@\"", &format!("{SERVER} --channel unix")));
    assert!(!unix.inherited.keys().any(|name| name.starts_with("net.")), "{unix:?}");
}

#[test]
fn settings_of_the_network_are_compared_if_both_runs_have_servers() {
    let bench = Bench::new(&["a"], "cat record");
    let with = |facts: &str| {
        let inherited = format!("\"inherited\":{{\"scheduling.timer_slack_ns\":\"50000\"{facts}}}");
        changed(&[("\"inherited\":{}", &inherited)])
    };
    for (name, facts) in [
        ("0", ""),
        ("1", ",\"net.congestion_control\":\"cubic\""),
        ("2", ",\"net.congestion_control\":\"reno\""),
    ] {
        fs::write(bench.path("record"), with(facts)).expect("write the record");
        let ended = bench.ends(&["run", "--name", name]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let folders = bench.result_folders();
    // What is unusual is named.
    for (folder, is_unusual) in folders.iter().zip([false, false, true]) {
        for format in ["text", "markdown", "html"] {
            let report = ["report", folder.to_str().expect("UTF-8"), "--format", format];
            let shown = bench.ends(&report).stdout;
            assert_eq!(shown.contains("congestion control reno"), is_unusual, "{shown}");
        }
    }
    let differences = |first: usize, second: usize| {
        let runs = [first, second].map(|run| folders[run].to_str().expect("UTF-8"));
        compared(&bench, &runs)["environment_differences"].take()
    };
    let changed = json!([{ "name": "net.congestion_control", "values": ["cubic", "reno"] }]);
    assert_eq!((differences(1, 2), differences(0, 2)), (changed, json!([])));
}

/// Lets a command run with a time slice, if the kernel has such (Linux 6.12).
fn with_slice(mut command: Command, ns: u64) -> Command {
    let set = move || {
        let mut slice = libc::sched_attr {
            size: 48,
            sched_policy: 0,
            sched_flags: 0,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: ns,
            sched_deadline: 0,
            sched_period: 0,
        };
        let pointer = &raw mut slice;
        // SAFETY: the kernel reads and writes 48 bytes of the structure.
        let results = unsafe {
            let set = libc::syscall(libc::SYS_sched_setattr, 0, pointer, 0);
            [set, libc::syscall(libc::SYS_sched_getattr, 0, pointer, 48, 0)]
        };
        let is_set = results == [0, 0] && slice.sched_runtime == ns;
        if is_set { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    };
    // SAFETY: it makes two system calls.
    unsafe { command.pre_exec(set) };
    command
}

#[test]
fn a_time_slice_that_was_set_is_recorded_and_compared() {
    const NS: [u64; 2] = [100_000, 100_000_000];
    if let Err(error) = with_slice(contract::command("true"), NS[0]).status() {
        return contract::skip("a time slice", &error.to_string());
    }
    let bench = Bench::printing(RECORD);
    for ns in NS {
        let mut command = with_slice(contract::command(env!("CARGO_BIN_EXE_brigade")), ns);
        command.args(SHORT.split(' '));
        let record = record(&Ended::from(command));
        assert_eq!(record.inherited["scheduling.slice_ns"], ns.to_string());
        let run = ["run", "--name", &ns.to_string()];
        let ended = Ended::from(with_slice(bench.brigade_under(&["env"], &run), ns));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let folders = bench.result_folders();
    let [first, second] = [0, 1].map(|index| folders[index].to_str().unwrap());
    let ended = bench.ends(&["compare", first, second]);
    let difference = "\nThese runs differ in: scheduling.slice_ns: 100000 → 100000000";
    assert!(ended.stdout.contains(difference), "{ended:?}");
}

#[test]
fn threads_that_are_scheduled_otherwise_than_their_process_are_recorded() {
    let script = r#"exec chrt -R -f 10 "$@""#;
    if can(script) {
        let cpus = record(&run_under(script, SHORT)).cpus.expect("few threads");
        assert_eq!(cpus.policies, ["fifo 10", "other nice 0"]);
    }
}

#[test]
fn inherited_signals_and_limits_on_cpu_time_cost_no_record() {
    for script in ["exec env --ignore-signal=CHLD", "exec env --block-signal=CHLD"] {
        let script = format!("{script} \"$@\"");
        if can(&script) {
            let ended = run_under(&script, "process-creation --tasks 2 --iters 2 --json");
            assert_eq!(record(&ended).ended_by, Ending::Iterations);
        }
    }
    // Soft below hard, and equal, where the kernel would kill without a signal.
    for limit in ["1:4", "2:2"] {
        let words = "thread-brigade --tasks 3 --iters 1000000000 --max-time 60 --json";
        let ended = run_under(&format!("exec prlimit --cpu={limit} \"$@\""), words);
        assert_eq!(ended.code, Some(130), "{ended:?}");
        let record = record(&ended);
        assert_eq!((record.ended_by, record.complete), (Ending::Signal, false));
        let is_named = |text: &str| text.contains("RLIMIT_CPU");
        assert!(record.error.is_some_and(|error| is_named(&error)) && is_named(&ended.stderr));
    }
}

#[test]
fn a_limit_that_the_kernel_would_meet_is_refused_before_anything_is_created() {
    let deadline = "exec chrt -d --sched-runtime 5000000 --sched-deadline 10000000 \
                    --sched-period 10000000 0 \"$@\"";
    for (script, words, limit) in [
        ("exec prlimit --data=33554432 \"$@\"", "coroutine-brigade --tasks 100", "RLIMIT_DATA"),
        ("exec prlimit --as=335544320 \"$@\"", "thread-brigade --tasks 900", "RLIMIT_AS"),
        (deadline, SHORT, "the policy is deadline"),
        (deadline, "run thread-brigade --rounds 1", "the policy is deadline"),
    ] {
        if can(script) {
            let ended = run_under(script, words);
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), ""), "{ended:?}");
            assert!(ended.stderr.contains(limit), "{ended:?}");
        }
    }
}

/// The forecast for threads, as JSON.
fn threads(script: &str) -> Value {
    let ended = run_under(script, "limits --kind thread --json");
    serde_json::from_str::<Value>(&ended.stdout).unwrap()["kinds"][0].take()
}

#[test]
fn limits_that_cannot_be_read_are_unknown() {
    let hidden =
        r#"exec unshare -m sh -c 'mount -t proc -o subset=pid proc /proc && exec "$@"' sh "$@""#;
    if can(hidden) {
        let forecast = threads(hidden);
        let unknown = |name: &str| {
            let limits = forecast["limits"].as_array().unwrap();
            limits.iter().find(|limit| limit["name"] == name).unwrap()["unknown"].clone()
        };
        assert_eq!(forecast["at_most"], true);
        assert_eq!(unknown("vm.max_map_count"), "/proc/sys/vm/max_map_count");
        assert_eq!(unknown("kernel.pid_max"), "/proc/sys/kernel/pid_max");
        assert_eq!(run_under(hidden, SHORT).code, Some(0), "what is unknown refuses nothing");
    }
    let inside = r#"exec unshare -pf --mount-proc "$@""#;
    if can(inside) {
        assert_eq!(threads(inside)["at_most"], true);
    }
}

/// A limit of 60 threads that all or one of the hierarchies of control groups would show.
#[test]
fn what_hidden_control_groups_allow_is_unknown() {
    let group = match ControlGroup::with_most_threads(60) {
        Ok(group) => group,
        Err(why) => return contract::skip("limits of hidden control groups", &why),
    };
    for hide in [
        "mount -t tmpfs none /sys/fs/cgroup",
        UNMOUNT,
        "mount -t tmpfs none /sys/fs/cgroup/pids",
        "umount --lazy /sys/fs/cgroup/pids",
    ] {
        let script = group.entering_unseen(hide);
        if !can(&script) {
            continue;
        }
        let forecast = threads(&script);
        assert_eq!(forecast["at_most"], true, "{hide}: {forecast}");
        let text = run_under(&script, "limits --tasks 100").stdout;
        let row = text.lines().find(|line| line.starts_with("thread-tcp ")).expect("threads");
        assert_eq!(row.split_whitespace().nth(1), Some("unknown"), "{hide}: {text}");
        assert!(text.starts_with("BOTH MAY FIT, "), "{hide}: {text}");
    }
}

#[test]
fn a_trace_in_another_time_namespace_has_its_switches() {
    let script = r#"exec unshare -T --monotonic 100000 -- "$@""#;
    if !can(script) {
        return;
    }
    let mut command = contract::command("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_brigade"), "trace"]);
    command.arg("thread-brigade --placement same-cpu");
    let ended = Ended::from(command);
    match ended.code {
        Some(3) => contract::skip("a trace in a time namespace", &ended.stderr),
        code => assert_eq!(code, Some(0), "{ended:?}"),
    }
}

#[test]
fn runs_that_inherited_otherwise_are_not_alike() {
    let bench = Bench::printing(RECORD);
    assert_eq!(bench.ends(&["run"]).code, Some(0));
    let other = ["nice", "-n", "19", "env", "GODEBUG=asyncpreemptoff=1"];
    let ended = Ended::from(bench.brigade_under(&other, &["run", "--name", "zz"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let folders = bench.result_folders();
    let folders = [&folders[0], &folders[1]].map(|folder| folder.display().to_string());
    let comparison = compared(&bench, &[&folders[0], &folders[1]]);
    assert_eq!(comparison["no_verdict"], json!({ "few-earlier": 2 }));
    let differences = comparison["environment_differences"].as_array().unwrap();
    let changed = |name: &str| {
        let of_name = |difference: &&Value| difference["name"] == name;
        &differences.iter().find(of_name).unwrap()["values"]
    };
    assert_eq!(changed("scheduling.nice")[1], "19", "{differences:?}");
    assert_eq!(*changed("variables.GODEBUG"), json!([null, "asyncpreemptoff=1"]));

    let environment = json_in(format!("{}/environment.json", folders[1]));
    assert_eq!(environment["scheduling.nice"], "19");
    let advice = Ended::from(bench.brigade_under(&["nice", "-n", "19"], &["advise", "--json"]));
    let advice: Value = serde_json::from_str(&advice.stdout).unwrap();
    let report = report_in(&bench, &folders[1]);
    let of_report = report["run"]["inherited"].as_array().unwrap().iter();
    let of_report = of_report.map(|fact| &fact["unusual"]);
    let is_nice = |fact: &Value| fact["name"] == "scheduling.nice" && fact["now"] == "19";
    assert!(advice["inherited"].as_array().unwrap().iter().any(is_nice), "{advice}");
    assert!(of_report.into_iter().any(is_nice), "{report}");
}

#[test]
fn a_record_that_contradicts_its_placement_fails() {
    let both = (r#""affinity":[0]"#, r#""affinity":[0,1]"#);
    let cpus = |before: &str, after: &str, ran_on: &str| {
        format!(
            r#""cpus":{{"allowed_before":{before},"allowed_after":{after},"ran_on":{ran_on},"policies":[]}}"#
        )
    };
    let narrowed = cpus("[0,1]", "[0]", "[0]");
    let outside = cpus("[0,1]", "[0,1]", "[7]");
    let right = cpus("[0,1]", "[0,1]", "[0,1]");
    let [narrowed, outside, right] =
        [&narrowed, &outside, &right].map(|cpus| (r#""cpus":null"#, cpus.as_str()));
    let share = |json| (r#""cross_cpu_share":null"#, json);
    let none = share(r#""cross_cpu_share":0.0"#);
    let all = share(r#""cross_cpu_share":1.0"#);
    for (case, parts, outcome) in [
        ("a", vec![both, right], "measured"),
        ("a", vec![both, narrowed], "failed"),
        ("a", vec![both, outside], "failed"),
        ("a --placement spread", vec![both, all], "measured"),
        ("a --placement spread", vec![both, none], "failed"),
        ("a --placement same-cpu", vec![none], "measured"),
        ("a --placement same-cpu", vec![all], "failed"),
    ] {
        let script = format!("cat <<'END'\n{}\nEND", changed(&parts));
        let bench = Bench::new(&[case], &script);
        bench.ends(&["run", "--rounds", "1"]);
        let record = &bench.records()[0];
        assert_eq!(record["outcome"], outcome, "{case}: {parts:?}: {}", record["error"]);
    }
}

/// A program that measures, and inherited this text in its first runs and another one later; its
/// runs are counted.
fn changing(first_runs: u32, first: &str) -> String {
    let facts = r#""inherited":{"process.oom_score_adj":"'"$value"'"}"#;
    let record = changed(&[(r#""inherited":{}"#, facts)]);
    format!(
        "echo >>runs; [ $(wc -l <runs) -le {first_runs} ] && value={first} || value=777\n\
         echo '{record}'"
    )
}

/// The report of the run in a folder, as JSON.
fn report_in(bench: &Bench, folder: &str) -> Value {
    serde_json::from_str(&bench.ends(&["report", folder, "--format", "json"]).stdout).unwrap()
}

/// The report of the bench's only run, as JSON.
fn report_of(bench: &Bench) -> Value {
    report_in(bench, &bench.result_folders()[0].display().to_string())
}

/// How many processes of the first case have this outcome.
fn count(report: &Value, case: &str, outcome: &str) -> usize {
    let rows = report["groups"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["case"] == case).unwrap();
    let processes = row["processes"].as_array().unwrap();
    processes.iter().filter(|process| process["outcome"] == outcome).count()
}

/// What later processes inherit changes during the run.
#[test]
fn a_process_that_inherited_otherwise_than_the_first_is_not_used_but_named() {
    // As if a command around all programs had changed what they inherit.
    let bench = Bench::new(&["a"], &changing(3, "123"));
    let ended = bench.ends(&["run", "--rounds", "6"]);
    let report = report_of(&bench);
    let change = json!({ "name": "process.oom_score_adj", "values": ["123", "777"] });
    assert_eq!(report["run"]["inherited"][0]["changed"], change, "{ended:?} {report}");
    assert_eq!((count(&report, "a", "used"), count(&report, "a", "changed")), (3, 3), "{report}");
}

/// One case begins before the change, the other after it.
#[test]
fn what_the_run_inherited_is_the_reference_of_all_cases() {
    let bench = Bench::new(&["a", "b"], &changing(1, "$(cat /proc/self/oom_score_adj)"));
    let ended = bench.ends(&["run", "--rounds", "4"]);
    let report = report_of(&bench);
    let counts = |outcome| ["a", "b"].map(|case| count(&report, case, outcome));
    let mut used = counts("used");
    let mut changed = counts("changed");
    used.sort_unstable();
    changed.sort_unstable();
    assert_eq!((used, changed), ([0, 1], [3, 4]), "{ended:?} {report}");
    let change = &report["run"]["inherited"][0]["changed"];
    assert_eq!(change["values"][1], "777", "{report}");
}

/// One CPU is less capable than the others.
#[test]
fn kinds_of_cpus_are_recorded_and_named() {
    let [_, .., slow] = cpus::allowed().unwrap()[..] else {
        return contract::skip("kinds of CPUs", "there is one CPU");
    };
    let bench = Bench::printing(RECORD);
    let capacity = bench.path("capacity");
    fs::write(&capacity, "1\n").unwrap();
    let capacity = capacity.display();
    let file = format!("/sys/devices/system/cpu/cpu{slow}/cpu_capacity");
    let inside = format!("[ -e {file} ] && mount --bind {capacity} {file} && exec \"$@\"");
    let script = format!("exec unshare -rm sh -c '{inside}' sh \"$@\"");
    if !can(&script) {
        return;
    }
    let ended = Ended::from(bench.brigade_under(&["sh", "-c", &script, "sh"], &["run"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let facts = json_in(bench.result_folders()[0].join("environment.json"));
    assert!(facts["processor.kinds"].is_string(), "{facts}");
    let inherited = report_of(&bench)["run"]["inherited"].take();
    assert_eq!(inherited[0]["unusual"]["name"], "processor.kinds", "{inherited}");
}

/// The kernel is of another architecture than the binary, as under qemu-user.
#[test]
fn an_emulated_run_is_named_and_answers_nothing() {
    let bench = Bench::printing(RECORD);
    let arch = bench.path("arch");
    fs::write(&arch, "other\n").unwrap();
    let script = format!(
        "exec unshare -rm sh -c 'mount --bind {} /proc/sys/kernel/arch && exec \"$@\"' sh \"$@\"",
        arch.display()
    );
    if !Path::new("/proc/sys/kernel/arch").exists() {
        return contract::skip("emulators", "this kernel does not name its architecture");
    }
    if !can(&script) {
        return;
    }
    let ended = run_under(&script, SHORT);
    let found = record(&ended);
    assert_eq!(found.inherited["processor.emulated_on"], "other", "{ended:?}");
    let emulator = ["sh", "-c", &script, "sh"];
    for words in [&emulator[..], &emulator, &["env"]] {
        let ended = Ended::from(bench.brigade_under(words, &["run", "--rounds", "3"]));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let is_emulated = ended.stdout.contains("EMULATED: ");
        assert_eq!(is_emulated, words[0] == "sh", "{ended:?}");
    }
    let folders = bench.result_folders();
    let (emulated, real): (Vec<&str>, Vec<&str>) = folders
        .iter()
        .map(|folder| folder.to_str().unwrap())
        .partition(|folder| folder.contains("emulated-"));
    let ([emulated, other], [real]) = (&emulated[..], &real[..]) else { panic!("{folders:?}") };
    let shown = bench.ends(&["report", emulated]);
    assert!(shown.stdout.contains("emulated on other"), "{shown:?}");
    for pair in [[emulated, real], [real, emulated], [emulated, other]] {
        let compared = bench.ends(&[&["compare"][..], &pair.map(|run| *run)].concat());
        let text = compared.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.starts_with("NO VERDICT: "), "{compared:?}");
        assert!(text.contains(" was EMULATED: ") && text.contains("a real machine"), "{text}");
    }
    let sides = ["compare", "--args", "", "--args", "", "--rounds", "6"];
    let ended = Ended::from(bench.brigade_under(&["sh", "-c", &script, "sh"], &sides));
    assert!(ended.stdout.starts_with("NO VERDICT: "), "{ended:?}");
}

#[test]
fn a_program_whose_cpus_change_in_the_middle_fails_and_is_not_complete() {
    let cpus = cpus::allowed().unwrap();
    let [first, _, ..] = cpus[..] else {
        return contract::skip("a change of CPUs", "there is one CPU");
    };
    let own = std::process::id().to_string();
    if !contract::can("a change of CPUs", contract::command("taskset").args(["-cp", &own])) {
        return;
    }
    let words = "thread-brigade --tasks 3 --iters 1000000000 --max-time 2 --json";
    let mut command = contract::command(env!("CARGO_BIN_EXE_brigade"));
    command.args(words.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = command.spawn().unwrap();
    let tasks = format!("/proc/{}/task", program.id());
    // The placement is chosen before the tasks are created.
    eventually("its tasks exist", || fs::read_dir(&tasks).is_ok_and(|all| all.count() > 3));
    let pid = program.id().to_string();
    let change = contract::command("taskset").args(["-acp", &first.to_string(), &pid]).output();
    assert!(change.unwrap().status.success());
    let ended = end_of(program);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let record = record(&ended);
    assert_eq!((record.ended_by, record.complete), (Ending::Error, false));
    assert!(record.error.is_some_and(|error| error.contains("CPUs")), "{ended:?}");
    assert!(ended.stderr.contains("CPUs that it may use changed"), "{ended:?}");
}
