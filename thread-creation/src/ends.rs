//! What the end of a thread takes that no account holds.
//!
//! A thread that ends wakes the one that joins it, adds its CPU time to that of
//! its process, and then runs on in the kernel, which takes it apart. This last
//! stretch is in no process's account, so `/proc/stat` shows it as CPU time that
//! others had.

use std::time::Duration;

use harness::{clock, cpus};
use nix::time::{ClockId, clock_gettime};

/// Laps that are measured. The figure is their median, so that it stands while
/// others disturb fewer than half of them.
pub const LAPS: usize = 25;

/// The most threads in a lap. A lap takes about a millisecond: less than others
/// have the CPU for at a time.
pub const MOST_THREADS: usize = 20;

/// The CPU time of a thread's end that is not in the account of its process, in
/// nanoseconds. `create_and_join` does that with `threads` threads, which end at
/// once.
///
/// It is called on one CPU, which has no time to be idle: wall time that the
/// process's account does not hold is of ends of its threads, or of others.
pub fn uncounted_ns(
    threads: usize,
    mut create_and_join: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let allowed = cpus::allowed()?;
    cpus::confine(&[cpus::current() as usize])?;
    let mut laps = Vec::with_capacity(LAPS);
    let measured = (0..LAPS).try_fold(not_in_the_account()?, |before, _| {
        create_and_join()?;
        let after = not_in_the_account()?;
        laps.push(after.saturating_sub(before));
        anyhow::Ok(after)
    });
    cpus::confine(&allowed)?;
    measured?;
    laps.sort_unstable();
    Ok(laps[LAPS / 2] as f64 / threads as f64)
}

/// Time that has passed, minus the CPU time of this process, in nanoseconds:
/// on one CPU it does not fall.
fn not_in_the_account() -> nix::Result<u64> {
    let own = Duration::from(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?);
    Ok(clock::now().saturating_sub(own.as_nanos() as u64))
}
