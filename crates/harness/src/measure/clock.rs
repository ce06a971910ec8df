//! The clock: `CLOCK_MONOTONIC`, in nanoseconds. It calls the C library
//! directly: a wrapper that returns the time in a `Result` copies it once more,
//! and a read takes 40 ns instead of 28.

use std::io;
use std::num::NonZeroU64;

use rustix::io::Errno;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute, set_current_timer_slack};

/// Nanoseconds since an arbitrary point in the past; monotonic, and the same on
/// every CPU.
#[inline]
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes a timespec to where the pointer points. It cannot
    // fail: every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The CPU time of the calling thread, in nanoseconds. This is a system call; `getrusage` would be
/// too coarse: for one thread it may be as old as the last tick.
pub(crate) fn cpu_time_of_this_thread() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as in `now`; every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How many readings of the clock show its step.
const READINGS: usize = 1000;

/// The shortest time that the clock shows, in nanoseconds: the smallest difference between two
/// readings. It is a tick of the counter behind the clock, 18 to 52 ns on many Arm machines, or what
/// a reading takes, if that is longer. `None` if the clock stood still.
pub fn step_ns() -> Option<u64> {
    let mut before = now();
    let differences = (0..READINGS).map(|_| {
        let after = now();
        after - std::mem::replace(&mut before, after)
    });
    differences.filter(|difference| *difference > 0).min()
}

/// Blocks the calling thread until this time, or until a signal is caught.
///
/// # Errors
/// The kernel's.
pub fn sleep_until(time_ns: u64) -> io::Result<()> {
    let time = Timespec {
        tv_sec: (time_ns / 1_000_000_000) as i64,
        tv_nsec: (time_ns % 1_000_000_000) as i64,
    };
    match clock_nanosleep_absolute(ClockId::Monotonic, &time) {
        Ok(()) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Disables the calling thread's timer slack, by which the kernel delays threads to wake several
/// at once. Where the kernel refuses, the inherited facts say so.
pub fn be_punctual() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_advances_by_its_step_or_more() {
        let step_ns = step_ns().expect("it advances");
        let before = now();
        let mut after = now();
        while after == before {
            after = now();
        }
        // A later reading may be faster than those of the step, but not by an order of magnitude.
        assert!(step_ns > 0 && after - before >= step_ns / 10, "{step_ns} {before} {after}");
    }
}
