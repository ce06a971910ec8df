//! The measured loop.

use anyhow::Context as _;
use futures::channel::oneshot::{Canceled, Receiver};
use harness::{Bench, Measured};

use crate::ring::{Counts, ring};
use crate::spawners::Spawner;

/// Passes N² messages round, lap after lap, by tasks that `spawner` spawns.
/// `wait` has the executor wait for the counts. The ring of a lap is made
/// before the lap begins.
pub fn drive<S: Spawner>(
    bench: &Bench,
    spawner: &S,
    mut wait: impl FnMut(Receiver<Counts>) -> Result<Counts, Canceled>,
) -> anyhow::Result<()> {
    let size = bench.tasks() as u64;
    let mut next = ring(size);
    for lap in bench.laps(&[spawns(size)]) {
        let (nodes, counts) = next;
        for ready in nodes {
            spawner.start_node(ready);
        }
        let counts = wait(counts);
        lap.finish();
        counts.context("waiting for the ring to end")?.verify(size)?;
        next = ring(size);
    }
    bench.observe()
}

/// What one iteration is in a ring of this size.
fn spawns(size: u64) -> Measured {
    let operations = size * size + size;
    Measured { name: "iteration", operation: "spawn", operations, covers_tasks: true }
}
