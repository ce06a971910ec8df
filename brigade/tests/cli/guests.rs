//! Guests, programs in other languages: their output, the records that `brigade run` builds from
//! it, and its errors if one breaks the protocol. A guest whose language is not installed is
//! skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use contract::machine;
use harness::TaskKind;
use harness::cpus;
use harness::record::{Ending, Record};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::bench::{self, Bench, Ended, heed_interrupts};

const GO: &str = "goroutine-brigade";
const PYTHON_TASKS: &str = "python-tasks";
const JAVA: &str = "java-brigade";
const ASIO: &str = "asio-brigade";
const ERLANG: &str = "erlang-brigade";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the suite lies in the workspace")
}

/// Whether a tool can do this here, in a guest's folder.
fn can(tool: &str, arguments: &[&str], folder: &str) -> bool {
    contract::can(
        "guests",
        contract::command(tool).args(arguments).current_dir(root().join(folder)),
    )
}

/// The tables of all programs in `suite.toml`.
static PROGRAMS: LazyLock<toml::Table> = LazyLock::new(|| {
    let suite = fs::read_to_string(root().join("suite.toml")).expect("the suite");
    let suite: toml::Table = suite.parse().expect("TOML");
    suite["programs"].as_table().expect("tables").clone()
});

/// All guests that `suite.toml` lists.
fn guests() -> impl Iterator<Item = &'static str> {
    let prints_laps = |table: &toml::Value| table.get("form").is_some();
    PROGRAMS.iter().filter(move |(_, table)| prints_laps(table)).map(|(name, _)| name.as_str())
}

/// All but Erlang's, whose virtual machine answers signals itself and switches between its threads
/// as it likes.
fn guests_in_control() -> impl Iterator<Item = &'static str> {
    guests().filter(|name| *name != ERLANG)
}

/// The command that starts a guest, built once, as `suite.toml` says; `None` without its language.
fn guest(name: &str) -> Option<Vec<String>> {
    static FOUND: Mutex<BTreeMap<String, Option<Vec<String>>>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.entry(name.to_owned()).or_insert_with(|| found_or_built(name)).clone()
}

fn found_or_built(name: &str) -> Option<Vec<String>> {
    let table = &PROGRAMS[name];
    let words = |value: &toml::Value| -> Vec<String> {
        let words = value.as_array().expect("a list of words").iter();
        words.map(|word| word.as_str().expect("a word").to_owned()).collect()
    };
    let succeeds = |command: &[String], folder: &str| {
        let arguments: Vec<&str> = command[1..].iter().map(String::as_str).collect();
        can(&command[0], &arguments, folder)
    };
    let needs = table["needs"].as_array().expect("a list of tools");
    if !needs.iter().all(|need| succeeds(&words(&need["command"]), "guests")) {
        return None;
    }
    let Some(build) = table.get("build") else {
        let file = root().join("guests").join(table["path"].as_str().expect("a path"));
        return Some([words(&table["interpreter"]), vec![file.to_str()?.to_owned()]].concat());
    };
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).to_str()?.to_owned();
    let command = words(&build["command"]).into_iter();
    let command: Vec<String> = command.map(|word| word.replace("{output}", &output)).collect();
    let folder = format!("guests/{}", build["in"].as_str().expect("a folder"));
    succeeds(&command, &folder).then(|| vec![output])
}

/// The subcommands of a guest in the cases of `suite.toml`; "" is none.
fn subcommands(name: &str) -> BTreeSet<&'static str> {
    static SUITE: LazyLock<String> =
        LazyLock::new(|| fs::read_to_string(root().join("suite.toml")).expect("the suite"));
    let is_case = |start: &usize| SUITE[..*start].ends_with(['"', '{', ',']);
    let starts = SUITE.match_indices(name).map(|(start, _)| start).filter(is_case);
    let rests = starts.map(|start| &SUITE[start + name.len()..]);
    let is_end = |c: char| !c.is_ascii_lowercase() && c != '-';
    let word = |rest: &'static str| {
        let word = rest.strip_prefix(' ').unwrap_or_default().split(is_end).next();
        word.filter(|word| !word.starts_with('-')).unwrap_or_default()
    };
    let found: BTreeSet<&str> = rests.map(word).collect();
    assert!(!found.is_empty(), "{name} is in no case");
    found
}

/// Flags of a short run of a guest's subcommand.
fn short(subcommand: &'static str) -> Vec<&'static str> {
    let flags: &[&str] = match subcommand {
        "creation" => &["--tasks", "50", "--iters", "4", "--warmups", "1"],
        "memory" => &["--tasks", "400", "--iters", "3"],
        "lock" => &[
            "--tasks",
            "3",
            "--iters",
            "20",
            "--warmups",
            "2",
            "--inside",
            "50",
            "--outside",
            "50",
        ],
        "channel" => &["--producers", "2", "--consumers", "3", "--iters", "4", "--warmups", "2"],
        "timer" => &["--pending", "50", "--iters", "4", "--warmups", "1"],
        "wake-all" => &["--tasks", "9", "--iters", "20", "--warmups", "2"],
        "wake" => &["--greedy", "1", "--greedy-for", "500", "--iters", "300"],
        _ => &["--tasks", "5", "--iters", "20", "--warmups", "2", "--max-time", "9.5"],
    };
    with_subcommand(subcommand, flags)
}

fn with_subcommand<'a>(subcommand: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    let subcommand = Some(subcommand).filter(|word| !word.is_empty());
    subcommand.into_iter().chain(flags.iter().copied()).collect()
}

/// A workspace above the cache, and what is exported to build other programs.
#[test]
fn what_is_set_for_other_programs_does_not_break_the_build_of_a_guest() {
    if guest(GO).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("go.work"), "go 9.99\nuse ./nothing\n").expect("write go.work");
    fs::write(folder.path().join("env"), "GOFLAGS=-toolexec=false\n").expect("write settings");
    let cache = contract::command("go").args(["env", "GOCACHE"]).output().expect("run go");
    let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
    brigade.args(["check", "goroutine-brigade --workers 1"]);
    brigade.env("XDG_CACHE_HOME", folder.path()).env("BRIGADE_LOCK", folder.path().join("lock"));
    brigade.env("GOCACHE", String::from_utf8_lossy(&cache.stdout).trim());
    brigade.env("GOENV", folder.path().join("env")).env("GOOS", "windows").env("GOARCH", "arm");
    brigade.env("GOFLAGS", "-mod=vendor").env("GO111MODULE", "off").env("CDPATH", folder.path());
    let ended = Ended::from(brigade);
    // Beside other processes, its laps may be refused.
    assert!(ended.stdout.contains("0 skipped"), "{ended:?}");
}

/// One number says how new it must be: that of `go.mod`.
#[test]
fn a_go_that_is_too_old_for_the_guest_is_named_before_anything_is_built() {
    let module = fs::read_to_string(root().join("guests/go/go.mod")).expect("the module");
    let needed = module.lines().find_map(|line| line.strip_prefix("go ")).expect("a version");
    let folder = tempfile::tempdir().expect("a folder");
    let go = "#!/bin/sh\n[ \"$1\" = build ] && touch \"${0%/*}/built\"\n\
              [ \"$1\" = env ] && echo go1.5 || echo go version go1.5 linux/amd64\n";
    contract::executable::write(&folder.path().join("go"), go);
    let path = std::env::var("PATH").expect("a PATH");
    let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
    brigade.args(["check", "goroutine-brigade --workers 1"]);
    brigade.env("XDG_CACHE_HOME", folder.path()).env("BRIGADE_LOCK", folder.path().join("lock"));
    brigade.env("PATH", format!("{}:{path}", folder.path().display()));
    let ended = Ended::from(brigade);
    let printed = format!("{} {}", ended.stdout, ended.stderr);
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("1 skipped"), "{ended:?}");
    assert!(printed.contains(&format!("{needed} or later")), "{ended:?}");
    assert!(!folder.path().join("built").exists(), "{ended:?}");
}

#[test]
fn a_tools_version_shows_nothing_that_was_exported() {
    if guest(JAVA).is_none() {
        return;
    }
    let mut build = contract::command("sh");
    build.args(["java/build", "--version"]).current_dir(root().join("guests"));
    let ended = Ended::from(build.env("JAVA_TOOL_OPTIONS", "-Dname=alice").output().expect("sh"));
    assert!(ended.stdout.contains(" version \""), "{ended:?}");
    assert!(!ended.stdout.contains("alice"), "{ended:?}");
}

/// A guest's process with these flags.
fn process(words: &[String], flags: &[&str]) -> Command {
    let mut command = contract::command(&words[0]);
    command.args(&words[1..]).args(flags).stdin(Stdio::null());
    command
}

/// During the set-up, others connect to the server.
#[test]
fn a_server_in_another_language_serves_only_its_load() {
    for name in [GO, JAVA] {
        let Some(words) = guest(name) else { continue };
        let server = format!("{} serve", words.join(" "));
        let mut strangers = Vec::new();
        // Until one was early enough.
        while strangers.is_empty() {
            let flags = ["echo-server", "--tasks=600", "--iters=2", "--json", "--server", &server];
            let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
            brigade.args(flags).stdout(Stdio::piped()).stderr(Stdio::piped());
            let running = brigade.spawn().expect("start brigade");
            let pid = running.id().cast_signed();
            let has_ended = || machine::stat(pid).is_none_or(|stat| stat.state == 'Z');
            while strangers.len() < 4 && !has_ended() {
                strangers.extend(machine::visit(pid));
            }
            let ended = Ended::from(running.wait_with_output().expect("wait for brigade"));
            assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
            let record = Record::parse(&ended.stdout).expect("a record");
            assert!(record.complete && record.serving.is_some(), "{name}: {record:?}");
        }
    }
}

#[test]
fn a_guest_run_by_hand_prints_laps_that_match_the_schema() {
    let of_asyncio = |subcommand| [short(subcommand), vec!["--kind", "asyncio"]].concat();
    let mut runs = vec![
        (GO, vec!["--tasks=5", "--iters=20", "--warmups=2", "--work=9"]),
        (GO, [short("channel"), vec!["--message", "1024"]].concat()),
        (GO, [short("wake-all"), vec!["--by", "cond"]].concat()),
        (JAVA, [short("channel"), vec!["--message", "1024", "--kind", "thread"]].concat()),
        (PYTHON_TASKS, of_asyncio("creation")),
        (PYTHON_TASKS, of_asyncio("memory")),
        (ASIO, [short(""), vec!["--channel", "pipe"]].concat()),
    ];
    for name in guests() {
        runs.extend(subcommands(name).into_iter().map(|subcommand| (name, short(subcommand))));
    }
    for (name, flags) in runs {
        let Some(words) = guest(name) else { continue };
        let output = process(&words, &flags).output().expect("run the guest");
        assert!(output.status.success(), "{name} {flags:?}: {output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        let [measuring, measured, laps] = text.lines().collect::<Vec<_>>()[..] else {
            panic!("{name} {flags:?}: {text}")
        };
        assert_eq!((measuring, measured), ("measuring", "measured"));
        let laps: Value = serde_json::from_str(laps).expect("JSON");
        bench::check_schema("laps", &laps);
        assert_eq!(laps["program"], name);
        assert!(tasks_of(name).contains(&laps["kind"].to_string()), "{name}: {}", laps["kind"]);
        let laps_ns = laps["measurements"][0]["laps_ns"].as_array().map(Vec::len);
        let iters = flags.iter().skip_while(|flag| **flag != "--iters").nth(1);
        if let Some(iters) = iters.and_then(|iters| iters.parse().ok()) {
            assert_eq!(laps_ns, Some(iters), "{name} {flags:?}");
        }
        if flags[0] == "memory" {
            let points = laps["ledger"].as_array().expect("points").iter();
            let tasks: Vec<_> = points.map(|point| point["tasks"].as_u64()).collect();
            assert!(tasks.is_sorted() && tasks.last() == Some(&Some(400)), "{name}: {tasks:?}");
        }
    }
}

#[test]
fn wrong_flags_of_a_guest_are_usage_errors_and_too_many_tasks_a_limit() {
    for name in guests() {
        let Some(words) = guest(name) else { continue };
        for flags in [&["--moon", "5"][..], &["tea"], &["creation", "--tasks", "few"]] {
            let output = process(&words, flags).output().expect("run the guest");
            assert_eq!(output.status.code(), Some(2), "{name} {flags:?}: {output:?}");
        }
    }
    let Some(words) = guest(GO) else { return };
    let output = process(&words, &["memory", "--tasks", "100000000000"]).output();
    assert_eq!(output.expect("run the guest").status.code(), Some(3));
}

/// A guest's process that may take 2 GB of memory: it must not exhaust the machine if it accepts a
/// number that is too large.
fn bounded_process(words: &[String], flags: &[&str]) -> Command {
    let shell = ["sh", "-c", "ulimit -d 2000000 && exec \"$@\"", "sh"].map(str::to_owned);
    process(&[&shell[..], words].concat(), flags)
}

#[test]
fn a_value_that_a_guest_cannot_follow_is_refused_before_anything_is_measured() {
    let of_all = [
        ["--tasks", "0"],
        ["--tasks", "2.5"],
        ["--tasks", "nan"],
        ["--tasks", "99999999999999999999"],
        ["--iters", "0"],
        ["--iters", "1000001"],
        ["--warmups", "1.5"],
        ["--max-time", "."],
        ["--max-time", "nan"],
        ["--max-time", "-1"],
    ];
    let of_workers = [["--workers", "-1"], ["--workers", "1.5"]];
    let of_wake =
        [["--rate", "0"], ["--rate", "2000000"], ["--greedy", "-1"], ["--greedy-for", "0"]];
    for name in guests() {
        let Some(words) = guest(name) else { continue };
        let known = subcommands(name);
        let first = known.first().expect("one of a case");
        let mut wrong: Vec<Vec<&str>> =
            of_all.iter().map(|flags| with_subcommand(first, flags)).collect();
        if [GO, JAVA, ERLANG].contains(&name) {
            wrong.extend(of_workers.iter().map(|flags| with_subcommand(first, flags)));
        }
        if known.contains("wake") {
            wrong.extend(of_wake.iter().map(|flags| with_subcommand("wake", flags)));
        }
        if known.contains("memory") {
            wrong.push(vec!["memory", "--tasks", "4", "--iters", "9"]);
        }
        if name == ERLANG {
            wrong.push(vec!["--workers", "100000"]);
        }
        for flags in wrong {
            let output = bounded_process(&words, &flags).output().expect("run the guest");
            assert_eq!(output.status.code(), Some(2), "{name} {flags:?}: {output:?}");
            assert!(output.stdout.is_empty(), "{name} {flags:?}: {output:?}");
        }
    }
}

#[test]
fn a_guest_takes_a_time_limit_with_a_fraction_or_an_exponent() {
    for name in guests() {
        let Some(words) = guest(name) else { continue };
        let known = subcommands(name);
        let first = known.first().expect("one of a case");
        for limit in ["9", "9.5", "1e9", "2.5e1"] {
            let flags = ["--tasks", "2", "--iters", "1", "--warmups", "0", "--max-time", limit];
            let output = process(&words, &with_subcommand(first, &flags)).output();
            let output = output.expect("run the guest");
            assert!(output.status.success(), "{name} {limit}: {output:?}");
        }
    }
}

/// So many bytes are on no machine. The guest would exit with 0 and print nothing.
#[test]
fn tasks_of_a_guest_that_exceed_the_memory_are_refused_before_it_starts() {
    let starts = ["env".to_owned(), "/bin/true".to_owned()];
    let many = ["--tasks", "100000000000000"];
    let mut runs: Vec<(&str, Vec<&str>)> = guests().map(|name| (name, many.to_vec())).collect();
    runs.push((GO, vec!["--tasks=100000000000000"]));
    runs.push((PYTHON_TASKS, [&["threads"][..], &many].concat()));
    runs.push((JAVA, [&["wake-all"][..], &many].concat()));
    for (name, flags) in runs {
        let invocation = invocation_of(&Bench::new(&[], ""), name, &starts, &flags);
        let error = &invocation["error"];
        assert_eq!(invocation["outcome"], "refused", "{name} {flags:?}: {error}");
        assert!(invocation["exit_code"].is_null(), "{name} {flags:?}: it was started");
    }
    let few = invocation_of(&Bench::new(&[], ""), ASIO, &starts, &["--tasks", "5"]);
    assert_eq!(few["exit_code"], 0, "{few}");
}

/// As in a container: the figures of the machine are unknown.
#[test]
fn a_guest_measures_memory_where_the_machines_files_cannot_be_read() {
    let mount = "mount -t proc -o subset=pid proc /proc && exec \"$@\"";
    let inside =
        ["--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", mount, "sh"];
    if !can("unshare", &[&inside[..], &["true"]].concat(), ".") {
        return;
    }
    for name in guests().filter(|name| subcommands(name).contains("memory")) {
        let Some(words) = guest(name) else { continue };
        let unshare = ["unshare"].iter().chain(&inside).map(|word| (*word).to_owned()).collect();
        let command = process(&[unshare, words].concat(), &short("memory")).output();
        let output = command.expect("run the guest");
        assert!(output.status.success(), "{name}: {output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        let laps: Value = serde_json::from_str(text.lines().last().expect("laps")).expect("JSON");
        let point = &laps["ledger"][0];
        assert!(point["resident_bytes"].as_u64() > Some(0), "{name}: {point}");
        let of_machine = ["kernel_stack_bytes", "unreclaimable_slab_bytes"];
        assert!(of_machine.iter().all(|figure| point[figure] == Value::Null), "{name}: {point}");
    }
}

/// A guest after its first mark, which waits for an answer.
fn measuring(name: &str, subcommand: &str, more: &[&str]) -> Option<Child> {
    let words = guest(name)?;
    let tasks = match subcommand {
        "channel" => "--producers",
        "timer" => "--pending",
        _ => "--tasks",
    };
    let endless = [tasks, "50", "--iters", "1000000", "--max-time", "60"];
    let endless = with_subcommand(subcommand, &[&endless, more].concat());
    let mut command = process(&words, &endless);
    heed_interrupts(&mut command);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect(name);
    let mut mark = [0; 10];
    child.stdout.as_mut().expect("piped").read_exact(&mut mark).expect("a mark");
    assert_eq!(&mark, b"measuring\n");
    Some(child)
}

#[test]
fn an_interrupted_guest_prints_its_laps_so_far_and_exits_with_130() {
    let is_long = |subcommand: &&str| !["creation", "memory"].contains(subcommand);
    let of_guest =
        |name| subcommands(name).into_iter().filter(is_long).map(move |word| (name, word));
    for (name, subcommand) in guests_in_control().flat_map(of_guest) {
        let Some(mut child) = measuring(name, subcommand, &[]) else { continue };
        child.stdin.as_mut().expect("piped").write_all(b"\n").expect("it reads");
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{name} {subcommand}");
        // A guest without a lap so far has nothing to print.
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        if let Some(laps) = text.lines().find(|line| line.starts_with('{')) {
            let laps: Value = serde_json::from_str(laps).expect("JSON");
            assert_eq!(laps["ended_by"], "signal", "{name} {subcommand}");
        }
    }
}

#[test]
fn threads_of_java_that_share_a_channel_start_before_the_first_mark() {
    let kind = ["--kind", "thread"];
    let Some(mut child) = measuring(JAVA, "channel", &kind) else { return };
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).expect("it runs");
    let names =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    let of_ours = names.filter(|name| name.starts_with("Thread-")).count();
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    child.wait().expect("it ends");
    assert!(of_ours >= 51, "{of_ours}: 50 producers and a consumer");
}

/// Even while it waits for an answer.
#[test]
fn a_terminated_guest_ends_at_once() {
    for name in guests_in_control() {
        let words = subcommands(name);
        // Nothing but the signal ends Python's threads.
        let word = if words.contains("threads") { Some(&"threads") } else { words.first() };
        let Some(mut child) = measuring(name, word.expect("one of a case"), &[]) else { continue };
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).expect("it runs");
        let status = child.wait().expect("it ends");
        // Java's virtual machine exits by itself.
        assert!(status.signal() == Some(15) || status.code() == Some(143), "{name}: {status}");
    }
}

/// A script's laps: one, with one operation.
const LAPS: &str = "echo '{\"schema_version\":\"1.2\",\"form\":\"laps\",\"program\":\"fake\",\
                    \"kind\":\"goroutine\",\"tasks\":1,\"measurements\":[{\"name\":\"create\",\
                    \"operation\":\"hop\",\"operations\":1,\"laps_ns\":[7]}]}'";
const ON: &str = "echo measuring; read -r line";
const OFF: &str = "echo measured; read -r line";

/// What the table of a guest in `suite.toml` says of its tasks; a script's are goroutines.
fn tasks_of(program: &str) -> String {
    let Some(table) = PROGRAMS.get(program) else {
        return "tasks = 'goroutine'".to_owned();
    };
    let lines = ["tasks", "tasks_with"].into_iter().filter_map(|key| {
        let value = table.get(key)?;
        Some(format!("{key} = {value}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The only invocation of a run of these words with these flags.
fn invocation_of(bench: &Bench, program: &str, words: &[String], flags: &[&str]) -> Value {
    let (file, interpreter) = words.split_last().expect("words");
    let manifest = format!(
        "flags = '--iters 300 --warmups 20'\nrules = [{{ words = ''{} }}]\n\
         [programs.{program}]\nform = 'laps'\npath = '{file}'\ninterpreter = {interpreter:?}\n\
         {}\n\
         [[group]]\nname = 'g'\nquestion = 'What?'\ncases = ['{program} {}']\n",
        bench.case_keys,
        tasks_of(program),
        flags.join(" ")
    );
    let ended = Ended::from(bench.brigade_with(&manifest, &["run", "--rounds", "1"]));
    let [invocation] = &bench.records()[..] else { panic!("not one: {ended:?}") };
    invocation.clone()
}

/// The invocation of a shell script, with more about its case.
fn invocation_of_script(script: &str, keys: &'static str) -> Value {
    let mut bench = Bench::new(&["fake"], script);
    bench.case_keys = keys;
    invocation_of(&bench, "fake", &["fake".to_owned()], &[])
}

/// The record of a guest with these flags, which succeeds.
fn record_of(program: &str, words: &[String], flags: &[&str]) -> Record {
    let invocation = invocation_of(&Bench::new(&[], ""), program, words, flags);
    assert_eq!(invocation["outcome"], "measured", "{}", invocation["error"]);
    Record::parse(&invocation["record"].to_string()).expect("a record")
}

#[test]
fn the_runner_builds_a_record_from_laps_and_counts_from_outside() {
    let one_worker = &["--workers", "1", "--tasks", "20"][..];
    let plain = &["--tasks", "20"];
    for name in guests_in_control().filter(|name| subcommands(name).contains("")) {
        let flags = if [GO, JAVA].contains(&name) { one_worker } else { plain };
        let Some(words) = guest(name) else { continue };
        let record = record_of(name, &words, flags);
        assert_eq!((record.tasks, record.iterations, record.warmups), (20, 300, 20));
        assert_eq!((record.complete, record.ended_by), (true, Ending::Iterations));
        let principal = record.principal().expect("a measurement");
        assert_eq!((principal.operations, principal.count), (21, 300));
        let switches = record.switches.expect("switches");
        assert_eq!(switches.expected_per_operation, Some(0.0));
        assert!(switches.voluntary_per_operation < 0.1, "{name}: {switches:?}");
        let cpu = record.cpu.expect("CPU time");
        let cpu_ns = cpu.user_ns_per_operation + cpu.system_ns_per_operation;
        // Passing the token takes CPU time. Threads of a virtual machine may run at the same time
        // as the tasks, but on no more CPUs than there are; one tick too many may be counted.
        let wall_ns = record.interference.wall_ns.expect("a span") as f64;
        let most_ns = (wall_ns + 1e7) * record.affinity.len() as f64 / (21.0 * 300.0);
        assert!(cpu_ns > 0.0 && cpu_ns < most_ns, "{name}: {cpu:?} in {wall_ns} ns");
        assert_eq!(record.affinity, cpus::allowed().expect("CPUs"));
        assert!(record.parameters["runtime"].is_string());
    }
}

#[test]
fn tasks_of_a_guest_that_share_a_lock_are_counted() {
    for name in [GO, JAVA] {
        let Some(words) = guest(name) else { continue };
        let flags = ["lock", "--tasks", "3", "--inside", "200", "--outside", "200"];
        let record = record_of(name, &words, &flags);
        let [iteration, turn] = &record.measurements[..] else { panic!("{name}: two") };
        assert_eq!((iteration.operations, iteration.count, record.warmups), (1024, 300, 20));
        assert_eq!((turn.operations, turn.count), (1, 3));
        // The shares of all three add up to 1.
        let share = |turn_ns: u64| iteration.ns_per_operation / turn_ns as f64;
        let lucky = share(turn.min_ns);
        let unlucky = share(turn.max_ns);
        assert!(lucky > 0.33 && unlucky < 0.34, "{name}: {lucky}, {unlucky}");
        let work = record.work.expect("there is work");
        let floor = 200.0 * work.ns_per_unit.expect("a unit was timed");
        let quickest = iteration.min_ns as f64 / 1024.0;
        assert!(work.units == 200 && quickest > 0.9 * floor, "{name}: {quickest} of {floor} ns");
    }
}

/// The shares of all add up to 1.
#[test]
fn tasks_of_a_guest_that_share_a_channel_are_counted() {
    let of_threads = ["--kind", "thread", "--work", "20", "--placement", "same-cpu"];
    for (name, more, kind) in [
        (GO, &[][..], TaskKind::Goroutine),
        (JAVA, &[], TaskKind::Coroutine),
        (JAVA, &of_threads, TaskKind::Thread),
    ] {
        let Some(words) = guest(name) else { continue };
        let flags = ["channel", "--producers", "4", "--consumers", "2", "--capacity", "8"];
        let few = ["--iters", "30", "--warmups", "5"];
        let record = record_of(name, &words, &[&flags[..], &few, more].concat());
        let [iteration, producer, consumer] = &record.measurements[..] else { panic!("three") };
        assert_eq!((record.kind, record.tasks, record.warmups), (Some(kind), 6, 5), "{name}");
        assert_eq!((iteration.operations, iteration.count), (16_384, 30), "{name}");
        assert_eq!((producer.count, consumer.count), (4, 2), "{name}");
        assert_eq!(record.parameters["capacity"], 8, "a curve needs a number");
        let is_on_one_cpu = !more.is_empty();
        assert_eq!(record.work.is_some_and(|work| work.ns_per_unit.is_some()), is_on_one_cpu);
        if let Some(switches) = record.switches.filter(|_| is_on_one_cpu) {
            // No more than 8 messages are sent before a consumer runs.
            let all = switches.voluntary_per_operation + switches.involuntary_per_operation;
            assert!(all > 0.1, "{name}: {switches:?}");
        }
        for (of, tasks) in [(producer, 4.0), (consumer, 2.0)] {
            let [lucky, unlucky] =
                [of.min_ns, of.max_ns].map(|ns| tasks * iteration.ns_per_operation / ns as f64);
            assert!(lucky > 0.99 && unlucky < 1.01, "{name}: {}: {lucky}, {unlucky}", of.name);
        }
    }
}

/// One thread runs all tasks, and a wake-up is due in each of the greedy task's 20 ms.
#[test]
fn a_greedy_task_of_a_guest_delays_the_others_until_it_yields() {
    for (name, workers) in [(PYTHON_TASKS, &[][..]), (JAVA, &["--workers", "1"])] {
        let Some(words) = guest(name) else { continue };
        let flags = ["wake", "--greedy", "1", "--greedy-for", "20000", "--rate", "1000"];
        let record = record_of(name, &words, &[&flags[..], workers].concat());
        let [wake_up] = &record.measurements[..] else { panic!("{name}: one") };
        assert_eq!((&*wake_up.name, wake_up.count), ("wake-up", 300));
        assert!(wake_up.max_ns > 10_000_000, "{name}: {wake_up:?}");
        assert_eq!(record.parameters["greedy_for"], 20_000, "a curve needs a number");
        assert!(record.schedule.is_some_and(|kept| kept.missed > 0), "{name}");
    }
}

#[test]
fn a_java_lock_that_does_not_exclude_is_named() {
    let Some(words) = guest(JAVA) else { return };
    let flags = ["lock", "--tasks", "4", "--workers", "2", "--inside", "2000", "--iters", "200"];
    let mut command = process(&words, &flags);
    let output = command.env("JAVA_TOOL_OPTIONS", "-Dbrigade.broken=true").output();
    let output = output.expect("run the guest");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("this lock does not exclude: the threads made"), "{error}");
}

#[test]
fn a_message_that_java_loses_doubles_or_swaps_is_found() {
    let Some(words) = guest(JAVA) else { return };
    for kind in ["virtual", "thread"] {
        for fault in ["lose", "double", "swap"] {
            let flags = ["channel", "--kind", kind, "--iters", "2", "--warmups", "0"];
            let mut command = process(&words, &flags);
            let option = format!("-Dbrigade.fault={fault}");
            let output = command.env("JAVA_TOOL_OPTIONS", option).output().expect("run the guest");
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{kind}, {fault}: {error}");
            let expected = "the messages of producer 0 were not received once and in order";
            assert!(error.contains(expected), "{kind}, {fault}: {error}");
        }
    }
}

#[test]
fn what_a_channel_in_java_cannot_have_is_a_usage_error() {
    let Some(words) = guest(JAVA) else { return };
    for flags in [
        &["--producers", "0"][..],
        &["--consumers", "1025"],
        &["--capacity", "0"],
        &["--message", "9"],
        &["--work", "-1"],
        &["--tasks", "2"],
        &["--kind", "process"],
        &["--kind", "thread", "--workers", "2"],
    ] {
        let output = process(&words, &with_subcommand("channel", flags)).output();
        let output = output.expect("run the guest");
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {output:?}");
    }
}

#[test]
fn a_guest_that_breaks_the_protocol_fails_with_the_reason() {
    for (script, outcome, reason) in [
        (format!("{ON}; {OFF}; {LAPS}"), "measured", ""),
        (format!("{ON}; kill -9 $$"), "failed", "(SIGKILL): never printed `measured`"),
        (format!("{ON}; echo no luck >&2; exit 1"), "failed", "exited with 1: no luck"),
        (format!("{ON}; {LAPS}"), "failed", "never printed `measured`"),
        (format!("{ON}; {OFF}; {OFF}; {LAPS}"), "failed", "printed `measured` twice"),
        ("printf 'measuring\\nmeasured\\n'".to_owned(), "failed", "did not wait for a line"),
        (format!("{ON}; {OFF}"), "failed", "printed no laps"),
        (
            format!("{ON}; {OFF}; {}", LAPS.replace("goroutine", "thread")),
            "failed",
            "the kind 'thread'",
        ),
        (
            format!("{ON}; {OFF}; {}", LAPS.replace("kind", "sort")),
            "failed",
            "missing field `kind`",
        ),
        (format!("{ON}; {OFF}; {LAPS}; echo more"), "failed", "printed more after its laps"),
        ("printf 'a\\033[31mb\\n'".to_owned(), "failed", "which is neither a mark nor laps"),
        (format!("{ON}; {OFF}; echo '{{'"), "failed", "reading its laps: EOF while parsing"),
        (format!("{ON}; exec sleep 60"), "timed-out", "was killed after 3."),
        ("exec yes measuring".to_owned(), "failed", "exceeded 16 MiB"),
    ] {
        // Elsewhere the machine may be too busy for three seconds.
        let timeout = if outcome == "timed-out" {
            ", timeout_seconds = 3"
        } else {
            ", timeout_seconds = 300"
        };
        let invocation = invocation_of_script(&script, timeout);
        let error = invocation["error"].as_str().unwrap_or_default();
        assert_eq!(invocation["outcome"], outcome, "{script}: {error}");
        assert!(error.contains(reason), "{script}: {error:?} does not contain {reason:?}");
    }
}

/// A wrapper waits for the process that makes the marks: that one is counted, or none.
#[test]
fn the_process_behind_a_wrapper_is_counted() {
    if !can("python3", &["--version"], ".") {
        return;
    }
    let file = root().join("guests/python/brigade.py");
    let python = |rest: &str| format!("python3 {} --tasks 20 \"$@\"{rest}", file.display());
    let invocation = invocation_of_script(&python("\n:"), "");
    let switches = &invocation["record"]["switches"];
    let cpu_ns = invocation["record"]["cpu"]["user_ns_per_operation"].as_f64().unwrap_or(0.0);
    assert!(cpu_ns > 100.0 && switches.is_object(), "{invocation}");
    // The marks go through another process.
    let invocation = invocation_of_script(&python(" | cat\n:"), "");
    assert_eq!(invocation["outcome"], "failed", "{invocation}");
}

/// What the document shows: a program, and a manifest next to it.
#[test]
fn the_program_and_the_manifest_of_the_document_measure() {
    if !can("python3", &["--version"], ".") {
        return;
    }
    let document = fs::read_to_string(root().join("docs/PROTOCOL.md")).expect("the document");
    let block = |language: &str| -> String {
        let begun = document.split(&format!("```{language}\n")).nth(1).expect("a block");
        begun.split("```").next().expect("its end").to_owned()
    };
    let bench = Bench::new(&[], "");
    contract::executable::write(&bench.path("parser"), block("python"));
    let ended =
        Ended::from(bench.brigade_with(&block("toml"), &["run", "parser", "--rounds", "2"]));
    let cases: Vec<Value> = bench
        .records()
        .into_iter()
        .map(|line| line["record"]["parameters"]["size"].clone())
        .collect();
    assert_eq!((ended.code, cases.len()), (Some(0), 4), "{ended:?}");
    assert!([1000, 100_000].iter().all(|size| cases.contains(&(*size).into())), "{cases:?}");
}
