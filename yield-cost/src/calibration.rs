//! How long a unit of work takes.

use harness::work::spend;
use harness::{Bench, Measured, clock};

/// Units in one sample of the calibration: long enough that reading the clock
/// vanishes.
const SAMPLE: u64 = 10_000;

/// Measures one unit of work in this process, as often as there were
/// iterations.
pub fn calibrate(bench: &Bench) -> anyhow::Result<()> {
    let measured =
        Measured { name: "work", operation: "unit", operations: SAMPLE, covers_tasks: true };
    for lap in bench.side_laps(measured) {
        let begun = clock::now();
        spend(SAMPLE);
        lap.sample(clock::now() - begun);
        lap.finish();
    }
    Ok(())
}
