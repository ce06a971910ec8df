//! The clock: `CLOCK_MONOTONIC`, in nanoseconds.

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds since an arbitrary point in the past, never going backwards,
/// the same on every CPU.
///
/// # Panics
/// Never on Linux, which always has `CLOCK_MONOTONIC`.
#[inline]
#[must_use]
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has CLOCK_MONOTONIC");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

#[cfg(test)]
mod tests {
    use super::now;

    #[test]
    fn the_clock_never_goes_backwards() {
        let mut last = now();
        for _ in 0..100_000 {
            let next = now();
            assert!(next >= last, "{next} came after {last}");
            last = next;
        }
    }
}
