//! What a lap costs that holds nothing, in reads of the clock.
//!
//! A lap reads the clock twice and takes one sample down; more than three
//! reads' worth would be an instrument that measures itself. Blocks of clock
//! reads and of laps are interleaved, and the median ratio of neighbouring
//! blocks decides, so that a slow moment of the machine meets both alike. Ends
//! with 1 when a lap costs three reads or more.

use std::hint::black_box;

use harness::{Bench, Measured, clock};

const BLOCKS: usize = 41;
/// Enough that reading the counters around a block's laps does not show.
const PER_BLOCK: u64 = 100_000;
const MOST_READS: f64 = 3.0;

fn main() -> anyhow::Result<()> {
    let mut blocks = Vec::with_capacity(BLOCKS);
    for _ in 0..BLOCKS {
        blocks.push((clock_reads(), laps()?));
    }
    blocks.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let (read, lap) = blocks[BLOCKS / 2];
    println!("empty lap: {lap:.1} ns, {:.2} reads of the clock of {read:.1} ns", lap / read);
    anyhow::ensure!(lap / read < MOST_READS, "an empty lap costs {MOST_READS} clock reads or more");
    Ok(())
}

/// One read of the clock, in nanoseconds.
fn clock_reads() -> f64 {
    let begun = clock::now();
    for _ in 0..PER_BLOCK {
        black_box(clock::now());
    }
    (clock::now() - begun) as f64 / PER_BLOCK as f64
}

/// One empty lap, in nanoseconds.
fn laps() -> anyhow::Result<f64> {
    let bench = Bench::standalone(1, PER_BLOCK, 0, None)?;
    let begun = clock::now();
    for lap in bench.laps(&[Measured::single("empty", "lap")]) {
        lap.finish();
    }
    Ok((clock::now() - begun) as f64 / PER_BLOCK as f64)
}
