//! What must hold of every input, one module to a fuzz target. The targets hand
//! them what libFuzzer makes up; `suite/tests/corpus.rs` hands them the corpus.

pub mod histogram;
pub mod manifest;
pub mod saved_run;
