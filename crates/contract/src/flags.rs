//! Flags, outputs, `--command` and the load of a task at every hop.

use std::collections::BTreeSet;
use std::fs::File;

use harness::record::{Ending, Record};

use crate::Program;

/// `--help` lists the same flags as the record's parameters, including the program's. With
/// `--trace` nothing is measured.
pub fn help_and_parameters_have_the_same_flags(program: &Program) {
    let help = program.run(&["--help"]).succeeded().stdout;
    let offered: BTreeSet<_> = help
        .lines()
        .filter_map(|line| line.trim_start().trim_start_matches("-h, ").strip_prefix("--"))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|flag| !["help", "version", "trace"].contains(flag))
        .map(|flag| flag.replace('-', "_"))
        .collect();
    let recorded: BTreeSet<_> = program.short().record().parameters.into_keys().collect();
    assert_eq!(recorded, offered, "{help}");
}

/// One line that names the flag, exit code 2, and nothing is measured.
pub fn values_that_make_no_sense_are_usage_errors(program: &Program) {
    // Colours, a bell, text that runs backwards, a forged line.
    let stray = "\u{1b}[31m\u{7}\u{202e}\u{9b}stray\nforged";
    for (flag, values) in [
        ("--tasks", &["0", "4294967296"][..]),
        ("--iters", &["0"]),
        ("--max-time", &["0", "nan"]),
        ("--cpus", &["99999", "1-0"]),
        ("--histogram", &["/nonexistent/x", "/"]),
        ("--work", &["2000000000"]),
        ("--working-set", &["99999999999999"]),
        ("--placement", &[stray]),
    ] {
        for value in values {
            assert_eq!(program.run(&[flag, value]).failed(2, &[flag]).stdout, "");
        }
    }
    program.refuses(&[stray], &["stray"]);
}

/// The output fails as on a full disk, and closes as with `| head -1`, whose reader has seen enough.
pub fn an_output_that_fails_is_a_failure_and_one_that_closes_is_not(program: &Program) {
    for more in [&[][..], &["--json"], &["--help"]] {
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        program.short().and(more).stdout(full).run().failed(1, &[]);
        let (_, without_a_reader) = std::io::pipe().expect("a pipe");
        let _ = program.short().and(more).stdout(without_a_reader).run().succeeded();
    }
}

/// The `{pid}` of a command is the program's, and all threads and pipes of the tasks exist. If there
/// is a record, the command's output goes to standard error. If the command fails, the measurements
/// are still reported, marked incomplete.
pub fn a_command_sees_the_tasks_alive(program: &Program) {
    let look = "ls /proc/{pid}/task | wc -l; ls /proc/{pid}/fd | wc -l; exit 7";
    let run = program.run(&["--tasks=40", "--iters=5", "--json", "--command", look]);
    let [threads, files, _] = run.complaints()[..] else { panic!("three lines: {run:#?}") };
    let count = |text: &str| text.trim().parse::<u64>().expect("a count");
    assert!(count(threads) > 40 && count(files) >= 80, "{run:#?}");
    let record = run.record();
    let ended = (run.code, record.complete, record.ended_by, record.iterations);
    assert_eq!(ended, (Some(1), false, Ending::Error, 5));
    assert!(record.error.is_some());
}

/// The fastest lap and the fastest unit of several runs: any one of them may have been disturbed.
pub fn every_hop_has_its_work(program: &Program) {
    let records = [(); 3].map(|()| program.short().and(&["--work=50000"]).record());
    let least = |figure: fn(&Record) -> f64| records.iter().map(figure).fold(f64::MAX, f64::min);
    let work_ns = least(|record| {
        let work = record.work.expect("it offers --work");
        work.units as f64 * work.ns_per_unit.expect("there was work")
    });
    let hop_ns = least(|record| {
        let lap = record.principal().expect("a measurement");
        lap.min_ns as f64 / lap.operations as f64
    });
    // The two are not measured at the same moment.
    assert!(hop_ns > 0.7 * work_ns, "a hop of {hop_ns} ns has {work_ns} ns of work");
}

/// With work, a unit of it is timed between two laps. No hop takes more CPU time for that. The least of several
/// runs: any one of them may have been disturbed.
pub fn units_timed_between_laps_cost_no_hop(program: &Program) {
    let cpu_ns = |work: &str| {
        let flags = ["--iters=1000", "--placement=same-cpu", work];
        let runs = [(); 3].map(|()| {
            let record = program.few_tasks(1).and(&flags).record();
            let cpu = record.cpu.expect("CPU time is known");
            cpu.user_ns_per_operation + cpu.system_ns_per_operation
        });
        runs.into_iter().fold(f64::MAX, f64::min)
    };
    let [without, with] = ["--work=0", "--work=1"].map(cpu_ns);
    assert!(with < 1.5 * without, "{with} ns of CPU time with a unit of work, {without} without");
}

/// The driver has one too, but may have ended when the memory is read.
pub fn every_task_has_a_working_set(program: &Program) {
    const WORKING_SET: u64 = 4 << 20;
    let resident = |working_set: u64| {
        let working_set = format!("--working-set={working_set}");
        program.memory(&["--tasks=5", &working_set], "VmRSS")
    };
    let sets = (resident(WORKING_SET) - resident(0)) as f64 / WORKING_SET as f64;
    assert!((4.8..6.2).contains(&sets), "{sets} working sets of 5 tasks");
    program.run(&["--tasks=1000", "--working-set=1000000000000"]).failed(3, &["memory"]);
}
