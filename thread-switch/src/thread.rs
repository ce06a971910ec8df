//! The partner as a thread.

use std::thread;

use anyhow::Context as _;
use harness::threads::{TaskError, panic_text, root_cause};
use harness::{Bench, Work, failure};

use crate::side::{Held, Pair};

/// Measures two threads that hand over to each other: this one, which is
/// task 0, and a new one.
///
/// # Errors
/// That a thread cannot be created or placed, or the failure of either.
pub fn measure(bench: &Bench, work: Work, [driver, partner]: Pair) -> anyhow::Result<()> {
    let placement = bench.placement();
    thread::scope(|scope| {
        let mut partner = Held(partner);
        let thread = thread::Builder::new()
            .spawn_scoped(scope, move || {
                placement.take_seat(1)?;
                partner.0.answer(work)
            })
            .map_err(|error| failure::creating(format_args!("task 1"), error))?;
        let mut driver = Held(driver);
        placement.take_seat(0).context("placing task 0")?;
        let driven = driver.0.drive(bench, work).and_then(|()| bench.observe());
        drop(driver);
        let ended = match thread.join() {
            Ok(result) => result.map_err(TaskError::Failed),
            Err(panic) => Err(TaskError::Panicked(panic_text(&*panic))),
        };
        root_cause([Ok(()), ended]).and(driven)
    })
}
