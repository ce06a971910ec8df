//! The rules of CONTRIBUTING.md that a machine can check, over the files of
//! the workspace. Each rule is a function from a file to its complaint, and
//! each is shown a file that breaks it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Names that say nothing of what is inside.
const EMPTY_NAMES: [&str; 5] = ["util", "utils", "helpers", "common", "manager"];

/// Folders whose content is not ours to rule: built, measured or git's own.
const NOT_RULED: [&str; 3] = ["target", "results", ".git"];

/// A file of the workspace: its path from the root, and its text.
struct File {
    path: String,
    text: String,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the suite lies in the workspace")
}

/// Every text file of the workspace: those that git keeps, and without git those
/// that lie there.
fn files() -> Vec<File> {
    let kept = Command::new("git").current_dir(root()).args(["ls-files", "-z"]).output();
    let mut files = Vec::new();
    match kept {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            let paths = String::from_utf8(output.stdout).expect("paths in UTF-8");
            let ruled = |path: &&str| !NOT_RULED.iter().any(|folder| path.starts_with(folder));
            for path in paths.split_terminator('\0').filter(ruled) {
                // One that is deleted, or no text.
                let Ok(text) = fs::read_to_string(root().join(path)) else { continue };
                files.push(File::new(path, &text));
            }
        }
        _ => files_below(root(), &mut files),
    }
    files
}

/// Every text file below `directory`.
fn files_below(directory: &Path, files: &mut Vec<File>) {
    for entry in fs::read_dir(directory).expect("read a folder") {
        let path = entry.expect("read a folder").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8");
        if NOT_RULED.contains(&name) {
            continue;
        }
        if path.is_dir() {
            files_below(&path, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let path = path.strip_prefix(root()).expect("below the root");
            files.push(File::new(path.to_str().expect("a path in UTF-8"), &text));
        }
    }
}

/// The folders that the workspace's manifest names as members.
fn members() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("read Cargo.toml");
    let manifest: toml::Table = manifest.parse().expect("parse Cargo.toml");
    let members = manifest["workspace"]["members"].as_array().expect("a list of members");
    members.iter().map(|member| member.as_str().expect("a folder").to_owned()).collect()
}

/// Asserts that no file of the workspace breaks `rule`, that some file is
/// subject to it, and that `broken` does break it.
fn check(subject: fn(&File) -> bool, rule: impl Fn(&File) -> Option<String>, broken: &File) {
    assert!(subject(broken) && rule(broken).is_some(), "the rule cannot fail");
    let mut files = files();
    files.retain(subject);
    assert!(!files.is_empty(), "the rule holds of nothing");
    let complaints: Vec<_> =
        files.iter().filter_map(|file| Some(format!("{}: {}", file.path, rule(file)?))).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn no_file_has_a_name_that_says_nothing() {
    let rule = |file: &File| {
        let mut parts = file.path.split(['/', '.', '-', '_']);
        parts.find(|part| EMPTY_NAMES.contains(part)).map(|part| format!("what is '{part}'?"))
    };
    check(|_| true, rule, &File::new("brigade/src/run_utils.rs", ""));
    assert!(rule(&File::new("harness/common/mod.rs", "")).is_some());
}

#[test]
fn every_program_begins_with_its_documentation() {
    let rule = |file: &File| {
        let documented = file.text.starts_with("//! ");
        (!documented).then(|| "the first line is not `//!` documentation".to_owned())
    };
    let subject = |file: &File| file.path.ends_with("src/main.rs");
    check(subject, rule, &File::new("x/src/main.rs", "use std::fs;\n//! Late.\n"));
}

/// A script, to be run rather than sourced.
fn is_script(file: &File) -> bool {
    file.path.starts_with("scripts/") && file.name().ends_with(".sh")
}

#[test]
fn every_script_stops_at_the_first_error() {
    let rule = |file: &File| {
        let strict = file.text.lines().any(|line| line == "set -euo pipefail");
        (!strict).then(|| "no line `set -euo pipefail`".to_owned())
    };
    let subject = |file: &File| is_script(file) || file.path.starts_with(".ci/");
    check(subject, rule, &File::new("scripts/x.sh", "#!/bin/bash\n# set -euo pipefail\n"));
}

#[test]
fn every_script_has_help() {
    let rule = |file: &File| {
        let helpful = file.text.contains("--help | -h)") && file.text.contains("Examples:");
        (!helpful).then(|| "no --help with examples".to_owned())
    };
    check(is_script, rule, &File::new("scripts/x.sh", "set -euo pipefail\n# --help\n"));
}

/// The programs of `suite.toml`.
fn programs() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("suite.toml")).expect("read suite.toml");
    let manifest: toml::Table = manifest.parse().expect("parse suite.toml");
    let programs = manifest["programs"].as_table().expect("a table of programs");
    programs.keys().cloned().collect()
}

#[test]
fn the_runner_names_no_program() {
    let programs = programs();
    let rule = |file: &File| {
        let code = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        let named = programs.iter().find(|program| code.contains(*program));
        named.map(|program| format!("names {program}: suite.toml says what the programs are"))
    };
    // `limits --verify` still makes the tasks itself, and says how others do.
    let subject = |file: &File| {
        file.path.starts_with("brigade/src/") && !file.path.contains("/limits/population/")
    };
    let broken = format!("fn run() {{ start(\"{}\") }}", programs[0]);
    check(subject, rule, &File::new("brigade/src/measure/x.rs", &broken));
}

#[test]
fn every_member_has_a_folder_and_a_manifest_with_the_shared_lints() {
    let inherits = |manifest: &str| {
        let manifest: toml::Table = manifest.parse().expect("parse a manifest");
        manifest.get("lints").and_then(|lints| lints.get("workspace")?.as_bool()) == Some(true)
    };
    assert!(!inherits("[package]\nname = 'x'"), "the rule cannot fail");
    for member in members() {
        let manifest = root().join(&member).join("Cargo.toml");
        let manifest = fs::read_to_string(&manifest).expect("read a member's manifest");
        assert!(inherits(&manifest), "{member}: no `[lints] workspace = true`");
    }
}

#[test]
fn the_readme_mentions_every_member() {
    let readme = fs::read_to_string(root().join("README.md")).expect("read README.md");
    for member in members() {
        assert!(readme.contains(&format!("`{member}`")), "README.md does not mention {member}");
    }
}

/// A test is a function of the file that is named before it.
#[test]
fn every_test_of_a_fault_is_where_it_is_said_to_be() {
    let workspace = files();
    let find = |path: &str| {
        let in_cli = format!("brigade/tests/cli/{path}");
        workspace.iter().find(|file| file.path == path || file.path == in_cli)
    };
    let missing_in = |cell: &str| {
        let mut file = None;
        let missing = cell.split('`').skip(1).step_by(2).find(|word| {
            if word.contains(['.', '/']) {
                file = find(word);
                return file.is_none();
            }
            let is_test = word.contains('_');
            is_test && !file.is_some_and(|file| file.text.contains(&format!("fn {word}(")))
        });
        missing.map(str::to_owned)
    };
    let rule = |file: &File| {
        let rows = file.text.lines().filter(|line| line.starts_with("| "));
        let tests = rows.filter_map(|row| row.trim_end_matches(" |").rsplit_once(" | "));
        let missing: Vec<_> = tests.filter_map(|(_, cell)| missing_in(cell)).collect();
        (!missing.is_empty()).then(|| format!("not there: {}", missing.join(", ")))
    };
    let subject = |file: &File| file.path == "docs/FAULTS.md";
    check(subject, rule, &File::new("docs/FAULTS.md", "| a | b | `lock.rs` `no_such_test` |"));
    assert!(rule(&File::new("", "| a | b | `no_such_file.rs` |")).is_some());
}

#[test]
fn no_program_depends_on_another() {
    let libraries = ["features", "harness", "contract"];
    let dependencies = |manifest: &str| -> Vec<String> {
        let manifest: toml::Table = manifest.parse().expect("parse a manifest");
        let tables = ["dependencies", "dev-dependencies", "build-dependencies"].into_iter();
        let named = tables.filter_map(|table| manifest.get(table)?.as_table());
        named.flat_map(|table| table.keys().cloned()).collect()
    };
    let members = members();
    let wrong = |manifest: &str| {
        let is_program = |name: &String| members.contains(name) && !libraries.contains(&&**name);
        dependencies(manifest).into_iter().find(is_program)
    };
    assert!(wrong("[dev-dependencies]\nthread-brigade.workspace = true").is_some());
    for member in &members {
        let manifest = root().join(member).join("Cargo.toml");
        let manifest = fs::read_to_string(&manifest).expect("read a member's manifest");
        assert_eq!(wrong(&manifest), None, "{member} depends on a program");
    }
}

#[test]
fn no_program_starts_itself() {
    let rule = |file: &File| {
        let starts = file.text.contains("current_exe") || file.text.contains("/proc/self/exe");
        starts.then(|| "it can start itself".to_owned())
    };
    let subject = |file: &File| file.path.contains("/src/") && !file.path.starts_with("brigade/");
    check(subject, rule, &File::new("x/src/main.rs", "std::env::current_exe()"));
}

/// Every crate of these members and its features, as cargo builds them together. Macros
/// run in the compiler, and no feature of theirs comes into a program.
fn features_of(members: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["tree", "--locked", "--offline", "--prefix=none"]);
    cargo.args(["--edges=normal,no-proc-macro", "--format={p} {f}"]).args(members);
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("names in UTF-8");
    lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn every_member_is_built_alone_as_all_are_together() {
    let together = features_of(&["--workspace"]);
    for member in members() {
        let alone = features_of(&["--package", &member]);
        let otherwise: Vec<&String> = alone.difference(&together).collect();
        assert!(
            otherwise.is_empty(),
            "features/Cargo.toml asks for less than other members do; alone {member} is built \
             with {otherwise:#?}"
        );
    }
}
