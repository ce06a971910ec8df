//! The brigade on compio, on one thread over io_uring. A request owns its buffer until the kernel
//! is done with it, so a relay gives the byte away and gets it back. Requests are submitted when
//! the thread has nothing else to run.

use std::io;

use anyhow::Context as _;
use compio::BufResult;
use compio::fs::pipe;
use compio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use compio::net::UnixStream;
use compio::runtime::Runtime;
use harness::async_tasks::{caught, end};
use harness::{Bench, Channel, Line, Measured, Station, failure};

/// Measures the brigade over such channels.
///
/// # Errors
/// If a limit refuses, or a channel or a task fails.
pub fn measure(channel: Channel, bench: &Bench) -> anyhow::Result<()> {
    let runtime = Runtime::new().map_err(failure::to_create("the runtime"))?;
    match channel {
        Channel::Pipe => brigade(&runtime, bench, || runtime.block_on(pipe::anonymous())),
        Channel::SocketPair => brigade(&runtime, bench, || runtime.enter(socket_pair)),
    }
}

fn socket_pair() -> io::Result<(UnixStream, UnixStream)> {
    let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
    Ok((UnixStream::from_std(reader)?, UnixStream::from_std(writer)?))
}

/// Sets up the brigade, with channels that `open` opens, and measures it.
fn brigade<R: AsyncRead + 'static, W: AsyncWrite + 'static>(
    runtime: &Runtime,
    bench: &Bench,
    open: impl FnMut() -> io::Result<(R, W)>,
) -> anyhow::Result<()> {
    let mut line = Line::create(bench.tasks_to_create(), open, |task, upstream, downstream| {
        Ok(runtime.spawn(caught(relay(bench.station(task), upstream, downstream))))
    })?;

    runtime.block_on(async {
        let result = drive(bench, &mut line.first, &mut line.last).await;
        let tasks = line.tasks.into_iter().map(async |task| task.await.expect("nobody cancels it"));
        end(bench, result, line.first, tasks).await
    })
}

/// Sends the token round, lap after lap.
async fn drive(
    bench: &Bench,
    first: &mut impl AsyncWrite,
    last: &mut impl AsyncRead,
) -> anyhow::Result<()> {
    let station = bench.driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let token = [lap.token()];
        station.visit(token[0]);
        let BufResult(sent, token) = first.write_all(token).await;
        sent.context("sending the token to task 0")?;
        let BufResult(received, _) = last.read_exact(token).await;
        received.context("waiting for the token to come round")?;
        lap.finish();
    }
    Ok(())
}

/// Passes bytes from upstream to downstream until upstream is closed.
#[expect(clippy::manual_async_fn, reason = "an async fn would contain its arguments twice")]
fn relay(
    station: Station,
    mut upstream: impl AsyncRead,
    mut downstream: impl AsyncWrite,
) -> impl Future<Output = io::Result<()>> {
    async move {
        let mut token = [0];
        loop {
            let BufResult(read, received) = upstream.read(token).await;
            if read? == 0 {
                return Ok(());
            }
            station.visit(received[0]);
            let BufResult(sent, back) = downstream.write_all(received).await;
            sent?;
            token = back;
        }
    }
}
