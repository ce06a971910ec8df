//! The uncounted cost of a thread's end.
//!
//! A thread that ends wakes the thread that joins it, adds its CPU time to that of its process, and
//! then continues in the kernel, which frees it. This last stretch is charged to no process, so
//! `/proc/stat` shows it as CPU time of others.

use std::time::Duration;

use harness::{clock, cpus};
use nix::time::{ClockId, clock_gettime};

/// Measured laps. The figure is their median, so disturbances of fewer than
/// half of them do not matter.
const LAPS: usize = 25;

/// The most threads per lap. A lap takes about a millisecond: less than the
/// time slice of another process.
pub const MOST_THREADS: usize = 20;

/// The CPU time of a thread's end that is not charged to its process, in nanoseconds.
/// `create_and_join` creates and joins `threads` threads, which end at once.
///
/// It runs on one CPU that is never idle: wall time that is not charged to the process belongs to
/// the ends of its threads, or to others.
pub fn uncounted_ns(
    threads: usize,
    mut create_and_join: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let allowed = cpus::allowed()?;
    let current = allowed.iter().find(|cpu| **cpu == cpus::current() as usize);
    cpus::confine(&[*current.unwrap_or(&allowed[0])])?;
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

/// Elapsed time minus the CPU time of this process, in nanoseconds: on one CPU
/// it does not fall.
fn not_in_the_account() -> nix::Result<u64> {
    let own = Duration::from(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?);
    Ok(clock::now().saturating_sub(own.as_nanos() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measuring_leaves_the_cpus_as_they_were() {
        let before = cpus::allowed().expect("affinity");
        let mut calls = 0;
        uncounted_ns(1, || {
            calls += 1;
            assert_eq!(cpus::allowed().expect("affinity").len(), 1);
            Ok(())
        })
        .expect("a figure");
        assert_eq!((calls, cpus::allowed().expect("affinity")), (LAPS, before.clone()));
        uncounted_ns(1, || anyhow::bail!("on purpose")).expect_err("a failure");
        assert_eq!(cpus::allowed().expect("affinity"), before);
    }
}
