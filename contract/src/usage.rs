//! Command lines that cannot be followed: one line that names the flag, exit
//! code 2, and nothing is measured.

use crate::Program;

fn check(program: &Program, flags: &[&str]) {
    let run = program.run(flags).failed(2, &[flags[0]]);
    assert_eq!(run.stdout, "", "{run:#?}");
    assert_eq!(run.debug_warnings(), 0, "it went as far as measuring: {run:#?}");
}

/// Counts of nothing, negative ones, fractions, words.
pub fn numbers_that_make_no_sense_are_usage_errors(program: &Program) {
    for number in ["0", "-1", "1e9", "1.5", "many", "", "4294967296"] {
        check(program, &["--tasks", number]);
    }
    for number in ["0", "-1", "1e9", "18446744073709551616"] {
        check(program, &["--iters", number]);
    }
    for number in ["-1", "some"] {
        check(program, &["--warmups", number]);
    }
    for number in ["0", "-1", "nan", "inf", "soon"] {
        check(program, &["--max-time", number]);
    }
}

/// A number beyond every machine, words, nothing, a range backwards.
pub fn lists_of_cpus_that_make_no_sense_are_usage_errors(program: &Program) {
    for list in ["99999", "x", "", "0,", "1-0", "-1"] {
        check(program, &["--cpus", list]);
    }
    check(program, &["--placement", "everywhere"]);
}

/// Unknown ones, and values without a flag.
pub fn flags_that_do_not_exist_are_usage_errors(program: &Program) {
    check(program, &["--no-such-flag"]);
    check(program, &["stray"]);
    check(program, &["--command"]);
}

/// Found out before anything is measured.
pub fn a_histogram_that_cannot_be_written_is_a_usage_error(program: &Program) {
    check(program, &["--histogram", "/nonexistent/x"]);
    check(program, &["--histogram", "/"]);
}

/// Colours, a bell, text that runs backwards, a forged line: none of them gets
/// through, and the error has one line.
pub fn what_an_error_quotes_cannot_act_on_a_terminal(program: &Program) {
    let value = "\u{1b}[31m\u{7}\u{202e}\u{9b}x\nforged";
    for flags in [["--cpus", value], ["--placement", value], [value, "1"]] {
        let run = program.run(&flags).failed(2, &[]);
        assert!(!run.stderr.trim_end().contains(char::is_control), "{run:#?}");
        assert!(!run.stderr.contains('\u{202e}'), "{run:#?}");
    }
}
