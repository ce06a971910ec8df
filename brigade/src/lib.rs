//! `brigade`, the runner: it runs the programs that `suite.toml` names, fairly
//! and as separate processes, and keeps what they report.
//!
//! It is a library so that what reads untrusted input can be fuzzed; the binary
//! calls [`main`]. Its layers, from the outside in:
//!
//! - [`commands`] what `brigade` can be asked to do; the only layer that knows
//!   all others
//! - [`measure`] builds, starts and watches processes; reads the machine
//! - [`plan`] which invocation comes next; pure
//! - [`show`] turns what `judge` returns into text
//! - [`judge`] statistics and what follows from them; pure
//! - [`store`] the folder of a run, written and read back
//! - [`manifest`] is `suite.toml`
//!
//! It contains every program of the workspace as well; see `programs`.

mod commands;
mod exit;
mod judge;
pub mod manifest;
pub mod measure;
mod plan;
mod programs;
#[cfg(test)]
mod schema_tests;
mod show;
pub mod store;

pub use commands::renderings;

/// All of the binary: is the program, or does the command, that the command line names.
pub fn main() -> std::process::ExitCode {
    programs::run().unwrap_or_else(commands::main)
}
