//! What `brigade run --resume` does with the folder of a stranger's run before it
//! writes or runs anything: mends the records and reads the run.
//! Whole lines stay as they are, and mended records need no mending.
//!
//! An input is two files with a NUL between them: `records.jsonl` and `run.json`.
//! The second may be left out.

use brigade::store::results::Mending;
use brigade::store::saved_run::SavedRun;

const RUN: &[u8] = include_bytes!("../../results/2026-11-22-amd-epyc-2cpu/run.json");
const ENVIRONMENT: &[u8] =
    include_bytes!("../../results/2026-11-22-amd-epyc-2cpu/environment.json");

/// Checks one input.
pub fn check(input: &[u8]) {
    let mut files = input.split(|byte| *byte == 0);
    let records = files.next().unwrap_or_default();
    let description = files.next().unwrap_or(RUN);
    let Mending { kept, lacks_end, .. } = Mending::of(records);
    let mended = [&records[..kept], &b"\n"[..usize::from(lacks_end)]].concat();
    let whole = records.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    assert!(mended.starts_with(&records[..whole]), "a whole line was lost");
    assert!(mended.is_empty() || mended.ends_with(b"\n"), "a line has no end");
    let Mending { cut, lacks_end, .. } = Mending::of(&mended);
    assert_eq!((cut, lacks_end), (0, false), "mended again");
    match SavedRun::parse(description, ENVIRONMENT, &records[..kept]) {
        Ok(saved) => {
            let again = SavedRun::parse(description, ENVIRONMENT, &mended[..]).expect("mended");
            assert_eq!(again.invocations, saved.invocations);
        }
        Err(error) => assert!(!format!("{error:#}").is_empty()),
    }
}
