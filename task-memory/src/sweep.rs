//! A sweep: adds tasks step by step, and reads the memory after each.

use harness::failure::{Shortage, UsageError};
use harness::limits::raise_soft_file_limit;
use harness::record::LedgerPoint;
use harness::{Bench, Measured};

use crate::flags::Subject;
use crate::population::{Task, open};
use crate::reading;

/// The range of task counts, and its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Tasks at the first reading.
    pub from: u64,
    /// Tasks added before each later reading.
    pub step: u64,
    /// The most tasks; the last step may end below.
    pub to: u64,
}

impl Counts {
    /// This many equal steps, each of at least one task.
    pub fn new(from: u64, to: u64, steps: u64) -> Result<Self, UsageError> {
        let step = to.saturating_sub(from) / steps;
        if step == 0 {
            return Err(UsageError(format!(
                "--from {from} --to {to}: {steps} steps, warm-ups included, need at least as many \
                 tasks in between"
            )));
        }
        Ok(Self { from, step, to })
    }
}

/// Sweeps once. One iteration adds a step's tasks; readings are taken between
/// iterations, including warm-ups.
pub fn sweep(subject: Subject, task: Task, counts: Counts, bench: &Bench) -> anyhow::Result<()> {
    let mut population = open(subject, task, false)?;
    let mut tasks = counts.from;
    population.add(tasks)?;
    bench.findings().ledger.push(reading::read(tasks, &population.processes()));
    let create =
        Measured { operations: counts.step, ..Measured::single("create", "task creation") };
    for lap in bench.laps(&[create]) {
        population.add(counts.step)?;
        lap.finish();
        tasks += counts.step;
        bench.findings().ledger.push(reading::read(tasks, &population.processes()));
    }
    let observed = bench.observe();
    population.end().and(observed)
}

/// Creates `--tasks` tasks, or fewer if the kernel refuses one, reads their
/// memory, and ends them. Does not check limits first.
///
/// # Errors
/// If a task fails for any reason but a limit.
pub fn until_refused(subject: Subject, task: Task, bench: &Bench) -> anyhow::Result<()> {
    let most = bench.tasks() as u64;
    if most == 0 {
        return Err(UsageError("--until-refused: give the most tasks with --tasks".into()).into());
    }
    raise_soft_file_limit();
    let mut population = open(subject, task, true)?;
    let mut refused = None;
    for lap in bench.cold_lap(Measured::single("populate", "population")) {
        while population.count() < most && refused.is_none() && !bench.is_interrupted() {
            refused = refusal(population.add(1))?;
        }
        lap.finish();
    }
    let tasks = population.count();
    let held = reading::at_once(tasks, &population.processes());
    bench.findings().ledger.push(LedgerPoint { refused, ..held });
    let observed = bench.observe();
    population.end().and(observed)
}

/// What the kernel refused, if that is why no task was added.
fn refusal(added: anyhow::Result<()>) -> anyhow::Result<Option<String>> {
    let Err(error) = added else { return Ok(None) };
    error.downcast::<Shortage>().map(|shortage| Some(shortage.cause()))
}
