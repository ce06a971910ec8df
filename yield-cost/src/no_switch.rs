//! The work alone: the baseline of all scenarios.

use harness::Bench;
use harness::work::spend;

use crate::{CYCLES, block};

/// Measures cycles of work without a switch.
pub fn measure(bench: &Bench, units: u64) -> anyhow::Result<()> {
    for lap in bench.laps(&[block()]) {
        for _ in 0..CYCLES {
            spend(units);
        }
        lap.finish();
    }
    bench.observe()
}
