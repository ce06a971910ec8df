//! Statistics and conclusions: estimates, interference, attribution,
//! comparisons. Pure functions, independent of the operating system.

pub mod compare;
pub mod environment;
pub mod impact;
pub mod interference;
pub mod ledger;
pub mod repeat;
pub mod report;
pub mod statistics;
pub mod taken;
pub mod trace;
