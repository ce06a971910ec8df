//! Independent implementations for the proof, without laps, stations, tracer or work: the brigade of
//! async-mem-brigade on the same tokio, and the coroutines of coroutine-brigade, resumed in turn.
//! Prints the mean time of a hop in nanoseconds.
//!
//! Usage: `bare tokio|coroutines TASKS SECONDS`

use std::env;
use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use tokio::runtime;
use tokio::sync::mpsc::channel;

/// Laps that are not timed.
const WARMUPS: u32 = 10;
/// Bytes per stack.
const STACK: usize = 1 << 20;
/// No token is larger.
const MOST: usize = usize::MAX >> 2;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [kind, tasks, seconds] = &arguments[..] else { bail!("usage: bare KIND TASKS SECONDS") };
    let tasks: usize = tasks.parse().context("reading TASKS")?;
    let limit = Duration::try_from_secs_f64(seconds.parse()?).context("reading SECONDS")?;
    let (total, laps) = match kind.as_str() {
        "tokio" => {
            let runtime = runtime::Builder::new_current_thread().build()?;
            runtime.block_on(tokio_laps(tasks, limit))?
        }
        _ => coroutine_laps(tasks, limit)?,
    };
    println!("{:.3}", total.as_nanos() as f64 / f64::from(laps) / (tasks + 1) as f64);
    Ok(())
}

/// The time of all laps but the first, and their number.
type Laps = (Duration, u32);

async fn tokio_laps(tasks: usize, limit: Duration) -> anyhow::Result<Laps> {
    let (first, mut upstream) = channel(1);
    for _ in 0..tasks {
        let (downstream, next_upstream) = channel(1);
        tokio::spawn(async move {
            while let Some(token) = upstream.recv().await {
                if downstream.send(token + 1).await.is_err() {
                    break;
                }
            }
        });
        upstream = next_upstream;
    }
    let mut last = upstream;
    let mut total = Duration::ZERO;
    let mut laps = 0;
    while total < limit {
        let sent = Instant::now();
        first.send(0).await?;
        let received = last.recv().await;
        let elapsed = sent.elapsed();
        ensure!(received == Some(tasks), "a task did not add one");
        laps += 1;
        if laps > WARMUPS {
            total += elapsed;
        }
    }
    Ok((total, laps - WARMUPS))
}

#[cold]
#[inline(never)]
fn unused(own: &usize) {
    eprintln!("coroutine {own} has too large a token");
}

/// Each coroutine has a value of its own, unused, but kept on its stack: as a further cache line
/// per hop, that takes 1.2 of 11 ns on a CPU with 48 KiB of L1.
fn coroutine_laps(tasks: usize, limit: Duration) -> anyhow::Result<Laps> {
    let relay = |number: usize| {
        let own = Box::new(number);
        let stack = DefaultStack::new(STACK)?;
        Ok(Coroutine::with_stack(stack, move |yielder, mut token: Option<usize>| {
            while let Some(received) = token {
                if black_box(received > MOST) {
                    unused(&own);
                }
                token = yielder.suspend(received + 1);
            }
        }))
    };
    let mut line: Vec<_> = (0..tasks).map(relay).collect::<anyhow::Result<_>>()?;
    let mut total = Duration::ZERO;
    let mut laps = 0;
    while total < limit {
        let sent = Instant::now();
        let mut token = 0;
        for coroutine in &mut line {
            match coroutine.resume(Some(token)) {
                CoroutineResult::Yield(next) => token = next,
                CoroutineResult::Return(()) => bail!("a coroutine has ended"),
            }
        }
        let elapsed = sent.elapsed();
        ensure!(token == tasks, "a coroutine did not add one");
        laps += 1;
        if laps > WARMUPS {
            total += elapsed;
        }
    }
    // Each returns, and its stack is freed.
    for coroutine in &mut line {
        let _ = coroutine.resume(None);
    }
    Ok((total, laps - WARMUPS))
}
