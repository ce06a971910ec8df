//! A brigade of async tasks without I/O: the cost of a switch made by the runtime alone.
//!
//! One iteration: the driver sends 0 into the first channel, each of N async tasks in turn receives
//! the number from its upstream channel, adds one and sends it downstream, and the driver checks
//! that it ends as N. The channels are bounded, of capacity 1: N + 1 hops. A process has one
//! runtime.
//!
//! What is counted: a hop is one send, one receive and one wake-up of a task, all in memory. On the
//! current thread the kernel has nothing to switch. With several workers a wake-up may go to an
//! idle worker, so no number of switches is claimed.
//!
//! Known biases: with one token in flight a runtime always has exactly one task to run, the best
//! case for its scheduler.

mod channels;
mod flags;
mod runtimes;

use std::future::Future;
use std::io::{self, ErrorKind};

use anyhow::{Context as _, bail, ensure};
use harness::async_tasks::end;
use harness::failure::UsageError;
use harness::threads::TaskError;
use harness::{Bench, Line, Measured, Station};
use tokio::sync::mpsc;

use channels::{Channel, Holding, Sink, Source};
use flags::{Flags, SPEC, declare};

harness::program!(SPEC, declare, run);

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let runtime = flags.runtime;
    match (flags.channel, flags.future.future_bytes) {
        (Channel::Tokio, 0) => runtimes::measure(runtime, bench, || mpsc::channel(1)),
        (Channel::Tokio, 1024) => runtimes::measure(runtime, bench, Holding::<1024>::open),
        (Channel::Tokio, _) => runtimes::measure(runtime, bench, Holding::<16_384>::open),
        (Channel::Smol, 0) => runtimes::measure(runtime, bench, || async_channel::bounded(1)),
        (Channel::Smol, _) => {
            bail!(UsageError("--future-bytes: choose --channel tokio".to_owned()))
        }
    }
}

/// Sets up the brigade, with tasks that each run a `relay` between channels that `open` opens, and
/// measures it. `spawn` creates a task and returns a future of its outcome.
async fn brigade<R: Source, S: Sink, T, J>(
    bench: Bench,
    open: impl Fn() -> (S, R),
    spawn: impl Fn(T) -> J,
    relay: impl Fn(Station, R, S) -> T,
) -> anyhow::Result<()>
where
    T: Future<Output = io::Result<()>> + Send + 'static,
    J: Future<Output = Result<(), TaskError>>,
{
    let open = || {
        let (sink, source) = open();
        Ok((source, sink))
    };
    let mut line = Line::create(bench.creation(), open, |task, upstream, downstream| {
        Ok(spawn(relay(bench.station(task), upstream, downstream)))
    })?;

    let result = drive(&bench, &line.first, &mut line.last).await;
    end(&bench, result, line.first, line.tasks).await
}

/// Sends the token round, lap after lap.
async fn drive(bench: &Bench, first: &impl Sink, last: &mut impl Source) -> anyhow::Result<()> {
    let tasks = bench.tasks();
    let station = bench.driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let sent: usize = lap.token();
        station.visit(sent);
        first.send(sent).await.context("sending the token to task 0")?;
        let received = last.receive().await.context("waiting for the token to come round")?;
        lap.finish();
        ensure!(
            received == sent + tasks,
            "the token came round as {received}, not as {sent} + {tasks}",
        );
    }
    Ok(())
}

/// Passes numbers from upstream to downstream, one greater, until upstream is
/// closed.
#[expect(clippy::manual_async_fn, reason = "an async fn would contain its arguments twice")]
fn relay(
    station: Station,
    mut upstream: impl Source,
    downstream: impl Sink,
) -> impl Future<Output = io::Result<()>> + Send + 'static {
    async move {
        while let Some(token) = upstream.receive().await {
            station.visit(token);
            downstream.send(token + 1).await.map_err(|_| ErrorKind::BrokenPipe)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod faults;
