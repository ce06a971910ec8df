//! The folder of a run: written as the run goes, read back as untrusted input.

pub mod consistency;
pub mod environment;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod invocation;
pub mod laps;
pub mod results;
pub mod saved_run;
