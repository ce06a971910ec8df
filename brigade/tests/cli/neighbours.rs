//! Another user of the machine plants files: next to the binary, in the cache, and where brigade
//! writes. Nothing planted runs, and nothing else is overwritten.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::stat::Mode;
use nix::unistd::{geteuid, mkfifo};
use tempfile::TempDir;

use crate::bench::{Bench, Ended, RECORD};

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
    let mut python = contract::command("python3");
    python.args(["-c", "import sys; print(sys.executable)"]);
    if !contract::can("planted files", &mut python) {
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
    let mut command = contract::command(brigade);
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
        let says = if is_used { "1 failed" } else { "0 skipped" };
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

/// The folder of unpacked sources in a cache.
fn sources(cache: &Path) -> PathBuf {
    let entries = fs::read_dir(cache.join("brigade")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        entries.filter(|path| path.to_str().unwrap().contains("sources-")).collect();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn a_damaged_cache_of_sources_repairs_itself_and_nothing_planted_in_it_runs() {
    let Some(folder) = folder() else { return };
    let cache = folder.path().join("cache");
    let brigade = Path::new(env!("CARGO_BIN_EXE_brigade"));
    let (ended, _) = checks(brigade, &folder, |_| {});
    assert!(ended.stdout.contains("0 skipped"), "{ended:?}");
    let python = sources(&cache).join("guests/python");
    let script = python.join("brigade.py");
    let original = fs::read_to_string(&script).unwrap();
    let damages: [(&str, &dyn Fn()); 9] = [
        ("removed", &|| fs::remove_file(&script).unwrap()),
        ("edited", &|| write(&script, PLANTED)),
        ("a folder", &|| {
            fs::remove_file(&script).unwrap();
            write(script.join("x"), "");
        }),
        ("a link", &|| {
            write(folder.path().join("planted"), PLANTED);
            fs::remove_file(&script).unwrap();
            symlink(folder.path().join("planted"), &script).unwrap();
        }),
        ("the language is removed", &|| fs::remove_dir_all(&python).unwrap()),
        // What Python imports first.
        ("a module", &|| write(python.join("json.py"), PLANTED)),
        ("a package", &|| write(python.join("asyncio/__init__.py"), PLANTED)),
        ("a build", &|| write(python.join("../goroutine-brigade"), PLANTED)),
        ("open to others", &|| {
            set_mode(cache.join("brigade"), 0o777);
            set_mode(&script, 0o666);
        }),
    ];
    for (what, damage) in damages {
        damage();
        let (ended, ran) = checks(brigade, &folder, |_| {});
        assert!(!ran && ended.stdout.contains("0 skipped"), "{what}: {ended:?}");
        assert_eq!(ended.stderr, "", "{what}");
        assert_eq!(fs::read_to_string(&script).unwrap(), original, "{what}");
        assert!(!script.is_symlink() && !python.join("../goroutine-brigade").exists(), "{what}");
        let files = fs::read_dir(&python).unwrap().count();
        assert_eq!(files, 2, "{what}: something is left in the folder");
        for path in [&cache.join("brigade"), &python, &script] {
            assert_eq!(path.metadata().unwrap().mode() & 0o022, 0, "{what}: {}", path.display());
        }
    }
}

#[test]
fn a_cache_that_others_can_change_is_not_used_and_named() {
    let Some(folder) = folder() else { return };
    let brigade = Path::new(env!("CARGO_BIN_EXE_brigade"));
    let home = folder.path().join("home");
    let cache = home.join(".cache");
    fs::create_dir(&home).unwrap();
    let in_home = |command: &mut Command| {
        command.env_remove("XDG_CACHE_HOME").env("HOME", &home);
    };
    let refused = |what: &str, names: &str| {
        let (ended, ran) = checks(brigade, &folder, in_home);
        assert!(!ran && ended.stdout.contains("1 skipped"), "{what}: {ended:?}");
        assert!(ended.stdout.contains(names), "{what}: {ended:?}");
        assert!(ended.stdout.contains("set XDG_CACHE_HOME"), "{what}: {ended:?}");
    };
    set_mode(&home, 0o777);
    refused("HOME is open", "others can write");
    assert!(!cache.exists(), "something was created where others can do the same");
    set_mode(&home, 0o1777);
    let (ended, _) = checks(brigade, &folder, in_home);
    assert!(ended.stdout.contains("0 skipped"), "{ended:?}");
    for path in [cache.clone(), cache.join("brigade")] {
        if geteuid().is_root() {
            write(sources(&cache).join("guests/python/brigade.py"), PLANTED);
            chown(&path, Some(NOBODY), None).unwrap();
            refused(&format!("{} of nobody", path.display()), "belongs to another user");
            chown(&path, Some(0), None).unwrap();
        }
    }
}

/// An empty part of `PATH` or `PYTHONPATH` is the current folder.
#[test]
fn nothing_in_the_current_folder_runs() {
    let Some(folder) = folder() else { return };
    let here = tempfile::tempdir().unwrap();
    write(here.path().join("json.py"), PLANTED);
    contract::executable::write(&here.path().join("python3"), "#!/bin/sh\n: >\"$RAN\"\n");
    let tools = folder.path().join("tools");
    let change = |command: &mut Command| {
        command.current_dir(here.path()).env("PYTHONPATH", ":");
        command.env("PATH", format!(":{}", tools.display()));
    };
    let (ended, ran) = checks(Path::new(env!("CARGO_BIN_EXE_brigade")), &folder, change);
    assert!(!ran && ended.stdout.contains("0 skipped"), "{ended:?}");
}

/// The names of the files in a folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    entries.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn pictures_are_written_neither_through_a_link_nor_elsewhere() {
    let bench = Bench::new(&["a", "b"], &format!("echo '{RECORD}'"));
    // Nor does a group's name lead elsewhere.
    let manifest = bench.manifest().replace("'letters'", "'../letters'");
    let ended = Ended::from(bench.brigade_with(&manifest, &["run"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let stranger = bench.result_folders().remove(0);
    let pictures = |folder: &Path| {
        let [run, folder] = [&*stranger, folder].map(|path| path.to_str().unwrap());
        let words = ["report", run, "--pictures", folder];
        Ended::from(bench.brigade_with(&manifest, &words))
    };
    let clean = bench.path("clean");
    fs::create_dir(&clean).unwrap();
    assert_eq!(pictures(&clean).code, Some(0));
    let names = names_in(&clean);
    assert!(!names.is_empty() && names.iter().all(|name| name.starts_with("letters-")));
    assert!(!names_in(&bench.path("")).iter().any(|name| name.ends_with(".svg")));
    let precious = bench.path("precious");
    fs::write(&precious, "precious").unwrap();
    for what in ["a link", "a link to nothing", "a pipe", "a hard link"] {
        for to in names.iter().map(|name| stranger.join(name)) {
            match what {
                "a link" => symlink(&precious, to).unwrap(),
                "a link to nothing" => symlink(bench.path("new"), to).unwrap(),
                "a pipe" => mkfifo(&to, Mode::S_IRWXU).unwrap(),
                _ => fs::hard_link(&precious, to).unwrap(),
            }
        }
        let ended = pictures(&stranger);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious", "{what}");
        assert!(!bench.path("new").exists(), "{what}");
        if what != "a hard link" {
            assert_eq!((ended.code, &*ended.stdout), (Some(1), ""), "{what}: {ended:?}");
            assert!(ended.stderr.contains(&names[0]) || names.len() > 1, "{what}: {ended:?}");
        }
        names.iter().for_each(|name| drop(fs::remove_file(stranger.join(name))));
    }
}
