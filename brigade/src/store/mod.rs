//! A run's folder, written during the run and read back.

pub mod environment;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod invocation;
pub mod results;
