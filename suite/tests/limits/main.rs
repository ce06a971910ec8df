//! `brigade limits` as its users meet it, and what it rests on: what a task
//! needs. These tests make floods of tasks, so they are a binary of their own,
//! which cargo runs beside no other.

mod needs;
mod text;
mod verify;

use std::process::{Command, Output};

/// `brigade limits` with these flags.
fn brigade(flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brigade"));
    command.arg("limits").args(flags);
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
