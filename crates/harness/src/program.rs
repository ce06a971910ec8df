//! Runs a program from its command line to its exit code.
//!
//! A program is a `clap::Args` struct with its flags, whose documentation is
//! the text of `--help`, and a function that sets up the tasks and runs the
//! laps. Everything around that is here, so that all programs treat flags,
//! errors, interruption and output alike.

use std::cell::OnceCell;
use std::env;
use std::ffi::{OsString, c_int};
use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Relaxed, SeqCst},
};

use anyhow::{Context as _, anyhow};
use clap::{ArgMatches, Args, Command};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::unistd::getpid;
use signal_hook::consts::{SIGALRM, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::flag::{register, register_conditional_shutdown};
use signal_hook::low_level;

use crate::failure::{self, UsageError};
use crate::flags::{self, Flags};
use crate::machine::emulation;
use crate::machine::inherited::{self, Facts};
use crate::machine::limits;
use crate::machine::network;
use crate::machine::placement::{Placement, Policy};
use crate::machine::system_files;
use crate::measure::bench::Bench;
use crate::measure::clock;
use crate::measure::histogram;
use crate::measure::samples::Samples;
use crate::measure::spinners::Spinners;
use crate::measure::state::{Findings, Shared};
use crate::measure::summary::summary;
use crate::measure::trace::{Recorder, Tracer};
use crate::record::{Ending, Interference, Record, SCHEMA_VERSION};
use crate::spec::{Count, Launch, Spec};
use crate::tasks::threads::panic_text;
use crate::terminal;

/// Identifies a program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name of its folder.
    pub name: &'static str,
    /// The version.
    pub version: &'static str,
}

/// The [`Program`] of the current package; with the arguments of [`run`], its `main` and its page,
/// whose flags are called `Flags`.
#[macro_export]
macro_rules! program {
    () => {
        $crate::program::Program {
            // Without the `brigade-` of its name on crates.io.
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
        }
    };
    ($defaults:expr, $declare:expr, $body:expr) => {
        /// The page of this program.
        pub const PAGE: $crate::page::Page = $crate::page::Page {
            name: $crate::program!().name,
            source: include_str!("lib.rs"),
            main,
            command: || $crate::program::command::<Flags>($crate::program!(), &$defaults),
            declaration: |words| {
                $crate::page::declaration($crate::program!(), &$defaults, $declare, words)
            },
        };

        /// Runs the program: flags in, a summary or a record out.
        pub fn main() -> std::process::ExitCode {
            $crate::run($crate::program!(), &$defaults, $declare, $body)
        }
    };
}

/// Runs a program: reads its flags, checks the result of `declare`, calls `body` with a bench, and
/// prints the measurements, even if `body` fails or is interrupted.
///
/// `defaults` is what `--help` shows; `declare` computes the declaration for these flags.
pub fn run<F: Args>(
    program: Program,
    defaults: &Spec,
    declare: impl Fn(&F, &Launch<'_>) -> anyhow::Result<Spec>,
    body: impl Fn(&F, &Bench) -> anyhow::Result<()>,
) -> ExitCode {
    // Only this depends on the type of the flags, so the rest is compiled once.
    let flags = OnceCell::new();
    let own = || flags.get().context("flags are read first");
    let read = |matches: &ArgMatches| -> clap::error::Result<()> {
        let _ = flags.set(F::from_arg_matches(matches)?);
        Ok(())
    };
    let declare = |launch: &Launch| declare(own()?, launch);
    let command = || command::<F>(program, defaults);
    perform(program, defaults, &command, &read, &declare, &|bench| body(own()?, bench))
}

/// The command line of a program whose flags are `F`, with the defaults of this declaration.
pub fn command<F: Args>(program: Program, defaults: &Spec) -> Command {
    let command = Command::new(program.name).version(program.version).max_term_width(80);
    flags::with_flags(command, defaults, F::augment_args)
}

/// Checks that the placement and a trace make sense for this declaration.
///
/// # Errors
/// If one does not.
pub(crate) fn check(spec: &Spec, flags: &Flags) -> Result<(), UsageError> {
    if flags.placement == Policy::Spread && !spec.spread {
        return Err(UsageError(
            "--placement spread: these tasks run on one thread, are placed by an executor, or do not \
             communicate, so no neighbours can be put on different CPUs; choose free or same-cpu"
                .to_owned(),
        ));
    }
    if flags.trace.is_some() && !spec.hops {
        return Err(UsageError(
            "--trace: no task here hands over to one other task of this process".to_owned(),
        ));
    }
    Ok(())
}

fn perform(
    program: Program,
    defaults: &Spec,
    command: &dyn Fn() -> Command,
    read: &dyn Fn(&ArgMatches) -> clap::error::Result<()>,
    declare: &dyn Fn(&Launch<'_>) -> anyhow::Result<Spec>,
    body: &dyn Fn(&Bench) -> anyhow::Result<()>,
) -> ExitCode {
    emulation::note_threads();
    if let Err(error) = system_files::require_stack() {
        return fail(program, &error);
    }
    let mut command = command();
    let matches = command.try_get_matches_from_mut(words(program.name));
    let flags = |matches| read(&matches).and_then(|()| Flags::read(&command, &matches));
    match matches.and_then(flags) {
        Ok(flags) => Session::begin(program, defaults, flags, declare)
            .and_then(|session| session.conclude(caught(|| body(&session.bench))))
            .unwrap_or_else(|error| fail(program, &error)),
        Err(error) => refuse_flags(program, &error),
    }
}

/// The command line from the program's name on: the first word, or the second if another binary
/// contains the program.
fn words(name: &str) -> impl Iterator<Item = OsString> {
    let is_contained = env::args_os().nth(1).is_some_and(|word| word == name);
    env::args_os().skip(usize::from(is_contained))
}

/// The result of `body`. A panic is a failed run like any other: its
/// measurements are still reported.
fn caught(body: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|panic| Err(anyhow!("the driver panicked: {}", panic_text(&*panic))))
}

/// A program that is ready to measure.
#[derive(Debug)]
struct Session {
    program: Program,
    inherited: Facts,
    out_of_time: Arc<AtomicBool>,
    bench: Bench,
    histogram: Option<File>,
}

/// Flags that signals set.
#[derive(Debug, Default)]
struct SignalFlags {
    /// The run should end.
    interrupted: Arc<AtomicBool>,
    /// A limit on CPU time was reached, which also interrupts the run.
    out_of_time: Arc<AtomicBool>,
}

/// How long an interrupted run may take to end its tasks, in seconds: they may be many, or stopped.
const LONGEST_INTERRUPTED: u32 = 20;

/// Sets a flag on the first SIGINT or SIGTERM, and ends the process on the second, or
/// [`LONGEST_INTERRUPTED`] later, in case a lap never ends. A limit on CPU time sets both flags; at
/// one on the size of files, writing fails.
fn watch_signals() -> io::Result<SignalFlags> {
    let flags = SignalFlags::default();
    // Until its action is registered, a first signal would be caught by a handler that ignores it.
    let until_caught = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
    until_caught.thread_block()?;
    for flag in [&flags.interrupted, &flags.out_of_time] {
        let flag = Arc::clone(flag);
        // SAFETY: a handler of signals may store an atomic value.
        unsafe { on_signal(SIGXCPU, move || flag.store(true, SeqCst)) }?;
    }
    register(SIGXFSZ, Arc::default())?;
    let code = failure::INTERRUPTED.into();
    for signal in [SIGINT, SIGTERM] {
        let interrupted = Arc::clone(&flags.interrupted);
        let interrupt = move || {
            if interrupted.swap(true, SeqCst) {
                low_level::exit(code);
            }
            // SAFETY: it has no effect on memory.
            unsafe { libc::alarm(LONGEST_INTERRUPTED) };
        };
        // SAFETY: a handler of signals may swap an atomic value, and call _exit(2) and alarm(2).
        unsafe { on_signal(signal, interrupt) }?;
    }
    // A child does not inherit the alarm.
    register_conditional_shutdown(SIGALRM, code, Arc::clone(&flags.interrupted))?;
    until_caught.thread_unblock()?;
    Ok(flags)
}

/// Registers what this process does when it receives a signal. Its children inherit the handler but
/// do nothing: Ctrl-C reaches them, too, and one that shares this process's memory would set this
/// process's flags, so that the same Ctrl-C would count twice.
///
/// # Safety
/// `action` must be allowed in a handler of signals.
unsafe fn on_signal(signal: c_int, action: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
    let process = getpid();
    let in_this_process = move || {
        if getpid() == process {
            action();
        }
    };
    // SAFETY: a handler of signals may call getpid(2); the caller vouches for the action.
    unsafe { low_level::register(signal, in_this_process) }.map(drop)
}

/// Lets children report their end, and blocks nothing, whatever was inherited.
fn reset_signals() -> nix::Result<()> {
    SigSet::empty().thread_set_mask()?;
    // SAFETY: the default action runs no code of this process.
    unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }.map(drop)
}

/// At a soft limit on CPU time the kernel sends SIGXCPU, and at the hard one it kills. So the soft
/// one is lowered if they are equal; returns what to say of it.
fn make_time_to_report() -> nix::Result<Option<String>> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_CPU)?;
    if soft < hard || hard == RLIM_INFINITY {
        return Ok(None);
    }
    if hard > 1 {
        setrlimit(Resource::RLIMIT_CPU, hard - 1, hard)?;
    }
    Ok(Some(format!(
        "RLIMIT_CPU: the kernel kills this process after {hard} s of CPU time without a warning, \
         since the soft limit is the hard one: prlimit --cpu={hard}:{}",
        hard.saturating_add(1)
    )))
}

impl Session {
    /// Applies flags and declaration before anything is measured.
    fn begin(
        program: Program,
        defaults: &Spec,
        flags: Flags,
        declare: &dyn Fn(&Launch<'_>) -> anyhow::Result<Spec>,
    ) -> anyhow::Result<Self> {
        // As inherited: before anything here changes it.
        let mut inherited = inherited::facts(None);
        system_files::require_counters()?;
        // What it contains stays until there is a distribution.
        let open = |path: &PathBuf| {
            File::options().write(true).create(true).truncate(false).open(path).map_err(|error| {
                UsageError(format!("--histogram {}: cannot write there: {error}", path.display()))
            })
        };
        let histogram = flags.histogram.as_ref().map(open).transpose()?;
        reset_signals().context("resetting inherited signals")?;
        if let Some(warning) = make_time_to_report().context("RLIMIT_CPU")? {
            warn(program, &warning);
        }
        let placement = Placement::apply(flags.placement, flags.cpus.as_ref())?;
        let tasks = flags.tasks.unwrap_or(defaults.tasks);
        let spec = declare(&Launch { tasks, placement: &placement })?;
        let tasks = if spec.count == Count::Fixed { spec.tasks } else { tasks };
        let spec = Spec { tasks, ..spec };
        check(&spec, &flags)?;
        if spec.tcp {
            inherited.extend(network::facts());
        }
        if spec.tasks > 0 {
            // Includes the driver's load and the observation of the tasks.
            let admitted = limits::require(&spec.need());
            match spec.sized_by {
                Some((flag, value)) => admitted.with_context(|| format!("with {flag} {value}"))?,
                None => admitted?,
            }
        }
        // An ordinary user sees the processes that it starts from now on.
        let recorder =
            flags.trace.is_some().then(|| Recorder::open(&placement.cpus)).transpose()?;
        let spinners = if flags.keep_awake {
            Spinners::keep_awake(&placement.cpus).context("--keep-awake")?
        } else {
            Spinners::default()
        };
        let SignalFlags { interrupted, out_of_time } =
            watch_signals().context("watching for SIGINT and SIGTERM")?;
        if cfg!(debug_assertions) {
            warn(program, "this is a debug build: its figures mean nothing; use --release");
        }
        let mut shared = Shared::new(spec, flags, placement);
        if let Some(recorder) = recorder {
            shared.tracer = Tracer::of_process(shared.spec.tasks as usize).into();
            shared.recorder = Some(recorder.into());
        }
        let bench = Bench { shared: Shared { spinners, interrupted, ..shared }.into() };
        Ok(Self { program, inherited, out_of_time, bench, histogram })
    }

    /// The limit on CPU time that interrupted it.
    fn reached(&self) -> Option<anyhow::Error> {
        let value = |name: &str| {
            let value = self.inherited.get(&format!("limits.{name}.soft"))?;
            if value == "unlimited" { None } else { Some(value) }
        };
        // The flag comes alone. A handler that has not yet run when the run ends reports nothing.
        if !self.out_of_time.load(Relaxed) {
            return None;
        }
        let of_cpu = value("cpu_time").map(|value| ("RLIMIT_CPU", value));
        let of_realtime = value("realtime_timeout").map(|value| ("RLIMIT_RTTIME", value));
        let (limit, value) = of_cpu.or(of_realtime)?;
        Some(anyhow!("{limit}, which is {value}, was reached: raise it, or measure for less time"))
    }

    /// Reports the measurements, even after a failure, and chooses the exit
    /// code.
    fn conclude(&self, result: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
        // The tasks have ended, and a reader of the record may be slow. SAFETY: it has no effect on
        // memory.
        unsafe { libc::alarm(0) };
        let result = result.and_then(|()| self.write_trace()).and_then(|()| self.verify_cpus());
        let interrupted = self.bench.is_interrupted();
        // What fails after an interruption is its consequence.
        let error = self.reached().or(result.err().filter(|_| !interrupted));
        let code = error.as_ref().map_or(ExitCode::SUCCESS, |error| fail(self.program, error));
        let code = if interrupted { failure::INTERRUPTED.into() } else { code };
        if !self.bench.findings().samples.is_empty() {
            self.write(error.as_ref())?;
        } else if interrupted {
            warn(self.program, "interrupted before the first measured iteration");
        }
        Ok(code)
    }

    /// Writes the histogram and prints the record or the summary, which says whether that failed.
    fn write(&self, error: Option<&anyhow::Error>) -> anyhow::Result<()> {
        let written = self.write_histogram();
        let record = self.record(error.or(written.as_ref().err()))?;
        let flags = &self.bench.shared.flags;
        let text = if flags.json {
            serde_json::to_string(&record).context("--json: writing the record")? + "\n"
        } else if flags.quiet {
            return written;
        } else {
            summary(&record)
        };
        print(&text).and(written)
    }

    fn write_histogram(&self) -> anyhow::Result<()> {
        let Some(mut file) = self.histogram.as_ref() else { return Ok(()) };
        let text = histogram::percentile_text(&self.bench.findings().samples[0].histogram);
        let mut write = || {
            // A pipe has no earlier content.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            file.write_all(text.as_bytes())
        };
        write().context("--histogram: writing the distribution")
    }

    fn write_trace(&self) -> anyhow::Result<()> {
        let shared = &self.bench.shared;
        if let Some(mut recorder) = shared.recorder()
            && let Some(path) = &shared.flags.trace
        {
            recorder.write(path)?;
        }
        Ok(())
    }

    /// Fails if the CPUs that the threads may use were changed in the middle.
    fn verify_cpus(&self) -> anyhow::Result<()> {
        let findings = self.bench.findings();
        if let Some(found) = findings.span.as_ref().and_then(|span| span.cpus.as_ref()) {
            self.bench.placement().verify(found)?;
        }
        Ok(())
    }

    fn record(&self, error: Option<&anyhow::Error>) -> anyhow::Result<Record> {
        let findings = self.bench.findings();
        let interrupted = self.bench.is_interrupted();
        let ended_by = match findings.ended_by {
            _ if interrupted => Ending::Signal,
            _ if error.is_some() => Ending::Error,
            ended_by => ended_by.unwrap_or(Ending::Error),
        };
        let used = findings.span.as_ref().zip(principal_operations(&findings));
        let crossings = self.bench.shared.tracer.get().and_then(|tracer| tracer.cross_cpu_share());
        let tasks = findings.ledger.last().map_or(self.bench.tasks() as u64, |point| point.tasks);
        let measurements = findings.samples.iter().filter_map(|one| one.measurement(tasks));
        Ok(Record {
            schema_version: SCHEMA_VERSION.into(),
            program: self.program.name.into(),
            version: self.program.version.into(),
            parameters: self.bench.flags().parameters.clone(),
            kind: self.bench.shared.spec.kind,
            tasks,
            tokens: 1,
            iterations: findings.iterations,
            warmups: findings.warmups,
            complete: matches!(ended_by, Ending::Iterations | Ending::MaxTime),
            ended_by,
            error: error.map(|error| format!("{error:#}")),
            affinity: self.bench.placement().cpus.to_vec(),
            inherited: self.inherited.clone(),
            cpus: findings.span.as_ref().and_then(|span| span.cpus.clone()),
            measurements: measurements.collect(),
            cpu: used
                .filter(|_| !findings.cpu_is_unknown)
                .map(|(span, operations)| span.cpu(operations, findings.thread_end_ns)),
            switches: used.and_then(|(span, operations)| {
                span.switches(operations, findings.expected_switches, crossings)
            }),
            system_calls_per_operation: findings.system_calls,
            waiting: used.map(|(span, operations)| span.waiting(operations)),
            interference: interference(&findings),
            ledger: (!findings.ledger.is_empty()).then(|| findings.ledger.clone()),
            work: findings.work,
            schedule: findings.schedule,
            serving: findings.serving,
            channel: findings.channel,
            readers_together: findings.readers_together,
            rebuilds_per_operation: findings.rebuilds,
            awake: findings.awake,
            clock_step_ns: clock::step_ns(),
        }
        .anonymous())
    }
}

/// The number of operations in a span: those of the principal measurement, or more.
fn principal_operations(findings: &Findings) -> Option<f64> {
    let operations = findings.operations.or(findings.samples.first().map(Samples::operations));
    operations.map(|count| count as f64).filter(|count| *count > 0.0)
}

/// The activity of the rest of the machine, without the kernel's work for this
/// program's ended threads.
fn interference(findings: &Findings) -> Interference {
    let mut found = findings.span.as_ref().map(|span| span.interference).unwrap_or_default();
    if let Some(others_ns) = &mut found.others_cpu_ns
        && let Some(each_ns) = findings.thread_end_ns
    {
        let ends_ns = each_ns * principal_operations(findings).unwrap_or(0.0);
        *others_ns -= ends_ns as i64;
    }
    found
}

/// Prints to standard output, safe for a terminal. A closed pipe is not an
/// error; any other failure is.
///
/// # Errors
/// If standard output cannot be written.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_coloured(&terminal::text(text))
}

/// Writes text that is already safe for a terminal to standard output; keeps colours if it is a
/// terminal that supports them.
///
/// # Errors
/// If [`print()`] would fail.
pub fn print_coloured(text: &str) -> anyhow::Result<()> {
    let mut stdout = anstream::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("writing to standard output"),
    }
}

/// Prints help and version to standard output, and clap's errors as one line.
fn refuse_flags(program: Program, error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let printed = print_coloured(&error.render().ansi().to_string());
        return printed.map_or_else(|error| fail(program, &error), |()| ExitCode::SUCCESS);
    }
    warn(program, &format!("{} (try --help)", flags::reason(error)));
    failure::USAGE.into()
}

/// Reports an error, and returns its exit code.
fn fail(program: Program, error: &anyhow::Error) -> ExitCode {
    warn(program, &format!("{error:#}"));
    failure::exit_code(error)
}

/// Prints one line to standard error; ignores a failure.
fn warn(program: Program, line: &str) {
    let _ = writeln!(io::stderr(), "{}: {}", program.name, terminal::message(line));
}

#[cfg(test)]
mod tests {
    use super::{Findings, Interference, Samples, caught, interference};
    use crate::measure::samples::Measured;
    use crate::measure::usage::Span;

    #[test]
    fn the_ends_of_its_threads_are_not_others() {
        let mut created = Samples::new(Measured::per_task("create", "thread creation", 1000));
        created.add(50_000_000);
        let found = Interference { others_cpu_ns: Some(7_000_000), ..Interference::default() };
        let span = Some(Span { interference: found, ..Span::default() });
        let mut findings = Findings { samples: vec![created], span, ..Findings::default() };
        assert_eq!(interference(&findings).others_cpu_ns, Some(7_000_000));
        findings.thread_end_ns = Some(5_400.0);
        assert_eq!(interference(&findings).others_cpu_ns, Some(1_600_000));
        findings.thread_end_ns = Some(8_000.0);
        assert_eq!(interference(&findings).others_cpu_ns, Some(-1_000_000));
    }

    #[test]
    fn a_panic_of_the_driver_is_a_failed_run() {
        assert!(caught(|| panic!("on purpose")).is_err() && caught(|| Ok(())).is_ok());
    }
}
