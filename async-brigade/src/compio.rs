//! The brigade on compio, on one thread over io_uring. A request owns its buffer until the kernel
//! is done with it, so a relay gives the byte away and gets it back. Requests are submitted when
//! the thread has nothing else to run.

use std::future::Future;
use std::io;

use anyhow::Context as _;
use compio::BufResult;
use compio::fs::pipe;
use compio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use compio::net::UnixStream;
use compio::runtime::{Runtime, spawn};
use harness::async_tasks::{caught, end};
use harness::threads::TaskError;
use harness::{Bench, Channel, Measured, Station, failure};

/// Measures the brigade over such channels.
///
/// # Errors
/// Those of limits, channels and tasks.
pub fn measure(channel: Channel, bench: &Bench) -> anyhow::Result<()> {
    let runtime = Runtime::new().map_err(failure::to_create("the runtime"))?;
    runtime.block_on(async {
        match channel {
            Channel::Pipe => brigade(bench, pipe::anonymous, relay).await,
            Channel::SocketPair => brigade(bench, socket_pair, relay).await,
        }
    })
}

async fn socket_pair() -> io::Result<(UnixStream, UnixStream)> {
    let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
    Ok((UnixStream::from_std(reader)?, UnixStream::from_std(writer)?))
}

/// Sets up the brigade, with channels that `open` opens and with tasks that each run a `relay`, and
/// measures it.
pub async fn brigade<R, W, T>(
    bench: &Bench,
    open: impl AsyncFn() -> io::Result<(R, W)>,
    relay: impl Fn(Station, R, W) -> T,
) -> anyhow::Result<()>
where
    R: AsyncRead,
    W: AsyncWrite,
    T: Future<Output = io::Result<()>> + 'static,
{
    let open = async |number| open().await.map_err(failure::of_channel(number));
    let (mut upstream, mut first) = open(0).await?;
    let mut tasks = Vec::with_capacity(bench.tasks());
    for task in bench.tasks_to_create() {
        let (next_upstream, downstream) = open(task + 1).await?;
        let relay = relay(bench.station(task), upstream, downstream);
        tasks.push(spawn(caught(relay)));
        upstream = next_upstream;
    }
    let mut last = upstream;

    let result = drive(bench, &mut first, &mut last).await;
    let tasks = tasks.into_iter().map(async |task| match task.await {
        Ok(outcome) => outcome,
        Err(_) => Err(TaskError::Panicked("cancelled".into())),
    });
    end(bench, result, first, tasks).await
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
async fn relay(
    station: Station,
    mut upstream: impl AsyncRead,
    mut downstream: impl AsyncWrite,
) -> io::Result<()> {
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
