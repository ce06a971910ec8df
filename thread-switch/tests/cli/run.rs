//! One run of the program.

use std::process::{Command, Output, Stdio};

use harness::record::Record;

/// The program with these flags, not yet started.
pub fn program(flags: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thread-switch"));
    command.args(flags.split_whitespace()).stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn run(flags: &str) -> Output {
    program(flags).output().expect("the program starts")
}

/// The record of a run that must succeed.
pub fn record(flags: &str) -> Record {
    let output = run(&format!("{flags} --json"));
    assert_eq!(output.status.code(), Some(0), "{flags}: {output:?}");
    Record::parse(&text(&output.stdout)).expect("a record")
}

/// What was written, which is text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// What it complained of, without what debug builds say.
pub fn complaints(output: &Output) -> Vec<String> {
    let stderr = text(&output.stderr);
    stderr.lines().filter(|line| !line.contains("debug build")).map(str::to_owned).collect()
}
