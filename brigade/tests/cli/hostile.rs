//! What programs and manifests hold is shown, never obeyed by the terminal.

use std::fs;

use crate::bench::{Bench, Ended, RECORD};

/// Turns a terminal red, sets its title, clears it, moves up a line, reverses
/// the text, hides behind a carriage return and C1 controls, and forges a line.
const HOSTILE: &str =
    "\u{1b}[31m\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[A\u{202e}x\u{2066}\r\u{9b}7m\nforged";

/// The beginning of [`HOSTILE`] as it is shown.
const SHOWN: &str = "\\u001b[31m\\u001b]0;title\\u0007\\u001b[2J\\u001b[A\\u202ex\\u2066";

/// Checks that what was printed holds nothing that acts, and shows what was
/// hostile.
fn check_shown(ended: &Ended) {
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    let reverses = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let acts = |c: char| (c.is_control() && c != '\n') || reverses(c);
    assert!(!printed.contains(acts), "{printed:?}");
    assert!(!printed.lines().any(|line| line.starts_with("forged")), "{printed:?}");
    assert!(printed.split_whitespace().collect::<String>().contains(SHOWN), "{printed:?}");
}

/// [`HOSTILE`] as a shell's `printf` or JSON has it.
fn as_json() -> String {
    let quoted = serde_json::to_string(HOSTILE).unwrap();
    quoted.trim_matches('"').to_owned()
}

#[test]
fn what_a_program_prints_on_standard_error_is_escaped() {
    let bench = Bench::new(&["a"], "cat words >&2; exit 1");
    fs::write(bench.path("words"), HOSTILE.replace(['\r', '\n'], "")).unwrap();
    for command in ["run", "check"] {
        let ended = bench.ends(&[command]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        check_shown(&ended);
    }
}

#[test]
fn the_words_of_a_record_are_escaped() {
    for (from, exits, code) in [
        (r#""name":"iteration""#, 0, 0),
        (r#""operation":"hop""#, 0, 0),
        (r#""program":"fake""#, 0, 1),
        (r#""error":null"#, 3, 3),
    ] {
        let (key, _) = from.split_once(':').unwrap();
        let record = RECORD.replacen(from, &format!("{key}:\"{}\"", as_json()), 1);
        assert_ne!(record, RECORD);
        let bench = Bench::new(&["a"], &format!("cat record; exit {exits}"));
        fs::write(bench.path("record"), record).unwrap();
        let ended = bench.ends(&["run"]);
        assert_eq!(ended.code, Some(code), "{from}: {ended:?}");
        check_shown(&ended);
    }
}

#[test]
fn the_words_of_a_manifest_are_escaped() {
    let toml = format!("\"{}\"", as_json());
    let bench = Bench::printing(RECORD);
    for (from, to, commands) in [
        ("\"--max-time\"", toml.clone(), &["list"][..]),
        ("\"letters\"", toml.clone(), &["list"]),
        ("\"Which?\"", toml.clone(), &["list"]),
        ("rounds", toml.clone(), &["run", "list", "check"]),
        ("[\"default\"]", format!("[{toml}]"), &["run", "list"]),
    ] {
        for command in commands {
            let manifest = bench.manifest().replacen(from, &to, 1);
            let ended = Ended::from(bench.brigade_with(&manifest, &[command]));
            check_shown(&ended);
        }
    }
    let manifest = bench.manifest().replacen("\"a\"", &toml, 1);
    for command in [&["list", "letters"][..], &["run"]] {
        check_shown(&Ended::from(bench.brigade_with(&manifest, command)));
    }
}

#[test]
fn a_flag_is_quoted_escaped() {
    let bench = Bench::printing(RECORD);
    for arguments in [["run", "--profile", HOSTILE], ["run", "--case", HOSTILE]] {
        let ended = bench.ends(&arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        check_shown(&ended);
    }
}
