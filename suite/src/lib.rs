//! `brigade`, the runner: it runs the programs that `suite.toml` names, fairly
//! and as separate processes, and keeps what they report.
//!
//! It is a library so that what reads the data of strangers can be fuzzed; the
//! binary calls [`main`].

mod account;
mod availability;
mod build;
mod capture;
mod check;
mod compare;
mod consistency;
mod course;
mod environment;
mod exit;
mod fingerprint;
mod flags;
mod interference;
mod invocation;
mod invoke;
mod limits;
mod list;
mod lock;
pub mod manifest;
mod outcome;
mod output;
mod plan;
mod process;
mod progress;
mod prove;
pub mod report;
mod results;
mod resume;
mod run;
pub mod saved_run;
#[cfg(test)]
mod schema;
mod schema_version;
mod show;
mod signals;

use std::process::ExitCode;

use clap::Parser;

use exit::Exit;
use flags::{Cli, Command};

/// All of the binary: obeys the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Ok(cli) => obey(cli).unwrap_or_else(|error| {
            output::complain(&format!("{error:#}"));
            Exit::of(&error)
        }),
        Err(error) => flags::explain(&error),
    };
    exit.into()
}

fn obey(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command.unwrap_or(Command::Run(cli.run)) {
        Command::Run(flags) => match &flags.resume {
            Some(folder) => resume::resume(folder, &flags.programs),
            None => run::run(&flags),
        },
        Command::Report(flags) => show::show(&flags),
        Command::List(flags) => list::list(&flags),
        Command::Check(flags) => check::check(&flags),
        Command::Compare(flags) => compare::compare(&flags),
        Command::Limits(flags) => limits::limits(&flags),
        Command::Prove(flags) => prove::prove(&flags),
    }
}
