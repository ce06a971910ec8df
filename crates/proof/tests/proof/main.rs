//! Experiments with known outcomes: `cargo test -p proof -- --ignored`.
//!
//! They run Release binaries, one at a time. Each experiment holds, fails, or is skipped visibly if
//! the machine is too busy to decide; one that fails is repeated once, since each fails by chance
//! once in a hundred times.

mod clocks;
mod lab;
mod limits;
mod opponents;
mod outside;
mod work;
