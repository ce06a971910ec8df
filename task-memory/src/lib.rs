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
mod flags;
mod population;
mod processes;
mod reading;
mod sweep;
mod threads;

use std::process::ExitCode;

use harness::limits::{self, Need};
use harness::{Bench, Count, Launch, Spec, program};

use flags::{Flags, Subject};
use sweep::{Counts, sweep, until_refused};

const SPEC: Spec = Spec { tasks: 0, count: Count::Swept, iters: 9, warmups: Some(0), ..Spec::NEW };

/// This page.
pub const PAGE: &str = include_str!("lib.rs");

/// Runs the program: flags in, a summary or a record out.
pub fn main() -> ExitCode {
    harness::run(harness::program!(), &SPEC, declare, run)
}

fn declare(_: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    Ok(SPEC)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let subject = flags.kind;
    if subject == Subject::Heap {
        flags.check_heap()?;
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
