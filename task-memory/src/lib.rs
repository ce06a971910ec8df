//! The memory of a waiting task, in user space and in the kernel.
//!
//! One iteration adds a step's tasks, each of which touches `--touch` bytes and then waits;
//! `create` is the time of that. Between iterations, including warm-ups, the memory of process and
//! machine is read; the record contains every reading. The slope of a figure over the number of
//! tasks is the memory of one task; the process's fixed memory is in the intercept and cancels.
//!
//! What is counted: user memory (`Pss`), page tables, kernel stacks and unreclaimable slab are
//! disjoint. Their sum can be compared with the drop in available memory: `MemAvailable` plus the
//! free pages on per-CPU lists, which it omits. A process allocates from these first, so half of
//! the tasks are created before the first reading, and then the drop in `MemAvailable` agrees, too.
//! For processes the user memory is proportional: pages shared with the parent are divided among
//! their users.
//!
//! Known biases: kernel stacks, slab and `MemAvailable` are the whole machine's, so they include
//! others' activity; use many tasks and a quiet machine, and mind the intervals. Allocators and
//! slabs grow in steps. An async task's memory is that of its future; by default it contains a
//! pointer and waits for nothing, the minimum for a task of its runtime. With `--waiting` each
//! waits for a message, a timer or a byte instead: published figures often have one timer per task.
//! Stacks are touched by recursion, whose last frame may reach 2 KiB too deep.
//!
//! With `--until-refused` there is one iteration, which creates tasks one by one until the kernel
//! refuses one: the record contains their number, and what was refused. Before each thread it maps
//! and unmaps what a thread maps, since the standard library aborts the process if only the last
//! map is refused.

mod async_tasks;
mod flags;
mod kinds;
mod processes;
mod reading;
mod threads;

use std::process;

use anyhow::ensure;
use harness::failure::{Shortage, UsageError};
use harness::limits::{self, Kind, raise_soft_file_limit};
use harness::record::LedgerPoint;
use harness::{Bench, Count, Launch, Measured, Spec, TaskKind, program};

use flags::Flags;

const SPEC: Spec = Spec {
    tasks: 0,
    count: Count::Fixed,
    iters: 9,
    warmups: Some(0),
    ..Spec::new(TaskKind::Thread, Kind::Thread)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    Ok(Spec { kind: Some(flags.kind.task_kind()), needs: flags.needs_of_each(), ..SPEC })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    flags.check()?;
    if flags.until_refused {
        until_refused(flags, bench)?;
    } else {
        sweep(flags, bench)?;
    }
    if bench.flags().json || bench.flags().quiet {
        return Ok(());
    }
    program::print(&reading::text(&bench.readings()))
}

/// Adds tasks step by step, one step in each iteration. Between iterations, including warm-ups,
/// the memory is read.
fn sweep(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let steps = bench.flags().iters.saturating_add(bench.flags().warmups.unwrap_or(0));
    let to = flags.tasks.map_or_else(
        || limits::fitting(&flags.need(flags.default_tasks())).max(2 * steps),
        u64::from,
    );
    let from = flags.from.map_or(to / 2, u64::from);
    let step = to.saturating_sub(from) / steps;
    ensure!(
        step > 0,
        UsageError(format!(
            "--from {from} --to {to}: {steps} steps, warm-ups included, need at least as many \
             tasks in between"
        ))
    );
    limits::require(&flags.need(to))?;
    let mut population = kinds::open(flags)?;
    let mut tasks = 0;
    population.add(&mut tasks, from)?;
    bench.add_reading(reading::read(tasks, &population.processes()));
    let create = Measured { operations: step, ..Measured::single("create", "task creation") };
    for lap in bench.laps(&[create]) {
        population.add(&mut tasks, step)?;
        lap.finish();
        bench.add_reading(reading::read(tasks, &population.processes()));
    }
    let observed = bench.observe();
    population.end().and(observed)
}

/// Creates `--tasks` tasks, or fewer if the kernel refuses one, reads their memory, and ends them.
/// Does not check limits first.
///
/// # Errors
/// If a task fails for any reason but a limit.
fn until_refused(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let missing = || UsageError("--until-refused: give the most tasks with --tasks".into());
    let most = u64::from(flags.tasks.ok_or_else(missing)?);
    raise_soft_file_limit();
    let mut population = kinds::open(flags)?;
    let mut tasks = 0;
    let mut refused = None;
    for lap in bench.cold_lap(Measured::single("populate", "population")) {
        while tasks < most && refused.is_none() && !bench.is_interrupted() {
            if let Err(error) = population.add(&mut tasks, 1) {
                refused = Some(error.downcast::<Shortage>()?.cause());
            }
        }
        lap.finish();
    }
    let held = reading::at_once(tasks, &population.processes());
    bench.add_reading(LedgerPoint { refused, ..held });
    let observed = bench.observe();
    population.end().and(observed)
}

/// A growing set of idle tasks of one kind.
trait Population {
    /// Creates the task with this number.
    ///
    /// # Errors
    /// [`harness::failure::Shortage`] if the kernel refuses it.
    fn create(&mut self, task: u64) -> anyhow::Result<()>;

    /// Waits until the tasks, of which there are this many, have touched their memory.
    ///
    /// # Errors
    /// If one has ended.
    fn wait(&mut self, _tasks: u64) -> anyhow::Result<()> {
        Ok(())
    }

    /// Adds `count` tasks to the `tasks` so far, and returns when each of them has touched its
    /// memory. If one is refused, the ones before it stay.
    ///
    /// # Errors
    /// If a task is refused, or one has ended.
    fn add(&mut self, tasks: &mut u64, count: u64) -> anyhow::Result<()> {
        let created = (0..count).try_for_each(|_| {
            self.create(*tasks)?;
            *tasks += 1;
            Ok(())
        });
        self.wait(*tasks).and(created)
    }

    /// The processes of the tasks.
    fn processes(&self) -> Vec<u32> {
        vec![process::id()]
    }

    /// Ends all tasks that would outlive this process.
    ///
    /// # Errors
    /// If a task failed.
    fn end(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}
