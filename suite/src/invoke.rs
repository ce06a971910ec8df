//! One invocation of one case: a fresh process and the line that tells of it.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::slice;
use std::time::{Duration, SystemTime};

use humantime::format_rfc3339_millis;

use crate::invocation::{Invocation, Outcome, SCHEMA_VERSION};
use crate::manifest::Case;
use crate::outcome::{Verdict, classify};
use crate::process;
use crate::signals::Signals;

/// One invocation to make.
pub struct Job<'a> {
    /// The case.
    pub case: &'a Case,
    /// The round, counted from 1.
    pub round: u32,
    /// Which try of the case in this round, counted from 1.
    pub attempt: u32,
    /// The program's binary.
    pub binary: &'a Path,
    /// Flags besides the case's own: the profile's, or those of a check.
    pub flags: &'a [String],
}

/// What to type to run a case with a profile's `flags`: its program's name and
/// all flags, the case's own first.
#[must_use]
pub fn command(case: &Case, flags: &[String]) -> Vec<String> {
    let placement = case.placement.as_str();
    let fixed = ["--placement", placement, "--json", "--quiet"].map(str::to_owned);
    [slice::from_ref(&case.program), &case.flags, flags, fixed.as_slice()].concat()
}

/// Makes an invocation. Whatever goes wrong is part of what is returned.
pub fn invoke(job: &Job, signals: &mut Signals) -> Invocation {
    let started_at = format_rfc3339_millis(SystemTime::now()).to_string();
    let words = command(job.case, job.flags);
    let time_out = Duration::from_secs(job.case.timeout_seconds);
    let mut program = Command::new(job.binary);
    program.args(&words[1..]).stderr(Stdio::piped());
    let ended = process::run(&mut program, Some(time_out), signals);

    let Verdict { outcome, interrupted, error, record } = match &ended {
        Ok(ended) => classify(ended).held_to(job.case),
        Err(error) => Verdict {
            outcome: Outcome::Failed,
            interrupted: false,
            error: Some(format!("could not be run: {error}")),
            record: None,
        },
    };
    let ended = ended.ok();
    Invocation {
        schema_version: SCHEMA_VERSION.to_owned(),
        case: job.case.name.clone(),
        round: job.round,
        attempt: job.attempt,
        started_at,
        duration_ns: ended.as_ref().map_or(0, |ended| nanoseconds(ended.duration)),
        command: words,
        outcome,
        interrupted,
        exit_code: ended.as_ref().and_then(|ended| ended.status.code()),
        signal: ended.as_ref().and_then(|ended| ended.status.signal()),
        error,
        record,
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
