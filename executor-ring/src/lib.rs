//! The cost of executors, and of the interfaces to spawn on them, in a ring of N nodes that spawn
//! every send.
//!
//! One iteration: N nodes, each a task with a channel to the next one, start one message each. A
//! node adds one to each message that it receives and passes it on by spawning a task that sends
//! it; a message that has gone all the way round ends. That makes N² hops and N² + N tasks: a send
//! for each hop, and the nodes. The iteration ends when every task has ended. The ring follows the
//! executor benchmark of Naja Melan, the author of `async_executors`.
//!
//! What is counted: one operation is one spawn, with its share of the rest: the task's run and end,
//! and a message through an unbounded channel. After each iteration the hops, the messages that
//! came home and the tasks that ended are compared with the expected counts; a wrong count fails
//! the run.
//!
//! Known biases: handles are detached at once, so that all interfaces do the same; I/O drivers are
//! disabled except async-std's, which cannot be. The task spawned last runs next, followed by the
//! node that it wakes: an executor that keeps the last task in a special slot gains. `LocalPool`
//! and `ThreadPool` implement the traits of `futures` natively.

mod executors;
mod ring;

use harness::limits::Kind;
use harness::{Bench, Launch, Spec};

use executors::{Executor, Interface};

/// Time N² messages and N² + N spawns in a ring of N async tasks.
///
/// One iteration: each of N nodes starts one message; each node adds one and passes it on, spawning
/// the send, until it has gone round. One operation is one spawn.
#[derive(clap::Args)]
struct Flags {
    /// Executor of the tasks
    #[arg(long, value_enum, default_value_t = Executor::TokioTp, value_name = "NAME")]
    executor: Executor,

    /// Interface that spawns the tasks [default: the executor's native one]
    #[arg(long, value_enum, value_name = "INTERFACE")]
    spawn: Option<Interface>,
}

const SPEC: Spec = Spec { tasks: 100, iters: 20, ..Spec::NEW };

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    flags.executor.interface(flags.spawn)?;
    let one_thread = matches!(flags.executor, Executor::LocalPool | Executor::TokioCt);
    // The kernel has nothing to switch on one thread.
    let switches = one_thread.then_some(0.0);
    let threads = if one_thread { 0 } else { launch.cpus() as u64 };
    Ok(Spec { switches, kind: Kind::AsyncExecutor, threads, ..SPEC })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let interface = flags.executor.interface(flags.spawn)?;
    executors::measure(flags.executor, interface, bench)
}
