//! Statistics and conclusions: pure functions of a run's records.

pub mod advice;
pub mod amounts;
pub mod compare;
pub mod connections;
pub mod environment;
pub mod impact;
pub mod loads;
pub mod lost_time;
pub mod pinning;
pub mod prediction;
pub mod rank;
pub mod read_shares;
pub mod report;
pub mod row;
pub mod run;
pub mod sample;
pub mod savings;
pub mod state;
pub mod statistics;
pub mod trace;
