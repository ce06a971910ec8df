//! `brigade`, the runner: it runs the programs that `suite.toml` names, fairly
//! and as separate processes, and keeps what they report.

mod availability;
mod capture;
mod exit;
mod invocation;
mod manifest;
mod outcome;
mod process;
mod signals;

fn main() {}
