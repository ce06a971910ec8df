//! Two that measure on one machine refuse each other.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use contract::skip;
use nix::unistd::geteuid;

use crate::bench::{Bench, Ended, RECORD, eventually};

/// A `brigade run` whose program waits until the file `go` is there.
fn measuring() -> (Bench, Child) {
    let script = format!("touch ready; while [ ! -e go ]; do sleep 0.01; done; echo '{RECORD}'");
    let bench = Bench::new(&["a"], &script);
    let mut brigade = bench.brigade(&["run"]);
    let child = brigade.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
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

#[test]
fn the_lock_of_one_that_was_killed_is_taken_over() {
    let (bench, mut first) = measuring();
    first.kill().unwrap();
    first.wait().unwrap();
    fs::write(bench.path("go"), "").unwrap();
    let ended = bench.ends(&["run"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
}

/// A file of another user's is to this one as one of its own that forbids it; who is
/// root is first made as weak as others.
#[test]
fn a_lock_that_another_user_has_made_unreadable_is_told_with_what_to_do() {
    let weak = ["--bounding-set=-all", "--inh-caps=-all", "--"];
    let becomes_weak = Command::new("setpriv").args(weak).arg("true").status();
    if geteuid().is_root() && !becomes_weak.is_ok_and(|status| status.success()) {
        return skip("a lock that may not be read", "setpriv cannot take root's capabilities away");
    }
    let bench = Bench::new(&["a"], "touch ran");
    let lock = bench.path("lock");
    fs::write(&lock, "1 1\n").unwrap();
    fs::set_permissions(&lock, Permissions::from_mode(0o000)).unwrap();
    let brigade = bench.brigade(&["run"]);
    let ended = if geteuid().is_root() {
        let mut weakened = Command::new("setpriv");
        weakened.args(weak).arg(brigade.get_program()).args(brigade.get_args());
        weakened.current_dir(bench.path("")).env("BRIGADE_LOCK", &lock);
        Ended::from(weakened)
    } else {
        Ended::from(brigade)
    };
    let line = format!(
        "brigade: taking the lock {}: name another file with BRIGADE_LOCK=PATH: or have its owner \
         let every user write this one (chmod 666): Permission denied (os error 13)\n",
        lock.display()
    );
    assert_eq!((ended.code, ended.stdout, ended.stderr), (Some(1), String::new(), line));
    assert!(!bench.path("ran").exists());
}
