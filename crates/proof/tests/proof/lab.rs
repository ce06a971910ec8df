//! Builds the Release binaries once, runs them, and decides from what they measured.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::thread;

use contract::invocation::Invocation;
use contract::{Program, machine};
use harness::cpus;
use harness::record::Record;
use serde_json::Value;

/// How often an experiment that does not hold is made at most.
const ATTEMPTS: usize = 2;

/// How far the mean unit of work may exceed the fastest on a quiet machine, and the largest share
/// of CPU time that others use. If processes take turns, the scheduler slows a loop and a waiting
/// thread differently, and means prove nothing.
const QUIET: f64 = 0.03;

/// Programs and opponents built in one profile.
pub struct Build {
    files: Vec<PathBuf>,
}

/// Cargo's default release profile, which users build.
pub static DEFAULT: LazyLock<Build> =
    LazyLock::new(|| Build::new(&["-p", "brigade", "-p", "proof", "--bins"], &[]));

/// The programs that have opponents, and one opponent, with one codegen unit for each crate whose code
/// laps run.
pub static ONE_UNIT: LazyLock<Build> = LazyLock::new(|| {
    let binaries = ["async-mem-brigade", "coroutine-brigade", "bare"];
    let packages = ["async-mem-brigade", "coroutine-brigade", "proof"];
    let crates = ["harness", "tokio", "corosensei"].into_iter().chain(packages);
    let mut flags = vec!["--target-dir=target/one-unit".to_owned()];
    flags.extend(packages.map(|package| format!("--package={package}")));
    flags.extend(binaries.map(|binary| format!("--bin={binary}")));
    flags.extend(crates.map(|of| format!("--config=profile.release.package.{of}.codegen-units=1")));
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    // What they have in common with the default build need not be compiled again.
    let shared = DEFAULT.files[0].ancestors().nth(2).expect("it is in cargo's folder");
    Build::new(&flags, &[("CARGO_BUILD_BUILD_DIR", shared)])
});

/// Alone, it builds everything before the first experiment.
#[test]
#[ignore = "part of the proof"]
fn the_opponents_are_built() {
    let found = [DEFAULT.binary("bare"), ONE_UNIT.binary("bare")].map(|bare| bare.path);
    assert_ne!(found[0], found[1], "each profile has its own");
}

impl Build {
    fn new(flags: &[&str], variables: &[(&str, &Path)]) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut cargo = contract::command(env!("CARGO"));
        cargo.args(["build", "--release", "--quiet"]).args(flags);
        cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
        // An experiment next to a compiler shows nothing.
        let _machine = machine::alone();
        let output = cargo.envs(variables.iter().copied()).current_dir(&root).output();
        let output = output.expect("cargo runs");
        assert!(output.status.success(), "{cargo:?}");
        // One message a line; those of binaries say where cargo's settings put them.
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let file = |line: &str| {
            let message: Value = serde_json::from_str(line).expect("JSON");
            message["executable"].as_str().map(PathBuf::from)
        };
        Self { files: text.lines().filter_map(file).collect() }
    }

    /// A binary of this build.
    pub fn binary(&self, name: &str) -> Program {
        let file = self.files.iter().find(|file| file.file_name() == Some(name.as_ref()));
        program(file.unwrap_or_else(|| panic!("cargo built no {name}")).clone())
    }
}

/// The program in this file.
pub fn program(path: PathBuf) -> Program {
    let path: &'static Path = Box::leak(path.into_boxed_path());
    Program { name: "brigade", path: path.to_str().expect("UTF-8"), ..Program::NEW }
}

/// `brigade WORDS` of the default build.
pub fn brigade(words: &str) -> Invocation {
    invocation(&DEFAULT.binary("brigade"), words)
}

pub fn invocation(program: &Program, words: &str) -> Invocation {
    program.with(&words.split_whitespace().collect::<Vec<_>>())
}

/// The record of `brigade WORDS --json`.
pub fn record(words: &str) -> Record {
    brigade(words).and(&["--json"]).run().succeeded().record()
}

/// The mean time of an operation, in nanoseconds.
pub fn hop_ns(record: &Record) -> f64 {
    record.principal().expect("a measurement").ns_per_operation
}

/// Calls `body` in a new thread, so that what it changes about its thread ends with it. Child
/// processes inherit it.
pub fn in_a_thread<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(body).join().expect("no panic"))
}

/// Runs `body` in a thread on the first CPU.
pub fn on_one_cpu<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    in_a_thread(|| {
        let cpus = cpus::allowed().expect("the CPUs of this process");
        cpus::confine(&cpus[..1]).expect("an own CPU");
        body()
    })
}

/// What an experiment showed, with its figures.
#[derive(Debug)]
pub enum Outcome {
    Holds(String),
    /// The machine is too busy to decide.
    Unclear(String),
    Fails(String),
}

impl Outcome {
    pub fn new(holds: bool, figures: impl Display) -> Self {
        let figures = figures.to_string();
        if holds { Self::Holds(figures) } else { Self::Fails(figures) }
    }

    /// A busy machine may cause a failure.
    pub fn or_unclear_if(self, is_busy: bool) -> Self {
        match self {
            Self::Fails(figures) if is_busy => Self::Unclear(format!("busy: {figures}")),
            other => other,
        }
    }
}

/// Makes an experiment, again if it does not hold. If it fails twice, so does the test.
///
/// # Panics
/// Then.
pub fn shown(what: &str, mut experiment: impl FnMut() -> Outcome) {
    // Before this one has the machine: a build waits for it.
    LazyLock::force(&DEFAULT);
    let _machine = machine::alone();
    let mut failed = None;
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match experiment() {
            Outcome::Holds(figures) => return println!("{what}: {figures}"),
            Outcome::Unclear(figures) => last = figures,
            Outcome::Fails(figures) => {
                if let Some(before) = failed.replace(figures.clone()) {
                    panic!("{what}: {before}; again: {figures}");
                }
                last = figures;
            }
        }
    }
    contract::skip(what, &format!("not decided: {last}"));
}

/// Whether the machine was too busy for means, decided without the laps: by the CPU time of others
/// over all processes, and by the units of work between the laps.
pub fn is_busy<'r>(records: impl IntoIterator<Item = &'r Record>) -> bool {
    let mut others = 0.0;
    let mut all = 0.0;
    let mut excesses = Vec::new();
    for record in records {
        let found = &record.interference;
        if let Some((others_ns, wall_ns)) = found.others_cpu_ns.zip(found.wall_ns) {
            others += others_ns as f64;
            all += wall_ns as f64 * record.affinity.len().max(1) as f64;
        }
        let units = record.work.and_then(|work| work.mean_ns_per_unit.zip(work.ns_per_unit));
        if let Some((mean, fastest)) = units {
            excesses.push(mean / fastest - 1.0);
        }
    }
    others > QUIET * all || (!excesses.is_empty() && median(&excesses) > QUIET)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

pub fn median(values: &[f64]) -> f64 {
    let values = sorted(values);
    let half = values.len() / 2;
    (values[half] + values[(values.len() - 1) / 2]) / 2.0
}

/// The mean of the lower quarter's bounds: page placement makes one process in four a tenth slower.
pub fn lower_quartile(values: &[f64]) -> f64 {
    sorted(values)[values.len() / 4]
}

/// Whether the median of `values` is between two bounds: by its interval of 99 %, from the order
/// of at least 8 values.
pub fn median_within(values: &[f64], bounds: [f64; 2]) -> Outcome {
    let sorted = sorted(values);
    let count = sorted.len();
    assert!(count >= 8, "{count} are too few");
    let below = (count as f64 / 2.0 - 1.288 * (count as f64).sqrt()) as usize;
    let ends = [sorted[below], sorted[count - 1 - below]];
    let [least, most] = bounds;
    let figures = format!("{:.3} {ends:.3?}, must be within {bounds:?}", median(values));
    if ends[0] >= least && ends[1] <= most {
        Outcome::Holds(figures)
    } else if ends[0] > most || ends[1] < least {
        Outcome::Fails(figures)
    } else {
        Outcome::Unclear(figures)
    }
}
