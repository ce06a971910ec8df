//! What the harness adds to a hop: async-mem-brigade against a bare loop over
//! the same tokio, which has neither laps nor a tracer nor work.
//!
//! Both run as fresh processes, in pairs whose order is reversed every other
//! time. Prints the median ratio of a pair and the 95 % interval of that
//! median, from the ranks of the ratios. For a quiet figure: `taskset -c 1
//! cargo bench -p async-mem-brigade`.

use std::env;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use harness::record::Record;
use tokio::runtime;
use tokio::sync::mpsc::channel;

const TASKS: usize = 500;
const LAPS: u32 = 600;
const WARMUPS: u32 = 50;
/// Many short processes: a slow moment of the machine meets few pairs.
const PAIRS: usize = 201;

/// The ranks, from both ends, between which the median of 201 values lies with
/// a probability of 95 % (binomial distribution, p = 1/2).
const RANK: usize = 87;

/// What asks this program for one run of the bare loop.
const BARE: &str = "--bare";

fn main() -> anyhow::Result<()> {
    if env::args().any(|argument| argument == BARE) {
        println!("{}", bare_lap_ns()?);
        return Ok(());
    }
    let mut ratios = Vec::with_capacity(PAIRS);
    for pair in 0..PAIRS {
        let (measured, bare) = if pair % 2 == 0 {
            let measured = measured_by_the_program()?;
            (measured, measured_bare()?)
        } else {
            let bare = measured_bare()?;
            (measured_by_the_program()?, bare)
        };
        ratios.push(measured / bare);
    }
    ratios.sort_by(f64::total_cmp);
    let (median, low, high) = (ratios[PAIRS / 2], ratios[RANK - 1], ratios[PAIRS - RANK]);
    println!("async-mem-brigade / bare loop: {median:.3} [{low:.3}, {high:.3}], {PAIRS} pairs");
    Ok(())
}

/// The mean lap of async-mem-brigade, in nanoseconds.
fn measured_by_the_program() -> anyhow::Result<f64> {
    let program = env::var_os("BRIGADE_PROGRAM");
    let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_async-mem-brigade").into());
    let flags = [format!("--tasks={TASKS}"), format!("--iters={LAPS}")];
    let warmups = format!("--warmups={WARMUPS}");
    let text = output(Command::new(program).args(flags).args([&*warmups, "--json"]))?;
    Ok(Record::parse(&text)?.principal().context("no measurement")?.mean_ns)
}

/// The mean lap of the bare loop in a process of its own, in nanoseconds.
fn measured_bare() -> anyhow::Result<f64> {
    Ok(output(Command::new(env::current_exe()?).arg(BARE))?.trim().parse()?)
}

fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The mean lap of a brigade that passes its token and does nothing else.
fn bare_lap_ns() -> anyhow::Result<f64> {
    let runtime = runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let (first, mut upstream) = channel(1);
        let mut tasks = Vec::with_capacity(TASKS);
        for _ in 0..TASKS {
            let (downstream, next_upstream) = channel(1);
            tasks.push(tokio::spawn(async move {
                while let Some(token) = upstream.recv().await {
                    if downstream.send(token + 1).await.is_err() {
                        break;
                    }
                }
            }));
            upstream = next_upstream;
        }
        let mut last = upstream;
        let mut begun = Instant::now();
        for lap in 0..WARMUPS + LAPS {
            if lap == WARMUPS {
                begun = Instant::now();
            }
            first.send(0).await?;
            ensure!(last.recv().await == Some(TASKS), "a task did not add one");
        }
        let lap_ns = begun.elapsed().as_nanos() as f64 / f64::from(LAPS);
        drop(first);
        for task in tasks {
            task.await?;
        }
        Ok(lap_ns)
    })
}
