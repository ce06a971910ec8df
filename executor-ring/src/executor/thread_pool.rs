//! The ThreadPool of `futures`.

use futures::executor::{ThreadPool, block_on};
use harness::{Bench, failure};

use crate::combination::Interface;
use crate::graph::Graph;
use crate::measure::drive;
use crate::spawners::{BySpawn, BySpawnHandle};

/// Measures it through one of its interfaces, with a thread for each CPU.
pub fn measure(interface: Interface, graph: Graph, bench: &Bench) -> anyhow::Result<()> {
    let pool = ThreadPool::builder()
        .pool_size(bench.placement().cpus().len())
        .create()
        .map_err(|error| failure::creating(format_args!("the thread pool"), error))?;
    match interface {
        Interface::SpawnHandle => drive(bench, graph, &BySpawnHandle(pool), block_on),
        _ => drive(bench, graph, &BySpawn(pool), block_on),
    }
}
