//! A program's page, as the runner sees it without running it.

use std::iter;
use std::process::ExitCode;

use clap::{Args, Command};

use crate::flags::Flags;
use crate::machine::placement::{Placement, Policy};
use crate::program::{Program, check, command};
use crate::spec::{Launch, Spec};

/// A program's name and source, and what may be asked of it. [`crate::program!`] makes it.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The program's name: that of its folder.
    pub name: &'static str,
    /// The source of the page, which begins with its documentation.
    pub source: &'static str,
    /// Runs the program with this process's command line.
    pub main: fn() -> ExitCode,
    /// Its flags, with their defaults.
    pub command: fn() -> Command,
    /// What it declares for these flags, as [`declaration`] does.
    pub declaration: fn(&[String]) -> anyhow::Result<Spec>,
}

/// What a program declares for these flags on a machine with two CPUs. Nothing of this machine is
/// read or changed: it need not be able to run the program.
///
/// # Errors
/// If the flags are wrong, or ask for a placement or a trace that its tasks cannot have.
pub fn declaration<F: Args>(
    program: Program,
    defaults: &Spec,
    declare: impl Fn(&F, &Launch<'_>) -> anyhow::Result<Spec>,
    words: &[String],
) -> anyhow::Result<Spec> {
    let mut command = command::<F>(program, defaults);
    let words = iter::once(program.name).chain(words.iter().map(String::as_str));
    let matches = command.try_get_matches_from_mut(words)?;
    let flags = Flags::read(&command, &matches)?;
    let cpus = if flags.placement == Policy::SameCpu { vec![0] } else { vec![0, 1] };
    let placement = Placement { policy: flags.placement, cpus };
    let tasks = flags.tasks.unwrap_or(defaults.tasks);
    let spec = declare(&F::from_arg_matches(&matches)?, &Launch { tasks, placement: &placement })?;
    check(&spec, &flags)?;
    Ok(spec)
}
