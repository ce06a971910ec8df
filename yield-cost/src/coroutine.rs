//! A stackful coroutine that suspends itself at the end of every cycle.

use anyhow::ensure;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use harness::Bench;
use harness::work::spend;

use crate::{CYCLES, block};

/// Measures cycles of a coroutine, which counts them.
pub fn measure(bench: &Bench, units: u64) -> anyhow::Result<()> {
    let mut task = Coroutine::new(move |caller: &Yielder<(), u64>, ()| {
        for cycle in 1.. {
            spend(units);
            caller.suspend(cycle);
        }
    });
    let mut expected = 0;
    for lap in bench.laps(&[block()]) {
        let mut last = CoroutineResult::Return(());
        for _ in 0..CYCLES {
            last = task.resume(());
        }
        lap.finish();
        expected += CYCLES;
        let done = last.as_yield();
        ensure!(done == Some(expected), "the coroutine was suspended {done:?} of {expected} times");
    }
    bench.observe()
}
