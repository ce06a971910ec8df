//! Sleeping until a time, with `clock_nanosleep` and an absolute time, as in cyclictest.

use std::io;
use std::time::Duration;

use harness::clock;

use crate::course::Course;
use crate::tally::WakeUp;

/// The longest sleep between two checks of whether the run is over.
pub const LONGEST: Duration = Duration::from_secs(1);

/// Sleeps until `time_ns`; `None` if the run ends before.
///
/// # Errors
/// The kernel's, if it does not let the thread sleep.
pub fn until(time_ns: u64, course: &Course) -> io::Result<Option<WakeUp>> {
    let mut waited = false;
    loop {
        let ran_ns = clock::now();
        if ran_ns >= time_ns {
            let wake_up =
                WakeUp { intended_ns: time_ns, called_ns: None, waker: 0, ran_ns, waited };
            return Ok(Some(wake_up));
        }
        if course.is_over() {
            return Ok(None);
        }
        nanosleep(time_ns.min(ran_ns.saturating_add(LONGEST.as_nanos() as u64)))?;
        waited = true;
    }
}

/// One sleep until a time, or until a signal.
fn nanosleep(until_ns: u64) -> io::Result<()> {
    let seconds = libc::time_t::try_from(until_ns / 1_000_000_000);
    let time = libc::timespec {
        tv_sec: seconds.unwrap_or(libc::time_t::MAX),
        tv_nsec: (until_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the kernel reads the time, which outlives the call; for absolute times it writes no
    // remainder.
    let error = unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            std::ptr::null_mut(),
        )
    };
    match error {
        0 | libc::EINTR => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}

/// Disables timer slack, by which the kernel delays threads to wake several at once.
///
/// # Errors
/// The kernel's.
pub fn be_punctual() -> io::Result<()> {
    const LEAST_NS: libc::c_ulong = 1;
    // SAFETY: the call takes only numbers.
    match unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, LEAST_NS, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
