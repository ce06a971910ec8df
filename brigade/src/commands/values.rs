//! Values for shell completion, from the manifest, this machine and its runs.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use clap::{Arg, Command};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use harness::system_files::SystemFiles;

use crate::manifest::{AdvicePlan, Manifest};
use crate::measure::settings::Advice;
use crate::store::saved_run::SavedRun;

/// A command whose arguments have the values below, by the names of their fields.
pub fn completed(command: Command) -> Command {
    let with_values = |arg: Arg| match arg.get_id().as_str() {
        "groups" => arg.add(ArgValueCandidates::new(groups)),
        "case" | "cases" => arg.add(ArgValueCandidates::new(cases)),
        "profile" => arg.add(ArgValueCandidates::new(profiles)),
        "tried" => arg.add(ArgValueCandidates::new(settings)),
        "folders" | "others" | "resume" | "run" | "runs" => arg.add(ArgValueCompleter::new(runs)),
        _ => arg,
    };
    command.mut_args(with_values).mut_subcommands(|of| of.mut_args(with_values))
}

/// Names in the manifest of this binary.
fn of_suite(names: impl Fn(&Manifest) -> Vec<&String>) -> Vec<CompletionCandidate> {
    let suite = Manifest::load(None, None);
    suite.iter().flat_map(names).map(CompletionCandidate::new).collect()
}

fn groups() -> Vec<CompletionCandidate> {
    of_suite(|suite| suite.groups.iter().map(|group| &group.name).collect())
}

fn cases() -> Vec<CompletionCandidate> {
    of_suite(|suite| suite.cases.iter().map(|case| &case.name).collect())
}

fn profiles() -> Vec<CompletionCandidate> {
    of_suite(|suite| suite.profiles.keys().collect())
}

/// The settings that can be tried here.
fn settings() -> Vec<CompletionCandidate> {
    let settings = Advice::of(&SystemFiles::live(), &AdvicePlan::new()).settings.into_iter();
    let can_be = settings.filter(|setting| !setting.files.is_empty());
    can_be.map(|setting| CompletionCandidate::new(setting.about.name)).collect()
}

/// Folders of runs, latest first, or those below the path typed so far.
fn runs(current: &OsStr) -> Vec<CompletionCandidate> {
    let suite = Manifest::load(None, None).unwrap_or_default();
    let here = env::current_dir().unwrap_or_default();
    let runs = SavedRun::latest_first(&suite.results(), None).into_iter();
    let runs = runs.map(|run| run.strip_prefix(&here).map_or(run.clone(), Path::to_owned));
    let begins = |run: &Path| run.to_string_lossy().starts_with(&*current.to_string_lossy());
    let found: Vec<_> = runs.filter(|run| begins(run)).map(CompletionCandidate::new).collect();
    if found.is_empty() { PathCompleter::dir().complete(current) } else { found }
}
