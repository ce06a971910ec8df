//! The unit of work, and how long it takes.

use std::hint::black_box;

use harness::{Bench, Measured, clock};

/// Units in one sample of the calibration: long enough that reading the clock
/// vanishes.
const SAMPLE: u64 = 10_000;

/// Does some units of work: a loop that the compiler can neither remove nor
/// shorten, and that is compiled once, so that no scenario has a faster one.
#[inline(never)]
pub fn work(units: u64) {
    for unit in 0..units {
        black_box(unit);
    }
}

/// Measures one unit of work in this process, as often as there were
/// iterations.
pub fn calibrate(bench: &Bench) -> anyhow::Result<()> {
    let measured =
        Measured { name: "work", operation: "unit", operations: SAMPLE, covers_tasks: true };
    for lap in bench.side_laps(measured) {
        let begun = clock::now();
        work(SAMPLE);
        lap.sample(clock::now() - begun);
        lap.finish();
    }
    Ok(())
}
