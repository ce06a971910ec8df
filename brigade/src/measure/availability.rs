//! Which cases can run on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use harness::cpus;
use harness::limits::{self, Kind, Need};
use harness::system_files::{SystemFiles, recordable};

use crate::manifest::tables::Tool;
use crate::manifest::{Case, Manifest};
use crate::measure::process::{self, LONGEST_ANSWER};
use crate::store::results::Skipped;

/// What this machine provides for the cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The number of CPUs that this process and its children may use.
    cpus: usize,
    /// Why there is no io_uring; `None` if there is.
    no_io_uring: Option<String>,
    /// Why a program cannot run, in one line, by its name.
    pub missing: BTreeMap<String, String>,
}

impl Capabilities {
    /// Detects what this machine lacks for the `needed` programs of `manifest`.
    ///
    /// # Errors
    /// If the kernel does not report which CPUs may be used.
    pub fn detect(manifest: &Manifest, needed: &BTreeSet<&str>) -> anyhow::Result<Self> {
        let cpus = cpus::allowed().context("reading the CPUs that this process may use")?.len();
        let mut troubles = BTreeMap::new();
        let mut missing = BTreeMap::new();
        for (name, program) in
            manifest.programs.iter().filter(|(name, _)| needed.contains(&***name))
        {
            let is_contained = program.path.is_none() && program.build.is_none();
            let is_built = program.path.is_none() && program.build.is_some();
            let lacking = match manifest.guests.as_deref() {
                None if is_contained => None,
                None => {
                    let reason = manifest.no_guests.as_deref().unwrap_or("no folder of guests");
                    Some(format!("its source cannot be unpacked: {reason}"))
                }
                Some(guests) if is_built && prebuilt(guests, name).is_some() => None,
                Some(guests) => program.needs.iter().find_map(|tool| {
                    troubles.entry(tool).or_insert_with(|| trouble_with(tool, guests)).clone()
                }),
            };
            if let Some(reason) = lacking {
                missing.insert(name.clone(), reason);
            }
        }
        let ring = Need::new(Kind::IoUring, 1);
        let no_io_uring = limits::admit(&ring, &limits::in_force(&SystemFiles::live())).err();
        let no_io_uring = no_io_uring.map(|refusal| format!("no io_uring: {refusal}"));
        Ok(Self { cpus, no_io_uring, missing })
    }

    /// Divides cases into those that can run here and the others.
    pub fn divide<'a>(&self, cases: Vec<&'a Case>) -> (Vec<&'a Case>, Vec<Skipped>) {
        let mut possible = Vec::new();
        let mut skipped = Vec::new();
        for case in cases {
            match self.lack(case) {
                None => possible.push(case),
                Some(reason) => skipped.push(Skipped { case: case.name.clone(), reason }),
            }
        }
        (possible, skipped)
    }

    /// Why a case cannot run here; `None` if it can.
    pub fn lack(&self, case: &Case) -> Option<String> {
        let Case { needs_cpus, needs_io_uring, program, .. } = case;
        if let Some(reason) = self.missing.get(program) {
            return Some(reason.clone());
        }
        if *needs_io_uring && self.no_io_uring.is_some() {
            return self.no_io_uring.clone();
        }
        let cpus = self.cpus;
        (cpus < *needs_cpus)
            .then(|| format!("it needs {needs_cpus} CPUs, but this process may use {cpus}"))
    }
}

/// The file that an earlier build of a program left with the guests: running it needs no tools.
pub fn prebuilt(guests: &Path, name: &str) -> Option<PathBuf> {
    Some(guests.join(name)).filter(|file| file.is_file())
}

/// Why a tool cannot be used; `None` if it can. Its command runs in `folder`.
fn trouble_with(tool: &Tool, folder: &Path) -> Option<String> {
    let name = tool.command.first()?;
    let printed = match process::ask(&tool.command, folder, LONGEST_ANSWER) {
        Ok(printed) => printed,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Some(format!("{name} is not installed"));
        }
        Err(error) => {
            let command = tool.command.join(" ");
            return Some(recordable(&format!("{command} does not work: {error}")));
        }
    };
    let found = version_in(&printed)?;
    let needed = tool.version.as_deref()?;
    (numbers(&found) < numbers(needed))
        .then(|| format!("{name} {found} is too old: {needed} or later is needed"))
}

/// The first version in a tool's output: numbers joined by dots.
fn version_in(printed: &str) -> Option<String> {
    let from = &printed[printed.find(|c: char| c.is_ascii_digit())?..];
    let end = from.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(from.len());
    Some(recordable(from[..end].trim_end_matches('.')))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|number| number.parse().unwrap_or(u64::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
[programs]
gopher = { path = "gopher", needs = [{ command = ["no-such-tool-of-brigade"] }] }
crab = { path = "crab" }
[[group]]
name = "animals"
question = "Which?"
cases = ["gopher", "crab", "crab --placement spread"]
"#;

    #[test]
    fn cases_are_divided_and_the_others_have_a_reason() {
        let mut manifest = Manifest::parse(MANIFEST).unwrap();
        let all = BTreeSet::from(["crab", "gopher"]);
        let without = Capabilities::detect(&manifest, &all).unwrap();
        assert!(without.missing["crab"].starts_with("its source cannot be unpacked"));
        manifest.guests = Some(".".into());
        let only = Capabilities::detect(&manifest, &BTreeSet::from(["crab"])).unwrap();
        assert_eq!(only.missing, BTreeMap::new(), "it asks for no tool of others");
        let mut capabilities = Capabilities::detect(&manifest, &all).unwrap();
        assert!(capabilities.cpus >= 1);
        capabilities.cpus = 1;
        let (possible, skipped) = capabilities.divide(manifest.cases.iter().collect());
        assert_eq!(possible.iter().map(|case| &case.name).collect::<Vec<_>>(), ["crab"]);
        let skipped: Vec<_> = skipped.iter().map(|skipped| skipped.reason.as_str()).collect();
        let reason = "it needs 2 CPUs, but this process may use 1";
        assert_eq!(skipped, ["no-such-tool-of-brigade is not installed", reason]);
        capabilities.cpus = 2;
        capabilities.missing.insert("crab".to_owned(), "it does not compile".to_owned());
        assert_eq!(capabilities.divide(manifest.cases.iter().collect()).0.len(), 0);
    }

    /// What is wrong with a tool that prints this, if 1.21 is needed.
    fn trouble(script: &str) -> Option<String> {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        trouble_with(&Tool { command, version: Some("1.21".to_owned()) }, Path::new("/"))
    }

    #[test]
    fn a_tools_version_is_the_first_one_it_prints() {
        for printed in ["tool 1.21", "go version go1.26.8 on 0.1", "v2", "1.21.0", "devel", "3."] {
            assert_eq!(trouble(&format!("echo '{printed}'")), None, "{printed}");
        }
        let reason = "sh 1.19.8 is too old: 1.21 or later is needed";
        assert_eq!(trouble("echo go version go1.19.8 linux").as_deref(), Some(reason));
        assert_eq!(trouble("echo tool-1.19.8rc2 >&2").as_deref(), Some(reason));
        let reason = "sh -c [ $PWD = / ] && echo no home >&2; exit 1 does not work: no home";
        assert_eq!(trouble("[ $PWD = / ] && echo no home >&2; exit 1").as_deref(), Some(reason));
    }
}
