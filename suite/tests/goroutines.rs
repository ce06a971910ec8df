//! `goroutine-brigade` as a program: flags in, record out. It is built here if
//! go is installed; without it these tests say so and test nothing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use contract::{Measurement, Program, Spread};

/// The program as the contract's clauses see it, built once; `None` without
/// go.
fn built() -> Option<Program> {
    static BINARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    Some(Program {
        name: "goroutine-brigade",
        path: BINARY.get_or_init(build).as_ref()?.to_str()?,
        measurements: &[Measurement::HOPS],
        spread: Spread::Refused,
        traces: true,
        claimed_switches: None,
        files_per_task: 0,
        threads_per_task: 0,
    })
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
            contract::skip("goroutine-brigade", &format!("go cannot be run: {error}"));
            None
        }
    }
}

/// The program, or the end of the test where there is no go to build it.
macro_rules! program {
    () => {
        match built() {
            Some(program) => program,
            None => return,
        }
    };
}

// All clauses but two: Go has no debug build to warn of, and writes the number
// 0.0 as 0, which is another JSON value; the module's own tests compare its
// fields with the schema.
contract::keeps! { program!();
    output::the_summary_begins_with_the_counts_and_the_mean,
    output::no_line_of_a_summary_is_wider_than_80_columns,
    output::quiet_prints_nothing,
    output::help_names_every_common_flag_in_80_columns,
    output::version_is_the_name_and_the_version,
    output::a_reader_that_went_away_is_no_failure,
    output::an_output_that_cannot_be_written_is_a_failure,
    output::standard_input_does_not_matter,
    record::the_record_holds_what_was_asked_for,
    record::the_parameters_are_the_flags_of_the_help,
    record::threads_is_another_name_for_tasks,
    record::measurements_are_those_described,
    record::percentiles_are_in_order_between_the_extremes,
    record::figures_per_operation_and_per_task_follow_from_the_mean,
    record::the_histogram_decodes_to_the_same_percentiles,
    record::one_task_and_one_iteration_are_enough,
    record::memory_is_that_of_this_process,
    record::switches_are_counted_and_claimed_as_described,
    placement::free_tasks_may_run_on_every_cpu_of_the_inherited_mask,
    placement::on_the_same_cpu_no_hop_crosses,
    placement::spread_takes_every_cpu_or_is_refused,
    placement::cpus_narrow_the_mask,
    placement::an_inherited_mask_is_kept,
    placement::spread_on_one_cpu_is_a_usage_error,
    placement::a_cpu_that_is_not_ours_is_a_usage_error,
    usage::numbers_that_make_no_sense_are_usage_errors,
    usage::lists_of_cpus_that_make_no_sense_are_usage_errors,
    usage::flags_that_do_not_exist_are_usage_errors,
    usage::a_histogram_that_cannot_be_written_is_a_usage_error,
    usage::what_an_error_quotes_cannot_act_on_a_terminal,
    limits::more_tasks_than_any_machine_holds_are_refused,
    limits::the_file_limit_refuses_what_does_not_fit_and_nothing_else,
    limits::a_soft_file_limit_is_raised,
    limits::the_address_space_limit_refuses,
    limits::the_pids_limit_of_an_ancestor_group_refuses,
    limits::a_limit_that_cannot_be_seen_ends_the_tasks_created_until_then,
    command::the_pid_is_that_of_the_program,
    command::the_tasks_are_alive,
    command::beside_a_record_its_output_goes_to_standard_error,
    command::its_failure_is_the_programs_and_the_summary_is_printed,
    ending::max_time_ends_the_measuring_early,
    ending::an_interruption_is_marked_in_the_summary,
    ending::an_interruption_is_marked_in_the_record,
    ending::to_be_stopped_and_continued_disturbs_nothing,
    ending::a_second_interruption_ends_a_program_that_is_stuck,
    histogram::it_has_the_header_and_columns_that_plotters_read,
    histogram::its_rows_count_the_samples_of_the_record,
    histogram::it_is_written_beside_a_summary_too,
    histogram::it_does_not_take_the_summary_along_when_it_fails,
    work::amounts_that_make_no_sense_are_usage_errors,
    work::the_record_tells_the_units_and_their_length,
    work::without_the_flag_there_is_none,
    work::every_hop_has_it,
}

#[test]
fn its_version_is_that_of_the_workspace() {
    assert_eq!(program!().record(&["--iters=1"]).version, env!("CARGO_PKG_VERSION"));
}

#[test]
fn one_worker_claims_no_switches_and_several_nothing() {
    let program = program!();
    for (workers, claimed) in [("1", Some(0.0)), ("2", None)] {
        let record = program.record(&["--tasks=3", "--iters=5", "--workers", workers]);
        assert_eq!(record.switches.expect("switches").expected_per_operation, claimed);
    }
}

#[test]
fn creation_measures_each_step() {
    let program = program!();
    let record = program.record(&["creation", "--tasks=100", "--iters=10", "--warmups=2"]);
    let steps: Vec<_> =
        record.measurements.iter().map(|step| (step.name.as_str(), step.count)).collect();
    assert_eq!(steps, [("create", 10), ("join", 10), ("create_cold", 1), ("start", 1000)]);
    assert!(record.measurements[..3].iter().all(|step| step.operations == 100));
}

#[test]
fn memory_is_read_at_growing_counts() {
    let program = program!();
    let record = program.record(&["memory", "--tasks=4000", "--steps=4"]);
    assert_eq!((record.tasks, record.iterations, record.complete), (4000, 4, true));
    let summary = program.run(&["memory", "--tasks=4000", "--steps=4"]).succeeded().stdout;
    assert!(summary.starts_with("4000 tasks, 4 iterations:\n"), "{summary}");
    assert!(summary.lines().last().is_some_and(|line| line.starts_with("per goroutine:")));
}

#[test]
fn what_cannot_be_followed_is_told_with_the_reason() {
    let program = program!();
    for (flags, reason) in [
        (&["--workers=0"][..], "--workers 0: not between 1 and 1024"),
        (&["--placement=spread"], "--placement spread: Go's scheduler moves goroutines"),
        (&["--moon"], "--moon: there is no such flag"),
        (&["--tasks"], "--tasks: needs a value"),
        (&["--tasks=1", "--threads=1"], "--tasks is given twice"),
        (&["--quiet", "more"], "unexpected argument 'more'"),
        (&["creation", "--work=5"], "--work: there is no such flag"),
        (&["memory", "--iters=5"], "--iters: there is no such flag"),
        (&["memory", "--steps=2"], "--steps 2: not between 3 and 1000"),
        (&["memory", "--tasks=5", "--steps=6"], "--steps 6: there are only 5 tasks"),
        (&["tea"], "unknown sub-command 'tea'; known: brigade, creation, memory"),
    ] {
        program.refuses(flags, &[reason]);
    }
}
