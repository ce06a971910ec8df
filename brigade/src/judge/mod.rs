//! Statistics and what follows from them: estimates, interference, attribution,
//! comparisons, proofs. Pure functions that know no operating system.

pub mod compare;
pub mod environment;
pub mod impact;
pub mod interference;
pub mod ledger;
pub mod prove;
pub mod repeat;
pub mod report;
pub mod statistics;
pub mod taken;
pub mod trace;
