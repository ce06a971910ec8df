//! What every Brigade program keeps, tested from outside: flags in, record out.
//!
//! A program's `tests/contract.rs` describes the program in a [`Program`],
//! hands it to [`keeps!`], which makes one test of each clause of the contract,
//! and adds the tests that are the program's own:
//!
//! ```ignore
//! const PROGRAM: Program = Program {
//!     name: env!("CARGO_PKG_NAME"),
//!     path: env!("CARGO_BIN_EXE_thread-brigade"),
//!     measurements: &[Measurement::HOPS],
//!     spread: Spread::Offered(&[]),
//!     traces: true,
//!     claimed_switches: Some(1.0),
//!     files_per_task: 2,
//!     threads_per_task: 1,
//!     fixed_tasks: None,
//! };
//!
//! contract::keeps!(PROGRAM);
//! ```
//!
//! A clause is a public function of a [`Program`], whose name is the sentence
//! that it tests; the modules sort them by subject. [`invocation`] runs a
//! program: under a mask, under a limit, with a standard output that fails.
//!
//! No clause asserts a time, and none sleeps to wait for something: what must
//! happen first is polled for, with a deadline.

#![expect(clippy::missing_panics_doc, reason = "to panic is how a clause says that it is not kept")]

pub mod command;
pub mod control_group;
pub mod ending;
pub mod executable;
pub mod histogram;
pub mod invocation;
pub mod limits;
pub mod load;
pub mod machine;
pub mod output;
pub mod placement;
pub mod program;
pub mod record;
pub mod repository;
pub mod scale;
mod skip;
pub mod usage;
pub mod work;

pub use program::{Measurement, Program, Spread};
pub use skip::{fits_here, has_two_cpus, skip};

/// Makes a test of each clause of the contract that `$program`, a constant of
/// type [`Program`], has to keep. `keeps!(PROGRAM)` has those that every program
/// is tested for; `with --tasks` and `with --work` add those of programs that
/// offer these flags, the latter with `--working-set`. The rest is the harness's
/// doing and the same in each program: `keeps!(PROGRAM, in full)` tests one of them
/// for all of it.
#[macro_export]
macro_rules! keeps {
    ($program:expr) => {
        $crate::keeps! { $program;
            output::the_summary_begins_with_the_counts_and_the_mean,
            output::help_names_every_common_flag_in_80_columns,
            output::an_output_that_cannot_be_written_is_a_failure,
            record::the_record_is_valid_by_its_schema,
            record::the_record_holds_what_was_asked_for,
            record::the_parameters_are_the_flags_of_the_help,
            record::measurements_are_those_described,
            record::switches_are_counted_and_claimed_as_described,
            placement::an_inherited_mask_is_kept,
            limits::without_proc_it_ends_with_one_line,
            usage::flags_that_do_not_exist_are_usage_errors,
            command::the_pid_is_that_of_the_program,
            ending::max_time_ends_the_measuring_early,
            ending::an_interruption_is_marked_in_the_record,
        }
    };
    ($program:expr, with --tasks) => {
        $crate::keeps!($program);
        $crate::keeps! { $program;
            record::one_task_and_one_iteration_are_enough,
            command::the_tasks_are_alive,
            limits::more_tasks_than_any_machine_holds_are_refused,
            limits::the_file_limit_refuses_what_does_not_fit_and_nothing_else,
            limits::the_address_space_limit_refuses,
        }
    };
    ($program:expr, with --tasks --work) => {
        $crate::keeps!($program, with --tasks);
        $crate::keeps! { $program;
            work::every_hop_has_it,
            load::every_task_has_a_working_set_of_its_own,
            load::working_sets_that_fit_nowhere_are_refused,
        }
    };
    ($program:expr, in full) => {
        $crate::keeps!($program, with --tasks --work);
        $crate::keeps! { $program;
            output::no_line_of_a_summary_is_wider_than_80_columns,
            output::quiet_prints_nothing,
            output::version_is_the_name_and_the_version,
            output::a_debug_build_warns_and_a_release_build_does_not,
            output::a_reader_that_went_away_is_no_failure,
            output::standard_input_does_not_matter,
            record::threads_is_another_name_for_tasks,
            record::percentiles_are_in_order_between_the_extremes,
            record::figures_per_operation_and_per_task_follow_from_the_mean,
            record::the_histogram_decodes_to_the_same_percentiles,
            record::memory_is_that_of_this_process,
            placement::free_tasks_may_run_on_every_cpu_of_the_inherited_mask,
            placement::on_the_same_cpu_no_hop_crosses,
            placement::spread_takes_every_cpu_or_is_refused,
            placement::cpus_narrow_the_mask,
            placement::spread_on_one_cpu_is_a_usage_error,
            placement::a_cpu_that_is_not_ours_is_a_usage_error,
            usage::numbers_that_make_no_sense_are_usage_errors,
            usage::lists_of_cpus_that_make_no_sense_are_usage_errors,
            usage::a_histogram_that_cannot_be_written_is_a_usage_error,
            usage::what_an_error_quotes_cannot_act_on_a_terminal,
            limits::a_soft_file_limit_is_raised,
            limits::the_users_thread_limit_refuses,
            limits::the_pids_limit_of_an_ancestor_group_refuses,
            limits::a_limit_that_cannot_be_seen_ends_the_tasks_created_until_then,
            command::beside_a_record_its_output_goes_to_standard_error,
            command::its_failure_is_the_programs_and_the_summary_is_printed,
            ending::an_interruption_is_marked_in_the_summary,
            ending::to_be_stopped_and_continued_disturbs_nothing,
            ending::a_second_interruption_ends_a_program_that_is_stuck,
            histogram::it_has_the_header_and_columns_that_plotters_read,
            histogram::its_rows_count_the_samples_of_the_record,
            histogram::it_is_written_beside_a_summary_too,
            histogram::it_does_not_take_the_summary_along_when_it_fails,
            work::amounts_that_make_no_sense_are_usage_errors,
            work::the_record_tells_the_units_and_their_length,
            work::without_the_flag_there_is_none,
            load::working_sets_that_make_no_sense_are_usage_errors,
        }
    };
    ($program:expr; $($subject:ident :: $clause:ident,)+) => {
        $(
            #[test]
            fn $clause() {
                $crate::$subject::$clause(&$program);
            }
        )+
    };
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// A clause that `keeps!` does not name would test nothing.
    #[test]
    fn every_clause_is_one_that_programs_must_keep() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let list = include_str!("lib.rs");
        let mut clauses = 0;
        for file in fs::read_dir(sources).expect("own sources") {
            let path = file.expect("an entry").path();
            let subject = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
            let text = fs::read_to_string(&path).expect("a source");
            let names = text.lines().filter_map(|line| line.strip_prefix("pub fn "));
            for name in names.filter_map(|line| line.strip_suffix("(program: &Program) {")) {
                assert!(list.contains(&format!(" {subject}::{name},")), "{subject}::{name}");
                clauses += 1;
            }
        }
        assert!(clauses > 0, "no clause was recognised");
    }
}
