//! The LocalPool of `futures`, on one thread.

use futures::executor::{LocalPool, LocalSpawner};
use harness::Bench;

use crate::combination::Interface;
use crate::measure::drive;
use crate::spawners::{ByLocalSpawn, ByLocalSpawnHandle, Spawner};

/// Measures it through one of its interfaces.
pub fn measure(interface: Interface, bench: &Bench) -> anyhow::Result<()> {
    match interface {
        Interface::LocalSpawnHandle => run(bench, ByLocalSpawnHandle),
        _ => run(bench, ByLocalSpawn),
    }
}

fn run<S: Spawner>(bench: &Bench, by: fn(LocalSpawner) -> S) -> anyhow::Result<()> {
    bench.expect_switches(0.0);
    let mut pool = LocalPool::new();
    let spawner = by(pool.spawner());
    drive(bench, &spawner, |counts| pool.run_until(counts))
}
