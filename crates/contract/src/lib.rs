//! The contract: requirements on every Brigade program, tested from outside.
//!
//! A program's `tests/contract.rs` describes the program in a [`Program`] and passes it to
//! [`keeps!`], which creates a test for each clause: four for every program, and all of them for
//! one program, `in full`, since the harness implements the rest for all alike.
//!
//! A clause is a public function of a [`Program`]. None asserts a time, and none sleeps to wait for
//! something: conditions are polled, with a deadline.

#![expect(missing_docs, clippy::missing_panics_doc, reason = "a clause panics; its name says when")]

pub mod control_group;
pub mod ending;
pub mod executable;
pub mod flags;
pub mod invocation;
pub mod limits;
pub mod machine;
pub mod placement;
pub mod process;
pub mod program;
pub mod record;
pub mod repository;
pub mod trace;

pub use machine::{can, fits_here, has_two_cpus, runs_natively, skip};
pub use process::command;
pub use program::{Measurement, Program};

/// Creates a test for each clause that `$program`, a constant of type [`Program`], must satisfy:
/// the four of every program, or all of them `in full`.
#[macro_export]
macro_rules! keeps {
    ($program:expr) => {
        $crate::keeps! { $program;
            record::the_record_is_valid,
            record::the_counts_agree_with_the_kernel,
            placement::the_placement_is_obeyed,
            ending::signals_keep_the_record_and_leave_no_process,
        }
    };
    ($program:expr, in full) => {
        $crate::keeps!($program);
        $crate::keeps! { $program;
            record::the_histogram_file_counts_the_samples,
            ending::max_time_ends_the_measuring_early,
            ending::a_second_interruption_ends_a_program_that_is_stuck,
            flags::help_and_parameters_have_the_same_flags,
            flags::values_that_make_no_sense_are_usage_errors,
            flags::an_output_that_fails_is_a_failure_and_one_that_closes_is_not,
            flags::a_command_sees_the_tasks_alive,
            flags::every_hop_has_its_work,
            flags::units_timed_between_laps_cost_no_hop,
            flags::every_task_has_a_working_set,
            limits::the_pids_limit_of_an_ancestor_group_refuses,
            limits::a_limit_that_cannot_be_seen_ends_the_tasks_created_until_then,
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
