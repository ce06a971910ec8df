//! The folder of a run: written as the run goes, read back as untrusted input.

pub mod consistency;
pub mod cpu_places;
pub mod environment;
pub mod invocation;
pub mod laps;
pub mod own_file;
pub mod recorded_case;
pub mod results;
#[cfg(test)]
pub(crate) mod sample;
pub mod saved_run;
mod schema_version;
