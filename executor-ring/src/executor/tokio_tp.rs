//! Tokio on several threads.

use async_executors::TokioTp;
use harness::runtime::with_workers;
use harness::{Bench, failure};
use tokio::runtime::Builder;

use crate::combination::Interface;
use crate::graph::Graph;
use crate::measure::drive;
use crate::spawners::{BySpawn, BySpawnHandle};

/// Measures it through one of its interfaces; all have the same runtime, with
/// a worker for each CPU.
pub fn measure(interface: Interface, graph: Graph, bench: &Bench) -> anyhow::Result<()> {
    let runtime = with_workers(Builder::new_multi_thread(), bench.placement().cpus().len())
        .map_err(|error| failure::creating(format_args!("the tokio runtime"), error))?;
    if interface == Interface::Native {
        return drive(bench, graph, runtime.handle(), |counts| runtime.block_on(counts));
    }
    let tokio = TokioTp::try_from(runtime).expect("it is of several threads");
    let spawner = tokio.clone();
    match interface {
        Interface::SpawnHandle => {
            drive(bench, graph, &BySpawnHandle(spawner), |counts| tokio.block_on(counts))
        }
        _ => drive(bench, graph, &BySpawn(spawner), |counts| tokio.block_on(counts)),
    }
}
