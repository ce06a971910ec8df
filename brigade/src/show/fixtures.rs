//! A fixed report for tests of the output formats.

use harness::record::Distance;

use crate::judge::report::model::{Report, RunProgress};
use crate::judge::report::{RunData, report};
use crate::manifest::Manifest;
use crate::store::environment::Environment;
use crate::store::fixtures::{self as sample, Sample};
use crate::store::invocation::{Invocation, Outcome};
use crate::store::results::{CaseDetail, Procedure, RUN_SCHEMA_VERSION, RunDescription, Skipped};
use crate::store::saved_run::SavedRun;

/// The fixed report's manifest as text.
pub const MANIFEST: &str = r#"
    [programs]
    "threads/same-cpu" = { path = "fake" }
    "threads/spread" = { path = "fake" }
    tasks = { path = "fake" }
    alone = { path = "fake" }
    create = { path = "fake" }

    [[group]]
    name = "hops"
    question = "What does a hop cost?"
    note = "A hop is one hand-over."
    cases = ["threads/same-cpu", "threads/spread", "tasks", "alone"]
    comparisons = [
        { case = "threads/spread", over = "tasks" },
        { case = "threads/spread", minus = "threads/same-cpu" },
        { case = "threads/same-cpu", minus = "alone" },
    ]
    [[group]]
    name = "creation"
    question = "What does creating one cost?"
    cases = ["create"]
"#;

/// The fixed report's manifest.
pub fn manifest() -> Manifest {
    Manifest::parse(MANIFEST).expect("a manifest")
}

/// Twelve rounds of `case`, up to two percent apart; `offset` selects the first factor.
fn rounds(case: &str, like: Sample, offset: usize) -> Vec<Invocation> {
    let mut factors = [1.0, 0.99, 1.01, 1.02, 0.98, 1.005, 1.0, 0.995, 1.012, 1.018, 0.985, 1.003];
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
    tasks.push(sample::without_record("tasks", 13, Outcome::Failed));
    tasks.push(Invocation { interrupted: true, ..tasks[12].clone() });
    [
        rounds("threads/same-cpu", pinned, 0),
        rounds("threads/spread", spread, 1),
        tasks,
        rounds("alone", hop(640.0), 2),
        creation.collect(),
    ]
    .concat()
}

/// A run of all cases, `slower` times as slow.
pub fn run(slower: f64) -> SavedRun {
    let mut environment = Environment::default();
    for (name, value) in [
        ("processor.cache.l2", "512 KiB"),
        ("processor.model", "AMD EPYC"),
        ("processor.online_cpus", "2"),
    ] {
        environment.set(name, Some(value));
    }
    let description = RunDescription {
        schema_version: RUN_SCHEMA_VERSION.to_owned(),
        brigade_version: "0.1.0".to_owned(),
        started_at: "2026-11-21T11:55:14.847Z".to_owned(),
        profile: "default".to_owned(),
        rounds: 6,
        seed: 3_940_445_089,
        cases: ["threads/same-cpu", "threads/spread", "tasks", "alone", "create"]
            .map(str::to_owned)
            .to_vec(),
        details: Vec::new(),
        skipped: vec![Skipped { case: "uring".to_owned(), reason: "no io_uring".to_owned() }],
        procedure: Some(Procedure::default()),
        side: None,
    };
    let invocations = invocations(slower);
    SavedRun { description, environment, invocations, warnings: Vec::new(), rejected: 0 }
}

/// The report of runs, each this many times as slow.
pub fn report_of(slower: &[f64]) -> Report {
    let runs: Vec<SavedRun> = slower.iter().map(|slower| run(*slower)).collect();
    report_with(&manifest(), &runs)
}

/// The report of a run with a sample of the pairs of 64 CPUs, in which a hand-over takes longer the
/// farther apart the CPUs are.
pub fn sixty_four() -> Report {
    let machine = sample::sixty_four_cpus();
    let places = machine.places();
    let place = |cpu: usize| *places.iter().find(|place| place.cpu == cpu).unwrap();
    let pairs: Vec<[usize; 2]> = (0..64)
        .flat_map(|first| [1, 3, 8, 16, 31, 32, 33].map(|step| [first, first + step]))
        .filter(|[_, second]| *second < 64)
        .collect();
    let time = |ns: f64, [first, second]: [usize; 2]| match place(first).distance(&place(second)) {
        Some(Distance::SmtSibling) => ns,
        Some(Distance::SharedCache) => 2.0 * ns,
        Some(Distance::SameNode) => 3.0 * ns,
        _ => 6.0 * ns + first as f64,
    };
    let named = |[first, second]: [usize; 2]| format!("spin/{first},{second}");
    let mut run = run(1.0);
    run.environment.facts.extend(machine.facts.clone());
    let invocations = |pair: &[usize; 2]| {
        let ns = time(25.0, *pair);
        let times = [0.99, 1.0, 1.01, 0.98, 1.02, 1.0].map(|factor| ns * factor);
        let mut invocations = sample::paired(&named(*pair), *pair, times);
        for record in invocations.iter_mut().filter_map(|of| of.record.as_mut()) {
            record.program = "fake".to_owned();
        }
        invocations
    };
    run.invocations = pairs.iter().flat_map(invocations).collect();
    let detail = |pair: &[usize; 2]| CaseDetail {
        case: named(*pair),
        program: "fake".to_owned(),
        parameters: [("cpus".to_owned(), format!("{},{}", pair[0], pair[1]))].into(),
        group: Some("cores".to_owned()),
    };
    run.description = RunDescription {
        cases: pairs.iter().map(|pair| named(*pair)).collect(),
        details: pairs.iter().map(detail).collect(),
        skipped: Vec::new(),
        ..run.description
    };
    let manifest = format!(
        "{MANIFEST}\n[[group]]\nname = 'cores'\nquestion = 'What between CPUs?'\ncases = []\n"
    );
    report_with(&Manifest::parse(&manifest).unwrap(), &[run])
}

/// The report of these runs.
pub fn report_with(manifest: &Manifest, runs: &[SavedRun]) -> Report {
    let data = runs.iter().enumerate().map(|(index, run)| RunData {
        name: format!("run-{}", index + 1),
        saved: run,
        progress: RunProgress {
            ended: 31,
            interrupted: 1,
            planned: 30,
            is_complete: true,
            rounds: 6,
            ..RunProgress::default()
        },
        alike: Vec::new(),
        previous: None,
        since: String::new(),
    });
    report(manifest, &data.collect::<Vec<_>>())
}
