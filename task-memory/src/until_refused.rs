//! Making tasks one by one, until there are enough or the kernel refuses one.

use harness::failure::{Shortage, UsageError};
use harness::limits::raise_soft_file_limit;
use harness::record::LedgerPoint;
use harness::{Bench, Measured};

use crate::population::{Task, open};
use crate::reading;
use crate::subject::Subject;

/// Makes as many tasks as `--tasks` asks for, or fewer where the kernel refuses
/// one, reads what they hold, and ends them. No limit is checked before.
///
/// # Errors
/// When a task fails for another reason than a limit.
pub fn populate(subject: Subject, task: Task, bench: &Bench) -> anyhow::Result<()> {
    let most = bench.tasks() as u64;
    if most == 0 {
        return Err(UsageError("--until-refused: say the most tasks by --tasks".into()).into());
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
