//! The brigade on async-executor with async-io, on one thread. A task waits only after a read has
//! found nothing. While the driver's thread has nothing to run, it waits for I/O itself; async-io's
//! second thread does so only if no other does.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use anyhow::Context as _;
use async_executor::LocalExecutor;
use async_io::{Async, block_on};
use harness::async_tasks::{caught, end};
use harness::hand_over::pipe;
use harness::{Bench, Channel, Line, Measured, Station};

/// Measures the brigade over such channels.
///
/// # Errors
/// If a limit refuses, or a channel or a task fails.
pub fn measure(channel: Channel, bench: &Bench) -> anyhow::Result<()> {
    let executor = LocalExecutor::new();
    match channel {
        Channel::Pipe => block_on(executor.run(brigade(&executor, bench, pipe))),
        Channel::SocketPair => block_on(executor.run(brigade(&executor, bench, UnixStream::pair))),
    }
}

/// Sets up the brigade, with channels that `open` opens, and measures it.
async fn brigade<F: AsFd + 'static>(
    executor: &LocalExecutor<'_>,
    bench: &Bench,
    open: fn() -> io::Result<(F, F)>,
) -> anyhow::Result<()>
where
    for<'a> &'a F: Read + Write,
{
    let open = || open().and_then(|(r, w)| Ok((Async::new(r)?, Async::new(w)?)));
    let line = Line::create(bench.tasks_to_create(), open, |task, upstream, downstream| {
        Ok(executor.spawn(caught(relay(bench.station(task), upstream, downstream))))
    })?;

    let result = drive(bench, &line.first, &line.last).await;
    end(bench, result, line.first, line.tasks).await
}

/// Sends the token round, lap after lap.
async fn drive<F>(bench: &Bench, first: &Async<F>, last: &Async<F>) -> anyhow::Result<()>
where
    for<'a> &'a F: Read + Write,
{
    let station = bench.driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let mut token = [lap.token()];
        station.visit(token[0]);
        let sent = first.write_with(|mut file| file.write_all(&token)).await;
        sent.context("sending the token to task 0")?;
        let received = last.read_with(|mut file| file.read_exact(&mut token)).await;
        received.context("waiting for the token to come round")?;
        lap.finish();
    }
    Ok(())
}

/// Passes bytes from upstream to downstream until upstream is closed.
#[expect(clippy::manual_async_fn, reason = "an async fn would contain its arguments twice")]
fn relay<F>(
    station: Station,
    upstream: Async<F>,
    downstream: Async<F>,
) -> impl Future<Output = io::Result<()>>
where
    for<'a> &'a F: Read + Write,
{
    async move {
        let mut token = [0];
        while upstream.read_with(|mut file| file.read(&mut token)).await? == 1 {
            station.visit(token[0]);
            downstream.write_with(|mut file| file.write_all(&token)).await?;
        }
        Ok(())
    }
}
