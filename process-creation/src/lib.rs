//! The cost of launching a process, until it is reaped, by mechanism and by the memory of its
//! parent.
//!
//! One iteration: launch N tasks (one by default) that end at once, then join them. `launch` is the
//! time until the last call returns in the parent; `join` the time from there until all are reaped.
//! Before that the parent touches `--resident-mib` of memory, whose page tables `fork` must copy.
//!
//! What is counted: one operation is one process or thread. CPU time and switches are the parent's
//! (`RUSAGE_SELF`): they include the copying by `fork`, but only children that are threads. The
//! scheduler chooses whether a child runs at the same time as its parent or after it, so no switch
//! is claimed.
//!
//! Known biases: `vfork` and `posix-spawn` return when the child has ended or called exec, so
//! `launch` includes one or two switches that are in `join` for the others. For `posix-spawn`,
//! which executes /bin/true, `launch` includes the exec and `join` the dynamic linking. `fork`
//! copies the parent's page tables, whose size is in the summary: in `brigade` there are about 60
//! more pages of relocated tables than in a separate binary, and a fork takes 5 % longer. After a
//! `fork` the parent takes a page fault for every page that it writes; here it writes none of the
//! resident ones. If huge pages are always on, the resident memory has fewer page tables to copy.
//! Threads reuse the stacks of joined ones.

mod launch;

use harness::limits::{Kind, Need, require};
use harness::{Bench, Launch, Measured, Spec};

use launch::{Launcher, Via};

/// Time launching and joining processes.
///
/// One iteration: launch N processes or threads that end at once, then join
/// them. One operation is one of them. `launch` is the time until the call
/// returns in the parent, `join` the time until the last one is reaped.
#[derive(clap::Args)]
struct Flags {
    /// Mechanism that launches the tasks
    #[arg(long, value_enum, default_value_t = Via::Fork)]
    via: Via,

    /// Memory that the parent touches first, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=1 << 20))]
    resident_mib: u32,
}

const SPEC: Spec = Spec { tasks: 1, iters: 1000, ..Spec::NEW };

harness::program!(SPEC, declare, run);

fn declare(&Flags { via, resident_mib }: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    require(&Need::block(u64::from(resident_mib) << 20))?;
    let kind = if via == Via::Thread { Kind::Thread } else { Kind::Process };
    Ok(Spec { kind, ..SPEC })
}

fn run(&Flags { via, resident_mib }: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let resident = vec![1_u8; (resident_mib as usize) << 20];
    let tasks = bench.tasks();
    let mut launcher = Launcher::new(via, tasks)?;
    let mut launched = Vec::with_capacity(tasks);

    let operation = if via == Via::Thread { "thread" } else { "process" };
    let phases = ["launch", "join"].map(|name| Measured::per_task(name, operation, tasks));
    for mut lap in bench.laps(&phases) {
        let short = (0..tasks).try_for_each(|task| {
            launched.push(launcher.launch(task)?);
            anyhow::Ok(())
        });
        lap.split();
        for (task, child) in launched.drain(..).enumerate() {
            child.join(task)?;
        }
        // Only after joining the launched ones: they use the stacks.
        short?;
        lap.finish();
    }
    let observed = bench.observe();
    drop(std::hint::black_box(resident));
    observed
}
