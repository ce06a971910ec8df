//! What a program started ends with the runner, whatever becomes of that; and two that
//! measure on one machine refuse each other.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use contract::skip;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

use crate::bench::{Bench, Ended, RECORD, end_of, eventually, is_running, send, start};

/// Starts a process that writes its number to `child` and lives for ever: in the
/// group of the program, or in a session of its own.
const STARTS: [&str; 2] = [
    "sh -c 'echo $$ >child.new; mv child.new child; exec sleep 6000' &",
    "setsid sh -c 'echo $$ >child.new; mv child.new child; exec sleep 6000' &",
];

/// A `brigade run` whose program has started a process, and waits.
fn waiting(starts: &str) -> (Bench, Child, String) {
    let bench = Bench::new(&["a"], &format!("[ -e go ] || {{ {starts}\nwait; }}; echo '{RECORD}'"));
    let brigade = start(&bench, &["run"]);
    eventually("the child is running", || bench.path("child").exists());
    let child = fs::read_to_string(bench.path("child")).unwrap().trim().to_owned();
    fs::write(bench.path("go"), "").unwrap();
    (bench, brigade, child)
}

#[test]
fn what_a_program_started_ends_with_a_runner_that_is_killed() {
    for starts in STARTS {
        let (bench, mut brigade, child) = waiting(starts);
        brigade.kill().unwrap();
        brigade.wait().unwrap();
        // The next does not measure beside what is left, nor is it refused.
        let ended = bench.ends(&["run"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        assert!(!is_running(&child), "{starts}");
    }
}

#[test]
fn what_a_program_started_ends_with_a_runner_that_is_stopped() {
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        for starts in STARTS {
            let (bench, brigade, child) = waiting(starts);
            send(&brigade, signal);
            let ended = end_of(brigade);
            assert_eq!(ended.code, Some(130), "{signal}: {ended:?}");
            assert!(!is_running(&child), "{signal}: {starts}");
            assert_eq!(bench.records()[0]["interrupted"], true, "{signal}");
        }
    }
}

#[test]
fn what_a_program_leaves_in_a_session_of_its_own_is_ended() {
    let script =
        format!("{} while [ ! -e child ]; do sleep 0.01; done; echo '{RECORD}'", STARTS[1]);
    let bench = Bench::new(&["a"], &script);
    let ended = bench.ends(&["run", "--rounds", "1"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(!is_running(fs::read_to_string(bench.path("child")).unwrap().trim()));
}

#[test]
fn a_hang_up_that_is_ignored_stays_ignored() {
    let bench = Bench::new(
        &["a"],
        &format!("touch ready; while [ ! -e go ]; do sleep 0.01; done; echo '{RECORD}'"),
    );
    let ignoring = ["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""];
    let mut nohup = bench.brigade_under(&ignoring, &["run"]);
    let child = nohup.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the program is running", || bench.path("ready").exists());
    send(&child, Signal::SIGHUP);
    fs::write(bench.path("go"), "").unwrap();
    let ended = end_of(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// The numbers of the runner's children.
fn children_of(brigade: &Child) -> Vec<Pid> {
    let is_child = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
        fields.split_whitespace().nth(1) == Some(&brigade.id().to_string())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(is_child).map(Pid::from_raw).collect()
}

#[test]
fn what_outlives_even_the_guard_holds_the_lock_and_is_named() {
    let (bench, mut brigade, child) = waiting(STARTS[1]);
    let program = children_of(&brigade);
    assert!(!program.is_empty());
    for pid in program {
        kill(pid, Signal::SIGSTOP).unwrap();
    }
    // A runner that goes on would end what is left, now that its program has ended.
    kill(Pid::from_raw(brigade.id().cast_signed()), Signal::SIGSTOP).unwrap();
    for pid in children_of(&brigade) {
        kill(pid, Signal::SIGKILL).unwrap();
    }
    brigade.kill().unwrap();
    brigade.wait().unwrap();
    let ended = bench.ends(&["run"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let named = format!("process {child} (sleep)");
    assert!(ended.stderr.contains(&named), "{ended:?}");
    assert!(ended.stderr.contains(&format!("kill -KILL {child}")), "{ended:?}");
    kill(Pid::from_raw(child.parse().unwrap()), Signal::SIGKILL).unwrap();
    eventually("the lock is free", || bench.ends(&["run"]).code == Some(0));
}

#[test]
fn nothing_runs_beside_a_program_but_what_sleeps() {
    let (_bench, brigade, _) = waiting("sleep 6000 & echo $! >child.new; mv child.new child");
    let sleeps = |pid: &Pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| stat.contains(") S "))
    };
    // The program, whose shell waits, and the guard.
    assert_eq!(children_of(&brigade).len(), 2);
    eventually("both sleep", || children_of(&brigade).iter().all(sleeps));
    send(&brigade, Signal::SIGTERM);
    let ended = end_of(brigade);
    assert_eq!(ended.code, Some(130), "{ended:?}");
}

#[test]
fn a_lock_is_free_as_soon_as_its_run_has_ended() {
    let bench = Bench::printing(RECORD);
    for _ in 0..20 {
        let ended = Ended::from(bench.brigade(&["check"]));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    }
}

/// A `brigade run` whose program waits until the file `go` is there.
fn measuring() -> (Bench, Child) {
    let script = format!("touch ready; while [ ! -e go ]; do sleep 0.01; done; echo '{RECORD}'");
    let bench = Bench::new(&["a"], &script);
    let child = start(&bench, &["run"]);
    eventually("the program is running", || bench.path("ready").exists());
    (bench, child)
}

#[test]
fn a_second_run_refuses_to_start_and_names_the_first() {
    let (bench, mut first) = measuring();
    for command in ["run", "check"] {
        let ended = bench.ends(&[command]);
        let line = format!(
            "brigade: another brigade, process {}, is measuring on this machine: \
             wait for it to end ({} is locked)\n",
            first.id(),
            bench.path("lock").display()
        );
        assert_eq!((ended.code, ended.stderr), (Some(1), line), "{command}");
        assert_eq!(ended.stdout, "", "{command}");
    }
    assert_eq!(bench.result_folders().len(), 1, "the refused one left a folder");
    fs::write(bench.path("go"), "").unwrap();
    assert!(first.wait().unwrap().success(), "the first was disturbed");
    assert_eq!(bench.ends(&["check"]).code, Some(0), "the first still holds the lock");
}

/// A file of another user's is to this one as one of its own that forbids it; who is
/// root is first made as weak as others.
#[test]
fn a_lock_that_another_user_has_made_unreadable_is_told_with_what_to_do() {
    let weak = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"];
    let becomes_weak = Command::new(weak[0]).args(&weak[1..]).arg("true").status();
    if geteuid().is_root() && !becomes_weak.is_ok_and(|status| status.success()) {
        return skip("a lock that may not be read", "setpriv cannot take root's capabilities away");
    }
    let bench = Bench::new(&["a"], "touch ran");
    let lock = bench.path("lock");
    fs::write(&lock, "1 1\n").unwrap();
    fs::set_permissions(&lock, Permissions::from_mode(0o000)).unwrap();
    let ended = if geteuid().is_root() {
        Ended::from(bench.brigade_under(&weak, &["run"]))
    } else {
        bench.ends(&["run"])
    };
    let line = format!(
        "brigade: taking the lock {}: name another file with BRIGADE_LOCK=PATH: or have its owner \
         let every user write this one (chmod 666): Permission denied (os error 13)\n",
        lock.display()
    );
    assert_eq!((ended.code, ended.stdout, ended.stderr), (Some(1), String::new(), line));
    assert!(!bench.path("ran").exists());
}
