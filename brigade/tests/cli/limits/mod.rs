//! `brigade limits` as its users meet it.

mod text;
mod verify;

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// `brigade limits` with these flags.
fn brigade(flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brigade"));
    // Of its own, so that these tests do not wait for one another.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let lock = format!("limits-{}.lock", NUMBER.fetch_add(1, Relaxed));
    let lock = Path::new(env!("CARGO_TARGET_TMPDIR")).join(lock);
    command.arg("limits").args(flags).env("BRIGADE_LOCK", lock);
    command
}

/// What it printed and how it ended.
fn end(mut command: Command) -> (String, String, Option<i32>) {
    let Output { status, stdout, stderr } = command.output().expect("brigade starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(stdout), text(stderr), status.code())
}

/// The JSON object that it prints with these flags and `--json`.
fn report(flags: &[&str]) -> serde_json::Value {
    let mut command = brigade(flags);
    command.arg("--json");
    parse(end(command))
}

fn parse((text, complaints, _): (String, String, Option<i32>)) -> serde_json::Value {
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{complaints}"))
}
