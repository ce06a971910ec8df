//! The measured loop.

use anyhow::Context as _;
use futures::channel::oneshot::{Canceled, Receiver};
use harness::{Bench, Measured};

use crate::graph::{Counts, Graph};
use crate::spawners::Spawner;

/// Passes messages through the graph, lap after lap, by tasks that `spawner` spawns.
/// `wait` has the executor wait for the counts. The nodes of a lap are made
/// before the lap begins.
pub fn drive<S: Spawner>(
    bench: &Bench,
    graph: Graph,
    spawner: &S,
    mut wait: impl FnMut(Receiver<Counts>) -> Result<Counts, Canceled>,
) -> anyhow::Result<()> {
    let mut next = graph.nodes();
    for lap in bench.laps(&[spawns(graph)]) {
        let (nodes, counts) = next;
        for ready in nodes {
            spawner.start_node(ready);
        }
        let counts = wait(counts);
        lap.finish();
        counts.context("waiting for all nodes to end")?.verify(graph)?;
        next = graph.nodes();
    }
    bench.observe()
}

/// What one iteration is: every task that ends was spawned.
fn spawns(graph: Graph) -> Measured {
    let operations = graph.expected().ended;
    Measured { name: "iteration", operation: "spawn", operations, covers_tasks: true }
}
