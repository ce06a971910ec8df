//! One invocation of one case: a fresh process and the line that tells of it.

use std::ffi::OsStr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::slice;
use std::time::{Duration, SystemTime};

use harness::cpus;
use harness::limits::{Need, Refusal, admit, in_force};
use harness::system_files::SystemFiles;
use humantime::format_rfc3339_millis;

use crate::manifest::program::Form;
use crate::manifest::{Case, Placement};
use crate::measure::build::Executable;
use crate::measure::guest::Guest;
use crate::measure::outcome::{Verdict, classify};
use crate::measure::process::{self, Ended};
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
    /// The program.
    pub binary: &'a Executable,
    /// Flags besides the case's own: the profile's, or those of a check.
    pub flags: &'a [String],
    /// The CPU that the tasks share, if they share one: without it the first of
    /// those that this process may use.
    pub shared_cpu: Option<usize>,
}

impl Job<'_> {
    /// The program's name and its flags.
    fn words(&self) -> Vec<String> {
        let form = self.binary.program.form;
        let mut words = command(form, self.case, self.flags);
        if let (Form::Record, Some(cpu)) = (form, self.chosen_cpu()) {
            words.extend(["--cpus".to_owned(), cpu.to_string()]);
        }
        words
    }

    /// The CPU that the tasks share, where the case has them share one and no flag
    /// says which.
    fn chosen_cpu(&self) -> Option<usize> {
        let is_free =
            !self.case.flags.iter().chain(self.flags).any(|flag| flag.starts_with("--cpus"));
        self.shared_cpu.filter(|_| is_free && self.case.placement == Placement::SameCpu)
    }
}

/// What to type to run a case of a program of this form with a profile's `flags`:
/// its program's name and all flags, the case's own first. Of a flag that both
/// give, the case's stands.
pub fn command(form: Form, case: &Case, flags: &[String]) -> Vec<String> {
    let placement = case.placement.as_str();
    let fixed = match form {
        Form::Record => ["--placement", placement, "--json", "--quiet"].map(str::to_owned).to_vec(),
        Form::Laps => Vec::new(),
    };
    let flags = without(flags, &case.flags);
    [slice::from_ref(&case.program), &case.flags, &flags, fixed.as_slice()].concat()
}

/// The `flags` that are not among `others`, with their values.
pub fn without(flags: &[String], others: &[String]) -> Vec<String> {
    let mut is_left_out = false;
    let stays = |word: &&String| {
        if word.starts_with("--") {
            is_left_out = others.contains(word);
        }
        !is_left_out
    };
    flags.iter().filter(stays).cloned().collect()
}

/// Makes an invocation. Whatever goes wrong is part of what is returned.
pub fn invoke(job: &Job, signals: &mut Signals) -> Invocation {
    let started_at = format_rfc3339_millis(SystemTime::now()).to_string();
    let words = job.words();
    let (ended, verdict) = run(job, &words, signals);
    let verdict = verdict.held_to(job.case);
    let Verdict { outcome, interrupted, error, record } = verdict;
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
        reference: None,
    }
}

/// Runs a job's process to its end, if it can be started.
fn run(job: &Job, words: &[String], signals: &mut Signals) -> (Option<Ended>, Verdict) {
    let failed = |outcome, error| {
        (None, Verdict { outcome, interrupted: false, error: Some(error), record: None })
    };
    if job.binary.is_replaced() {
        let error = "could not be run: its file was replaced since the run began: put it back, or \
                     start a new run";
        return failed(Outcome::Failed, error.to_owned());
    }
    let time_out = Some(Duration::from_secs(job.case.timeout_seconds));
    let mut process = process_of(job);
    process.args(&words[1..]).stderr(Stdio::piped());
    let (ended, guest) = match job.binary.program.form {
        Form::Record => (process::run(&mut process, time_out, signals), None),
        Form::Laps => {
            if let Err(refusal) = check_limits(job, words) {
                return failed(Outcome::Refused, format!("--tasks: {refusal}"));
            }
            let cpus = match place(&mut process, job) {
                Ok(cpus) => cpus,
                Err(error) => {
                    return failed(Outcome::Failed, format!("could not be placed: {error}"));
                }
            };
            let mut guest = Guest::new(job.case.placement.as_str(), cpus);
            (process::run_guest(&mut process, time_out, signals, &mut guest), Some(guest))
        }
    };
    match ended {
        Ok(ended) => {
            let verdict = classify(&ended, guest);
            (Some(ended), verdict)
        }
        Err(error) => failed(Outcome::Failed, format!("could not be run: {error}")),
    }
}

/// Checks the limits that the tasks of a guest meet, where their kind is known
/// and `--tasks` tells their number, of each of `--rings`.
fn check_limits(job: &Job, words: &[String]) -> Result<(), Refusal> {
    let Some(kind) = job.binary.program.tasks else { return Ok(()) };
    let number = |flag: &str| -> Option<u64> {
        let at = words.iter().rposition(|word| word == flag)?;
        words.get(at + 1)?.parse().ok()
    };
    let Some(tasks) = number("--tasks") else { return Ok(()) };
    let tasks = tasks.saturating_mul(number("--rings").unwrap_or(1));
    let need = Need { tasks, per_task: kind.per_task(), fixed: kind.fixed() };
    admit(&need, &in_force(&SystemFiles::live()))
}

/// Has a guest start on the CPUs that its placement leaves, and returns them.
fn place(process: &mut Command, job: &Job) -> nix::Result<Vec<usize>> {
    let mut allowed = cpus::allowed()?;
    if job.case.placement == Placement::SameCpu {
        let shared = job.chosen_cpu().or(allowed.first().copied());
        allowed.retain(|cpu| Some(*cpu) == shared);
        let chosen = allowed.clone();
        // SAFETY: between fork and exec, this makes one system call and
        // allocates nothing.
        unsafe { process.pre_exec(move || Ok(cpus::confine(&chosen)?)) };
    }
    Ok(allowed)
}

/// The program, under the command that is to run it and by its interpreter.
fn process_of(job: &Job) -> Command {
    let Executable { file, program, .. } = job.binary;
    let mut words = job.under.iter().chain(&program.interpreter).map(OsStr::new);
    let mut command = match words.next() {
        None => return Command::new(file),
        Some(first) => Command::new(first),
    };
    command.args(words).arg(file);
    command
}

/// A word of a command without the folder that a path in it names: records are
/// shared, and tell no path.
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
    fn a_flag_of_the_case_stands_for_that_of_the_profile() {
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        for (flags, of_case, left) in [
            ("--max-time 0.1 --quick", "--tasks 5", "--max-time 0.1 --quick"),
            ("--max-time 0.1 --quick", "--max-time 9", "--quick"),
            ("--quick --max-time 0.1", "--max-time 9 --quick", ""),
            ("--max-time 0.1", "--max-time-of-all 9", "--max-time 0.1"),
        ] {
            assert_eq!(without(&words(flags), &words(of_case)), words(left), "{flags} {of_case}");
        }
    }

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
