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
mod kinds;
mod population;
mod processes;
mod reading;
mod threads;

use anyhow::ensure;
use harness::failure::{Shortage, UsageError};
use harness::flags::name;
use harness::limits::{self, STACK_BYTES, raise_soft_file_limit};
use harness::record::LedgerPoint;
use harness::{Bench, Count, Launch, Measured, Spec, program};

use kinds::{Subject, Task, Waiting, size, stack_size};

/// How much of a process's stack may be touched, in bytes: half of the 8 MiB of a main thread on
/// Linux.
const PROCESS_STACK_BYTES: usize = 4 << 20;

/// Measure the memory of idle tasks, part by part.
///
/// Tasks are added step by step; after each step the memory of the process and
/// of the machine is read. One iteration adds the tasks of one step.
#[derive(clap::Args)]
struct Flags {
    /// Kind of the tasks
    #[arg(long, value_enum, default_value_t = Subject::Thread)]
    kind: Subject,

    /// What each async task waits for [default: nothing]
    #[arg(long, value_enum)]
    waiting: Option<Waiting>,

    /// Tasks at the first reading [default: half of --to]
    #[arg(long, value_name = "N")]
    from: Option<u32>,

    /// Bytes that each task writes before it waits, like 400KiB: on its stack, or on the heap if it
    /// has none
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = size)]
    touch: usize,

    /// Address space of each thread's or coroutine's stack [default: 1MiB]
    #[arg(long, value_name = "BYTES", value_parser = stack_size)]
    stack_size: Option<usize>,

    /// Create tasks one by one up to --tasks, or until the kernel refuses one
    #[arg(long)]
    until_refused: bool,
}

const SPEC: Spec = Spec { tasks: 0, count: Count::Swept, iters: 9, warmups: Some(0), ..Spec::NEW };

harness::program!(SPEC, |_: &Flags, _: &Launch<'_>| Ok(SPEC), run);

impl Flags {
    /// The memory of each task.
    ///
    /// # Errors
    /// [`UsageError`] for flags that its kind does not support.
    fn task(&self) -> Result<Task, UsageError> {
        let Self { kind, waiting, touch, .. } = *self;
        let has_sized_stack = kind.kind(waiting).has_sized_stack();
        let is_process = kind == Subject::Process;
        let chosen = self.stack_size.unwrap_or(STACK_BYTES as usize);
        let stack_bytes = if is_process { PROCESS_STACK_BYTES } else { chosen };
        let task = Task { stack_bytes, touch_bytes: touch, waiting };
        let most = task.most_touched();
        let waits = waiting.map(|waiting| name(&waiting)).unwrap_or_default();
        Err(UsageError(if waiting.is_some() && !kind.is_polled() {
            format!("--waiting {waits}: --kind {kind} determines what its tasks wait for")
        } else if kind == Subject::LocalPool && !matches!(waiting, None | Some(Waiting::Channel)) {
            format!("--waiting {waits}: LocalPool has neither timers nor I/O; choose channel")
        } else if self.stack_size.is_some() && !has_sized_stack {
            format!("--stack-size: --kind {kind} has no stacks to size")
        } else if touch > 0 && kind == Subject::IoUring {
            format!("--touch: --kind {kind} has nothing to touch")
        } else if (has_sized_stack || is_process) && touch > most {
            format!(
                "--touch {touch}: at most {most} bytes of a stack of {stack_bytes} can be touched"
            )
        } else {
            return Ok(task);
        }))
    }
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let task = flags.task()?;
    if flags.until_refused {
        until_refused(flags.kind, task, bench)?;
    } else {
        sweep(flags, task, bench)?;
    }
    if bench.flags().json || bench.flags().quiet {
        return Ok(());
    }
    program::print(&reading::text(&bench.findings().ledger))
}

/// Adds tasks step by step, one step in each iteration. Between iterations, including warm-ups,
/// the memory is read.
fn sweep(flags: &Flags, task: Task, bench: &Bench) -> anyhow::Result<()> {
    let need = |tasks| task.need(flags.kind, tasks);
    let steps = bench.flags().iters.saturating_add(bench.flags().warmups.unwrap_or(0));
    let to = match bench.tasks() as u64 {
        0 => limits::fitting(&need(flags.kind.default_tasks(task.waiting))).max(2 * steps),
        tasks => tasks,
    };
    let from = flags.from.map_or(to / 2, u64::from);
    let step = to.saturating_sub(from) / steps;
    ensure!(
        step > 0,
        UsageError(format!(
            "--from {from} --to {to}: {steps} steps, warm-ups included, need at least as many \
             tasks in between"
        ))
    );
    limits::require(&need(to))?;
    let mut population = population::open(flags.kind, task, false)?;
    let mut tasks = from;
    population.add(tasks)?;
    bench.findings().ledger.push(reading::read(tasks, &population.processes()));
    let create = Measured { operations: step, ..Measured::single("create", "task creation") };
    for lap in bench.laps(&[create]) {
        population.add(step)?;
        lap.finish();
        tasks += step;
        bench.findings().ledger.push(reading::read(tasks, &population.processes()));
    }
    let observed = bench.observe();
    population.end().and(observed)
}

/// Creates `--tasks` tasks, or fewer if the kernel refuses one, reads their memory, and ends them.
/// Does not check limits first.
///
/// # Errors
/// If a task fails for any reason but a limit.
fn until_refused(subject: Subject, task: Task, bench: &Bench) -> anyhow::Result<()> {
    let most = bench.tasks() as u64;
    let missing = "--until-refused: give the most tasks with --tasks";
    ensure!(most > 0, UsageError(missing.into()));
    raise_soft_file_limit();
    let mut population = population::open(subject, task, true)?;
    let mut refused = None;
    for lap in bench.cold_lap(Measured::single("populate", "population")) {
        while population.count() < most && refused.is_none() && !bench.is_interrupted() {
            if let Err(error) = population.add(1) {
                refused = Some(error.downcast::<Shortage>()?.cause());
            }
        }
        lap.finish();
    }
    let held = reading::at_once(population.count(), &population.processes());
    bench.findings().ledger.push(LedgerPoint { refused, ..held });
    let observed = bench.observe();
    population.end().and(observed)
}
