//! What launching a process costs, until it is reaped, by mechanism and by the
//! memory of its parent.
//!
//! One iteration: launch N tasks (one by default) that end at once, then join
//! them. `launch` is the time until the last call has returned to the parent;
//! `join` the time from there until all are reaped. Before that the parent
//! touches `--resident-mib` of memory, which `fork` has to copy the page
//! tables of.
//!
//! What is counted: one operation is one process or thread. CPU time and
//! switches are the parent's (`RUSAGE_SELF`): they hold the copying that
//! `fork` does, and of the children only threads. Whether a child runs beside
//! its parent or after it is the scheduler's choice, so no switch is claimed.
//!
//! Known biases: `vfork` and `posix-spawn` return when the child has ended or
//! called exec, so `launch` holds one or two switches that the others have in
//! `join`. `posix-spawn` executes /bin/true: its `launch` holds the exec, its
//! `join` the dynamic linking. `fork` copies the page tables of the parent, whose
//! size the summary states: inside `brigade` that has some 60 pages of relocated
//! tables more than in a binary of its own, and a fork takes 5 % longer. After a `fork` the parent pays a page fault for
//! every page that it writes to; it writes to none of the resident ones here.
//! Where huge pages are always on, the resident memory has fewer page tables
//! to copy. Threads reuse the stacks of joined ones.

mod launch;

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use harness::{Amounts, Bench, Launch, Measured, Spec};

use launch::{Launcher, Via};

/// Time launching and joining processes, by several mechanisms.
///
/// One iteration: launch N processes or threads that end at once, then join
/// them. One operation is one of them. `launch` is the time until the call has
/// returned to the parent, `join` that until the last one is reaped.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// What launches the tasks
    #[arg(long, value_enum, default_value_t = Via::Fork)]
    via: Via,

    /// Memory that the parent touches first, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=1 << 20))]
    resident_mib: u32,
}

const SPEC: Spec = Spec { tasks: 1, iters: 1000, ..Spec::NEW };

/// This page.
pub const PAGE: &str = include_str!("lib.rs");

/// Runs the program: flags in, a summary or a record out.
pub fn main() -> ExitCode {
    harness::run(harness::program!(), &SPEC, declare, run)
}

fn declare(&Flags { via, resident_mib }: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    let per_task = match via {
        Via::Thread => Amounts::thread(2 << 20),
        _ => Amounts::process(),
    };
    Ok(Spec { per_task, fixed: Amounts::heap(u64::from(resident_mib) << 20), ..SPEC })
}

fn run(&Flags { via, resident_mib }: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let resident = vec![1_u8; (resident_mib as usize) << 20];
    let tasks = bench.tasks();
    let mut launcher = Launcher::new(via, tasks)?;
    let mut launched = Vec::with_capacity(tasks);
    // A forked child has a copy of every buffer that is not empty.
    io::stdout().flush().context("flushing standard output")?;

    let phases = ["launch", "join"].map(|name| Measured::per_task(name, via.operation(), tasks));
    for mut lap in bench.laps(&phases) {
        let short = (0..tasks).try_for_each(|task| {
            launched.push(launcher.launch(task)?);
            anyhow::Ok(())
        });
        lap.split();
        for (task, child) in launched.drain(..).enumerate() {
            child.join(task)?;
        }
        // Not before those are joined that were launched: they use the stacks.
        short?;
        lap.finish();
    }
    let observed = bench.observe();
    drop(std::hint::black_box(resident));
    observed
}
