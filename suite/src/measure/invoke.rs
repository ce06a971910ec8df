//! One invocation of one case: a fresh process and the line that tells of it.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::slice;
use std::time::{Duration, SystemTime};

use humantime::format_rfc3339_millis;

use crate::manifest::Case;
use crate::measure::outcome::{Verdict, classify};
use crate::measure::process;
use crate::measure::signals::Signals;
use crate::store::invocation::{Invocation, Outcome, SCHEMA_VERSION};

/// One invocation to make.
pub struct Job<'a> {
    /// The case.
    pub case: &'a Case,
    /// The round, counted from 1.
    pub round: u32,
    /// Which try of the case in this round, counted from 1.
    pub attempt: u32,
    /// The words of a command that runs the program, such as `taskset -c 1`;
    /// none to run it directly.
    pub under: &'a [String],
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
    let mut program = process_of(job);
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
        command: [job.under.iter().map(|word| without_place(word)).collect(), words].concat(),
        outcome,
        interrupted,
        exit_code: ended.as_ref().and_then(|ended| ended.status.code()),
        signal: ended.as_ref().and_then(|ended| ended.status.signal()),
        error,
        record,
    }
}

/// The program, under the command that is to run it.
fn process_of(job: &Job) -> Command {
    match job.under.split_first() {
        None => Command::new(job.binary),
        Some((first, others)) => {
            let mut command = Command::new(first);
            command.args(others).arg(job.binary);
            command
        }
    }
}

/// A word of a command without the folder that a path in it names: records are
/// shared, and tell no path.
#[must_use]
pub fn without_place(word: &str) -> String {
    let (name, value) = word.split_at(word.find('=').map_or(0, |equals| equals + 1));
    let file = value.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    format!("{name}{file}")
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_word_names_no_folder() {
        for (word, recorded) in [
            ("taskset", "taskset"),
            ("/usr/bin/taskset", "taskset"),
            ("LD_PRELOAD=/home/me/lib/fast.so", "LD_PRELOAD=fast.so"),
            ("--root=/home/me/", "--root=me"),
            ("GLIBC_TUNABLES=glibc.malloc.arena_max=1", "GLIBC_TUNABLES=glibc.malloc.arena_max=1"),
        ] {
            assert_eq!(without_place(word), recorded);
        }
    }
}
