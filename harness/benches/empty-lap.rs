//! What a lap costs that holds nothing, in reads of the clock.
//!
//! A lap reads the clock twice and takes one sample down; more than three
//! reads' worth would be an instrument that measures itself. Ends with 1 when a
//! lap costs three reads or more.

use harness::instrument::{EmptyLap, empty_lap};

const MOST_READS: f64 = 3.0;

fn main() -> anyhow::Result<()> {
    let EmptyLap { read_ns, whole_ns, .. } = empty_lap()?;
    let reads = whole_ns / read_ns;
    println!("empty lap: {whole_ns:.1} ns, {reads:.2} reads of the clock of {read_ns:.1} ns");
    anyhow::ensure!(reads < MOST_READS, "an empty lap costs {MOST_READS} clock reads or more");
    Ok(())
}
