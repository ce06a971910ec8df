//! A fixed report for the tests of what is made from one.

use std::path::Path;

use crate::judge::report::model::{Progress, Report};
use crate::judge::report::{RunData, report};
use crate::manifest::Manifest;
use crate::store::invocation::{Invocation, Outcome};
use crate::store::results::{RunDescription, Skipped};
use crate::store::sample::{self, Sample};
use crate::store::saved_run::SavedRun;

const MANIFEST: &str = r#"
    [profiles.default]
    rounds = 5
    budget_seconds = 140
    [profiles.thorough]
    rounds = 6
    budget_seconds = 1800
    [programs.fake]
    path = "fake"
    check = { iters = 1, warmups = 0 }

    [[group]]
    name = "hops"
    question = "What does a hop cost?"
    program = "fake"
    [[group.case]]
    name = "threads/same-cpu"
    placement = "same-cpu"
    baseline = "alone"
    [[group.case]]
    name = "threads/spread"
    placement = "spread"
    [[group.case]]
    name = "tasks"
    flags = ["--tasks"]
    [[group.case]]
    name = "alone"
    flags = ["--alone"]
    [[group]]
    name = "creation"
    question = "What does creating one cost?"
    program = "fake"
    [[group.case]]
    name = "create"
    flags = ["--create"]

    [[headline]]
    text = "hop between threads"
    case = "threads/same-cpu"
    [[headline]]
    text = "threads over tasks"
    case = "threads/same-cpu"
    over = "tasks"
    [[headline]]
    text = "join"
    case = "create"
    measurement = "create_join"

    [[finding]]
    kind = "comparison"
    first = { case = "tasks", text = "a hop between tasks", name = "the tasks' hop" }
    second = { case = "threads/spread", text = "one between threads", name = "the threads' hop" }
    [[finding]]
    kind = "remainder"
    of = { case = "threads/same-cpu", text = "a hop on one CPU", name = "the hop" }
    baseline = { case = "alone", text = "the I/O alone", name = "the I/O" }
    remains = "the switch"
    [[finding]]
    kind = "attribution"
    of = "a hop"
    cases = [
        { case = "threads/same-cpu", text = "on one CPU" },
        { case = "create", text = "in creation" },
    ]
"#;

/// The manifest of the fixed report.
pub fn manifest() -> Manifest {
    Manifest::parse(MANIFEST).expect("a manifest")
}

/// Six rounds of `case`, up to two percent apart, whose factors begin with this
/// one of the rounds.
fn rounds(case: &str, like: Sample, offset: usize) -> Vec<Invocation> {
    let mut factors = [1.0, 0.99, 1.01, 1.02, 0.98, 1.005];
    factors.rotate_left(offset);
    let samples = factors.map(|by| Sample { wall_ns: like.wall_ns * by, ..like });
    sample::samples(case, samples)
}

fn invocations(slower: f64) -> Vec<Invocation> {
    let hop = |ns: f64| Sample::hop(ns * slower);
    let pinned = Sample { placement: "same-cpu", user_ns: 310.0, system_ns: 1400.0, ..hop(1790.0) };
    let spread = Sample { placement: "spread", cross_cpu_share: 0.99, ..hop(22_000.0) };
    let creation = rounds("create", Sample { user_ns: 8000.0, ..hop(9100.0) }, 0);
    let creation =
        creation.into_iter().map(|run| sample::and_measurement(run, "create_join", "join", 800.0));
    let mut tasks = rounds("tasks", hop(905.0), 3);
    tasks.push(sample::without_record("tasks", 7, Outcome::Failed));
    tasks.push(Invocation { interrupted: true, ..tasks[6].clone() });
    [
        rounds("threads/same-cpu", pinned, 0),
        rounds("threads/spread", spread, 1),
        tasks,
        rounds("alone", hop(640.0), 2),
        creation.collect(),
    ]
    .concat()
}

/// A run of all cases in a folder of this name.
pub fn run(slower: f64) -> SavedRun {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/2026-11-21-amd-epyc-2cpu-3");
    let mut run = SavedRun::read(&folder).expect("a recorded run");
    run.invocations = invocations(slower);
    let names = ["threads/same-cpu", "threads/spread", "tasks", "alone", "create"];
    run.description = RunDescription {
        cases: names.map(str::to_owned).to_vec(),
        skipped: vec![Skipped { case: "uring".to_owned(), reason: "no io_uring".to_owned() }],
        ..run.description
    };
    run
}

/// The report of runs whose cases take so many times as long.
pub fn report_of(slower: &[f64]) -> Report {
    let runs: Vec<SavedRun> = slower.iter().map(|slower| run(*slower)).collect();
    report_with(&manifest(), &runs)
}

/// The report of these runs.
pub fn report_with(manifest: &Manifest, runs: &[SavedRun]) -> Report {
    let data = runs.iter().enumerate().map(|(index, run)| RunData {
        name: format!("run-{}", index + 1),
        description: &run.description,
        environment: &run.environment,
        invocations: &run.invocations,
        proof: None,
        progress: Progress {
            ended: 31,
            interrupted: 1,
            planned: 30,
            is_complete: true,
            rounds: 6,
            ..Progress::default()
        },
    });
    report(manifest, &data.collect::<Vec<_>>())
}
