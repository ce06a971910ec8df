//! The executor of async-std, which is global: there is nothing to start.

use async_executors::AsyncStd;
use async_std::task::block_on;
use harness::Bench;

use crate::combination::Interface;
use crate::graph::Graph;
use crate::measure::drive;
use crate::spawners::{AsyncStdNative, BySpawn, BySpawnHandle};

/// Measures it through one of its interfaces.
pub fn measure(interface: Interface, graph: Graph, bench: &Bench) -> anyhow::Result<()> {
    match interface {
        Interface::Spawn => drive(bench, graph, &BySpawn(AsyncStd), block_on),
        Interface::SpawnHandle => drive(bench, graph, &BySpawnHandle(AsyncStd), block_on),
        _ => drive(bench, graph, &AsyncStdNative, block_on),
    }
}
