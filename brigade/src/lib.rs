//! `brigade`, the runner: runs the programs in `suite.toml` as separate
//! processes, in fair order, and saves their records.
//!
//! The binary calls [`main`]. The layers, from the outside in:
//!
//! - [`commands`] one module per command; the only layer that knows all others
//! - [`measure`] builds, starts and watches processes; reads the machine
//! - [`plan`] which invocation comes next; pure
//! - [`show`] turns what `judge` returns into text
//! - [`judge`] statistics and conclusions; pure
//! - [`store`] a run's folder, written and read back
//! - [`manifest`] `suite.toml` as data
//!
//! It also contains every program of the workspace; see `programs`.

mod commands;
mod exit;
mod judge;
mod manifest;
mod measure;
mod plan;
mod programs;
#[cfg(test)]
mod schema_tests;
mod show;
mod store;

/// The whole binary: runs the program or the command on the command line.
pub fn main() -> std::process::ExitCode {
    programs::run().unwrap_or_else(commands::main)
}
