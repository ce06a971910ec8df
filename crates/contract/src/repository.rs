//! The runs that this repository contains, without those measured in a copy of it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The folders of the recorded runs, sorted: those tracked by git, or all of `results` without git,
/// as in an unpacked archive.
pub fn recorded_runs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut git = crate::command("git");
    git.current_dir(&root).args(["ls-files", "-z", "results/*/run.json"]).stderr(Stdio::null());
    let known = git.output().ok().filter(|output| output.status.success());
    let mut runs: Vec<PathBuf> = match known {
        Some(output) => {
            let files = String::from_utf8(output.stdout).expect("names are UTF-8");
            let folder = |file| root.join(Path::new(file).parent().expect("it is in a folder"));
            files.split_terminator('\0').map(folder).collect()
        }
        None => {
            let entries = root.join("results").read_dir().expect("runs are recorded");
            entries.map(|entry| entry.expect("a readable entry").path()).collect()
        }
    };
    runs.sort();
    assert!(!runs.is_empty(), "runs are recorded");
    runs
}
