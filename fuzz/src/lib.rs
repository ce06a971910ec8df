//! What must hold of every input, one module to a fuzz target. The targets hand
//! them what libFuzzer makes up; `brigade/tests/cli/corpus.rs` hands them the corpus.

pub mod histogram;
pub mod laps;
pub mod manifest;
pub mod resume;
pub mod saved_run;
