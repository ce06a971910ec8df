//! What executors, and the interfaces to spawn on them, cost in a ring of N
//! nodes that spawn every send.
//!
//! One iteration: N nodes, each a task with a channel to the next one, start
//! one message each. A node adds one to a message that it receives and passes
//! it on by spawning a task that sends it; a message that has come all the way
//! round ends. That makes N² hops and N² + N tasks: a send for each hop, and
//! the nodes. The iteration ends when every task has ended. The ring follows
//! the executor benchmark of Naja Melan, the author of `async_executors`.
//!
//! What is counted: one operation is one spawn, with its share of the rest:
//! the task's run and end, and a message through an unbounded channel. After
//! each iteration the hops, the messages that came home and the tasks that
//! ended are compared with what they must be; a wrong count fails the run.
//!
//! Known biases: handles are detached at once, so that all interfaces do the
//! same; no executor has its I/O driver switched on but async-std, which has
//! no switch. `LocalPool` and `ThreadPool` speak the traits of `futures`
//! natively, so for them those traits are the own interface.

mod combination;
mod executor;
mod measure;
mod ring;
mod spawners;

use std::process::ExitCode;

use harness::{Bench, Defaults, Tasks};

use combination::{Executor, Interface};

/// Time N² messages and N² + N spawns in a ring of N async tasks.
///
/// One iteration: each of N nodes starts one message; each node adds one and
/// passes it on, spawning the send, until it has come round. One operation is
/// one spawn.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// What runs the tasks
    #[arg(long, value_enum, default_value_t = Executor::TokioTp, value_name = "NAME")]
    executor: Executor,

    /// Interface that spawns the tasks; without it, the executor's own
    #[arg(long, value_enum, value_name = "INTERFACE")]
    spawn: Option<Interface>,

    /// How many nodes the ring has
    #[arg(long, visible_alias = "nodes", value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000), allow_negative_numbers = true)]
    tasks: u32,
}

fn main() -> ExitCode {
    let defaults = Defaults { tasks: Tasks::Fixed(100), iters: 20, warmups: None };
    harness::run(harness::program!(), defaults, run)
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    bench.refuse_spread("an executor places its tasks itself")?;
    let interface = combination::interface(flags.executor, flags.spawn)?;
    bench.set_tasks(flags.tasks);
    executor::measure(flags.executor, interface, bench)
}
