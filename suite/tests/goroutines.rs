//! `goroutine-brigade` as a program: flags in, record out. It is built here if
//! go is installed; without it these tests say so and test nothing.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use harness::histogram::Histogram;
use harness::record::{Ending, Record};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The binary, built once; `None` without go.
fn binary() -> Option<&'static Path> {
    static BINARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    BINARY.get_or_init(build).as_deref()
}

fn build() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join("goroutine-brigade");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&binary).arg(".").current_dir(root.join("goroutine-brigade"));
    match go.status() {
        Ok(status) => {
            assert!(status.success(), "go build ended with {status}");
            Some(binary)
        }
        Err(error) => {
            eprintln!("GOROUTINE-BRIGADE IS NOT TESTED: go cannot be run: {error}");
            None
        }
    }
}

/// The program with these flags, in one string; `None` without go.
fn program(flags: &str) -> Option<Command> {
    let mut program = Command::new(binary()?);
    program.args(flags.split_whitespace());
    Some(program)
}

fn run(flags: &str) -> Option<Output> {
    Some(program(flags)?.output().expect("the program runs"))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// The record of a run that must end well.
fn record(flags: &str) -> Option<Record> {
    let Output { status, stdout, stderr } = run(flags)?;
    assert!(status.success(), "{flags}: {status}: {}", text(&stderr));
    assert_eq!(text(&stderr), "", "{flags}");
    Some(Record::parse(text(&stdout)).expect("a record"))
}

#[test]
fn a_brigade_reports_what_was_asked_for() {
    let Some(record) = record("--tasks=20 --iters 50 --warmups 5 --workers 1 --json") else {
        return;
    };
    assert_eq!(
        (record.program.as_str(), record.version.as_str()),
        ("goroutine-brigade", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!((record.tasks, record.iterations, record.warmups), (20, 50, 5));
    assert_eq!((record.complete, record.ended_by), (true, Ending::Iterations));
    assert_eq!(record.parameters["workers"], 1);
    let iteration = record.principal().expect("a measurement");
    assert_eq!((iteration.operations, iteration.count), (21, 50));
    let per_task = iteration.ns_per_task.expect("it covers all tasks");
    for (figure, of) in [(iteration.ns_per_operation, 21.0), (per_task, 20.0)] {
        assert!((figure * of / iteration.mean_ns - 1.0).abs() < 1e-9, "{iteration:?}");
    }
    let switches = record.switches.expect("switches");
    assert_eq!(switches.expected_per_operation, Some(0.0));
    assert_eq!(switches.cross_cpu_share.map(|share| (0.0..=1.0).contains(&share)), Some(true));
    assert!(record.memory.is_some() && record.cpu.is_some());
}

#[test]
fn its_histogram_is_one_that_rust_decodes() {
    let Some(record) = record("--tasks 3 --iters 500 --json") else { return };
    let iteration = record.principal().expect("a measurement");
    let histogram = Histogram::decode(&iteration.histogram).expect("HdrHistogram V2");
    assert_eq!(histogram.count(), 500);
    for (percent, reported) in
        [(50.0, iteration.p50_ns), (90.0, iteration.p90_ns), (99.0, iteration.p99_ns)]
    {
        assert_eq!(histogram.percentile(percent).min(iteration.max_ns), reported, "p{percent}");
    }
}

#[test]
fn several_workers_claim_no_switches() {
    let Some(record) = record("--tasks 3 --iters 5 --workers 2 --json") else { return };
    assert_eq!(record.switches.expect("switches").expected_per_operation, None);
}

#[test]
fn creation_measures_each_step() {
    let Some(record) = record("creation --tasks 100 --iters 10 --warmups 2 --json") else { return };
    let steps: Vec<_> =
        record.measurements.iter().map(|step| (step.name.as_str(), step.count)).collect();
    assert_eq!(steps, [("create", 10), ("join", 10), ("create_cold", 1), ("start", 1000)]);
    assert!(record.measurements[..3].iter().all(|step| step.operations == 100));
}

#[test]
fn memory_is_read_at_growing_counts() {
    let Some(record) = record("memory --tasks 4000 --steps 4 --json") else { return };
    assert_eq!((record.tasks, record.iterations, record.complete), (4000, 4, true));
    let Some(output) = run("memory --tasks 4000 --steps 4") else { return };
    let summary = text(&output.stdout);
    assert!(summary.starts_with("4000 tasks, 4 iterations:\n"), "{summary}");
    assert!(summary.lines().last().is_some_and(|line| line.starts_with("per goroutine:")));
}

#[test]
fn what_cannot_be_followed_is_told_in_one_line() {
    for (flags, reason) in [
        ("--tasks 0", "--tasks 0: not a whole number from 1"),
        ("--threads x", "--tasks x: not a whole number from 1"),
        ("--iters -1", "--iters -1: not a whole number from 1"),
        ("--max-time 0", "--max-time 0: not a number of seconds above 0"),
        ("--workers 0", "--workers 0: not between 1 and 1024"),
        ("--cpus 9-3", "--cpus 9-3: the range '9-3' runs backwards"),
        ("--placement near", "--placement near: not one of free, same-cpu, spread"),
        ("--placement spread", "--placement spread: Go's scheduler moves goroutines"),
        ("--cpus 1023", "--cpus 1023: CPU 1023 is not available to this process"),
        ("--histogram /", "--histogram /: cannot write there: is a directory"),
        ("--moon", "--moon: there is no such flag"),
        ("--tasks", "--tasks: needs a value"),
        ("--tasks 1 --tasks 1", "--tasks is given twice"),
        ("--quiet more", "unexpected argument 'more'"),
        ("memory --iters 5", "--iters: there is no such flag"),
        ("memory --steps 2", "--steps 2: not between 3 and 1000"),
        ("memory --tasks 5 --steps 6", "--steps 6: there are only 5 tasks"),
        ("tea", "unknown sub-command 'tea'; known: brigade, creation, memory"),
    ] {
        let Some(output) = run(flags) else { return };
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags}: {said}");
        assert!(said.starts_with(&format!("goroutine-brigade: {reason}")), "{flags}: {said}");
        assert_eq!((said.lines().count(), text(&output.stdout)), (1, ""), "{flags}: {said}");
    }
}

#[test]
fn a_limit_refuses_before_anything_is_created() {
    let Some(output) = run("--tasks 4294967295") else { return };
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).starts_with("goroutine-brigade: --tasks 4294967295: needs "));
}

#[test]
fn an_interruption_ends_the_laps_and_is_told() {
    let Some(mut program) = program("--tasks 2 --iters 1000000000000 --json") else {
        return;
    };
    let child = program.stdout(Stdio::piped()).spawn().expect("the program runs");
    while ticks(child.id()) < 10 {
        std::thread::yield_now();
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it is there");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let record = Record::parse(text(&output.stdout)).expect("a record");
    assert_eq!((record.complete, record.ended_by), (false, Ending::Signal));
    assert!(record.iterations >= 1);
}

/// CPU time of a process, in clock ticks: it is measuring once it has used
/// more than its start takes.
fn ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it is there");
    let fields = stat.rsplit(") ").next().expect("fields").split(' ');
    fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("ticks")).sum()
}

#[test]
fn the_command_runs_while_the_goroutines_are_alive() {
    let Some(mut program) = program("--tasks 2 --iters 5 --quiet --command") else { return };
    let child =
        program.arg("cat /proc/{pid}/comm").stdout(Stdio::piped()).spawn().expect("it runs");
    let line = BufReader::new(child.stdout.expect("piped")).lines().next();
    assert_eq!(line.expect("a line").expect("text"), "goroutine-briga");

    let Some(output) = run("--tasks 2 --iters 5 --json --command false") else { return };
    assert_eq!(output.status.code(), Some(1));
    let record = Record::parse(text(&output.stdout)).expect("a record");
    assert_eq!((record.complete, record.ended_by, record.iterations), (false, Ending::Error, 5));
    assert_eq!(record.error.as_deref(), Some("--command 'false' failed: exit status: 1"));
}

#[test]
fn a_full_disk_is_a_failure_and_a_closed_pipe_is_none() {
    let Some(mut program) = program("--tasks 2 --iters 5") else { return };
    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    let output = program.stdout(full).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let said = "goroutine-brigade: writing to standard output: no space left on device\n";
    assert_eq!(text(&output.stderr), said);

    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let output = program.stdout(writer).output().expect("it runs");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}
