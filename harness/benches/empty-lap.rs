//! What a lap costs that holds nothing, in reads of the clock.
//!
//! A lap reads the clock twice and takes one sample down, outside of what it times
//! (`brigade prove` judges what lies inside). Here that is 2.6 to 2.8 reads; memory that
//! neighbours of the machine keep busy slows the sample and not the clock, and 3.3 were
//! seen. More would be an instrument that measures itself: ends with 1 when a lap costs
//! four reads or more.

use harness::instrument::{EmptyLap, empty_lap};

const MOST_READS: f64 = 4.0;

fn main() -> anyhow::Result<()> {
    let EmptyLap { read_ns, whole_ns, .. } = empty_lap()?;
    let reads = whole_ns / read_ns;
    println!("empty lap: {whole_ns:.1} ns, {reads:.2} reads of the clock of {read_ns:.1} ns");
    anyhow::ensure!(reads < MOST_READS, "an empty lap costs {MOST_READS} clock reads or more");
    Ok(())
}
