//! The measured loop, the tasks and their end, on any runtime and over any channel.

use std::future::Future;
use std::io::{self, ErrorKind};

use anyhow::{Context as _, ensure};
use harness::async_tasks::end;
use harness::threads::TaskError;
use harness::{Bench, Line, Measured, Station};

use crate::channels::{Sink, Source};

/// Sets up the brigade, with tasks that each run a `relay` between channels that `open` opens, and
/// measures it. `spawn` creates a task and returns a future of its outcome.
pub async fn brigade<R: Source, S: Sink, T, J>(
    bench: Bench,
    open: impl Fn() -> (R, S),
    spawn: impl Fn(T) -> J,
    relay: impl Fn(Station, R, S) -> T,
) -> anyhow::Result<()>
where
    T: Future<Output = io::Result<()>> + Send + 'static,
    J: Future<Output = Result<(), TaskError>>,
{
    let start =
        |task, upstream, downstream| Ok(spawn(relay(bench.station(task), upstream, downstream)));
    let mut line = Line::create(bench.tasks_to_create(), || Ok(open()), start)?;

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
pub fn relay(
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
