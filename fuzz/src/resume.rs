//! Prepares the folder of a stranger's run for `brigade run --resume`, before it writes or runs
//! anything: repairs the records and reads the run. Complete lines stay unchanged, and repaired
//! records need no repair.
//!
//! An input is two files separated by NUL: `records.jsonl` and `run.json`. The second is optional.

use brigade::store::results::Repair;
use brigade::store::saved_run::SavedRun;

const RUN: &[u8] = include_bytes!("../../results/2026-11-22-amd-epyc-2cpu/run.json");
const ENVIRONMENT: &[u8] =
    include_bytes!("../../results/2026-11-22-amd-epyc-2cpu/environment.json");

/// Checks one input.
pub fn check(input: &[u8]) {
    let mut files = input.split(|byte| *byte == 0);
    let records = files.next().unwrap_or_default();
    let description = files.next().unwrap_or(RUN);
    let Repair { kept, lacks_end, .. } = Repair::of(records);
    let repaired = [&records[..kept], &b"\n"[..usize::from(lacks_end)]].concat();
    let whole = records.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    assert!(repaired.starts_with(&records[..whole]), "a complete line was lost");
    assert!(repaired.is_empty() || repaired.ends_with(b"\n"), "a line has no end");
    let Repair { cut, lacks_end, .. } = Repair::of(&repaired);
    assert_eq!((cut, lacks_end), (0, false), "repaired again");
    match SavedRun::parse(description, ENVIRONMENT, &records[..kept]) {
        Ok(saved) => {
            let again = SavedRun::parse(description, ENVIRONMENT, &repaired[..]).expect("repaired");
            assert_eq!(again.invocations, saved.invocations);
        }
        Err(error) => assert!(!format!("{error:#}").is_empty()),
    }
}
