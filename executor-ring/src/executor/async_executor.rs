//! The executor of smol. It has no threads of its own: one for each CPU runs
//! it.

use std::sync::Arc;
use std::thread;

use async_executor::Executor;
use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::executor::block_on;
use harness::{Bench, failure};

use crate::graph::Graph;
use crate::measure::drive;

/// Measures it through its only interface.
pub fn measure(graph: Graph, bench: &Bench) -> anyhow::Result<()> {
    let executor = Arc::new(Executor::new());
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = stopped.shared();
    thread::scope(|scope| {
        for _ in bench.placement().cpus() {
            let (executor, stopped) = (Arc::clone(&executor), stopped.clone());
            let worker = thread::Builder::new();
            worker
                .spawn_scoped(scope, move || block_on(executor.run(stopped)))
                .map_err(|error| failure::creating(format_args!("a worker"), error))?;
        }
        let driven = drive(bench, graph, &executor, block_on);
        drop(stop);
        driven
    })
}
