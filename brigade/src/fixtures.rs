//! Fixed invocations, and a fixed run with its report, for tests.

use std::collections::BTreeMap;
use std::path::Path;

use harness::TaskKind;
use harness::record::{CpuTime, Interference, Measurement, Record, Switches};

use crate::judge::report::{Report, RunData, RunProgress, report as report_of};
use crate::judge::run::Run;
use crate::manifest::Manifest;
use crate::store::results::{
    Environment, Invocation, Outcome, RunDescription, SCHEMA_VERSION, SavedRun, Skipped,
};

/// Operations in one sample.
const OPERATIONS: u64 = 10;
/// Duration of the measured part of an invocation, on two CPUs: so long that a
/// clock tick does not matter.
const SPAN_NS: u64 = 100_000_000_000;

/// The measurements of one invocation, per operation.
#[derive(Clone, Copy)]
pub struct Sample {
    pub wall_ns: f64,
    pub user_ns: f64,
    pub system_ns: f64,
    pub switches: f64,
    pub cross_cpu_share: f64,
    /// Share of the CPUs' time that others used.
    pub others_share: f64,
    pub placement: &'static str,
}

impl Sample {
    /// An iteration with hops of `wall_ns` each, half of it in the kernel, on
    /// one CPU chosen by the kernel.
    pub fn hop(wall_ns: f64) -> Self {
        Self {
            wall_ns,
            user_ns: wall_ns * 0.2,
            system_ns: wall_ns * 0.5,
            switches: 1.0,
            cross_cpu_share: 0.0,
            others_share: 0.0,
            placement: "free",
        }
    }

    /// The sample as an invocation of `case` in `round`.
    pub fn in_round(self, case: &str, round: u32) -> Invocation {
        Invocation {
            record: Some(self.record(case)),
            ..without_record(case, round, Outcome::Measured)
        }
    }

    fn record(self, program: &str) -> Record {
        let laps = (SPAN_NS as f64 / (self.wall_ns * OPERATIONS as f64)).clamp(2.0, 1e15) as u64;
        Record {
            schema_version: harness::record::SCHEMA_VERSION.to_owned(),
            program: program.to_owned(),
            version: "0.1.0".to_owned(),
            parameters: BTreeMap::from([("placement".to_owned(), self.placement.into())]),
            kind: match program.split(' ').next() {
                Some("threads") => Some(TaskKind::Thread),
                Some("tasks") => Some(TaskKind::AsyncTask),
                _ => None,
            },
            tasks: OPERATIONS - 1,
            tokens: 1,
            iterations: laps,
            warmups: 10,
            complete: true,
            affinity: vec![0, 1],
            measurements: vec![measurement("iteration", "hop", laps, self.wall_ns)],
            cpu: Some(CpuTime {
                user_ns_per_operation: self.user_ns,
                system_ns_per_operation: self.system_ns,
                uncounted_ns_per_operation: None,
            }),
            switches: Some(Switches {
                voluntary_per_operation: self.switches * 0.75,
                involuntary_per_operation: self.switches * 0.25,
                expected_per_operation: Some(1.0),
                cross_cpu_share: Some(self.cross_cpu_share),
            }),
            interference: Interference {
                wall_ns: Some(SPAN_NS),
                others_cpu_ns: Some((2.0 * SPAN_NS as f64 * self.others_share) as i64),
                throttled_ns: Some(0),
                throttled_periods: Some([0, 0]),
                ..Interference::default()
            },
            ..Record::default()
        }
    }
}

/// One measured invocation of `case` per round, with these hop times.
pub fn case<const ROUNDS: usize>(case: &str, hop_ns: [f64; ROUNDS]) -> Vec<Invocation> {
    (1..).zip(hop_ns).map(|(round, ns)| Sample::hop(ns).in_round(case, round)).collect()
}

/// An invocation without a record.
pub fn without_record(case: &str, round: u32, outcome: Outcome) -> Invocation {
    Invocation {
        schema_version: SCHEMA_VERSION.to_owned(),
        case: case.to_owned(),
        round,
        attempt: 1,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        duration_ns: 1_000_000,
        command: vec![case.to_owned()],
        outcome,
        exit_code: Some(0),
        ..Invocation::default()
    }
}

/// A measurement whose median is 0.9 and whose 99th percentile is 2 times its
/// mean.
fn measurement(name: &str, operation: &str, count: u64, wall_ns: f64) -> Measurement {
    let mean_ns = wall_ns * OPERATIONS as f64;
    let times_mean = |factor: f64| (mean_ns * factor) as u64;
    Measurement {
        name: name.to_owned(),
        operation: operation.to_owned(),
        operations: OPERATIONS,
        count,
        mean_ns,
        stddev_ns: Some(0.0),
        min_ns: times_mean(0.8),
        p50_ns: times_mean(0.9),
        p90_ns: times_mean(1.5),
        p99_ns: times_mean(2.0),
        p999_ns: times_mean(3.0),
        max_ns: times_mean(4.0),
        ns_per_operation: wall_ns,
        ns_per_task: None,
        histogram: String::new(),
    }
}

const MANIFEST: &str = r#"
    [programs]
    threads = { path = "threads" }
    tasks = { path = "tasks" }
    create = { path = "create" }

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
    let sample = |by| Sample { wall_ns: like.wall_ns * by, ..like };
    (1..).zip(factors).map(|(round, by)| sample(by).in_round(case, round)).collect()
}

/// A run with its invocations.
#[derive(Clone)]
pub struct WholeRun {
    pub description: RunDescription,
    pub environment: Environment,
    pub invocations: Vec<Invocation>,
}

impl WholeRun {
    /// The run as its report needs it.
    pub fn judged(&self) -> Run {
        let mut run = Run::new(self.description.clone(), self.environment.clone());
        for invocation in &self.invocations {
            run.add(invocation);
        }
        run
    }
}

/// The run in this folder, whole.
pub fn read(folder: &Path) -> WholeRun {
    let mut invocations = Vec::new();
    let read = SavedRun::read(folder, |one| invocations.push(one)).expect("a run");
    let SavedRun { description, environment, .. } = read;
    WholeRun { description, environment, invocations }
}

/// A run of all cases, in which one failed and one was interrupted.
pub fn run() -> WholeRun {
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
    tasks.push(without_record("tasks", 13, Outcome::Failed));
    tasks.push(Invocation { interrupted: true, ..tasks[12].clone() });
    let mut create = rounds("create", Sample { user_ns: 8000.0, ..Sample::hop(9100.0) }, 0);
    for record in create.iter_mut().filter_map(|invocation| invocation.record.as_mut()) {
        record.measurements.push(measurement("join", "join", record.iterations, 800.0));
    }
    let invocations = [rounds(cases[0], pinned, 0), rounds(cases[1], spread, 1), tasks, create];
    WholeRun {
        description: RunDescription {
            schema_version: SCHEMA_VERSION.to_owned(),
            brigade_version: "1.0.0".to_owned(),
            started_at: "2026-11-21T11:55:14.847Z".to_owned(),
            profile: "default".to_owned(),
            rounds: 12,
            seed: 3_940_445_089,
            cases: cases.map(str::to_owned).to_vec(),
            skipped: vec![Skipped { case: "uring".to_owned(), reason: "no io_uring".to_owned() }],
            ..RunDescription::default()
        },
        environment,
        invocations: invocations.concat(),
    }
}

/// The report of a run.
pub fn report_with(saved: &WholeRun) -> Report {
    let progress = RunProgress { ended: 49, rounds: 12, is_complete: true, ..Default::default() };
    let run = &mut saved.judged();
    report_of(&manifest(), RunData { name: "run-1".to_owned(), run, progress, alike: &[] })
}

/// The report of the fixed run.
pub fn report() -> Report {
    report_with(&run())
}
