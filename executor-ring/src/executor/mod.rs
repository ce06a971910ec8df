//! The executors, each set up around the measured loop. Those of one thread
//! claim that the kernel has nothing to switch.

mod async_executor;
mod async_std;
mod local_pool;
mod thread_pool;
mod tokio_ct;
mod tokio_tp;

use harness::Bench;

use crate::combination::{Executor, Interface};
use crate::graph::Graph;

/// Measures an executor through one of the interfaces that it has.
///
/// # Errors
/// When a limit refuses the executor's threads, or a count is wrong.
pub fn measure(
    executor: Executor,
    interface: Interface,
    graph: Graph,
    bench: &Bench,
) -> anyhow::Result<()> {
    match executor {
        Executor::LocalPool => local_pool::measure(interface, graph, bench),
        Executor::ThreadPool => thread_pool::measure(interface, graph, bench),
        Executor::TokioCt => tokio_ct::measure(interface, graph, bench),
        Executor::TokioTp => tokio_tp::measure(interface, graph, bench),
        Executor::AsyncStd => async_std::measure(interface, graph, bench),
        Executor::Smol => async_executor::measure(graph, bench),
    }
}
