//! One invocation of one case: a fresh process, its outcome, and its record or the reason for a
//! failure in one line.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::time::{Duration, SystemTime};
use std::{slice, thread};

use anyhow::{Context as _, Error, bail, ensure};
use harness::TaskKind;
use harness::cpus;
use harness::flags::name;
use harness::limits::{Kind, Need, Refusal, admit, in_force};
use harness::record::Record;
use harness::reference::kernel_ns;
use harness::system_files::SystemFiles;
use harness::terminal;
use humantime::format_rfc3339_millis;

use crate::exit::Exit;
use crate::manifest::tables::OutputForm;
use crate::manifest::{Case, Placement};
use crate::measure::executables::Executable;
use crate::measure::guest::Guest;
use crate::measure::process::{self, Cause, Ended, STDOUT_BOUND, Signals};
use crate::store::consistency::{verify, verify_sizes};
use crate::store::results::{Invocation, Outcome, Reference, SCHEMA_VERSION};

/// An invocation to run.
pub struct Job<'a> {
    pub case: &'a Case,
    /// The command around the program, such as `taskset -c 1`; empty to run it
    /// directly.
    pub under: &'a [String],
    pub binary: &'a Executable,
    /// Flags in addition to the case's: the profile's or a check's.
    pub flags: &'a [String],
    /// The CPU that the tasks share; by default the first one that this process
    /// may use.
    pub shared_cpu: Option<usize>,
}

impl<'a> Job<'a> {
    /// A case that runs once, with these flags.
    pub fn once(case: &'a Case, binary: &'a Executable, flags: &'a [String]) -> Self {
        Self { case, under: &[], binary, flags, shared_cpu: None }
    }

    /// The program's name and its flags.
    fn words(&self) -> Vec<String> {
        let form = self.binary.program.form;
        let mut words = command(form, self.case, self.flags);
        if form == OutputForm::Record
            && let Some(cpu) = self.chosen_cpu()
        {
            words.extend(["--cpus".to_owned(), cpu.to_string()]);
        }
        words
    }

    /// What the tasks are, if the program's table says so.
    fn task_kind(&self) -> Option<TaskKind> {
        self.binary.program.task_kind(self.case)
    }

    /// The CPU that the tasks share, if the case wants that and no flag names one.
    fn chosen_cpu(&self) -> Option<usize> {
        let mut flags = self.case.flags.iter().chain(self.flags);
        let is_named = flags.any(|flag| flag.starts_with("--cpus"));
        if is_named || self.case.placement != Placement::SameCpu {
            return None;
        }
        self.shared_cpu
    }
}

/// The command that runs a case of a program with this form and a profile's `flags`: the program's
/// name and all flags, the case's first. If both set a flag, the case's wins.
pub fn command(form: OutputForm, case: &Case, flags: &[String]) -> Vec<String> {
    let flags = flags_without(flags, &case.flags);
    let mut words = [slice::from_ref(&case.program), &case.flags, &flags].concat();
    if form == OutputForm::Record {
        let placement = name(&case.placement);
        words.extend(["--placement", &placement, "--json", "--quiet"].map(str::to_owned));
    }
    words
}

/// The `flags` that are not among `others`, with their values.
pub fn flags_without(flags: &[String], others: &[String]) -> Vec<String> {
    let mut left = Vec::new();
    let mut is_left_out = false;
    for word in flags {
        // A value goes with its flag.
        if word.starts_with("--") {
            is_left_out = others.contains(word);
        }
        if !is_left_out {
            left.push(word.clone());
        }
    }
    left
}

/// The number of the last of these flags, in the next word or after `=`.
pub fn number(words: &[String], flag: &str) -> Option<u64> {
    let value = words.iter().enumerate().rev().find_map(|(at, word)| {
        let rest = word.strip_prefix(flag)?;
        if rest.is_empty() { words.get(at + 1).map(String::as_str) } else { rest.strip_prefix('=') }
    });
    value?.parse().ok()
}

/// Runs an invocation. Failures are part of the result.
pub fn invoke(job: &Job, signals: &mut Signals) -> Invocation {
    let started_at = format_rfc3339_millis(SystemTime::now()).to_string();
    let words = job.words();
    let judged = run(job, &words, signals).unwrap_or_else(|error| {
        let is_refused = Exit::from_error(&error) == Exit::Limit;
        let outcome = if is_refused { Outcome::Refused } else { Outcome::Failed };
        Invocation { outcome, error: Some(on_one_line(&error)), ..Invocation::default() }
    });
    Invocation {
        schema_version: SCHEMA_VERSION.to_owned(),
        case: job.case.name.clone(),
        started_at,
        command: [job.under, &words].concat(),
        ..judged
    }
    .anonymous()
}

/// Runs a job's process to its end and judges it.
///
/// # Errors
/// If it cannot be started.
fn run(job: &Job, words: &[String], signals: &mut Signals) -> anyhow::Result<Invocation> {
    ensure!(
        !job.binary.is_replaced(),
        "could not be run: its file was replaced since the run began: restore it, or start a new run"
    );
    let time_out = Some(Duration::from_secs(job.case.timeout_seconds));
    let mut process = job.binary.command(job.under);
    process.args(&words[1..]);
    let mut guest = None;
    if job.binary.program.form == OutputForm::Laps {
        check_limits(job, words).context("--tasks")?;
        let cpus = place(&mut process, job).context("could not be placed")?;
        guest = Some(Guest::new(job.case.placement, cpus));
    }
    let ended = process::run(&mut process, time_out, signals, guest.as_mut())
        .context("could not be run")?;
    let record = match guest {
        None => read_record(&ended.stdout),
        Some(guest) => guest.record(&ended.stdout),
    };
    // What is too large to be read back is not kept.
    let mut record = record.and_then(|record| verify_sizes(&record).map(|()| record));
    if let Ok(record) = &mut record
        && job.binary.program.server.is_some()
    {
        record.program.clone_from(&job.case.program);
        record.parameters.remove("kind");
        record.kind = job.task_kind();
    }
    let interrupted = ended.cause == Cause::Stopped && !ended.status.success();
    let exit_code = ended.status.code();
    let judged = judge(&ended, job, &record);
    let outcome = if judged.is_ok() {
        Outcome::Measured
    } else if ended.cause == Cause::TimedOut {
        Outcome::TimedOut
    } else if exit_code == Some(Exit::Limit.code().into()) && !interrupted {
        Outcome::Refused
    } else {
        Outcome::Failed
    };
    Ok(Invocation {
        outcome,
        interrupted,
        stderr: if judged.is_err() { ended.rest() } else { None },
        error: judged.err().map(|error| on_one_line(&error)),
        duration_ns: ended.duration.as_nanos() as u64,
        stopped_ns: Some(ended.stopped.as_nanos() as u64),
        exit_code,
        signal: ended.status.signal(),
        record: record.ok(),
        ..Invocation::default()
    })
}

/// Checks the limits for a guest's tasks, if it is known what they need, which depends on their
/// runtime; `--tasks` gives their number, per each of `--rings`.
fn check_limits(job: &Job, words: &[String]) -> Result<(), Refusal> {
    let Some(kind) = job.task_kind() else { return Ok(()) };
    let Some(tasks) = number(words, "--tasks") else { return Ok(()) };
    let tasks = tasks.saturating_mul(number(words, "--rings").unwrap_or(1));
    let Some(need) = need_of_guest(&job.case.program, kind, tasks) else { return Ok(()) };
    admit(&need, &in_force(&SystemFiles::live()))
}

/// The needs of a guest's tasks with their channels. Those in memory are the growth of the resident
/// memory from 1,000 to 100,000 tasks of the most expensive subcommand, rounded up. `None` if they
/// are not known.
fn need_of_guest(program: &str, kind: TaskKind, tasks: u64) -> Option<Need> {
    let in_memory = |bytes| Some(Need::in_memory(tasks, bytes));
    match (program, kind) {
        (_, TaskKind::Goroutine) => Some(Need::new(Kind::Goroutine, tasks)),
        // With a stack of the default size.
        ("python-tasks", TaskKind::Thread) => Some(Need::new(Kind::Thread, tasks)),
        ("python-tasks", _) => in_memory(2 << 10),
        ("python-brigade", _) => in_memory(6 << 10),
        ("java-brigade", _) => in_memory(4 << 10),
        ("erlang-brigade", _) => in_memory(3 << 10),
        ("node-brigade", _) => in_memory(3 << 10),
        ("asio-brigade", _) => in_memory(1 << 10),
        _ => None,
    }
}

/// Makes a guest start on the CPUs of its placement, and returns them.
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

/// Verifies that a record is of this job's case and complete, and does not contradict itself.
fn verify_of(record: &Record, job: &Job) -> anyhow::Result<()> {
    if let Some(found) = record.kind
        && let Some(stated) = job.task_kind()
    {
        let [found, stated] = [found, stated].map(|kind| name(&kind));
        ensure!(
            found == stated,
            "reports tasks of the kind '{found}', but its table in suite.toml says '{stated}'"
        );
    }
    verify(record, &job.case.program, job.case.placement)
}

/// Judges an ended process and what it printed.
///
/// # Errors
/// Why it did not measure.
fn judge(ended: &Ended, job: &Job, record: &anyhow::Result<Record>) -> anyhow::Result<()> {
    let reason = match (ended.cause, record) {
        (Cause::TimedOut, _) => {
            let seconds = ended.duration.as_secs_f64();
            bail!("was killed after {seconds:.1} s, its case's timeout_seconds")
        }
        (Cause::Flooded, _) => {
            bail!("was killed: its standard output exceeded {} MiB", STDOUT_BOUND >> 20)
        }
        (_, Ok(record)) if ended.status.success() => return verify_of(record, job),
        (_, Err(reason)) if ended.status.success() => bail!("{reason:#}"),
        (Cause::Stopped, _) => bail!("was interrupted together with the run"),
        (Cause::Itself, Ok(record)) => record.error.clone().or_else(|| ended.complaint()),
        (Cause::Itself, Err(reason)) => ended.complaint().or_else(|| Some(reason.to_string())),
    };
    let mut reason = reason.unwrap_or_else(|| "it gave no reason".to_owned());
    if ended.memory_ran_out {
        reason = format!("memory ran out, and the kernel killed a process: {reason}");
    }
    match ended.status.code() {
        Some(code) => bail!("exited with {code}: {reason}"),
        None => bail!("ended by {}: {reason}", ended.status),
    }
}

/// Reads the one record that a program prints.
fn read_record(stdout: &[u8]) -> anyhow::Result<Record> {
    let text = str::from_utf8(stdout).ok();
    let text = text.context("its standard output is not text; a record is JSON")?.trim();
    ensure!(!text.is_empty(), "printed no record");
    Record::parse(text)
}

/// The error as it is recorded: in one line, which may quote what a program printed.
fn on_one_line(error: &Error) -> String {
    let line = format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ");
    terminal::message(&line)
}

/// Reference work before the invocation with this `index`, on each of `cpus` in turn: the same for
/// all programs, it shows the machine's speed at that moment. `None` if the machine does not allow
/// the measurement; the run continues.
pub fn reference(cpus: &[usize], index: usize) -> Option<Reference> {
    if cpus.is_empty() {
        return None;
    }
    let cpu = cpus[index % cpus.len()];
    // On a separate thread, so that the runner's affinity, which children inherit, does not change.
    let worker = thread::Builder::new().spawn(move || kernel_ns(cpu)).ok()?;
    Some(Reference { cpu, kernel_ns: worker.join().ok()?? })
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_flag_of_the_case_overrides_that_of_the_profile() {
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        for (flags, of_case, left) in [
            ("--max-time 0.1 --quick", "--tasks 5", "--max-time 0.1 --quick"),
            ("--max-time 0.1 --quick", "--max-time 9", "--quick"),
            ("--quick --max-time 0.1", "--max-time 9 --quick", ""),
            ("--max-time 0.1", "--max-time-of-all 9", "--max-time 0.1"),
        ] {
            assert_eq!(
                flags_without(&words(flags), &words(of_case)),
                words(left),
                "{flags} {of_case}"
            );
        }
    }

    #[test]
    fn every_cpu_gets_its_turn() {
        let cpus = cpus::allowed().unwrap();
        for index in 0..2 * cpus.len() {
            let Reference { cpu, kernel_ns } = reference(&cpus, index).unwrap();
            assert_eq!(cpu, cpus[index % cpus.len()]);
            assert!(kernel_ns > 0.0);
        }
        assert_eq!(cpus::allowed().unwrap(), cpus, "the runner's thread is not confined");
        assert_eq!(reference(&[], 3), None);
    }
}
