//! The statistics behind every figure of a report: pure functions of slices and maps.
//!
//! Samples are the invocations of a case, never the iterations within one: the kernel places each
//! process differently, and a million iterations of one process see a single placement.

mod dependence;
mod estimate;
mod modes;
#[cfg(test)]
pub(in crate::judge) mod tests;

pub use dependence::{Dependence, Series, correlation};
pub use estimate::{
    ByRound, CONFIDENCE, Estimate, FEWEST_TIMES, Interval, median, ratio_at, slope,
};
pub use modes::{Modes, outlier};
