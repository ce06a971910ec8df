//! The cost of an empty lap, in reads of the clock.
//!
//! A lap reads the clock twice and records one sample outside the timed part. That takes 2.6 to 2.8
//! reads; when neighbours keep the machine's memory busy, 3.3 were seen. From four reads on, or two
//! in the timed part, the harness would mostly measure itself, so it exits with 1.

use std::hint::black_box;

use harness::{Bench, Measured, clock};

/// Alternating blocks of clock reads and of laps.
const BLOCKS: usize = 41;
/// Reads or laps per block: enough to make the overhead around them negligible.
const PER_BLOCK: u64 = 100_000;

const MOST_READS: f64 = 4.0;
const MOST_TIMED_READS: f64 = 2.0;

/// One read of the clock, in nanoseconds.
fn read_ns() -> f64 {
    let begun = clock::now();
    for _ in 0..PER_BLOCK {
        black_box(clock::now());
    }
    (clock::now() - begun) as f64 / PER_BLOCK as f64
}

/// The time from one empty lap to the next, and the duration that the median lap reports.
fn lap_ns() -> anyhow::Result<[f64; 2]> {
    let bench = Bench::standalone(1, PER_BLOCK, 0, None)?;
    let begun = clock::now();
    for lap in bench.laps(&[Measured::single("empty", "lap")]) {
        lap.finish();
    }
    let whole = (clock::now() - begun) as f64 / PER_BLOCK as f64;
    let timed = bench.samples()[0].measurement(1).map_or(0.0, |laps| laps.p50_ns as f64);
    Ok([whole, timed])
}

/// Judges the block with the median ratio, so that a slow moment of the machine affects laps and
/// reads alike.
fn main() -> anyhow::Result<()> {
    let block = |_| {
        let read_ns = read_ns();
        lap_ns().map(|ns| ns.map(|ns| ns / read_ns))
    };
    let mut blocks: Vec<[f64; 2]> = (0..BLOCKS).map(block).collect::<anyhow::Result<_>>()?;
    blocks.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let [whole, timed] = blocks[BLOCKS / 2];
    println!("empty lap: {whole:.2} reads of the clock, of which it times {timed:.2}");
    anyhow::ensure!(whole < MOST_READS, "an empty lap costs {MOST_READS} reads or more");
    anyhow::ensure!(timed <= MOST_TIMED_READS, "it times more than {MOST_TIMED_READS} reads");
    Ok(())
}
