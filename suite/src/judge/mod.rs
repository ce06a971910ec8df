//! Statistics and what follows from them: estimates, interference, attribution,
//! comparisons, proofs. Pure functions that know no operating system.

pub mod compare;
pub mod environment;
pub mod interference;
#[cfg_attr(not(test), expect(dead_code, reason = "the report of group `memory` is to use it"))]
pub mod ledger;
pub mod limits;
pub mod prove;
pub mod report;
pub mod switches;
