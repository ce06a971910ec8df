//! A run's folder: written during the run, read back as untrusted input.

pub mod consistency;
pub mod environment;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod invocation;
pub mod laps;
pub mod results;
pub mod saved_run;
