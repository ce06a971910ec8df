//! The LocalPool of `futures`, on one thread.

use futures::executor::{LocalPool, LocalSpawner};
use harness::Bench;

use crate::combination::Interface;
use crate::graph::Graph;
use crate::measure::drive;
use crate::spawners::{ByLocalSpawn, ByLocalSpawnHandle, Spawner};

/// Measures it through one of its interfaces.
pub fn measure(interface: Interface, graph: Graph, bench: &Bench) -> anyhow::Result<()> {
    match interface {
        Interface::LocalSpawnHandle => run(bench, graph, ByLocalSpawnHandle),
        _ => run(bench, graph, ByLocalSpawn),
    }
}

fn run<S: Spawner>(bench: &Bench, graph: Graph, by: fn(LocalSpawner) -> S) -> anyhow::Result<()> {
    let mut pool = LocalPool::new();
    let spawner = by(pool.spawner());
    drive(bench, graph, &spawner, |counts| pool.run_until(counts))
}
