//! The statistics behind every figure of a report: pure functions of slices and maps, no
//! operating system, no files, no output.
//!
//! The sample is always the invocations of a case, never the iterations within one: the
//! kernel's choices of where to place a process differ from process to process, and a
//! million iterations of one process see one such choice.

mod dependence;
mod estimate;
mod modes;
#[cfg(test)]
pub(in crate::judge) mod tests;

pub use dependence::{Dependence, Series, correlation};
pub use estimate::{
    ByRound, CONFIDENCE, Estimate, FEWEST_TIMES, Interval, median, proportion, ratio_at, ratios,
    slope,
};
pub use modes::{Modes, outlier};
