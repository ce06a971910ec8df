//! Properties of every input, one module per fuzz target. The targets use inputs that libFuzzer
//! generates; `brigade/tests/cli/stranger.rs` uses the corpus.

pub mod histogram;
pub mod laps;
pub mod manifest;
pub mod resume;
pub mod saved_run;
