//! The partner as a thread.

use std::thread;

use anyhow::Context as _;
use harness::Bench;
use harness::threads::{outcome, root_cause, spawn};

use crate::side::{Held, Pair, RoundTrips};

/// Measures two threads that hand over to each other: this one, which is
/// task 0, and a new one.
///
/// # Errors
/// That a thread cannot be created or placed, or the failure of either.
pub fn measure(bench: &Bench, trips: RoundTrips, [driver, partner]: Pair) -> anyhow::Result<()> {
    let placement = bench.placement();
    thread::scope(|scope| {
        let mut partner = Held(partner);
        let body = move || {
            placement.pin(1)?;
            partner.0.answer(trips.work)
        };
        let thread = spawn(scope, 1, thread::Builder::new(), body)?;
        let mut driver = Held(driver);
        placement.pin(0).context("placing task 0")?;
        let driven = driver.0.drive(bench, trips).and_then(|()| bench.observe());
        drop(driver);
        root_cause([Ok(()), outcome(thread)]).and(driven)
    })
}
