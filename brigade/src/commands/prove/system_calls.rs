//! How often a program reads and writes, by the kernel's own count of the process.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use harness::record::Record;

use super::runs::Runs;
use crate::judge::prove::proof::Figure;
use crate::judge::prove::system_calls::{Counts, figures as judged};
use crate::manifest::Case;
use crate::measure::invoke::command;
use crate::measure::process::{Calls, run};

/// Why there is no count.
const UNCOUNTED: &str = "the kernel does not count them, or only root may read the counts";

/// Laps of the two processes. Both have all their traced laps.
const LAPS: [u64; 2] = [400, 2400];

/// The figures of these cases. `None` if interrupted.
pub fn figures(runs: &mut Runs, names: &[String]) -> Option<Vec<Figure>> {
    let mut figures = Vec::new();
    for name in names {
        figures.extend(of_case(runs, name)?);
    }
    Some(figures)
}

fn of_case(runs: &mut Runs, name: &String) -> Option<Vec<Figure>> {
    let Some(case) = runs.named(Some(name)) else {
        return Some(vec![Figure::missing(name, "it cannot run here")]);
    };
    let what = || format!("{name}: calls per hop");
    let mut counts = Vec::new();
    for laps in LAPS {
        let counted = count(runs, case, laps);
        if runs.signals.stops() > 0 {
            return None;
        }
        match counted {
            Ok(Some(of)) => counts.push(of),
            Ok(None) => {
                return Some(vec![Figure::missing(what(), UNCOUNTED)]);
            }
            Err(error) => {
                return Some(vec![Figure::missing(what(), "").must(format!("{error:#}"), false)]);
            }
        }
    }
    Some(judged(name, [counts[0], counts[1]]))
}

/// Runs `case` for so many laps. `None` where the kernel does not count its calls.
fn count(runs: &mut Runs, case: &Case, laps: u64) -> anyhow::Result<Option<Counts>> {
    let binary = &runs.binaries[&case.program];
    let laps = laps.to_string();
    let flags = ["--tasks", "20", "--iters", &laps, "--warmups", "10", "--max-time", "30"];
    let words = command(binary.program.form, case, &flags.map(str::to_owned));
    let mut program = Command::new(&binary.file);
    let time_out = Some(Duration::from_secs(case.timeout_seconds));
    let ended = run(program.args(&words[1..]).stderr(Stdio::piped()), time_out, runs.signals)?;
    let record: Record = serde_json::from_slice(&ended.stdout)
        .with_context(|| format!("no record from a process that ended with {}", ended.status))?;
    let hops = |of: &Record| Some((of.iterations + of.warmups) * of.principal()?.operations);
    let counts = |record| {
        let Calls { reads, writes } = ended.calls?;
        Some(Counts { hops: hops(record)?, reads, writes })
    };
    Ok(counts(&record))
}
