//! Shell completions: `source <(COMPLETE=bash brigade)`.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};

use crate::commands::flags::Cli;
use crate::manifest::Manifest;
use crate::programs;
use crate::store::results::SavedRun;

/// Answers a shell that requests completions (`COMPLETE=bash brigade`), and exits.
pub fn complete() {
    let own = || completed(Cli::command());
    let command = || programs::names().map(Command::new).fold(own(), Command::subcommand);
    CompleteEnv::with_factory(command).complete();
}

/// A command whose arguments have values from the manifest and the saved runs, by the names of
/// their fields.
fn completed(command: Command) -> Command {
    let with_values = |arg: Arg| match arg.get_id().as_str() {
        "names" => {
            arg.add(ArgValueCandidates::new(|| groups().into_iter().chain(cases()).collect()))
        }
        "case" | "cases" => arg.add(ArgValueCandidates::new(cases)),
        "folders" | "others" | "resume" | "run" | "runs" => arg.add(ArgValueCompleter::new(runs)),
        _ => arg,
    };
    command.mut_args(with_values).mut_subcommands(|of| of.mut_args(with_values))
}

fn groups() -> Vec<CompletionCandidate> {
    let suite = Manifest::load(None).unwrap_or_default();
    suite.groups.iter().map(|group| CompletionCandidate::new(&group.name)).collect()
}

fn cases() -> Vec<CompletionCandidate> {
    let suite = Manifest::load(None).unwrap_or_default();
    suite.cases.iter().map(|case| CompletionCandidate::new(&case.name)).collect()
}

/// Folders of runs, latest first, or those below the path typed so far.
fn runs(current: &OsStr) -> Vec<CompletionCandidate> {
    let suite = Manifest::load(None).unwrap_or_default();
    let here = env::current_dir().unwrap_or_default();
    let runs = SavedRun::latest_first(&suite.results(), None).into_iter();
    let runs = runs.map(|run| run.strip_prefix(&here).map_or(run.clone(), Path::to_owned));
    let begins = |run: &Path| run.to_string_lossy().starts_with(&*current.to_string_lossy());
    let found: Vec<_> = runs.filter(|run| begins(run)).map(CompletionCandidate::new).collect();
    if found.is_empty() { PathCompleter::dir().complete(current) } else { found }
}
