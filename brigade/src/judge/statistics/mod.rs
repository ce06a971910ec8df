//! The statistics behind every figure of a report: pure functions of slices
//! and maps, no operating system, no files, no output.
//!
//! The sample is always the invocations of a case, never the iterations within
//! one: the kernel's choices of where to place a process differ from process
//! to process, and a million iterations of one process see one such choice.

mod by_round;
mod estimate;
mod median_interval;
mod modes;
mod normal;
mod proportion;
mod quantile;
mod shift;
mod slope;

#[cfg(test)]
mod coverage;
#[cfg(test)]
mod reference;

pub use by_round::{ByRound, difference, ratio, ratios};
pub use estimate::{ENOUGH_FOR_RANKS, Estimate, Estimator};
pub use median_interval::{Interval, MIN_SAMPLE};
pub use modes::{Modes, outlier};
pub use proportion::proportion;
pub use quantile::median;
pub use shift::{Shift, fewest_pairs, rank_sum_score};
pub use slope::slope;
