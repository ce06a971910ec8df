//! The cost of executors, and of the interfaces to spawn on them, in a ring of N nodes that spawn
//! every send, or in a pinball.
//!
//! One iteration: N nodes, each a task with a channel to the next one, start one message each. A
//! node adds one to each message that it receives and passes it on by spawning a task that sends
//! it; a message that has gone all the way round ends. That makes N² hops and N² + N tasks: a send
//! for each hop, and the nodes. The iteration ends when every task has ended. The ring follows the
//! executor benchmark of Naja Melan, the author of `async_executors`.
//!
//! With `--graph pinball` each node knows all others, and each of a few messages is sent 1000 times
//! from a node to a random other one. That makes 1000 hops and 1000 sends per message, and a task
//! per node.
//!
//! What is counted: one operation is one spawn, with its share of the rest: the task's run and end,
//! and a message through an unbounded channel. After each iteration the hops, the messages that
//! came home and the tasks that ended are compared with the expected counts; a wrong count fails
//! the run.
//!
//! Known biases: handles are detached at once, so that all interfaces do the same; I/O drivers are
//! disabled except async-std's, which cannot be. `LocalPool` and `ThreadPool` implement the traits
//! of `futures` natively.

mod executors;
mod graph;

use harness::failure::UsageError;
use harness::{Amounts, Bench, Count, Launch, Spec};

use executors::{Executor, Interface};
use graph::{Graph, STEPS, Shape};

/// Time N² messages and N² + N spawns in a ring of N async tasks, or spawns for messages that walk
/// at random.
///
/// One iteration: each of N nodes starts one message; each node adds one and passes it on, spawning
/// the send, until it has gone round. In a pinball each of a few messages is sent 1000 times, to a
/// random other node. One operation is one spawn.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// Executor of the tasks
    #[arg(long, value_enum, default_value_t = Executor::TokioTp, value_name = "NAME")]
    executor: Executor,

    /// Interface that spawns the tasks [default: the executor's native one]
    #[arg(long, value_enum, value_name = "INTERFACE")]
    spawn: Option<Interface>,

    /// Path of a message [default: ring]
    #[arg(long, value_enum)]
    graph: Option<Shape>,

    /// Number of nodes [default in a pinball: 13]
    #[arg(long, visible_alias = "nodes", value_name = "N", default_value_t = 100)]
    #[arg(default_value_if("graph", "pinball", "13"))]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000), allow_negative_numbers = true)]
    tasks: u32,

    /// Number of messages in a pinball [default: 5]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000), allow_negative_numbers = true)]
    messages: Option<u32>,
}

/// The default number of messages in a pinball.
const MESSAGES: u32 = 5;

impl Flags {
    /// The requested graph.
    fn graph(&self) -> Result<Graph, UsageError> {
        let nodes = self.tasks.into();
        let shape = self.graph.unwrap_or(Shape::Ring);
        match (shape, self.messages) {
            (Shape::Ring, Some(messages)) => Err(UsageError(format!(
                "--messages {messages}: in a ring every node starts one; choose --graph pinball"
            ))),
            (Shape::Ring, None) => Ok(Graph { shape, nodes, messages: nodes, steps: nodes }),
            (Shape::Pinball, _) if nodes < 2 => {
                Err(UsageError("--tasks 1: a pinball needs two nodes".into()))
            }
            (Shape::Pinball, messages) => {
                let messages = messages.unwrap_or(MESSAGES).into();
                Ok(Graph { shape, nodes, messages, steps: STEPS })
            }
        }
    }
}

const SPEC: Spec = Spec { tasks: 100, count: Count::Fixed, iters: 20, ..Spec::NEW };

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    flags.executor.interface(flags.spawn)?;
    flags.graph()?;
    let one_thread = matches!(flags.executor, Executor::LocalPool | Executor::TokioCt);
    // The kernel has nothing to switch on one thread.
    let switches = one_thread.then_some(0.0);
    let workers = if one_thread { 0 } else { launch.cpus() as u64 };
    let (per_task, fixed) = (Amounts::async_task(), Amounts::workers(workers));
    Ok(Spec { tasks: flags.tasks, switches, per_task, fixed, ..SPEC })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let interface = flags.executor.interface(flags.spawn)?;
    executors::measure(flags.executor, interface, flags.graph()?, bench)
}
