//! Programs that fail in every possible way, missing means, disks that are full or read-only, a
//! runner that is killed: nothing that was measured is lost, and no process is left. And folders
//! and manifests from a stranger: nothing outside is touched, and no word acts on the terminal.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use contract::control_group::ControlGroup;
use harness::anonymous;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::json;

use crate::bench::{
    Bench, Ended, RECORD, USER, edit, end_of, eventually, is_running, records_in, rounds_in, send,
    start,
};
use crate::run::{TORN, killed};

fn check_refusal(ended: &Ended, words: &str) {
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{words}: {ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(ended.stderr.contains(words), "{ended:?}");
}

#[test]
fn a_missing_program_or_an_unwritable_folder_is_reported_before_anything_runs() {
    let bench = Bench::new(&["a"], "touch ran");
    let ended = bench.ends(&["run", "--results", "a/results"]);
    check_refusal(&ended, "--results: writing to a/results");
    fs::remove_file(bench.path("a")).unwrap();
    check_refusal(&bench.ends(&["run"]), "program 'a'");
    assert!(!bench.path("ran").exists() && bench.result_folders().is_empty());
}

#[test]
fn a_program_that_hangs_is_killed_with_all_its_children() {
    let mut bench = Bench::new(&["a"], "sleep 600 & echo $! >child; wait");
    bench.case_keys = ", timeout_seconds = 1";
    let ended = bench.ends(&["run", "--rounds", "1"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let record = &bench.records()[0];
    assert_eq!(record["outcome"], "timed-out");
    assert_eq!(record["signal"], 9);
    let child = fs::read_to_string(bench.path("child")).unwrap();
    eventually("the killed program's child is gone", || !is_running(child.trim()));
}

/// After a few seconds of grace, or at the second signal.
#[test]
fn a_program_that_ignores_every_signal_to_end_is_killed() {
    for stops in 1..=2 {
        let script = "trap 'touch stopped' INT TERM; echo $$ >pid; touch ready; \
                      while :; do sleep 0.01; done";
        let bench = Bench::new(&["a"], script);
        let brigade = start(&bench, &["run"]);
        eventually("the program is running", || bench.path("ready").exists());
        send(&brigade, Signal::SIGTERM);
        if stops == 2 {
            eventually("the program received the signal", || bench.path("stopped").exists());
            send(&brigade, Signal::SIGINT);
        }
        let ended = end_of(brigade);
        assert_eq!(ended.code, Some(130), "{ended:?}");
        let record = &bench.records()[0];
        assert_eq!(record["signal"], Signal::SIGKILL as i32);
        assert_eq!(record["interrupted"], true);
        // Not after its case's time-out of a minute.
        assert!(record["duration_ns"].as_u64().unwrap() < 30_000_000_000, "{record}");
        assert!(!is_running(fs::read_to_string(bench.path("pid")).unwrap().trim()));
    }
}

#[test]
fn a_program_that_vanishes_or_is_replaced_costs_only_its_own_rounds() {
    for (change, reason) in [
        ("rm \"$0\"", "could not be run: No such file"),
        ("cp next new; mv new \"$0\"", "was replaced since"),
        ("touch -d 2001-01-01 \"$0\"", "was replaced since"),
    ] {
        let script = format!("echo run >>runs; [ $(wc -l <runs) = 2 ] && {{ {change}; }}");
        let bench = Bench::new(&["a"], &format!("{script}\necho '{RECORD}'"));
        contract::executable::write(&bench.path("next"), format!("#!/bin/sh\necho '{RECORD}'\n"));
        let ended = bench.ends(&["run", "--seed", "1"]);
        assert_eq!(ended.code, Some(1));
        let said = &ended.stderr;
        assert!(said.contains("1 of 3 processes of a failed") && said.contains(reason), "{said}");
        let records = bench.records();
        let outcomes: Vec<_> = records.iter().map(|record| &record["outcome"]).collect();
        assert_eq!(outcomes, ["measured", "measured", "failed"], "{change}");
        let error = records[2]["error"].to_string();
        assert!(error.contains(reason), "{error}");
    }
}

/// `brigade` with at most 100 MiB of address space, which its programs inherit.
fn in_little_memory(bench: &Bench) -> Ended {
    let limited = ["sh", "-c", "ulimit -v 102400 && exec \"$0\" \"$@\""];
    Ended::from(bench.brigade_under(&limited, &["run", "--rounds", "1"]))
}

#[test]
fn endless_output_is_neither_kept_nor_waited_for() {
    let flood = "head -c 104857600 /dev/zero";
    let bench = Bench::new(&["a"], &format!("echo $$ >pid; {flood}; exec yes"));
    let ended = in_little_memory(&bench);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let record = &bench.records()[0];
    let error = "was killed: its standard output exceeded 16 MiB";
    assert_eq!(record["error"], error);
    // The screen says so, too.
    assert!(ended.stdout.contains("exceeded 16 MiB"), "{ended:?}");
    assert_eq!(record["signal"], Signal::SIGKILL as i32);
    assert!(!is_running(fs::read_to_string(bench.path("pid")).unwrap().trim()));

    let bench = Bench::new(&["a"], &format!("{flood} >&2; echo '{RECORD}'"));
    let ended = in_little_memory(&bench);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
}

#[test]
fn a_full_disk_behind_standard_output_loses_no_record() {
    let bench = Bench::printing(RECORD);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut brigade = bench.brigade(&["run"]);
    let ended = Ended::from(brigade.stdout(full).stderr(Stdio::piped()).output().unwrap());
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with("brigade: showing the results in "), "{ended:?}");
    assert!(ended.stderr.contains("No space left on device"), "{ended:?}");
    assert_eq!(bench.records().len(), 3);
}

#[test]
fn a_limit_on_file_sizes_costs_no_finished_record() {
    let bench = Bench::new(&["a"], &format!("echo '{RECORD}'"));
    // In blocks of 512 or 1024 bytes.
    let limited = ["sh", "-c", "ulimit -f 64; exec \"$0\" \"$@\""];
    let ended = Ended::from(bench.brigade_under(&limited, &["run", "--rounds", "200"]));
    check_refusal(&ended, "File too large");
    let folder = bench.result_folders().remove(0);
    let again = format!("brigade run --resume {}", folder.display());
    assert!(ended.stderr.contains(&again), "{ended:?}");
    let kept = bench.records().len();
    assert!((10..200).contains(&kept), "{kept} records fit");
    let reported = bench.ends(&["report", "--full", folder.to_str().unwrap()]);
    assert_eq!((reported.code, reported.stderr.as_str()), (Some(0), ""));
    assert_eq!(bench.resumes().code, Some(0));
    let expected: Vec<_> = (1..=200).map(|round| ("a".to_owned(), round)).collect();
    assert_eq!(rounds_in(&folder), expected);
}

#[test]
fn a_folder_that_disappears_during_a_run_is_noticed_at_the_next_record() {
    let replace = "for of in results/*; do mv $of x; mkdir $of; : >$of/records.jsonl; done";
    for (gone, left) in [("rm -r results", None), (replace, Some(0))] {
        let script = format!("echo run >>runs; [ $(wc -l <runs) = 2 ] && {{ {gone}; }}");
        let bench = Bench::new(&["a"], &format!("{script}\necho '{RECORD}'"));
        check_refusal(&bench.ends(&["run", "--rounds", "9"]), "removed or replaced");
        let runs = fs::read_to_string(bench.path("runs")).unwrap();
        assert_eq!(runs.lines().count(), 2, "it went on");
        let found = bench.result_folders().first().map(|folder| {
            assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "something was written");
            records_in(folder).len()
        });
        assert_eq!(found, left, "{gone}");
    }
}

/// A `brigade run` whose program has started an endless process, which writes its id to `child`,
/// and waits. The next run only prints a record.
fn waiting() -> (Bench, Child, String) {
    let starts = "sh -c 'echo $$ >child.new; mv child.new child; exec sleep 6000' &";
    let bench = Bench::new(&["a"], &format!("[ -e go ] || {{ {starts}\nwait; }}; echo '{RECORD}'"));
    let brigade = start(&bench, &["run"]);
    eventually("the child is running", || bench.path("child").exists());
    let child = fs::read_to_string(bench.path("child")).unwrap().trim().to_owned();
    fs::write(bench.path("go"), "").unwrap();
    (bench, brigade, child)
}

/// The script is a server that starts another process, and does not end with its connections.
#[test]
fn what_a_server_has_started_ends_with_the_runner() {
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let echo_server = concat!("exec ", env!("CARGO_BIN_EXE_brigade"), " echo-server");
        let bench = Bench::new(&["a"], &format!("{echo_server} --tasks 2 --server 'sh server'"));
        let server = "sh -c 'echo $$ >child.new; mv child.new child; exec sleep 6000' &\nwait\n";
        fs::write(bench.path("server"), server).unwrap();
        let brigade = start(&bench, &["run"]);
        eventually("the child is running", || bench.path("child").exists());
        let child = fs::read_to_string(bench.path("child")).unwrap();
        send(&brigade, signal);
        end_of(brigade);
        eventually("the child has ended", || !is_running(child.trim()));
    }
}

/// The processes whose parent is the runner.
fn children_of(brigade: &Child) -> Vec<String> {
    let list = format!("/proc/{0}/task/{0}/children", brigade.id());
    fs::read_to_string(list).unwrap().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_killed_runner_leaves_nothing_running() {
    let (bench, mut brigade, child) = waiting();
    let program = children_of(&brigade);
    assert_eq!(program.len(), 1, "nothing runs next to the program");
    // Even a program that does not run.
    kill(Pid::from_raw(program[0].parse().unwrap()), Signal::SIGSTOP).unwrap();
    brigade.kill().unwrap();
    brigade.wait().unwrap();
    eventually("both have ended", || !is_running(&child) && !is_running(&program[0]));
    let ended = bench.ends(&["run"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
}

#[test]
fn child_processes_of_a_program_end_with_a_stopped_runner() {
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        let (bench, brigade, child) = waiting();
        send(&brigade, signal);
        let ended = end_of(brigade);
        assert_eq!(ended.code, Some(130), "{signal}: {ended:?}");
        assert!(!is_running(&child), "{signal}");
        assert_eq!(bench.records()[0]["interrupted"], true, "{signal}");
    }
}

/// A bench whose program waits until the file `go` exists.
fn until_go() -> Bench {
    let script = format!("touch ready; while [ ! -e go ]; do sleep 0.01; done; echo '{RECORD}'");
    Bench::new(&["a"], &script)
}

/// `brigade run` of one round in a process group, as a shell starts it: the kernel lets SIGTSTP stop it.
fn start_as_a_job(bench: &Bench, manifest: &str) -> Child {
    let mut brigade = bench.brigade_with(manifest, &["run", "--rounds", "1"]);
    brigade.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Whether a signal has stopped a process.
fn is_stopped(pid: &str) -> bool {
    contract::machine::stat(pid.trim().parse().unwrap()).is_some_and(|stat| stat.state == 'T')
}

/// Ctrl-Z stops a program together with the runner, and SIGSTOP stops the runner only. Neither makes
/// the program late.
#[test]
fn a_stopped_runner_does_not_take_its_program_for_a_late_one() {
    for (signal, stops_the_program) in [(Signal::SIGSTOP, false), (Signal::SIGTSTP, true)] {
        // It starts nothing while it waits: a shell whose child is stopped before it runs does not stop.
        let script =
            format!("echo $$ >pid; touch ready; while [ ! -e go ]; do :; done; echo '{RECORD}'");
        let mut bench = Bench::new(&["a"], &script);
        bench.case_keys = ", timeout_seconds = 5";
        let brigade = start_as_a_job(&bench, &bench.manifest());
        eventually("the program is running", || bench.path("ready").exists());
        let program = fs::read_to_string(bench.path("pid")).unwrap();
        let running_since = Instant::now();
        send(&brigade, signal);
        eventually("the runner is stopped", || is_stopped(&brigade.id().to_string()));
        if stops_the_program {
            eventually("the program is stopped", || is_stopped(&program));
        }
        fs::write(bench.path("go"), "").unwrap();
        if !stops_the_program {
            eventually("the program has ended", || !is_running(program.trim()));
        }
        let time_out = Duration::from_secs(5);
        eventually("its time is over", || running_since.elapsed() > time_out);
        send(&brigade, Signal::SIGCONT);
        let ended = end_of(brigade);
        assert_eq!(ended.code, Some(0), "{signal}: {ended:?}");
        let record = &bench.records()[0];
        assert_eq!(record["outcome"], "measured", "{signal}: {record}");
        assert_eq!(record["stopped_ns"].as_u64() > Some(0), stops_the_program, "{signal}");
    }
}

/// A guest's counters are read when it prints `measured`. While the runner is stopped, they cannot be.
#[test]
fn a_guest_that_finishes_while_the_runner_is_stopped_is_not_recorded_as_measured() {
    let script = "echo measuring; read -r line; touch ready\n\
                  while [ ! -e go ]; do sleep 0.01; done\n\
                  echo measured; touch finished; read -r line\n\
                  echo '{\"schema_version\":\"1.2\",\"form\":\"laps\",\"program\":\"a\",\
                  \"kind\":\"goroutine\",\"tasks\":1,\"measurements\":[{\"name\":\"create\",\
                  \"operation\":\"task\",\"operations\":1,\"laps_ns\":[7,7]}]}'";
    for (is_late, outcome) in [(false, "measured"), (true, "failed")] {
        let bench = Bench::new(&["a"], script);
        let laps = "path = 'a', form = 'laps', tasks = 'goroutine'";
        let brigade = start_as_a_job(&bench, &bench.manifest().replace("path = 'a'", laps));
        eventually("the guest is measuring", || bench.path("ready").exists());
        send(&brigade, Signal::SIGSTOP);
        eventually("the runner is stopped", || is_stopped(&brigade.id().to_string()));
        if is_late {
            fs::write(bench.path("go"), "").unwrap();
            eventually("the guest has finished", || bench.path("finished").exists());
            send(&brigade, Signal::SIGCONT);
        } else {
            send(&brigade, Signal::SIGCONT);
            let status = format!("/proc/{}/status", brigade.id());
            eventually("the runner has seen that it continues", || {
                let status = fs::read_to_string(&status).unwrap();
                status.contains("State:\tS") && status.contains("ShdPnd:\t0000000000000000")
            });
            fs::write(bench.path("go"), "").unwrap();
        }
        let _ = end_of(brigade);
        let record = &bench.records()[0];
        assert_eq!(record["outcome"], outcome, "{record}");
        assert_eq!(record["error"].to_string().contains("stopped the runner"), is_late, "{record}");
    }
}

#[test]
fn an_ignored_hang_up_stays_ignored() {
    let bench = until_go();
    let ignoring = ["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""];
    let mut nohup = bench.brigade_under(&ignoring, &["run"]);
    let child = nohup.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the program is running", || bench.path("ready").exists());
    send(&child, Signal::SIGHUP);
    fs::write(bench.path("go"), "").unwrap();
    let ended = end_of(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_second_run_names_the_first_and_waits_for_it() {
    let bench = until_go();
    let first = start(&bench, &["run"]);
    eventually("the program is running", || bench.path("ready").exists());
    let mut second = start(&bench, &["check"]);
    let mut line = String::new();
    BufReader::new(second.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains(&format!("process {} (", first.id())), "{line}");
    assert!(second.try_wait().unwrap().is_none(), "it does not wait");
    fs::write(bench.path("go"), "").unwrap();
    assert_eq!(end_of(first).code, Some(0));
    assert_eq!(end_of(second).code, Some(0));
}

#[test]
fn resuming_touches_no_file_elsewhere_and_none_before_it_is_sure() {
    for (replace, says) in [
        ((|from, to| symlink(from, to).unwrap()) as fn(&Path, &Path), "resuming"),
        (|from, to| fs::hard_link(from, to).unwrap(), "it is a link"),
        (|_, to| mkfifo(to, Mode::S_IRWXU).unwrap(), "it is not a regular file"),
        (|_, to| fs::create_dir(to).unwrap(), "resuming"),
    ] {
        let bench = killed();
        let records = bench.result_folders()[0].join("records.jsonl");
        let elsewhere = bench.path("precious");
        let text = fs::read_to_string(&records).unwrap() + TORN;
        fs::write(&elsewhere, &text).unwrap();
        fs::remove_file(&records).unwrap();
        replace(&elsewhere, &records);
        check_refusal(&bench.resumes(), says);
        assert_eq!(fs::read_to_string(elsewhere).unwrap(), text, "{says}");
    }
    let bench = killed();
    let folder = bench.result_folders()[0].clone();
    let records = fs::read_to_string(folder.join("records.jsonl")).unwrap() + TORN;
    fs::write(folder.join("records.jsonl"), &records).unwrap();
    let run = fs::read_to_string(folder.join("run.json")).unwrap();
    // Nor does it take flags from a folder.
    edit(folder.join("run.json"), |run| {
        let flag = json!("--command=touch ran");
        run["procedure"]["flags"].as_array_mut().unwrap().push(flag.clone());
        for words in run["procedure"]["commands"].as_object_mut().unwrap().values_mut() {
            words.as_array_mut().unwrap().push(flag.clone());
        }
    });
    check_refusal(&bench.resumes(), "has changed since the run began");
    let run = run.replace("\"schema_version\": \"1.", "\"schema_version\": \"9.");
    fs::write(folder.join("run.json"), run).unwrap();
    check_refusal(&bench.resumes(), "update Brigade");
    assert_eq!(fs::read_to_string(folder.join("records.jsonl")).unwrap(), records);
}

/// The files of a run as one text, which must name neither this user nor this machine. `shown` is what
/// it says of the fault.
fn check_anonymous(what: &str, bench: &Bench, shown: &str) {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let mut whole = String::new();
    for entry in bench.result_folders().iter().flat_map(|folder| fs::read_dir(folder).unwrap()) {
        whole += &fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    let folder = bench.path("").display().to_string();
    let host = format!("on {}!", host.trim());
    // Such as `localhost`.
    let is_common = anonymous::text(&host) == host;
    for name in
        [USER, folder.trim_end_matches('/')].into_iter().chain((!is_common).then_some(&*host))
    {
        assert!(!whole.contains(name), "{what}: {name} is in the results: {whole}");
    }
    assert!(whole.contains(shown), "{what}: {whole}");
}

/// What a program says of where it runs.
const WHERE: &str = "$PWD/secret.py: $USER on $(cat /proc/sys/kernel/hostname)!";

/// README and CONTRIBUTING promise it. All other tests check the same of their results, in `Bench`.
#[test]
fn what_a_program_prints_is_recorded_without_host_user_and_folder() {
    let error = format!("error\":\"{WHERE}\"");
    let path = RECORD.replace("parameters\":{}", "parameters\":{\"histogram\":\"$PWD/secret.py\"}");
    let incomplete =
        RECORD.replace("error\":null", &error).replace("complete\":true", "complete\":false");
    let printing = |text: &str| format!("cat <<END\n{text}\nEND");
    for (what, script) in [
        ("standard error", format!("echo \"{WHERE}\" >&2; echo \"at {WHERE}\" >&2; exit 1")),
        ("a record's error", format!("{}\nexit 1", printing(&incomplete))),
        ("a record's parameter", printing(&path)),
        ("no record", printing(WHERE)),
        ("it is gone", "rm \"$0\"; echo secret.py >&2; exit 1".to_owned()),
    ] {
        let bench = Bench::new(&["a"], &script);
        bench.ends(&["run", "--rounds", "2"]);
        let shown = if what == "no record" { "reading a record" } else { "secret.py" };
        check_anonymous(what, &bench, shown);
    }
}

#[test]
fn what_a_guest_or_a_tool_prints_is_recorded_without_host_user_and_folder() {
    let printing = |text: &str| format!("cat <<END\n{text}\nEND");
    let laps = "{\"schema_version\":\"1.2\",\"form\":\"laps\",\"program\":\"a\",\
                \"kind\":\"goroutine\",\"tasks\":1,MORE\
                \"measurements\":[{\"name\":\"create\",\"operation\":\"hop\",\"operations\":1,\
                \"laps_ns\":[7]}]}";
    let marks = "echo measuring; read -r line; echo measured; read -r line";
    let with = |more: &str| format!("{marks}\n{}", printing(&laps.replace("MORE", more)));
    for (what, script) in [
        ("a line of a guest", format!("echo \"{WHERE}\"")),
        ("a guest's error", format!("{}\nexit 1", with(&format!("\"error\":\"{WHERE}\",")))),
        ("a guest's runtime", with(&format!("\"runtime\":\"{WHERE}\","))),
        ("a guest's parameter", with(&format!("\"parameters\":{{\"x\":\"{WHERE}\"}},"))),
    ] {
        let bench = Bench::new(&["a"], &script);
        let manifest = bench
            .manifest()
            .replace("path = 'a'", "path = 'a', form = 'laps', tasks = 'goroutine'");
        let _ = Ended::from(bench.brigade_with(&manifest, &["run", "--rounds", "1"]));
        check_anonymous(what, &bench, "secret.py");
    }
    let tool = format!("['sh', '-c', 'echo {WHERE}; echo {WHERE} >&2; exit CODE']");
    for (what, more) in [
        ("a tool", format!("needs = [{{ command = {} }}]", tool.replace("CODE", "1"))),
        ("a tool's version", format!("needs = [{{ command = {} }}]", tool.replace("CODE", "0"))),
        ("a build", format!("build = {{ in = '.', command = {} }}", tool.replace("CODE", "1"))),
    ] {
        let bench = Bench::new(&["a", "b"], &format!("echo '{RECORD}'"));
        let path = if what == "a build" { "" } else { "path = 'a', " };
        if path.is_empty() {
            // It would be an earlier build's.
            fs::remove_file(bench.path("a")).unwrap();
        }
        let manifest = bench.manifest().replace("path = 'a'", &format!("{path}{more}"));
        let _ = Ended::from(bench.brigade_with(&manifest, &["run", "--rounds", "1"]));
        check_anonymous(what, &bench, "secret.py");
    }
}

#[test]
fn what_a_user_types_is_recorded_without_folders() {
    let bench = Bench::new(&["a"], &format!("echo '{RECORD}'"));
    let file = bench.path("secret.py").display().to_string();
    for (what, case) in [
        ("a case", format!("thread-brigade --tasks 2 --iters 2 --histogram {file}")),
        ("an unwritable file", format!("thread-brigade --tasks 2 --histogram {file}/secret.py")),
        ("a command", format!("thread-brigade --tasks 2 --iters 2 --command {file}")),
        ("a server", format!("echo-server --tasks 2 --iters 2 --server {file}")),
    ] {
        let _ = bench.ends(&["run", &case, "--rounds", "1"]);
        check_anonymous(what, &bench, "secret.py");
    }
    let wrap = bench.path("secret.py");
    contract::executable::write(&wrap, "#!/bin/sh\necho \"$0\" >&2; exec \"$@\"\n");
    let wrap = format!("--wrap={}", wrap.display());
    let ended = bench.ends(&["compare", &wrap, &wrap, "a", "--rounds", "1", "--format", "json"]);
    assert!(ended.stdout.contains("secret.py") && !ended.stdout.contains(&file), "{ended:?}");
    check_anonymous("a wrapper", &bench, "secret.py");
}

#[test]
fn a_record_names_no_control_group() {
    let group = match ControlGroup::with_most_threads(60) {
        Ok(group) => group,
        Err(why) => return contract::skip("the name of a control group", &why),
    };
    let bench = Bench::new(&["a"], "");
    let words = ["run", "thread-brigade --tasks 90", "--rounds", "1"];
    let _ = Ended::from(bench.brigade_under(&["sh", "-c", &group.entering(), "sh"], &words));
    let error = bench.records()[0]["error"].to_string();
    assert!(error.contains("pids.max") && !error.contains("contract-"), "{error}");
}

/// Turns a terminal red, sets its title, clears it, moves up a line, reverses the text, hides
/// behind a carriage return and C1 controls, is markup, and forges a line.
const HOSTILE: &str = "\u{1b}[31m\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[A\u{202e}x\u{2066}\r\u{9b}7m\
                       <script>alert(1)</script>\nforged";

/// The beginning of [`HOSTILE`] as it is shown.
const SHOWN: &str = "\\u001b[31m\\u001b]0;title\\u0007\\u001b[2J\\u001b[A\\u202ex\\u2066";

fn acts(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Checks that the output contains no control characters, and shows the hostile text.
fn check_shown(ended: &Ended) {
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!printed.contains(acts), "{printed:?}");
    assert!(!printed.lines().any(|line| line.starts_with("forged")), "{printed:?}");
    assert!(printed.split_whitespace().collect::<String>().contains(SHOWN), "{printed:?}");
}

#[test]
fn words_of_programs_manifests_and_flags_are_escaped() {
    let bench = Bench::new(&["a"], "cat words >&2; exit 1");
    fs::write(bench.path("words"), HOSTILE.replace(['\r', '\n'], "")).unwrap();
    for arguments in [&["run"][..], &["check"], &["run", HOSTILE]] {
        check_shown(&bench.ends(arguments));
    }
    for (from, exits) in [(r#""name":"iteration""#, 0), (r#""error":null"#, 3)] {
        let (key, _) = from.split_once(':').unwrap();
        let record = RECORD.replacen(from, &format!("{key}:{}", json!(HOSTILE)), 1);
        let bench = Bench::new(&["a"], &format!("cat record; exit {exits}"));
        fs::write(bench.path("record"), record).unwrap();
        check_shown(&bench.ends(&["run"]));
    }
    let manifest = |from: &str| bench.manifest().replacen(from, &json!(HOSTILE).to_string(), 1);
    for (from, arguments) in [("'Which?'", &["list"][..]), ("flags", &["check"])] {
        check_shown(&Ended::from(bench.brigade_with(&manifest(from), arguments)));
    }
}

/// The command of a run from a stranger, in a folder with spaces.
#[test]
fn a_printed_command_can_be_pasted_and_runs_nothing_else() {
    let bench = Bench::printing(RECORD);
    bench.ends(&["run", "a --x 1", "--rounds", "1"]);
    let folder = bench.path("results/of $(touch them)");
    fs::rename(&bench.result_folders()[0], &folder).unwrap();
    let folder = folder.to_str().unwrap();
    let printed = |format: &str| {
        let ended = bench.ends(&["report", "--full", folder, "--format", format]);
        ended.stdout.replace("&#39;", "'").replace("&quot;", "\"")
    };
    let lines_with = |words: &[&str], text: &str| {
        text.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
    };
    for format in ["text", "markdown", "html"] {
        let text = printed(format);
        let words = ["brigade run 'a --x 1' --rounds 1 --seed", " --manifest FILE"];
        assert_eq!(lines_with(&words, &text), 1, "{text}");
    }
    let screen = bench.ends(&["report", folder]).stdout;
    let quoted = format!("page: '{folder}/report.html'\n");
    assert!(screen.contains(&quoted), "{screen}");
    fs::remove_file(format!("{folder}/report.html")).unwrap();
    let screen = bench.ends(&["report", folder]).stdout;
    assert!(screen.contains(&format!("more: brigade report --full '{folder}'\n")), "{screen}");
    for (command, shown) in [
        (json!(["brigade", "run", "$(touch me)", "`x`"]), Some("brigade run '$(touch me)' '`x`'")),
        (json!(["brigade", "run", "--manifest", "/tmp/theirs"]), None),
        (json!(["sh", "-c", "touch me"]), None),
    ] {
        edit(format!("{folder}/run.json"), |run| run["procedure"]["command"] = command.clone());
        for format in ["text", "markdown", "html"] {
            let text = printed(format);
            // The page also contains the report as JSON.
            let text = text.split("<script").next().unwrap();
            // To repeat it, and for a longer one.
            let is_found = shown.is_some_and(|shown| lines_with(&[shown], text) > 0);
            assert_eq!(is_found, shown.is_some(), "{format}: {text}");
            assert!(shown.is_some() || lines_with(&["touch me"], text) == 0, "{text}");
            assert!(shown.is_some() || lines_with(&["--manifest"], text) == 0, "{text}");
        }
    }
}

#[test]
fn a_long_argument_is_not_echoed_whole() {
    let long = "x".repeat(100_000);
    let bench = Bench::printing(RECORD);
    for words in [&["run", &*long][..], &["report", &long], &["thread-brigade", "--tasks", &long]] {
        let mut command = bench.brigade(words);
        if words[0] == "thread-brigade" {
            command = contract::command(env!("CARGO_BIN_EXE_brigade"));
            command.args(words);
        }
        let ended = Ended::from(command);
        let length = ended.stdout.len() + ended.stderr.len();
        assert!(ended.code != Some(0) && (10..5000).contains(&length), "{length} {:?}", ended.code);
    }
}

#[test]
fn a_report_is_escaped_for_its_format() {
    let bench = Bench::printing(RECORD);
    bench.ends(&["run"]);
    let folder = bench.path("results/\u{1b}[31mred");
    fs::rename(&bench.result_folders()[0], &folder).unwrap();
    edit(folder.join("run.json"), |run| {
        run["skipped"] = json!([{ "case": "b", "reason": HOSTILE }]);
        run["procedure"]["command"] = json!(["brigade", "run", HOSTILE]);
    });
    let records = fs::read_to_string(folder.join("records.jsonl")).unwrap();
    let records = records.replace("\"iteration\"", &json!(HOSTILE).to_string());
    fs::write(folder.join("records.jsonl"), records).unwrap();
    let folder = folder.to_str().unwrap();
    for format in ["text", "markdown", "html", "csv", "json"] {
        let ended = bench.ends(&["report", "--full", folder, "--format", format]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let text = ended.stdout;
        assert!(text.to_lowercase().contains("script"), "{format}: {text}");
        assert!(!text.contains(acts), "{format}: {text:?}");
        // An indented block of code is shown verbatim.
        let is_markup = |line: &str| line.contains("<script>alert") && !line.starts_with("    ");
        let is_page = ["markdown", "html"].contains(&format);
        assert!(!is_page || !text.lines().any(is_markup), "{text}");
    }
}
