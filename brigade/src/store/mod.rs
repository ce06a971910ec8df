//! A run's folder, written during the run and read back.

#[cfg(test)]
pub(crate) mod fixtures;
pub mod machines;
pub mod results;
