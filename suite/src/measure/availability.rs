//! Which cases can run on this machine.

use std::process::{Command, Stdio};

use crate::manifest::{Case, Manifest, Program, Source};
use crate::store::results::Skipped;
use anyhow::Context;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

/// What this machine has that cases need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// How many CPUs this process, and so its children, may use.
    cpus: usize,
    /// Why go cannot build a program, if it cannot.
    without_go: Option<String>,
}

impl Here {
    /// Looks what there is for the programs of `manifest`.
    ///
    /// # Errors
    /// When the kernel does not tell which CPUs may be used.
    pub fn look(manifest: &Manifest) -> anyhow::Result<Self> {
        let mask = sched_getaffinity(Pid::this()).context("reading which CPUs may be used")?;
        let cpus = (0..CpuSet::count()).filter(|&cpu| mask.is_set(cpu).unwrap_or(false)).count();
        let needs_go = manifest.programs.values().any(is_go);
        Ok(Self { cpus, without_go: if needs_go { go_obstacle("go") } else { None } })
    }

    /// Whether what builds a program is not there.
    #[must_use]
    pub fn lacks_tool_for(&self, program: &Program) -> bool {
        is_go(program) && self.without_go.is_some()
    }

    /// Why a case of `program` cannot run here, if it cannot.
    #[must_use]
    pub fn obstacle(&self, case: &Case, program: &Program) -> Option<String> {
        let Case { needs_cpus, .. } = case;
        if self.lacks_tool_for(program) {
            return self.without_go.clone();
        }
        let cpus = self.cpus;
        (cpus < *needs_cpus)
            .then(|| format!("it needs {needs_cpus} CPUs, and this process may use {cpus}"))
    }

    /// Divides cases of `manifest` into those that can run here and those that
    /// cannot.
    #[must_use]
    pub fn divide<'a>(
        &self,
        manifest: &Manifest,
        cases: Vec<&'a Case>,
    ) -> (Vec<&'a Case>, Vec<Skipped>) {
        let mut possible = Vec::new();
        let mut skipped = Vec::new();
        for case in cases {
            match self.obstacle(case, &manifest.programs[&case.program]) {
                None => possible.push(case),
                Some(reason) => skipped.push(Skipped { case: case.name.clone(), reason }),
            }
        }
        (possible, skipped)
    }
}

fn is_go(program: &Program) -> bool {
    matches!(program.source, Source::Go(_))
}

/// The oldest go that fetches by itself the version that a module asks for.
const OLDEST_GO: (u32, u32) = (1, 21);

/// Why the command `go` cannot build a module, if it cannot.
fn go_obstacle(go: &str) -> Option<String> {
    let mut command = Command::new(go);
    command.args(["env", "GOVERSION"]).stdin(Stdio::null()).stderr(Stdio::null());
    match command.output() {
        Ok(output) if output.status.success() => too_old(&String::from_utf8_lossy(&output.stdout)),
        _ => Some("go is not installed".to_owned()),
    }
}

/// What is wrong with a version such as `go1.26.8`, if anything is. One that
/// reads otherwise is a development version.
fn too_old(version: &str) -> Option<String> {
    let number = version.trim().strip_prefix("go")?;
    let mut parts = number.split(['.', 'r', 'b']).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else { return None };
    let (least_major, least_minor) = OLDEST_GO;
    ((major, minor) < OLDEST_GO)
        .then(|| format!("go {number} is too old: {least_major}.{least_minor} or later is needed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
[profiles]
[programs.gopher]
go = "gopher"
check = { tasks = 1, iters = 1, warmups = 0, operations = 1 }
[programs.crab]
package = "crab"
check = { tasks = 1, iters = 1, warmups = 0, operations = 1 }
[[group]]
name = "animals"
question = "Which?"
[[group.case]]
name = "go"
program = "gopher"
[[group.case]]
name = "one"
program = "crab"
[[group.case]]
name = "two"
program = "crab"
placement = "spread"
"#;

    /// The names of the cases that can run, and the others with the reason.
    fn divided(cpus: usize, go: bool) -> (Vec<String>, Vec<(String, String)>) {
        let manifest = Manifest::parse(MANIFEST).unwrap();
        let cases = manifest.cases.iter().collect();
        let without_go = (!go).then(|| "no go".to_owned());
        let (possible, skipped) = Here { cpus, without_go }.divide(&manifest, cases);
        let possible = possible.iter().map(|case| case.name.clone()).collect();
        (possible, skipped.into_iter().map(|skipped| (skipped.case, skipped.reason)).collect())
    }

    #[test]
    fn a_case_that_needs_more_cpus_is_skipped_with_the_reason() {
        let (possible, skipped) = divided(1, true);
        assert_eq!(possible, ["go", "one"]);
        let reason = "it needs 2 CPUs, and this process may use 1".to_owned();
        assert_eq!(skipped, [("two".to_owned(), reason)]);
        assert_eq!(divided(2, true).1, []);
    }

    #[test]
    fn a_go_program_is_skipped_without_go() {
        let (possible, skipped) = divided(2, false);
        assert_eq!(possible, ["one", "two"]);
        assert_eq!(skipped, [("go".to_owned(), "no go".to_owned())]);
    }

    #[test]
    fn this_process_may_use_a_cpu() {
        let manifest = Manifest::parse(MANIFEST).unwrap();
        assert!(Here::look(&manifest).unwrap().cpus >= 1);
    }

    #[test]
    fn a_go_that_is_missing_or_fails_is_not_installed() {
        for go in ["false", "no-such-tool-of-brigade"] {
            assert_eq!(go_obstacle(go), Some("go is not installed".to_owned()));
        }
    }

    #[test]
    fn a_go_that_is_too_old_is_told_apart() {
        let reason = "go 1.19.8 is too old: 1.21 or later is needed";
        assert_eq!(too_old("go1.19.8\n"), Some(reason.to_owned()));
        for version in ["go1.21.0\n", "go1.26.8", "go1.27rc1", "go2.0", "devel +1234"] {
            assert_eq!(too_old(version), None, "{version}");
        }
    }
}
