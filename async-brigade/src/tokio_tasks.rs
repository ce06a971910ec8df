//! The brigade on tokio, over its epoll.

use std::future::Future;
use std::io;

use anyhow::Context as _;
use harness::async_tasks::end;
use harness::hand_over::swapped;
use harness::runtime::{AsyncRuntime, outcome, spawn};
use harness::{Bench, Channel, Line, Measured, RuntimeFlags, RuntimeKind, Station};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{UnixStream, unix::pipe};
use tokio::runtime::Builder;

/// Measures the brigade over such channels.
///
/// # Errors
/// If the runtime cannot be started, or a channel or a task fails.
pub fn measure(flags: RuntimeFlags, channel: Channel, bench: &Bench) -> anyhow::Result<()> {
    let runtime = AsyncRuntime::start_with(Builder::enable_io, flags, bench)?;
    let kind = flags.runtime;
    match channel {
        Channel::Pipe => runtime.drive(brigade(kind, bench.clone(), open_pipe, relay)),
        Channel::SocketPair => runtime.drive(brigade(kind, bench.clone(), UnixStream::pair, relay)),
    }
}

pub fn open_pipe() -> io::Result<(pipe::Receiver, pipe::Sender)> {
    pipe::pipe().map(swapped)
}

/// Sets up the brigade, with channels that `open` opens and with tasks that each run a `relay`, and
/// measures it.
pub async fn brigade<R, W, T>(
    kind: RuntimeKind,
    bench: Bench,
    open: impl FnMut() -> io::Result<(R, W)>,
    relay: impl Fn(Station, R, W) -> T,
) -> anyhow::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    T: Future<Output = io::Result<()>> + Send + 'static,
{
    let mut line = Line::create(bench.tasks_to_create(), open, |task, upstream, downstream| {
        Ok(outcome(spawn(kind, relay(bench.station(task), upstream, downstream))))
    })?;

    let result = drive(&bench, &mut line.first, &mut line.last).await;
    end(&bench, result, line.first, line.tasks).await
}

/// Sends the token round, lap after lap.
async fn drive<R, W>(bench: &Bench, first: &mut W, last: &mut R) -> anyhow::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let station = bench.driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let mut token = [lap.token()];
        station.visit(token[0]);
        first.write_all(&token).await.context("sending the token to task 0")?;
        last.read_exact(&mut token).await.context("waiting for the token to come round")?;
        lap.finish();
    }
    Ok(())
}

/// Passes bytes from upstream to downstream until upstream is closed.
#[expect(clippy::manual_async_fn, reason = "an async fn would contain its arguments twice")]
pub fn relay<R, W>(
    station: Station,
    mut upstream: R,
    mut downstream: W,
) -> impl Future<Output = io::Result<()>>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    async move {
        let mut token = [0];
        while upstream.read(&mut token).await? == 1 {
            station.visit(token[0]);
            downstream.write_all(&token).await?;
        }
        Ok(())
    }
}
