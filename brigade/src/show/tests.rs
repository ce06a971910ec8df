//! A small input in each format, next to what is printed of it, so that a change of a layout is seen.

use std::collections::BTreeMap;

use harness::TaskKind;
use harness::limits::{Forecast, Kind, Limit, LimitEffect, Resource};
use insta::assert_snapshot;

use super::{comparison, formats, limits, page, report, screen, text};
use crate::fixtures::{self, WholeRun};
use crate::judge::compare::{Comparison, Design, Repeat, Side};
use crate::judge::environment::Difference;
use crate::judge::impact::{Impact, Prices, SwitchCost, SwitchKind, Used};
use crate::judge::report::{Report, RunData, RunProgress, report as report_of};
use crate::judge::row::{MemoryItem, MemoryPart, Row};
use crate::judge::run::figures_by_case;
use crate::judge::state::{Cause, State, Word};
use crate::judge::statistics::{Estimate, Interval};
use crate::manifest::Manifest;
use crate::store::results::{Outcome, RunDescription, Skipped};

const MANIFEST: &str = r#"
    [programs]
    threads = { path = "threads" }
    tasks = { path = "tasks" }

    [[screen]]
    heading = "HAND OVER"
    of = "one hop"
    [[screen.blocks]]
    name = "in memory"
    reference = "tasks"
    rows = [{ text = "async task", case = "tasks" }, { text = "thread", case = "threads" }]

    [[sentence]]
    text = "A hop of a thread takes {} as long."
    case = "threads"
    over = "tasks"

    [[group]]
    name = "hops"
    question = "What does a hop cost?"
    note = "A hop is one hand-over."
    cases = ["threads", "tasks"]
    comparisons = [{ case = "threads", over = "tasks" }]
"#;

/// The time of a hop in each of eight rounds, in nanoseconds.
const THREADS: [f64; 8] = [1790.0, 1772.0, 1808.0, 1826.0, 1754.0, 1799.0, 1781.0, 1817.0];
const TASKS: [f64; 8] = [905.0, 896.0, 914.0, 923.0, 887.0, 900.0, 910.0, 891.0];

/// A run of these cases, in which another process failed and a third case was skipped.
fn run() -> Report {
    let mut failed = fixtures::without_record("tasks", 9, Outcome::Failed);
    failed.error = Some("exited with 1: oops".to_owned());
    failed.stderr = Some("oops\nat main".to_owned());
    let invocations =
        [fixtures::case("threads", THREADS), fixtures::case("tasks", TASKS), vec![failed]];
    let like = fixtures::run();
    let skipped = Skipped { case: "uring".to_owned(), reason: "no io_uring".to_owned() };
    let run = WholeRun {
        description: RunDescription {
            cases: ["threads", "tasks"].map(str::to_owned).to_vec(),
            skipped: vec![skipped],
            ..like.description
        },
        environment: like.environment,
        invocations: invocations.concat(),
    };
    let data = RunData {
        name: "run-1".to_owned(),
        run: &mut run.judged(),
        progress: RunProgress { ended: 17, rounds: 8, is_complete: true, ..Default::default() },
        alike: &[],
    };
    let mut report = report_of(&Manifest::parse(MANIFEST).expect("a manifest"), data);
    report.run.repeat = Some(Repeat {
        runs: 0,
        recorded_runs: 6,
        recorded_machines: 1,
        half: 0.01,
        tenth: 0.039,
        worst: 0.1,
    });
    report.run.command = ["brigade", "run", "hops", "--rounds", "8"].map(str::to_owned).to_vec();
    report
}

#[test]
fn a_run_on_the_screen() {
    let place = screen::Place { folder: "results/run-1", ..screen::Place::default() };
    assert_snapshot!(screen::screen(&run(), place), @"
    A hop of a thread takes 2.0 times as long.

    AMD EPYC, 2 CPUs                                            2026-11-21, 8 rounds
    QUIET: other programs took less than 0.1 % of the CPUs.
                                   median 8 in 10 within      × each process (log)
    HAND OVER  one hop                                          890 ns       1.8 µs
     in memory
      async task                   902 ns     890–917 ns      1 8 of 9 processes
      thread                      1.79 µs   1.77–1.82 µs    2.0 ··················▓>
    × is relative to the row marked 1. ░▒▓: few to many processes, >: some beyond.

    not measured: uring: no io_uring
    A guess from 6 recorded runs of 1 machine: if you run it again, half of these
    figures will be within 1.0 %, one in ten off by more than 3.9 %.

    more: brigade report --full results/run-1
    ");
}

#[test]
fn a_run_in_full() {
    let report = run();
    let mut page = report::page(&report, false);
    page.extend(report::repeating(&report.run));
    assert_snapshot!(page::text(&page), @"
    AMD EPYC, 2 CPUs, 2026-11-21
    QUIET: other programs took less than 0.1 % of the CPUs.
    A guess from 6 recorded runs of 1 machine: if you run it again, half of these
    figures will be within 1.0 %, one in ten off by more than 3.9 %.

    - A hop of a thread takes 2.0 times as long.

    HAND OVER
    one hop               median [95 %]        80 %           ×      n
    async task, in memory 902 ns [882, 924]    890–917 ns     1 8 of 9
    thread, in memory     1.79 µs [1.75, 1.83] 1.77–1.82 µs 2.0      8

    What does a hop cost?
    A hop is one hand-over.

    case    op  median [95 %]        80 %          p50  p99  cpu sw/op      n
    threads hop 1.79 µs [1.75, 1.83] 1.77–1.82 µs 1.62 3.59 1.26  1.00      8
    tasks   hop 902 ns [882, 924]    890–917 ns    812 1805  632  1.00 8 of 9

    ratios and differences [95 %]               n
    threads / tasks        2.0 times [2.0, 2.0] 8

    where the time goes    elapsed user kernel error waiting asleep waking queued overlap cross idle/op ipi/op
    threads             µs    1.79 0.36   0.90 <0.01    0.54      –      –      –       0   0 %       –      –
    tasks               ns     903  180    450 <0.01     271      –      –      –       0   0 %       –      –

    How to read the tables
    Medians over n processes, per operation, with a 95 % interval. 80 %: from the
    tenth to the ninetieth percentile of processes. p50, p99: within a process. cpu:
    CPU time, user and kernel. sw: context switches counted by the kernel. calls:
    system calls counted by the program. 1 of 12: the notes explain why the other
    processes are not used. In 2 of 2 rows the interval ends outside all processes:
    it is wider than that of independent ones, since neighbours in time resemble
    each other.
    Elapsed, including the time between laps, is user + kernel + waiting − overlap.
    Of the waiting: asleep, all CPUs were idle; waking, entering and leaving idle
    states; queued, a task waited for its CPU. error: how far user and kernel may be
    off, with 95 %, because the kernel divides CPU time by clock ticks. idle/op,
    ipi/op: how often a CPU entered an idle state, and interrupted another. cross:
    hops between two CPUs.

    Notes
    - tasks: 1 failed: exited with 1: oops
    - tasks: it printed: oops | at main
    - uring: skipped: no io_uring

    Measured on: AMD EPYC, 2 CPUs.
    17 invocations, 8 rounds, seed 3940445089, Brigade 1.0.0

    brigade run hops --rounds 8
    ");
}

#[test]
fn a_run_as_markdown() {
    assert_snapshot!(formats::markdown(&run()), @r"
    # run-1

    A run of 2026-11-21T11:55:14.847Z

        brigade run hops --rounds 8

    AMD EPYC, 2 CPUs, 2026-11-21

    QUIET: other programs took less than 0.1 % of the CPUs.

    A guess from 6 recorded runs of 1 machine: if you run it again, half of these figures will be within 1.0 %, one in ten off by more than 3.9 %.

    - A hop of a thread takes 2.0 times as long.

    ## HAND OVER

    | one hop | median [95 %] | 80 % | × | n |
    | --- | --- | --- | --: | --: |
    | async task, in memory | 902 ns [882, 924] | 890–917 ns | 1 | 8 of 9 |
    | thread, in memory | 1.79 µs [1.75, 1.83] | 1.77–1.82 µs | 2.0 | 8 |

    ## What does a hop cost?

    A hop is one hand-over.

    | case | name | op | median [95 %] | 80 % | p50 | p99 | cpu | sw/op | n |
    | --- | --- | --- | --- | --- | --: | --: | --: | --: | --: |
    | threads | thread | hop | 1.79 µs [1.75, 1.83] | 1.77–1.82 µs | 1.62 | 3.59 | 1.26 | 1.00 | 8 |
    | tasks | async task | hop | 902 ns [882, 924] | 890–917 ns | 812 | 1805 | 632 | 1.00 | 8 of 9 |

    | ratios and differences | [95 %] | n |
    | --- | --- | --: |
    | thread / async task | 2.0 times [2.0, 2.0] | 8 |

    | where the time goes |  | elapsed | user | kernel | error | waiting | asleep | waking | queued | overlap | cross | idle/op | ipi/op |
    | --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
    | thread | µs | 1.79 | 0.36 | 0.90 | &lt;0.01 | 0.54 | – | – | – | 0 | 0 % | – | – |
    | async task | ns | 903 | 180 | 450 | &lt;0.01 | 271 | – | – | – | 0 | 0 % | – | – |

    ## How to read the tables

    Medians over n processes, per operation, with a 95 % interval. 80 %: from the tenth to the ninetieth percentile of processes. p50, p99: within a process. cpu: CPU time, user and kernel. sw: context switches counted by the kernel. calls: system calls counted by the program. 1 of 12: the notes explain why the other processes are not used. In 2 of 2 rows the interval ends outside all processes: it is wider than that of independent ones, since neighbours in time resemble each other.

    Elapsed, including the time between laps, is user + kernel + waiting − overlap. Of the waiting: asleep, all CPUs were idle; waking, entering and leaving idle states; queued, a task waited for its CPU. error: how far user and kernel may be off, with 95 %, because the kernel divides CPU time by clock ticks. idle/op, ipi/op: how often a CPU entered an idle state, and interrupted another. cross: hops between two CPUs.

    ## Notes

    - tasks: 1 failed: exited with 1: oops
    - tasks: it printed: oops \| at main
    - uring: skipped: no io\_uring

    Measured on: AMD EPYC, 2 CPUs.

    17 invocations, 8 rounds, seed 3940445089, Brigade 1.0.0
    ");
}

#[test]
fn a_run_as_csv() {
    assert_snapshot!(formats::csv(&run()).expect("in memory"), @r#"
    run,host,case,program,parameters,measurement,unit,round,outcome,value,system_calls_per_operation
    run-1,amd-epyc-l2-512k-2cpu,threads,threads,"{""placement"":""free""}",iteration,nanoseconds,1,used,1790.0,
    run-1,amd-epyc-l2-512k-2cpu,threads,threads,"{""placement"":""free""}",iteration,nanoseconds,2,used,1772.0,
    run-1,amd-epyc-l2-512k-2cpu,threads,threads,"{""placement"":""free""}",iteration,nanoseconds,3,used,1808.0,
    run-1,amd-epyc-l2-512k-2cpu,threads,threads,"{""placement"":""free""}",iteration,nanoseconds,4,used,1826.0,
    run-1,amd-epyc-l2-512k-2cpu,threads,threads,"{""placement"":""free""}",iteration,nanoseconds,5,used,1754.0,
    run-1,amd-epyc-l2-512k-2cpu,threads,threads,"{""placement"":""free""}",iteration,nanoseconds,6,used,1799.0,
    run-1,amd-epyc-l2-512k-2cpu,threads,threads,"{""placement"":""free""}",iteration,nanoseconds,7,used,1781.0,
    run-1,amd-epyc-l2-512k-2cpu,threads,threads,"{""placement"":""free""}",iteration,nanoseconds,8,used,1817.0,
    run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,nanoseconds,1,used,905.0,
    run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,nanoseconds,2,used,896.0,
    run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,nanoseconds,3,used,914.0,
    run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,nanoseconds,4,used,923.0,
    run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,nanoseconds,5,used,887.0,
    run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,nanoseconds,6,used,900.0,
    run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,nanoseconds,7,used,910.0,
    run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,nanoseconds,8,used,891.0,
    run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,nanoseconds,9,failed,,
    "#);
}

/// The state of a run during which other programs took this share of the CPUs.
fn quiet(share: f64) -> State {
    let causes = vec![Cause { word: Word::Busy, share, is_bound: false }];
    State { word: Word::Quiet, causes, is_fit: true, is_comparable: true, ..State::default() }
}

/// Two saved runs: of three cases one takes so many times as long, one is the same, and one has no
/// figure of the second, whose state this is. So many earlier runs are of the same build.
fn two_runs(times: f64, earlier_runs: usize, state: State) -> Comparison {
    let row = |case: &str, times: [f64; 8]| Row {
        label: case.to_owned(),
        case: case.to_owned(),
        program: case.to_owned(),
        figure: Estimate::of(&times),
        ..Row::of_figures(times)
    };
    let first = vec![row("create", [9100.0; 8]), row("tasks", TASKS), row("threads", THREADS)];
    let second = vec![
        row("tasks", TASKS.map(|ns| ns * 1.001)),
        row("threads", THREADS.map(|ns| ns * times)),
    ];
    let earlier = [1.0, 1.01].into_iter().take(earlier_runs).map(|by| {
        let tasks = row("tasks", TASKS.map(|ns| ns * by));
        let threads = row("threads", THREADS.map(|ns| ns * by));
        figures_by_case(&[tasks, threads])
    });
    let sides = [
        Side { records: Some("old".to_owned()), states: vec![quiet(0.004)], ..Side::default() },
        Side {
            records: Some("new".to_owned()),
            revision: Some("0123456789ab+".to_owned()),
            states: vec![state],
            ..Side::default()
        },
    ];
    let rows = [first, second];
    let earlier = [earlier.collect()];
    let mut comparison = Comparison::new(Design::TwoRuns, sides, rows, 0.03, Some(0.98), &earlier);
    comparison.environment_differences = vec![differs("software.rustc", ["1.94", "1.95"])];
    comparison
}

/// A fact that differs.
fn differs(name: &str, values: [&str; 2]) -> Difference {
    let values = values.map(|value| Some(value.to_owned()));
    Difference { name: name.to_owned(), values }
}

/// What is printed of a comparison.
fn compared(comparison: &Comparison) -> String {
    page::text(&comparison::blocks(comparison))
}

#[test]
fn two_runs_compared() {
    assert_snapshot!(compared(&two_runs(1.3, 2, quiet(0.021))), @"
    SLOWER: 1 of 2. threads takes 1.27 times as long [1.22, 1.33].
    These runs can show a change only from 4.7 % on, in half of the cases: 1 slower,
    0 faster, 0 same, 1 unresolved, 1 not compared.

    - baseline: old, QUIET: other programs took 0.4 % of the CPUs.
    - candidate: new, commit 0123456789ab+, QUIET: other programs took 2.1 % of the
      CPUs.

    case    baseline candidate ratio [interval]     verdict
    threads  1.79 µs   2.33 µs 1.274 [1.217, 1.334] slower
    tasks     902 ns    903 ns 0.981 [0.937, 1.027] unresolved

    Medians; each process is one sample. ratio: candidate / baseline, corrected
    ×0.98, with a 99.00 % interval. same: within 3 %.

    - software.rustc: 1.94 → 1.95
    - not compared: create: the candidate has not measured it
    ");
}

#[test]
fn two_runs_compared_as_markdown() {
    assert_snapshot!(formats::blocks(&comparison::blocks(&two_runs(1.3, 2, quiet(0.021)))), @"
    SLOWER: 1 of 2. threads takes 1.27 times as long [1.22, 1.33].

    These runs can show a change only from 4.7 % on, in half of the cases: 1 slower, 0 faster, 0 same, 1 unresolved, 1 not compared.

    - baseline: old, QUIET: other programs took 0.4 % of the CPUs.
    - candidate: new, commit 0123456789ab+, QUIET: other programs took 2.1 % of the CPUs.

    | case | baseline | candidate | ratio [interval] | verdict |
    | --- | --: | --: | --- | --- |
    | threads | 1.79 µs | 2.33 µs | 1.274 [1.217, 1.334] | slower |
    | tasks | 902 ns | 903 ns | 0.981 [0.937, 1.027] | unresolved |

    Medians; each process is one sample. ratio: candidate / baseline, corrected ×0.98, with a 99.00 % interval. same: within 3 %.

    - software.rustc: 1.94 → 1.95
    - not compared: create: the candidate has not measured it
    ");
}

#[test]
fn two_runs_of_builds_that_differ_too_little_or_without_earlier_ones() {
    assert_snapshot!(compared(&two_runs(1.03, 2, quiet(0.021))), @"
    UNDECIDED: 2 of 2. threads [0.96, 1.06], tasks [0.937, 1.027]; compare the
    builds side by side: brigade compare --bin OLD --bin NEW CASE…
    These runs can show a change only from 4.7 % on, in half of the cases: 0 slower,
    0 faster, 0 same, 2 unresolved, 1 not compared.

    - baseline: old, QUIET: other programs took 0.4 % of the CPUs.
    - candidate: new, commit 0123456789ab+, QUIET: other programs took 2.1 % of the
      CPUs.

    case    baseline candidate ratio [interval]     verdict
    tasks     902 ns    903 ns 0.981 [0.937, 1.027] unresolved
    threads  1.79 µs   1.85 µs 1.009 [0.964, 1.057] unresolved

    Medians; each process is one sample. ratio: candidate / baseline, corrected
    ×0.98, with a 99.00 % interval. same: within 3 %.

    - software.rustc: 1.94 → 1.95
    - not compared: create: the candidate has not measured it
    ");
    assert_snapshot!(compared(&two_runs(1.03, 1, quiet(0.021))), @"
    NO VERDICT: one earlier run does not show how much two runs of one build differ
    here. Run the old build once more, then the new one again, or compare the builds
    side by side: brigade compare --bin OLD --bin NEW CASE…

    - baseline: old, QUIET: other programs took 0.4 % of the CPUs.
    - candidate: new, commit 0123456789ab+, QUIET: other programs took 2.1 % of the
      CPUs.

    case    baseline candidate ratio [interval]     verdict
    tasks     902 ns    903 ns 0.981 [0.937, 1.027] unresolved
    threads  1.79 µs   1.85 µs 1.009 [0.964, 1.057] unresolved

    Medians; each process is one sample. ratio: candidate / baseline, corrected
    ×0.98, with a 99.00 % interval. same: within 3 %.

    - software.rustc: 1.94 → 1.95
    - not compared: create: the candidate has not measured it
    ");
}

/// What would decide is no comparison of builds, but of boots.
#[test]
fn one_build_under_two_kernels() {
    let mut comparison = two_runs(1.03, 2, quiet(0.021));
    comparison.is_one_build = true;
    comparison.environment_differences = vec![differs("kernel.release", ["6.1.0", "6.12.1"])];
    assert_snapshot!(compared(&comparison), @"
    UNDECIDED: 2 of 2. threads [0.96, 1.06], tasks [0.937, 1.027]; runs of more
    boots would decide.
    These runs differ in: kernel.release: 6.1.0 → 6.12.1.
    These runs can show a change only from 4.7 % on, in half of the cases: 0 slower,
    0 faster, 0 same, 2 unresolved, 1 not compared.
    One run of each kernel does not separate it from what differs from boot to boot.
    Boot each five times or more and measure once per boot; each run is then one
    sample: brigade compare A1 A2 A3 A4 A5 -- B1 B2 B3 B4 B5

    - baseline: old, QUIET: other programs took 0.4 % of the CPUs.
    - candidate: new, commit 0123456789ab+, QUIET: other programs took 2.1 % of the
      CPUs.

    Both sides are one build: what differs is the machine, not the program.

    case    baseline candidate ratio [interval]     verdict
    tasks     902 ns    903 ns 0.981 [0.937, 1.027] unresolved
    threads  1.79 µs   1.85 µs 1.009 [0.964, 1.057] unresolved

    Medians; each process is one sample. ratio: candidate / baseline, corrected
    ×0.98, with a 99.00 % interval. same: within 3 %.

    - not compared: create: the candidate has not measured it
    ");
}

#[test]
fn a_comparison_with_a_run_that_was_disturbed() {
    let state = State { word: Word::Busy, is_fit: false, is_comparable: false, ..quiet(0.3) };
    let mut comparison = two_runs(1.3, 2, state);
    comparison.is_one_build = true;
    assert_snapshot!(compared(&comparison), @"
    NO VERDICT: new was BUSY: other programs took 30 % of the CPUs. Repeat that run
    on a quiet machine.

    - baseline: old, QUIET: other programs took 0.4 % of the CPUs.
    - candidate: new, commit 0123456789ab+, BUSY: other programs took 30 % of the
      CPUs. Do not quote these figures.

    Both sides are one build: what differs is the machine, not the program.

    case    baseline candidate ratio [interval]     verdict
    threads  1.79 µs   2.33 µs 1.274 [1.217, 1.334] unresolved
    tasks     902 ns    903 ns 0.981 [0.937, 1.027] unresolved

    Medians; each process is one sample. ratio: candidate / baseline, corrected
    ×0.98, with a 99.00 % interval. same: within 3 %.

    - software.rustc: 1.94 → 1.95
    - not compared: create: the candidate has not measured it
    - threads: runs of one build differed by 1 %
    ");
}

/// How many tasks fit by two limits that are known and one that is not.
fn forecast(kind: Kind, allows: u64) -> Forecast {
    let effect = |limit, per_task, allows| LimitEffect { limit, per_task, allows, command: None };
    let threads = Limit { in_use: 120, ..Limit::new(Resource::Threads, "pids.max", Some(1000)) };
    let files = Limit::new(Resource::Files, "RLIMIT_NOFILE", Some(20_000));
    let memory = Limit::new(Resource::Memory, "MemAvailable", Some(8 << 30));
    let unknown = Limit {
        unknown: Some("/proc/sys/vm/max_map_count".to_owned()),
        caveat: Some("programs map more".to_owned()),
        ..Limit::new(Resource::Maps, "vm.max_map_count", None)
    };
    let raised = LimitEffect {
        command: Some("echo 5000 | sudo tee /sys/fs/cgroup/pids.max".to_owned()),
        ..effect(threads, 1, Some(allows))
    };
    Forecast {
        kind,
        fits: Some(allows),
        at_most: true,
        limits: vec![
            raised,
            effect(files, 2, Some(10_000)),
            effect(memory, 40 << 10, Some(209_715)),
            effect(unknown, 4, None),
        ],
        memory_bytes: Some(160 << 20),
    }
}

#[test]
fn the_limits_of_a_kind() {
    assert_snapshot!(limits::kind_page(&forecast(Kind::ThreadPipe, 880), Some(4000)), @"
    At most 880 threads over pipes or socket pairs fit: the limit is pids.max.
    Fewer may fit, because this cannot be read: /proc/sys/vm/max_map_count.
    4,000 need at most 160 MiB.

      limit               value in use per task  allows
    > pids.max            1,000    120        1     880
      RLIMIT_NOFILE      20,000      0        2  10,000
      MemAvailable     8.00 GiB    0 B 40.0 KiB 209,715
      vm.max_map_count  unknown      0        4       –

    vm.max_map_count: programs map more.

    To fit 4,000, run all of:
      pids.max
        echo 5000 | sudo tee /sys/fs/cgroup/pids.max
    ");
}

#[test]
fn the_limits_of_all_kinds() {
    let kinds = [forecast(Kind::ThreadPipe, 880), forecast(Kind::TokioPipe, 10_000)];
    assert_snapshot!(limits::kinds_page(&kinds, None, Vec::new()), @"
    kind                   fit limit
    thread-pipe    at most 880 pids.max
    tokio-pipe  at most 10,000 pids.max

    Details: brigade limits --kind KIND
    ");
}

/// A run of servers, whose hops are requests.
fn servers() -> Report {
    let mut report = run();
    for row in report.screen.iter_mut().flat_map(|part| &mut part.blocks[0].rows) {
        row.operation = "request".to_owned();
        let bytes_per_task = Estimate::of(&[10_240.0]).expect("a figure");
        row.memory = vec![MemoryPart { name: MemoryItem::Sum, bytes_per_task }];
        assert!([Some(TaskKind::Thread), Some(TaskKind::AsyncTask)].contains(&row.kind));
    }
    report
}

#[test]
fn whether_connections_fit_and_what_they_cost() {
    let fits = [forecast(Kind::ThreadTcp, 8000), forecast(Kind::TokioTcp, 10_000)];
    let lacks = [forecast(Kind::ThreadTcp, 880), forecast(Kind::TokioTcp, 10_000)];
    let shown = |kinds: &[Forecast; 2]| {
        let answer = limits::connections(4000, kinds.each_ref(), Some(&servers()), &[]);
        limits::kinds_page(kinds, Some(4000), answer)
    };
    assert_snapshot!(shown(&fits), @"
    BOTH MAY FIT, as far as limits can be read. Threads take 39.1 MiB and 1.79 µs of
    CPU per request, async tasks 39.1 MiB and 902 ns.
    What is left of that with work in a request: brigade run serve (5 minutes)

    a task for each connection CPU per request memory of one of 4,000
    async task                          902 ns      10.0 KiB 39.1 MiB
    thread                             1.79 µs      10.0 KiB 39.1 MiB

    Medians of run-1, which was QUIET.

    4,000      fit?     memory            fit limit
    thread-tcp unknown 160 MiB  at most 8,000 pids.max
    tokio-tcp  unknown 160 MiB at most 10,000 pids.max

    All kinds: brigade limits. Details: brigade limits --kind KIND
    ");
    assert_snapshot!(shown(&lacks), @"
    ONLY ASYNC TASKS MAY FIT, as far as limits can be read: threads end at 880
    (pids.max). brigade limits --kind thread-tcp --tasks 4000 prints how to
    raise it

    a task for each connection CPU per request memory of one of 4,000
    async task                          902 ns      10.0 KiB 39.1 MiB
    thread                             1.79 µs      10.0 KiB 39.1 MiB

    Medians of run-1, which was QUIET.

    4,000      fit?     memory            fit limit
    thread-tcp NO      160 MiB    at most 880 pids.max
    tokio-tcp  unknown 160 MiB at most 10,000 pids.max

    All kinds: brigade limits. Details: brigade limits --kind KIND
    ");
}

/// A program that made 30,000 switches in a second, of which one in ten woke a CPU.
fn impact() -> Impact {
    let point = |value| Interval { low: value, high: value };
    let cost = |kind, case: &str, low, high| {
        let cost = SwitchCost {
            cases: vec![case.to_owned()],
            cpu_ns: point(low),
            wall_ns: Interval { low, high },
            idle_entries: point(if kind == SwitchKind::Asleep { 1.0 } else { 0.0 }),
            interrupts: point(if kind == SwitchKind::SameCpu { 0.0 } else { 1.0 }),
        };
        (kind, cost)
    };
    let costs = BTreeMap::from([
        cost(SwitchKind::SameCpu, "threads --placement same-cpu", 1000.0, 1200.0),
        cost(SwitchKind::OtherCpu, "threads --keep-awake", 3000.0, 4000.0),
        cost(SwitchKind::Asleep, "threads --placement spread", 20_000.0, 25_000.0),
    ]);
    let used = Used {
        wall_ns: 1_000_000_000,
        cpu_ns: 400_000_000,
        voluntary: 29_000,
        involuntary: 1000,
        processes: Some(3),
        at_once: 2,
        idle_entries: Some(3000.0),
        interrupts: Some(6000.0),
        switches_of_all: 30_000.0,
        ..Used::default()
    };
    Impact::new(used, Prices { run: "run-1".to_owned(), state: quiet(0.004), costs })
}

#[test]
fn the_impact_of_switches() {
    assert_snapshot!(text::impact(&impact()), @"
    YES: its switches take 10 % of its time (9.3 to 12 %).
    In 1.00 s it and its 2 descendants used 400 ms of CPU time and made 30000
    switches per second, with at most 2 threads at once.

    - 10 % of its switches wake a sleeping CPU: 20.0–25.0 µs each
    - 10 % of its switches go to another CPU: 3.00–4.00 µs each
    - 80 % of its switches stay on one CPU: 1.00–1.20 µs each

    The costs are from run-1. QUIET: other programs took 0.4 % of the CPUs.
    ");
}
