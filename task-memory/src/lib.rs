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
//! their users. `--kind heap` has no tasks: it compares address space with memory.
//!
//! Known biases: kernel stacks, slab and `MemAvailable` are the whole machine's, so they include
//! others' activity; use many tasks and a quiet machine, and mind the intervals. Allocators and
//! slabs grow in steps. An async task's memory is that of its future; by default it contains a
//! pointer and waits for nothing, the minimum for a task of its runtime. With `--waiting` each
//! waits for a message, a timer or a byte instead: published figures often have one timer per task.
//! Stacks are touched by recursion, whose last frame may reach 2 KiB too deep.
//!
//! With `--until-refused` there is one iteration, which creates tasks one by one until the kernel
//! refuses one: the record contains their number, and what was refused. These threads are created
//! as the standard library does it but by different code, since the library would abort the
//! process.

mod async_tasks;
mod flags;
mod population;
mod processes;
mod reading;
mod sweep;
mod threads;

use harness::limits;
use harness::{Bench, Count, Launch, Spec, program};

use flags::{Flags, Subject};
use sweep::{Counts, sweep, until_refused};

const SPEC: Spec = Spec { tasks: 0, count: Count::Swept, iters: 9, warmups: Some(0), ..Spec::NEW };

harness::program!(SPEC, declare, run);

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
    let need = |tasks| task.need(subject, tasks);
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

/// Prints the first and the last reading, if text output is wanted.
fn show(bench: &Bench) -> anyhow::Result<()> {
    if bench.flags().json || bench.flags().quiet {
        return Ok(());
    }
    program::print(&reading::text(&bench.findings().ledger))
}
