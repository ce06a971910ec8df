//! Rings of tokio tasks, over pipes.

use std::io;
use std::sync::Arc;

use anyhow::Context as _;
use harness::async_tasks::end;
use harness::hand_over::swapped;
use harness::runtime::{AsyncRuntime, outcome, spawn};
use harness::{Bench, Line, RuntimeFlags, RuntimeKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender, pipe};
use tokio::runtime::Builder;

use crate::laps::Pool;

/// The pipe that a ring's driver writes into, and the one that it reads from.
type Ends = (Sender, Receiver);

/// Sets up rings of tasks, and measures them.
///
/// # Errors
/// If the runtime cannot be started, or a pipe or a task fails.
pub fn measure(flags: RuntimeFlags, bench: &Bench, rings: usize) -> anyhow::Result<()> {
    let runtime = AsyncRuntime::start_with(Builder::enable_io, flags, bench)?;
    runtime.drive(brigades(flags.runtime, bench.clone(), rings))
}

async fn brigades(kind: RuntimeKind, bench: Bench, rings: usize) -> anyhow::Result<()> {
    let mut ends = Vec::with_capacity(rings);
    let mut tasks = Vec::with_capacity(bench.tasks());
    {
        let mut creation = bench.tasks_to_create();
        for _ in 0..rings {
            let of_ring = creation.by_ref().take(bench.tasks() / rings);
            let open = || pipe().map(swapped);
            let ring = Line::create(of_ring, open, |_, upstream, downstream| {
                Ok(outcome(spawn(kind, relay(upstream, downstream))))
            })?;
            ends.push((ring.first, ring.last));
            tasks.extend(ring.tasks);
        }
    }
    let mut result = Ok(());
    for round in bench.rounds(None) {
        result = drive_all(kind, Pool::new(round, &bench, rings).into(), &mut ends).await;
        if result.is_err() {
            break;
        }
    }
    end(&bench, result, ends, tasks).await
}

/// Sends a token round each ring, all of them at once.
async fn drive_all(kind: RuntimeKind, pool: Arc<Pool>, ends: &mut Vec<Ends>) -> anyhow::Result<()> {
    let drive = |mut ends| {
        let pool = Arc::clone(&pool);
        spawn(kind, async move { (drive(&pool, &mut ends).await, ends) })
    };
    let drivers: Vec<_> = ends.drain(..).map(drive).collect();
    let mut result = Ok(());
    for driver in drivers {
        let (of_ring, of_ends) = driver.await.context("running a driver")?;
        ends.push(of_ends);
        result = result.and(of_ring);
    }
    pool.finish(result)
}

async fn drive(pool: &Pool, (first, last): &mut Ends) -> anyhow::Result<()> {
    let mut laps = pool.laps();
    let mut token = [0];
    while laps.next() {
        first.write_all(&token).await.context("sending the token to task 0")?;
        last.read_exact(&mut token).await.context("waiting for the token to come round")?;
    }
    Ok(())
}

/// Passes bytes from upstream to downstream until upstream is closed.
#[expect(clippy::manual_async_fn, reason = "an async fn would contain its arguments twice")]
fn relay(mut upstream: Receiver, mut downstream: Sender) -> impl Future<Output = io::Result<()>> {
    async move {
        let mut token = [0];
        while upstream.read(&mut token).await? == 1 {
            downstream.write_all(&token).await?;
        }
        Ok(())
    }
}
