//! The report of a case that had to share its CPU.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;

use harness::cpus;
use serde_json::Value;

use crate::bench::{Bench, Ended};

/// The error of one or two clock ticks on one CPU, in nanoseconds.
const TICKS_NS: f64 = 20e6;

/// The example `busy-thread`. Cargo builds it with all tests of this member,
/// but not with a single one; so build it here.
fn busy_thread() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(env!("CARGO_MANIFEST_DIR")).arg("--quiet");
        cargo.args(["build", "--locked", "--offline", "--example", "busy-thread"]);
        cargo.arg("--target-dir").arg(target);
        assert!(cargo.status().unwrap().success(), "{cargo:?}");
        target.join("debug/examples/busy-thread")
    })
}

/// Confines this thread and its children to the first CPU that it may use.
fn keep_to_one_cpu() {
    cpus::confine(&cpus::allowed().unwrap()[..1]).unwrap();
}

/// A busy shell, until it is dropped or this process has died.
struct Hog(Child);

impl Hog {
    fn start() -> Self {
        Self(Command::new("sh").args(["-c", "while kill -0 $PPID; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Runs `busy` once for 0.4 s on one CPU.
fn run(busy: &Path) -> (Bench, Ended) {
    let bench = Bench::new(&["busy-thread"], "");
    std::fs::remove_file(bench.path("busy-thread")).unwrap();
    symlink(busy, bench.path("busy-thread")).unwrap();
    let manifest = bench.manifest().replace("--max-time 1", "--max-time 0.4");
    let ended = bench.brigade_with(&manifest, &["run", "--rounds", "1"]).into();
    (bench, ended)
}

/// CPU time of others and of the program itself, and the length of the span, in
/// nanoseconds.
fn others_own_and_wall(record: &Value) -> (f64, f64, f64) {
    let figure = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{record}"));
    let laps = &record["measurements"][0];
    let cpu = |space: &str| figure(&record["cpu"][space]);
    let per_operation = cpu("user_ns_per_operation") + cpu("system_ns_per_operation");
    let own = per_operation * figure(&laps["count"]) * figure(&laps["operations"]);
    let interference = &record["interference"];
    (figure(&interference["others_cpu_ns"]), own, figure(&interference["wall_ns"]))
}

#[test]
fn a_case_next_to_a_hog_on_its_cpu_is_marked() {
    let busy = busy_thread();
    keep_to_one_cpu();
    let hog = Hog::start();
    let (bench, ended) = run(busy);
    drop(hog);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.replace("\n  ", " ").contains("others used "), "{ended:?}");
    let row = ended.stdout.lines().skip_while(|line| !line.contains(" sw/op ")).nth(1).unwrap();
    assert!(row.ends_with("1!") || row.ends_with("1~"), "{row}");
    let (others, _, wall) = others_own_and_wall(&bench.records()[0]["record"]);
    assert!(others > 0.1 * wall, "{others} of {wall}");
}

// However busy the machine is, the program and the others cannot use more than
// the CPU's time. If the program's time counted as that of others, the sum
// would exceed it.
#[test]
fn a_busy_program_does_not_disturb_itself() {
    let busy = busy_thread();
    keep_to_one_cpu();
    let (bench, ended) = run(busy);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (others, own, wall) = others_own_and_wall(&bench.records()[0]["record"]);
    assert!(own > 0.0 && others + own <= wall + TICKS_NS, "{others} and {own} of {wall}");
}
