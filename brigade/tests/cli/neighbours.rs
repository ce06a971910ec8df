//! Another user of the machine plants files next to the binary: nothing planted runs.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Command;

use nix::unistd::geteuid;
use tempfile::TempDir;

use crate::bench::{Ended, can};

/// Python that shows that it ran.
const PLANTED: &str = "import os\nopen(os.environ['RAN'], 'w')\nos._exit(1)\n";

/// The user of most machines that owns nothing.
const NOBODY: u32 = 65534;

fn write(path: impl AsRef<Path>, text: &str) {
    fs::create_dir_all(path.as_ref().parent().expect("in a folder")).expect("create folders");
    fs::write(path, text).expect("write a file");
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("set a mode");
}

/// A temporary folder that only this user can write, with no tool but Python in its `tools`; if both
/// exist here.
fn folder() -> Option<TempDir> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut python = Command::new("python3");
    python.args(["-c", "import sys; print(sys.executable)"]);
    if !can("planted files", &mut python) {
        return None;
    }
    fs::create_dir(folder.path().join("tools")).expect("create a folder");
    let python = Ended::from(python).stdout;
    symlink(python.trim(), folder.path().join("tools/python3")).expect("link to Python");
    let path = folder.path().canonicalize().expect("a path");
    let user = geteuid().as_raw();
    let is_safe = path.ancestors().all(|folder| {
        let found = folder.metadata().expect("a folder");
        [0, user].contains(&found.uid()) && (found.mode() & 0o022 == 0 || found.mode() & 0o1000 > 0)
    });
    if !is_safe {
        contract::skip("planted files", "the temporary folder is in one of another user");
    }
    is_safe.then_some(folder)
}

/// Runs the guest in Python under this binary, and returns whether the planted one ran, too.
fn checks(brigade: &Path, folder: &TempDir, change: impl Fn(&mut Command)) -> (Ended, bool) {
    let ran = folder.path().join("ran");
    let mut command = Command::new(brigade);
    command.args(["check", "python-brigade"]).current_dir(folder.path());
    command.env("BRIGADE_LOCK", folder.path().join("lock"));
    command.env("XDG_CACHE_HOME", folder.path().join("cache")).env("RAN", &ran);
    command.env("PATH", folder.path().join("tools"));
    change(&mut command);
    let ended = Ended::from(command);
    (ended, fs::remove_file(ran).is_ok())
}

#[test]
fn guests_next_to_a_binary_run_only_if_nobody_else_could_have_put_them_there() {
    let Some(folder) = folder() else { return };
    let prefix = folder.path().canonicalize().unwrap().join("prefix");
    let guests = prefix.join("share/brigade/guests");
    write(guests.join("python/brigade.py"), PLANTED);
    fs::create_dir(prefix.join("bin")).unwrap();
    contract::executable::copy(env!("CARGO_BIN_EXE_brigade").as_ref(), &prefix.join("bin/brigade"));
    // A sticky folder may contain the prefix, but not its folders.
    set_mode(folder.path(), 0o1777);
    let check = |is_used: bool, named: &Path, what: &str| {
        let (ended, ran) = checks(&prefix.join("bin/brigade"), &folder, |_| {});
        assert_eq!(ran, is_used, "{what}: {ended:?}");
        let names = ended.stderr.contains(&format!("{} is not used", guests.display()))
            && ended.stderr.contains(named.to_str().unwrap());
        assert_eq!(names, !is_used, "{what}: {ended:?}");
        let says = if is_used { "1 failed" } else { "1 passed" };
        assert!(ended.stdout.contains(says), "{what}: {ended:?}");
    };
    check(true, &guests, "as installed");
    for (path, mode) in [
        (prefix.join("bin"), 0o777),
        (prefix.clone(), 0o1777),
        (prefix.join("share"), 0o775),
        (prefix.join("share/brigade"), 0o777),
        (guests.clone(), 0o1777),
        (guests.join("python"), 0o775),
        (guests.join("python/brigade.py"), 0o666),
    ] {
        let before = path.metadata().unwrap().mode() & 0o7777;
        set_mode(&path, mode);
        check(false, &path, &format!("of mode {mode:o}: {}", path.display()));
        set_mode(&path, before);
    }
    if geteuid().is_root() {
        for path in [prefix.join("share"), guests.join("python/brigade.py")] {
            chown(&path, Some(NOBODY), None).unwrap();
            check(false, &path, &format!("of nobody: {}", path.display()));
            chown(&path, Some(0), None).unwrap();
        }
    } else {
        contract::skip("planted files of another user", "only root creates such");
    }
    let real = guests.join("python/real");
    fs::rename(guests.join("python/brigade.py"), &real).unwrap();
    symlink(&real, guests.join("python/brigade.py")).unwrap();
    check(false, &guests.join("python/brigade.py"), "a link");
    fs::rename(&real, guests.join("python/brigade.py")).unwrap();
    check(true, &guests, "as installed, again");
    fs::rename(prefix.join("bin"), prefix.join("mine")).unwrap();
    let (ended, ran) = checks(&prefix.join("mine/brigade"), &folder, |_| {});
    assert!(!ran && ended.stderr.contains("is not used"), "{ended:?}");
}
