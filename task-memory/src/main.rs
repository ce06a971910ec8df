//! What a task holds in memory while it waits, in user space and in the
//! kernel.
//!
//! One iteration adds a step's tasks, each of which touches `--touch` bytes
//! and then waits; `create` is the time of that. Between iterations, warm-ups
//! too, process and machine are asked what they hold; the record has every
//! reading. The slope of a figure over the number of tasks is what one task
//! holds; what the process holds anyway is in the intercept and cancels.
//!
//! What is counted: user memory (`Pss`), page tables, kernel stacks and
//! unreclaimable slab are disjoint, and their sum can be held against the drop
//! of what is available: `MemAvailable` and the free pages on lists of the CPUs,
//! which it leaves out. A process draws from these first, so the
//! first half of the tasks comes before the first reading, and the drop of
//! `MemAvailable` alone agrees too. Of processes the user memory is
//! proportional: pages shared with the parent are divided among those that
//! share them. `--kind heap` has no tasks: it shows address
//! space against memory.
//!
//! Known biases: kernel stacks, slab and `MemAvailable` are the whole
//! machine's, so others' doings are in them; take many tasks and a quiet
//! machine, and believe the intervals. Allocators and slabs grow by leaps. An
//! async task holds what its future holds; by default it holds a pointer and
//! waits for nothing, so it is the least that a task of its runtime can be.
//! `--waiting` has each wait for a message, a timer or a byte instead: figures
//! elsewhere are often of tasks with a timer each.
//! A recursion touches stacks, whose last frame may reach 2 KiB too deep.
//!
//! With `--until-refused` there is one iteration, in which tasks are made one by
//! one until the kernel refuses one: the record says how many there were, and
//! what was refused. Threads are made as the standard library makes them, by
//! other code, since that code would abort the process.

mod async_tasks;
mod population;
mod processes;
mod reading;
mod subject;
mod sweep;
mod threads;

use std::process::ExitCode;

use harness::failure::UsageError;
use harness::limits::{self, Need, STACK_BYTES};
use harness::{Bench, Count, Launch, Spec, program};

use population::Task;
use subject::{Subject, Waiting, size, stack_size};
use sweep::{Counts, sweep, until_refused};

/// How much of the stack of a process may be touched, in bytes: half of the
/// 8 MiB that Linux gives to the main thread.
const PROCESS_STACK_BYTES: usize = 4 << 20;

/// Read what waiting tasks hold in memory, part by part.
///
/// Tasks are added step by step, and at each count the memory of the process
/// and of the machine is read. One iteration adds the tasks of one step.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// What the tasks are; heap is no tasks but one block of memory
    #[arg(long, value_enum, default_value_t = Subject::Thread)]
    kind: Subject,

    /// What each async task waits for; without it, nothing
    #[arg(long, value_enum)]
    waiting: Option<Waiting>,

    /// Tasks at the first reading; without it, half of the most
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    from: Option<u32>,

    /// What each task writes to before it waits, like 400KiB: of its stack, or
    /// of a heap block where tasks have none
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = size)]
    #[arg(allow_negative_numbers = true)]
    touch: usize,

    /// Address space of each thread's or coroutine's stack; without it, 1MiB
    #[arg(long, value_name = "BYTES", value_parser = stack_size, allow_negative_numbers = true)]
    stack_size: Option<usize>,

    /// The block of --kind heap; without it, 256MiB
    #[arg(long, value_name = "BYTES", value_parser = size, allow_negative_numbers = true)]
    bytes: Option<usize>,

    /// Make tasks one by one until there are as many as --tasks, or the kernel
    /// refuses one
    #[arg(long)]
    until_refused: bool,
}

const SPEC: Spec = Spec { tasks: 0, count: Count::Swept, iters: 9, warmups: Some(0), ..Spec::NEW };

fn main() -> ExitCode {
    harness::run(harness::program!(), &SPEC, declare, run)
}

fn declare(_: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    Ok(SPEC)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let subject = flags.kind;
    if subject == Subject::Heap {
        flags.refuse_for_heap()?;
        reading::observe_block(flags.bytes.unwrap_or(256 << 20), bench)?;
        return show(bench);
    }
    let task = flags.task()?;
    if flags.until_refused {
        until_refused(subject, task, bench)?;
        return show(bench);
    }
    let per_task = task.amounts(subject);
    let need = |tasks| Need { tasks, per_task, fixed: subject.shared() };
    let steps = bench.flags().iters.saturating_add(bench.flags().warmups.unwrap_or(0));
    let most = match bench.tasks() as u64 {
        0 => limits::fitting(&need(subject.default_tasks(task.waiting))).max(2 * steps),
        tasks => tasks,
    };
    let counts = Counts::new(flags.from.map_or(most / 2, u64::from), most, steps)?;
    limits::require(&need(counts.to))?;
    sweep(subject, task, counts, bench)?;
    show(bench)
}

/// Prints the first reading and the last, if a text is asked for.
fn show(bench: &Bench) -> anyhow::Result<()> {
    if bench.flags().json || bench.flags().quiet {
        return Ok(());
    }
    program::print(&reading::text(&bench.findings().ledger))
}

impl Flags {
    /// What each task is to hold, refusing flags that its kind cannot follow.
    fn task(&self) -> Result<Task, UsageError> {
        let kind = self.kind;
        kind.require(self.waiting)?;
        let has_sized_stack = kind.kind(self.waiting).has_sized_stack();
        if self.stack_size.is_some() && !has_sized_stack {
            return Err(UsageError(format!("--stack-size: --kind {kind} does not choose stacks")));
        }
        if self.bytes.is_some() {
            return Err(UsageError(format!("--bytes: --kind {kind} has no block; use --touch")));
        }
        if self.touch > 0 && kind == Subject::IoUring {
            return Err(UsageError("--touch: --kind io-uring has nothing to touch".into()));
        }
        let stack_bytes = match kind {
            Subject::Process => PROCESS_STACK_BYTES,
            _ => self.stack_size.unwrap_or(STACK_BYTES as usize),
        };
        let task = Task { stack_bytes, touch_bytes: self.touch, waiting: self.waiting };
        let on_stack = has_sized_stack || kind == Subject::Process;
        if on_stack && self.touch > task.most_touched() {
            return Err(UsageError(format!(
                "--touch {}: at most {} bytes of a stack of {stack_bytes} can be touched",
                self.touch,
                task.most_touched(),
            )));
        }
        Ok(task)
    }

    fn refuse_for_heap(&self) -> Result<(), UsageError> {
        let given = [
            ("--stack-size", self.stack_size.is_some()),
            ("--until-refused", self.until_refused),
            ("--waiting", self.waiting.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(UsageError(format!("{flag}: --kind heap has no tasks"))),
            None => Ok(()),
        }
    }
}
