//! What a program prints for people.

use crate::Program;
use crate::invocation::{full, without_a_reader};

/// The flags that every program has.
const COMMON: &[&str] = &[
    "--iters",
    "--warmups",
    "--max-time",
    "--placement",
    "--cpus",
    "--command",
    "--quiet",
    "--json",
    "--histogram",
    "--help",
    "--version",
];

const COLUMNS: usize = 80;

/// The shape of a line: every number is `#`, every duration `T`.
pub fn shape(line: &str) -> String {
    let mut shape = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        shape.push_str(&rest[..start]);
        rest = rest[start..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let after_unit = ["ns", "µs", "ms", "s"]
            .iter()
            .filter_map(|unit| rest.strip_prefix(unit))
            .find(|after| !after.starts_with(char::is_alphanumeric));
        shape.push(if after_unit.is_some() { 'T' } else { '#' });
        rest = after_unit.unwrap_or(rest);
    }
    shape + rest
}

/// Checks the first two lines of a summary, whose first line is `heading`.
pub(crate) fn check_beginning(program: &Program, summary: &str, heading: &str) {
    let principal = program.measurements[0];
    let (first, second) = (summary.lines().next(), summary.lines().nth(1));
    assert_eq!(first, Some(heading), "{summary}");
    let expected = if principal.covers_tasks {
        "mean T per iteration, stddev T (T per task per iter)".to_owned()
    } else {
        format!("mean T per {}, stddev T", principal.operation)
    };
    assert_eq!(second.map(shape), Some(expected), "{summary}");
}

fn check_width(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= COLUMNS, "wider than {COLUMNS} columns: {line}");
    }
}

/// The two lines that the design gives, in front of everything else.
pub fn the_summary_begins_with_the_counts_and_the_mean(program: &Program) {
    let run = program.short().run().succeeded();
    let plural = if program.tasks() == 1 { "" } else { "s" };
    let heading = format!("{} task{plural}, 20 iterations:", program.tasks());
    check_beginning(program, &run.stdout, &heading);
    let run = program.few_tasks(1).and(&["--iters", "1", "--warmups", "0"]).run().succeeded();
    assert!(run.stdout.contains(", 1 iteration:\nmean "), "{run:#?}");
}

/// Whether the run is short, long, slow or failed.
pub fn no_line_of_a_summary_is_wider_than_80_columns(program: &Program) {
    for (tasks, policy) in [("1", "free"), ("200", "free"), ("20", "same-cpu")] {
        let flags = ["--tasks", tasks, "--placement", policy, "--iters", "5", "--warmups", "0"];
        check_width(&program.run(&flags).succeeded().stdout);
    }
    check_width(&program.short().and(&["--command", "false"]).run().stdout);
}

/// Nothing on either output.
pub fn quiet_prints_nothing(program: &Program) {
    let run = program.short().and(&["--quiet"]).run().succeeded();
    assert_eq!(run.stdout, "", "{run:#?}");
}

/// In its long and its short form, on standard output.
pub fn help_names_every_common_flag_in_80_columns(program: &Program) {
    for flag in ["--help", "-h"] {
        let run = program.run(&[flag]).succeeded();
        check_width(&run.stdout);
        assert!(run.stdout.contains(&format!("Usage: {} [OPTIONS]", program.name)), "{run:#?}");
        assert_eq!(run.stderr, "", "{run:#?}");
    }
    let run = program.run(&["--help"]).succeeded();
    for flag in COMMON {
        assert!(run.stdout.contains(flag), "no {flag} in: {}", run.stdout);
    }
}

/// One line on standard output, the version being that of the record.
pub fn version_is_the_name_and_the_version(program: &Program) {
    let version = program.short_record().version;
    let run = program.run(&["--version"]).succeeded();
    assert_eq!(run.stdout, format!("{} {version}\n", program.name));
}

/// Once, on standard error. Tests are built as the program is.
pub fn a_debug_build_warns_and_a_release_build_does_not(program: &Program) {
    let run = program.short().run().succeeded();
    assert_eq!(run.debug_warnings(), usize::from(cfg!(debug_assertions)), "{run:#?}");
}

/// As under `| head -1`: the reader has seen what it wanted.
pub fn a_reader_that_went_away_is_no_failure(program: &Program) {
    for more in [&[][..], &["--json"], &["--help"], &["--version"]] {
        let run = program.short().and(more).stdout(without_a_reader()).run();
        assert_eq!(run.stdout, "");
        let _ = run.succeeded();
    }
}

/// As on a full disk: one line on standard error, and exit code 1.
pub fn an_output_that_cannot_be_written_is_a_failure(program: &Program) {
    for more in [&[][..], &["--json"], &["--help"], &["--version"]] {
        let run = program.short().and(more).stdout(full()).run();
        run.failed(1, &["standard output", "No space left"]);
    }
}

/// Closed, or something to read: it is left alone.
pub fn standard_input_does_not_matter(program: &Program) {
    let closed = program.short().from_shell(r#"exec "$@" <&-"#).run().succeeded();
    check_beginning(program, &closed.stdout, "5 tasks, 20 iterations:");
    let script = r#"printf 'left alone' | { "$@" >&2; cat; }"#;
    let given = program.short().and(&["--quiet"]).from_shell(script).run().succeeded();
    assert_eq!(given.stdout, "left alone");
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn a_shape_has_no_numbers() {
        assert_eq!(
            shape("mean 1.795ms per iteration, stddev 82.016µs (3.589ns per task)"),
            "mean T per iteration, stddev T (T per task)"
        );
        assert_eq!(shape("5 tasks, 20 iterations:"), "# tasks, # iterations:");
        assert_eq!(shape("0.5 sheep"), "# sheep");
    }
}
