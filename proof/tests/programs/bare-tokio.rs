//! An independent implementation for the proof: the brigade of async-mem-brigade on the same
//! tokio, without laps, stations, tracer or work. Prints the mean time of a hop in nanoseconds.
//!
//! Usage: `bare-tokio TASKS SECONDS`

use std::env;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tokio::runtime;
use tokio::sync::mpsc::channel;

/// Laps that are not timed.
const WARMUPS: u32 = 10;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [tasks, seconds] = &arguments[..] else { anyhow::bail!("usage: bare-tokio TASKS SECONDS") };
    let tasks: usize = tasks.parse().context("reading TASKS")?;
    let limit = Duration::try_from_secs_f64(seconds.parse()?).context("reading SECONDS")?;
    let runtime = runtime::Builder::new_current_thread().build()?;
    println!("{:.3}", runtime.block_on(hop_ns(tasks, limit))?);
    Ok(())
}

async fn hop_ns(tasks: usize, limit: Duration) -> anyhow::Result<f64> {
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
    let (mut total, mut laps) = (Duration::ZERO, 0);
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
    let hops = f64::from(laps - WARMUPS) * (tasks + 1) as f64;
    Ok(total.as_nanos() as f64 / hops)
}
