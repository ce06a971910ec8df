//! The folder of a run: written as the run goes, read back as untrusted input.

pub mod consistency;
pub mod environment;
pub mod invocation;
pub mod laps;
pub mod own_file;
pub mod results;
#[cfg(test)]
pub(crate) mod sample;
pub mod saved_run;
