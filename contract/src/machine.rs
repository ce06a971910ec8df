//! This machine: whether it can run a test, and exclusively.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::process::parent_id;

use harness::flags::description;
use harness::limits::{self, Kind, Need};
use harness::process_stat::ProcessStat;
use harness::system_files::SystemFiles;

/// Reserves the machine, as long as the file is open, among all tests of this workspace that call
/// this: those that create very many tasks, or measure what others would disturb.
pub fn alone() -> File {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let file = File::open(path).and_then(|file| file.lock().map(|()| file));
    file.unwrap_or_else(|error| panic!("locking {path}: {error}"))
}

/// Reports that something cannot be tested here: in `target/skipped-tests`, which lists those of
/// the last `cargo test`, and on standard error (the test runner swallows `eprintln!`).
pub fn skip(what: &str, why: &str) {
    let line = format!("SKIPPED: {what}: {why}\n");
    let _ = io::stderr().write_all(line.as_bytes());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/skipped-tests");
    let run = format!("cargo test, process {}\n", parent_id());
    if !fs::read_to_string(path).is_ok_and(|known| known.starts_with(&run)) {
        let _ = fs::write(path, run);
    }
    let file = File::options().append(true).open(path);
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// A process; `None` if it has been reaped.
pub fn stat(pid: i32) -> Option<ProcessStat> {
    ProcessStat::read(&SystemFiles::live(), &format!("proc/{pid}"))
}

/// The children of a process, oldest first.
pub fn children(pid: i32) -> Vec<i32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    children.unwrap_or_default().split_whitespace().map(|pid| pid.parse().expect("a pid")).collect()
}

/// The number of threads of a process.
pub fn threads(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

pub fn has_two_cpus() -> bool {
    std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() >= 2)
}

/// Whether this many tasks fit here; reports a skipped test if not.
pub fn fits_here(kind: Kind, tasks: u64) -> bool {
    let fit = limits::fitting(&Need::new(kind, tasks));
    if fit < tasks {
        skip(&format!("{tasks} {}", description(&kind)), &format!("only {fit} fit here"));
    }
    fit == tasks
}
