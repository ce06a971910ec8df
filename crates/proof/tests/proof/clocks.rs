//! The clock of all figures: short laps cost little, and it is as fast as another one.

use std::mem::MaybeUninit;

use crate::lab::{DEFAULT, Outcome, median_within, record, shown};

#[test]
#[ignore = "part of the proof"]
fn an_empty_lap_costs_less_than_four_reads_of_the_clock() {
    shown("an empty lap", || {
        let run = DEFAULT.binary("empty-lap").run(&[]);
        Outcome::new(run.code == Some(0), run.stdout + &run.stderr)
    });
}

/// `CLOCK_MONOTONIC_RAW`, in nanoseconds: not slewed like the programs' clock, and read by a direct
/// system call, without the vDSO.
fn raw_ns() -> i64 {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the call writes one timespec to this address, and zeros are a valid one.
    let now = unsafe {
        libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC_RAW, now.as_mut_ptr());
        now.assume_init()
    };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// A long process reports as much more time than a short one as it lived longer.
#[test]
#[ignore = "part of the proof"]
fn reported_time_is_that_of_a_second_clock() {
    shown("reported time / CLOCK_MONOTONIC_RAW", || {
        let times_ns = |seconds: f64| {
            let begun = raw_ns();
            let words = "coroutine-brigade --iters 1000000000 --warmups 10 --max-time";
            let record = record(&format!("{words} {seconds}"));
            let lived_ns = (raw_ns() - begun) as f64;
            [record.interference.wall_ns.expect("a span") as f64, lived_ns]
        };
        let ratio = |_| {
            let [short, long] = [0.04, 0.34].map(times_ns);
            (long[0] - short[0]) / (long[1] - short[1])
        };
        median_within(&(0..12).map(ratio).collect::<Vec<_>>(), [0.98, 1.02])
    });
}
