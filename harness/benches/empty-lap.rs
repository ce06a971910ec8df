//! The cost of an empty lap, in reads of the clock.
//!
//! A lap reads the clock twice and records one sample outside the timed part (`brigade prove`
//! judges the timed part). Here that takes 2.6 to 2.8 reads; when neighbours keep the machine's
//! memory busy, the sample slows but the clock does not, and 3.3 were seen. From four reads on, the
//! harness would mostly measure itself, so the benchmark exits with 1.

use harness::instrument::{EmptyLap, empty_lap};

const MOST_READS: f64 = 4.0;

fn main() -> anyhow::Result<()> {
    let EmptyLap { read_ns, whole_ns, .. } = empty_lap()?;
    let reads = whole_ns / read_ns;
    println!("empty lap: {whole_ns:.1} ns, {reads:.2} reads of the clock of {read_ns:.1} ns");
    anyhow::ensure!(reads < MOST_READS, "an empty lap costs {MOST_READS} clock reads or more");
    Ok(())
}
