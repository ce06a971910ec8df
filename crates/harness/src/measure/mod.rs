//! What is measured: laps and rounds, clocks, counters, work, traces and their summary.

pub mod bench;
pub mod blocks;
pub mod clock;
pub mod counters;
pub mod histogram;
pub mod laps;
pub mod lateness;
pub(crate) mod progress;
pub mod reference;
pub mod rounds;
pub mod samples;
pub mod spinners;
pub(crate) mod state;
pub mod summary;
pub mod trace;
pub mod usage;
pub mod watch;
pub mod work;
