//! The program's flags.

use harness::RuntimeFlags;

/// The most units of work, as with `--work`.
const MOST_WORK: u64 = 1_000_000_000;

/// The most acquisitions a second.
const MOST_RATE: i64 = 100_000_000;

/// Time N tasks that share one lock.
///
/// One iteration is 1024 consecutive acquisitions by any of the tasks, as fast as they can.
/// With --rate it is one acquisition, timed from when it is due.
#[derive(Clone, Debug, clap::Args, serde::Serialize)]
pub struct Flags {
    /// The lock
    #[arg(long, value_enum, default_value_t = Kind::Std)]
    pub lock: Kind,

    #[command(flatten)]
    #[serde(flatten)]
    pub runtime: RuntimeFlags,

    /// Units of work with the lock held; a unit is timed before and after the run
    #[arg(long, visible_alias = "work", overrides_with = "inside", value_name = "UNITS")]
    #[arg(default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MOST_WORK))]
    pub inside: u64,

    /// Units of work between releasing the lock and taking it again
    #[arg(long, value_name = "UNITS", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MOST_WORK))]
    pub outside: u64,

    /// Acquisitions per second by all tasks together, each due at its time [default: as many as
    /// the tasks can make]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_RATE))]
    pub rate: Option<u32>,

    /// Take a page fault with the lock held
    #[arg(long)]
    pub hold_fault: bool,
}

/// Values of `--lock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `Mutex` of the standard library
    Std,
    /// `Mutex` of parking_lot
    ParkingLot,
    /// `pthread_mutex_t` with default attributes
    Pthread,
    /// `pthread_mutex_t` that spins briefly before it waits
    PthreadAdaptive,
    /// `pthread_mutex_t` with priority inheritance
    PthreadPi,
    /// A spin lock: reads a word until it is free
    Spin,
    /// A word and the system call futex, without spinning: the least a lock can cost
    Futex,
    /// `Mutex` of tokio, which queues its waiters
    Tokio,
    /// `Mutex` of async-lock
    AsyncLock,
    /// No lock at all, which the program must detect
    #[value(hide = true)]
    Broken,
}
