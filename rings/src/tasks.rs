//! Rings of tokio tasks, over pipes.

use std::io;
use std::sync::Arc;

use anyhow::Context as _;
use harness::async_tasks::end;
use harness::hand_over::swapped;
use harness::rounds::Round;
use harness::runtime::{AsyncRuntime, outcome, spawn};
use harness::samples::Samples;
use harness::{Bench, Line, RuntimeFlags, RuntimeKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender, pipe};
use tokio::runtime::Builder;

use crate::laps::Pool;

/// The pipe that a ring's driver writes into, and the one that it reads from.
type Ends = (Sender, Receiver);

/// What a ring's driver needs.
type Driver = (Ends, Samples);

/// Sets up rings of tasks, and measures them.
///
/// # Errors
/// If the runtime cannot be started, or a pipe or a task fails.
pub fn measure(flags: RuntimeFlags, bench: &Bench, rings: usize) -> anyhow::Result<()> {
    let runtime = AsyncRuntime::start_with(Builder::enable_io, flags, bench)?;
    runtime.drive(brigades(flags.runtime, bench.clone(), rings))
}

async fn brigades(kind: RuntimeKind, bench: Bench, rings: usize) -> anyhow::Result<()> {
    let mut drivers = Vec::with_capacity(rings);
    let mut tasks = Vec::with_capacity(bench.tasks());
    {
        let mut creation = bench.tasks_to_create();
        for _ in 0..rings {
            let of_ring = creation.by_ref().take(bench.tasks() / rings);
            let open = || pipe().map(swapped);
            let ring = Line::create(of_ring, open, |_, upstream, downstream| {
                Ok(outcome(spawn(kind, relay(upstream, downstream))))
            })?;
            drivers.push(((ring.first, ring.last), Pool::samples(&bench, rings)));
            tasks.extend(ring.tasks);
        }
    }
    let pool = Arc::new(Pool::new(&bench, rings));
    let mut result = Ok(());
    for round in bench.rounds(None) {
        result = drive_all(kind, &round, &pool, &mut drivers).await;
        if result.is_err() {
            break;
        }
    }
    end(&bench, result, drivers, tasks).await
}

/// Sends a token round each ring, all of them at once.
async fn drive_all(
    kind: RuntimeKind,
    round: &Arc<Round>,
    pool: &Arc<Pool>,
    drivers: &mut Vec<Driver>,
) -> anyhow::Result<()> {
    let start = |mut driver| {
        let round = Arc::clone(round);
        let pool = Arc::clone(pool);
        spawn(kind, async move { (drive(&round, &pool, &mut driver).await, driver) })
    };
    let running: Vec<_> = drivers.drain(..).map(start).collect();
    let mut result = Ok(());
    for driver in running {
        let (of_ring, driver) = driver.await.context("running a driver")?;
        drivers.push(driver);
        result = result.and(of_ring);
    }
    pool.finish(round, result, drivers.iter_mut().map(|(_, samples)| samples))
}

async fn drive(
    round: &Round,
    pool: &Pool,
    ((first, last), samples): &mut Driver,
) -> anyhow::Result<()> {
    let mut laps = pool.laps(round, samples);
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
