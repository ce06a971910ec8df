//! Two threads on one CPU that call `sched_yield` in turn.

use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use harness::Bench;
use harness::failure::UsageError;
use harness::placement::{Placement, Policy};
use harness::threads::spawn;

use crate::turns::{EndOfTurns, Turns, drive, join};

/// Refuses two CPUs.
///
/// # Errors
/// [`UsageError`], with the flag that is needed.
pub fn check(placement: &Placement) -> Result<(), UsageError> {
    if placement.policy() != Policy::SameCpu {
        let reason = "--scenario sched-yield: threads yield only to others on their CPU; \
                      add --placement same-cpu";
        return Err(UsageError(reason.into()));
    }
    Ok(())
}

/// Measures cycles of two threads that yield to each other.
pub fn measure(bench: &Bench, units: u64) -> anyhow::Result<()> {
    let turns = &Turns::default();
    thread::scope(|scope| {
        let passing = || {
            while !turns.over.load(Relaxed) {
                turns.take(1, units);
                thread::yield_now();
            }
            Ok(())
        };
        let end = EndOfTurns { turns, event: None };
        let other = spawn(scope, 1, thread::Builder::new(), passing)?;
        let driven = drive(bench, turns, units, thread::yield_now);
        drop(end);
        join(vec![other]).and(driven)
    })
}
