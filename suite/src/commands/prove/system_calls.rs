//! How often a program reads and writes, by the kernel's own count of the process.

use std::fs;
use std::io::{self, Read};
use std::process::{Command, Stdio};

use harness::record::Record;
use harness::system_files::field;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::runs::Runs;
use crate::judge::prove::proof::Figure;
use crate::judge::prove::system_calls::{Counts, figures as judged};
use crate::manifest::Case;
use crate::measure::invoke::command;

/// Laps of the two processes. Both have all their traced laps.
const LAPS: [u64; 2] = [400, 2400];

/// The figures of these cases.
pub fn figures(runs: &Runs, names: &[String]) -> Vec<Figure> {
    names.iter().flat_map(|name| of_case(runs, name)).collect()
}

fn of_case(runs: &Runs, name: &String) -> Vec<Figure> {
    let Some(case) = runs.named(Some(name)) else {
        return vec![Figure::missing(name, "it cannot run here")];
    };
    let what = || format!("{name}: calls per hop");
    let mut counts = Vec::new();
    for laps in LAPS {
        match count(runs, case, laps) {
            Ok(Some(of)) => counts.push(of),
            Ok(None) => return vec![Figure::missing(what(), "the kernel does not count them")],
            Err(error) => return vec![Figure::missing(what(), "").must(error.to_string(), false)],
        }
    }
    judged(name, [counts[0], counts[1]])
}

/// Runs `case` for so many laps and reads its counts when it has ended, before it is
/// forgotten. `None` where the kernel has none.
fn count(runs: &Runs, case: &Case, laps: u64) -> io::Result<Option<Counts>> {
    let binary = &runs.binaries[&case.program];
    let laps = laps.to_string();
    let flags = ["--tasks", "20", "--iters", &laps, "--warmups", "10", "--max-time", "30"];
    let words = command(binary.program.form, case, &flags.map(str::to_owned));
    let mut program = Command::new(&binary.file);
    let mut child =
        program.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut text = Vec::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_end(&mut text)?;
    }
    let id = Id::Pid(Pid::from_raw(child.id().cast_signed()));
    waitid(id, WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)?;
    let io = fs::read_to_string(format!("/proc/{}/io", child.id()));
    child.wait()?;
    let record: Record = serde_json::from_slice(&text)?;
    let hops = |of: &Record| Some((of.iterations + of.warmups) * of.principal()?.operations);
    let counted = |name: &str| field(io.as_deref().ok()?, name)?.parse().ok();
    let counts = |record| {
        Some(Counts { hops: hops(record)?, reads: counted("syscr")?, writes: counted("syscw")? })
    };
    Ok(counts(&record))
}
