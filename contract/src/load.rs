//! `--working-set` and `--stride`: memory that tasks touch at every hop, of the
//! programs that offer them.

use crate::Program;

/// So much that what else a program holds does not matter, in bytes.
const WORKING_SET: u64 = 4 << 20;

/// The driver, who has one too, may have gone when the tasks are looked at.
pub fn every_task_has_a_working_set_of_its_own(program: &Program) {
    let resident = |working_set: u64| {
        let flags = ["--tasks=5", "--iters=2", "--warmups=1", "--working-set"];
        let record = program.record(&[&flags[..], &[&working_set.to_string()]].concat());
        assert_eq!(record.parameters["working_set"], working_set);
        record.memory.expect("it looks at itself").rss_bytes
    };
    let sets = (resident(WORKING_SET) - resident(0)) as f64 / WORKING_SET as f64;
    assert!((4.8..6.2).contains(&sets), "{sets} working sets of 5 tasks");
}

/// Negative and fractional numbers, less than a word, more than there is.
pub fn working_sets_that_make_no_sense_are_usage_errors(program: &Program) {
    for bytes in ["-1", "1.5", "16KiB", "", "99999999999999"] {
        program.refuses(&["--working-set", bytes], &["--working-set"]);
    }
    for bytes in ["-1", "0", "7", "line"] {
        program.refuses(&["--working-set=64", "--stride", bytes], &["--stride"]);
    }
}

/// Before the first of them is made.
pub fn working_sets_that_fit_nowhere_are_refused(program: &Program) {
    let flags = ["--tasks=1000", "--working-set", "1000000000000"];
    program.run(&flags).failed(3, &["memory"]);
}
