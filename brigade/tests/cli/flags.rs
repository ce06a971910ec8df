//! Wrong flags and wrong manifests: one clear line, exit code 2.

use std::process::Command;

use crate::bench::{Bench, RECORD};

/// Checks that `brigade` printed exactly this line and nothing ran.
fn check_refusal(arguments: &[&str], expected: &str) {
    let bench = Bench::new(&["a", "b"], "touch ran");
    let ended = bench.ends(arguments);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stderr, format!("brigade: {expected}\n"));
    assert_eq!(ended.stdout, "");
    assert!(!bench.path("ran").exists());
}

#[test]
fn wrong_flags_are_reported_on_one_line() {
    for (arguments, expected) in [
        (
            &["run", "leters"][..],
            "unknown case or group 'leters'; known: a, b, letters; did you mean 'letters'?",
        ),
        (&["check", "x"], "unknown case or group 'x'; known: a, b, letters"),
        (
            &["run", "--resume", "x", "--seed", "1"],
            "the argument '--resume <DIR>' cannot be used with '--seed <N>' \
             (try 'brigade run --help')",
        ),
        (&["hops"], "'hops' is a group: brigade run hops"),
        (&["walk"], "unrecognized subcommand 'walk' (try 'brigade --help')"),
        (
            &["run", "--rounds", "0"],
            "invalid value '0' for '--rounds <N>': use 1 to 100000 (try 'brigade run --help')",
        ),
        (
            &["compare", "--rounds", "-1"],
            "invalid value '-1' for '--rounds <N>': use 1 to 100000 (try 'brigade compare --help')",
        ),
        (
            &["run", "--seed", "x"],
            "invalid value 'x' for '--seed <N>': use a whole number, 0 or more \
             (try 'brigade run --help')",
        ),
        (&["impact"], "impact: name a process, --pid PID, or a command, -- COMMAND"),
        (
            &["run", "--name", "a/b"],
            "invalid value 'a/b' for '--name <LABEL>': use letters, digits, '-', '_' and '.' only \
             (try 'brigade run --help')",
        ),
        (
            &["run", "--manifest", "none.toml"],
            "--manifest: reading none.toml: No such file or directory (os error 2)",
        ),
    ] {
        check_refusal(arguments, expected);
    }
}

#[test]
fn the_version_is_that_of_the_package_and_its_revision_if_known() {
    let output = Command::new(env!("CARGO_BIN_EXE_brigade")).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rest = text.strip_prefix(concat!("brigade ", env!("CARGO_PKG_VERSION"))).expect(&text);
    let revision = rest.trim().trim_matches(['(', ')']).trim_end_matches("-dirty");
    assert!(revision.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
}

fn document(path: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

/// The long flags in clap's help.
fn flags_in(help: &str) -> Vec<&str> {
    let lines = help.lines().filter(|line| line.starts_with("      --") || line.starts_with("  -"));
    let flags = lines.filter_map(|line| line[line.find("--")?..].split([' ', '[', '=']).next());
    flags.filter(|flag| !["--help", "--version"].contains(flag)).collect()
}

/// README lists every command, docs/PROTOCOL.md every exit code, and flags stay few.
#[test]
fn the_documents_name_every_command_and_exit_code() {
    let bench = Bench::printing(RECORD);
    let (protocol, readme) = (document("docs/PROTOCOL.md"), document("README.md"));
    let help = bench.ends(&["--help"]).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    // Descriptions continue with more indentation.
    let commands = commands.take_while(|line| !line.is_empty());
    let commands = commands.filter(|line| !line.starts_with("   "));
    let commands: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    let mut flags = 0;
    for command in commands.into_iter().filter(|command| *command != "help") {
        let help = bench.ends(&[command, "--help"]).stdout;
        flags += flags_in(&help).len();
        assert!(readme.contains(&format!("`brigade {command}")), "README.md lacks {command}");
        let codes = help.split("Exit codes: ").nth(1).unwrap_or_default();
        for code in codes.split(", ").filter_map(|code| code.split(' ').next()) {
            let known = code.parse::<u8>().is_err() || protocol.contains(&format!("\n| {code} | "));
            assert!(known, "docs/PROTOCOL.md lacks exit code {code}");
        }
    }
    assert!((20..=55).contains(&flags), "{flags} flags");
}
