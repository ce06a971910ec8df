//! Invocations beside a thread that takes a tenth of their CPU.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use harness::cpus;

use super::runs::{Runs, bar};
use crate::judge::prove::known_disturbance::{INVOCATIONS, SECONDS};
use crate::manifest::Case;
use crate::store::invocation::Invocation;

/// How long the thread spins, and how often.
const SPIN: Duration = Duration::from_millis(1);
const PERIOD: Duration = Duration::from_millis(10);

/// Runs `case`, whose tasks are all on the first CPU that may be used, beside the
/// thread. `None` if interrupted.
pub fn invocations(runs: &mut Runs, case: &Case) -> Option<Vec<Invocation>> {
    let bar = bar(INVOCATIONS as usize, "known disturbance");
    // Many iterations: the program's default could be over long before.
    let seconds = SECONDS.to_string();
    let flags = ["--max-time", &seconds, "--iters", "1000000000"].map(str::to_owned);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| spin(&over));
        let invocations = (1..=INVOCATIONS).map(|round| runs.invoke(case, round, &flags, &bar));
        let invocations = invocations.collect();
        over.store(true, Relaxed);
        invocations
    })
}

/// Spins on the first CPU for a tenth of the time. Where it cannot be placed there,
/// the invocations are not disturbed, and the property fails.
fn spin(over: &AtomicBool) {
    let first = cpus::allowed().into_iter().flatten().take(1).collect::<Vec<_>>();
    if cpus::confine(&first).is_err() {
        return;
    }
    while !over.load(Relaxed) {
        let begun = Instant::now();
        while begun.elapsed() < SPIN {}
        thread::sleep(PERIOD - SPIN);
    }
}
