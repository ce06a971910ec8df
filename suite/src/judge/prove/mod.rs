//! Properties of the instrument, each judged by an experiment whose outcome is
//! known beforehand.

pub mod known_counts;
pub mod known_work;
pub mod likeness;
pub mod proof;
