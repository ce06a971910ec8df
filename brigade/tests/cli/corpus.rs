//! Every input of the fuzzer's corpus, checked as the fuzzer checks it: what it
//! once found stays found. `scripts/fuzz.sh` makes up new ones.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/histogram.rs"]
mod histogram;
#[path = "../../../fuzz/src/laps.rs"]
mod laps;
#[path = "../../../fuzz/src/manifest.rs"]
mod manifest;
#[path = "../../../fuzz/src/resume.rs"]
mod resume;
#[path = "../../../fuzz/src/saved_run.rs"]
mod saved_run;

/// The corpus in bytes: small enough for a repository.
const CORPUS_BOUND: u64 = 200 * 1024;

/// The inputs of a target.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let files = fs::read_dir(folder).expect("the target's corpus");
    let inputs: Vec<Vec<u8>> =
        files.map(|file| fs::read(file.expect("an entry").path()).expect("an input")).collect();
    assert!(!inputs.is_empty(), "{target} has no corpus");
    inputs
}

#[test]
fn the_corpus_is_read_without_harm_and_small() {
    let mut bytes = 0;
    for (target, check) in [
        ("saved-run", saved_run::check as fn(&[u8])),
        ("manifest", manifest::check),
        ("histogram", histogram::check),
        ("resume", resume::check),
        ("laps", laps::check),
    ] {
        for input in corpus(target) {
            check(&input);
            bytes += input.len() as u64;
        }
    }
    assert!(
        bytes <= CORPUS_BOUND,
        "{bytes} bytes: leave out inputs that show nothing of their own"
    );
}
