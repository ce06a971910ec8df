//! The commands of `brigade`. A command reads its flags, calls the other layers and prints; no
//! other layer knows all of them.

mod advise;
mod check;
mod compare;
mod flags;
mod impact;
mod limits;
mod list;
mod output;
mod report;
mod resume;
mod run;
mod saved;
mod session;
mod trace;

use std::process::ExitCode;

use harness::system_files;

use crate::exit::Exit;
use crate::judge::sample::Sample;
use crate::manifest::Manifest;
use crate::measure::sources;
use crate::store::results::Outcome;
use flags::{Cli, Command};

/// The whole binary: runs the command on this process's command line.
pub fn main() -> ExitCode {
    let done = system_files::require_stack().and_then(|()| {
        flags::complete();
        Cli::from_command_line().map_or_else(|error| flags::explain(&error), dispatch)
    });
    let exit = done.unwrap_or_else(|error| {
        let exit = Exit::from_error(&error);
        if exit != Exit::Interrupted {
            output::warn(&format!("{error:#}"));
        }
        exit
    });
    exit.code().into()
}

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    system_files::require_counters()?;
    let command = cli.command.unwrap_or(Command::Run { names: Vec::new(), flags: cli.run });
    let mut manifest = Manifest::load(cli.manifest.as_deref())?;
    if command.starts_programs() && manifest.guests.is_none() {
        match sources::folder(output::warn) {
            Ok(folder) => manifest.guests = Some(folder),
            Err(reason) => manifest.no_guests = Some(format!("{reason:#}")),
        }
    }
    match command {
        Command::Run { names, flags } => match &flags.resume {
            Some(folder) => resume::resume(folder, manifest, flags.full),
            None => run::run(&names, &flags, manifest),
        },
        Command::Report(flags) => report::show(&flags, &manifest),
        Command::List { names } => list::list(&names, manifest),
        Command::Check { names } => check::check(&names, &manifest),
        Command::Compare(flags) => compare::compare(&flags, manifest),
        Command::Limits(flags) => limits::limits(&flags, &manifest),
        Command::Advise(flags) => advise::advise(&flags, &manifest),
        Command::Impact(flags) => impact::impact(&flags, &manifest),
        Command::Trace(flags) => trace::trace(&flags, manifest),
    }
}

/// The exit code after these processes, if nothing interrupted them; without any, nothing was
/// measured. Processes that were interrupted and run again do not count.
fn exit_after<'a>(processes: impl IntoIterator<Item = &'a Sample>) -> Exit {
    let counted = processes.into_iter().filter(|process| !process.interrupted);
    let exits = counted.map(|process| match process.outcome {
        Outcome::Measured => Exit::Done,
        Outcome::Refused => Exit::Limit,
        _ if process.exit_code == Some(Exit::Usage.code().into()) => Exit::Usage,
        Outcome::Failed | Outcome::TimedOut => Exit::Failed,
    });
    let by_weight = [Exit::Done, Exit::Limit, Exit::Failed, Exit::Usage];
    exits
        .max_by_key(|exit| by_weight.iter().position(|other| other == exit))
        .unwrap_or(Exit::Failed)
}
