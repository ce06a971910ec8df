//! A fixed run and its report, for tests of the output formats.

use crate::judge::report::{Report, RunData, RunProgress, report as report_of};
use crate::manifest::Manifest;
use crate::store::fixtures::{self as sample, Sample};
use crate::store::results::{
    Environment, Invocation, Outcome, RUN_SCHEMA_VERSION, RunDescription, SavedRun, Skipped,
};

const MANIFEST: &str = r#"
    [programs.threads]
    path = "threads"
    kind = "thread"
    [programs.tasks]
    path = "tasks"
    kind = "async-task"
    [programs.create]
    path = "create"

    [[screen]]
    heading = "HAND OVER"
    of = "one hop"
    [[screen.blocks]]
    name = "in memory"
    reference = "tasks"
    rows = [
        { text = "async task", case = "tasks" },
        { text = "thread, one CPU", case = "threads --placement same-cpu" },
        { text = "thread, to another CPU", case = "threads --placement spread" },
    ]

    [[sentence]]
    text = "A hop to another CPU takes {} as long."
    case = "threads --placement spread"
    over = "threads --placement same-cpu"
    guess = 1

    [[group]]
    name = "hops"
    question = "What does a hop cost?"
    note = "A hop is one hand-over."
    cases = ["threads --placement {same-cpu,spread}", "tasks"]
    comparisons = [
        { case = "threads --placement spread", over = "tasks" },
        { case = "threads --placement spread", minus = "threads --placement same-cpu" },
    ]
    [[group]]
    name = "creation"
    question = "What does creating one cost?"
    cases = ["create"]
"#;

/// The fixed run's manifest.
pub fn manifest() -> Manifest {
    Manifest::parse(MANIFEST).expect("a manifest")
}

/// Twelve rounds of `case`, up to two percent apart; `offset` selects the first factor.
fn rounds(case: &str, like: Sample, offset: usize) -> Vec<Invocation> {
    let mut factors = [1.0, 0.99, 1.01, 1.02, 0.98, 1.005, 1.0, 0.995, 1.012, 1.018, 0.985, 1.003];
    factors.rotate_left(offset);
    sample::samples(case, factors.map(|by| Sample { wall_ns: like.wall_ns * by, ..like }))
}

/// A run of all cases, in which one failed and one was interrupted.
pub fn run() -> SavedRun {
    let mut environment = Environment::default();
    for (name, value) in [
        ("processor.cache.l2", "512 KiB"),
        ("processor.model", "AMD EPYC"),
        ("processor.online_cpus", "2"),
    ] {
        environment.set(name, Some(value));
    }
    let cases = ["threads --placement same-cpu", "threads --placement spread", "tasks", "create"];
    let pinned =
        Sample { placement: "same-cpu", user_ns: 310.0, system_ns: 1400.0, ..Sample::hop(1790.0) };
    let spread = Sample { placement: "spread", cross_cpu_share: 0.99, ..Sample::hop(22_000.0) };
    let mut tasks = rounds("tasks", Sample::hop(905.0), 3);
    tasks.push(sample::without_record("tasks", 13, Outcome::Failed));
    tasks.push(Invocation { interrupted: true, ..tasks[12].clone() });
    let create = rounds("create", Sample { user_ns: 8000.0, ..Sample::hop(9100.0) }, 0);
    let create = create.into_iter().map(|run| sample::and_measurement(run, "join", "join", 800.0));
    let invocations =
        [rounds(cases[0], pinned, 0), rounds(cases[1], spread, 1), tasks, create.collect()];
    SavedRun {
        description: RunDescription {
            schema_version: RUN_SCHEMA_VERSION.to_owned(),
            brigade_version: "1.0.0".to_owned(),
            started_at: "2026-11-21T11:55:14.847Z".to_owned(),
            profile: "default".to_owned(),
            rounds: 12,
            seed: 3_940_445_089,
            cases: cases.map(str::to_owned).to_vec(),
            details: Vec::new(),
            skipped: vec![Skipped { case: "uring".to_owned(), reason: "no io_uring".to_owned() }],
            procedure: None,
            side: None,
        },
        environment,
        invocations: invocations.concat(),
        warnings: Vec::new(),
    }
}

/// The report of a run.
pub fn report_with(saved: &SavedRun) -> Report {
    let progress = RunProgress { ended: 49, rounds: 12, is_complete: true, ..Default::default() };
    let (name, seconds) = ("run-1".to_owned(), |cases| 7.0 * cases as f64);
    report_of(&manifest(), &RunData { name, saved, progress, alike: &[], seconds })
}

/// The report of the fixed run.
pub fn report() -> Report {
    report_with(&run())
}
