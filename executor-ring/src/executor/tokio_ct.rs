//! Tokio on one thread, with a LocalSet.

use std::rc::Rc;

use anyhow::Context as _;
use async_executors::TokioCt;
use harness::Bench;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use crate::combination::Interface;
use crate::graph::Graph;
use crate::measure::drive;
use crate::spawners::{ByLocalSpawn, ByLocalSpawnHandle};

/// Measures it through one of its interfaces; all have the same runtime.
pub fn measure(interface: Interface, graph: Graph, bench: &Bench) -> anyhow::Result<()> {
    let runtime = Builder::new_current_thread().build().context("starting tokio")?;
    if interface == Interface::Native {
        let tasks = Rc::new(LocalSet::new());
        return drive(bench, graph, &tasks, |counts| tasks.block_on(&runtime, counts));
    }
    let tokio = TokioCt::try_from(runtime).expect("it is of one thread");
    let spawner = tokio.clone();
    match interface {
        Interface::LocalSpawnHandle => {
            drive(bench, graph, &ByLocalSpawnHandle(spawner), |counts| tokio.block_on(counts))
        }
        _ => drive(bench, graph, &ByLocalSpawn(spawner), |counts| tokio.block_on(counts)),
    }
}
