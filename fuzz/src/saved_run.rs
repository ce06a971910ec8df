//! Handles the folder of a stranger's run as `brigade` does: reads it
//! and summarizes it. No content may cause anything but an error, or act on the
//! terminal.
//!
//! An input is up to three files separated by NUL: `records.jsonl`, `run.json`,
//! `environment.json`. A missing one is replaced by a valid one.

use std::sync::OnceLock;

use brigade::manifest::Manifest;
use brigade::store::saved_run::SavedRun;
use harness::terminal;

const RUN: &[u8] = include_bytes!("../../results/2026-11-22-amd-epyc-2cpu/run.json");
const ENVIRONMENT: &[u8] =
    include_bytes!("../../results/2026-11-22-amd-epyc-2cpu/environment.json");

/// The manifest of this repository.
pub fn manifest() -> &'static Manifest {
    static MANIFEST: OnceLock<Manifest> = OnceLock::new();
    let text = include_str!("../../suite.toml");
    MANIFEST.get_or_init(|| Manifest::parse(text).expect("this repository's manifest"))
}

/// Checks one input.
pub fn check(input: &[u8]) {
    let mut files = input.split(|byte| *byte == 0);
    let records = files.next().unwrap_or_default();
    let description = files.next().unwrap_or(RUN);
    let environment = files.next().unwrap_or(ENVIRONMENT);
    match SavedRun::parse(description, environment, records) {
        Ok(run) => use_all_of(&run),
        Err(error) => assert!(!format!("{error:#}").is_empty()),
    }
}

/// Handles a run as the runner does, and reads it again after writing it.
fn use_all_of(run: &SavedRun) {
    for rendering in brigade::renderings(manifest(), run) {
        assert_eq!(terminal::text(&rendering), rendering, "something in it acts");
    }
    let line = |invocation| serde_json::to_string(invocation).expect("serializes") + "\n";
    let written: String = run.invocations.iter().map(line).collect();
    let again = SavedRun::parse(RUN, ENVIRONMENT, written.as_bytes()).expect("own writing");
    assert_eq!(again.invocations, run.invocations);
}
