//! `--command`: a look at the process from outside, while its tasks live.

use harness::record::Ending;

use crate::Program;
use crate::output::check_beginning;

/// Flags that make a run short.
const SHORT: &[&str] = &["--tasks", "40", "--iters", "5", "--warmups", "0"];

/// Bytes of a name that the kernel keeps.
const COMM_BYTES: usize = 15;

/// Not that of the shell that runs the command.
pub fn the_pid_is_that_of_the_program(program: &Program) {
    let flags = ["--quiet", "--command", "cat /proc/{pid}/comm"];
    let run = program.short().and(&flags).run().succeeded();
    let kept = program.name.len().min(COMM_BYTES);
    assert_eq!(run.stdout.trim_end(), &program.name[..kept], "{run:#?}");
}

/// All of them at once: their threads, beside the driver's, and their files.
pub fn the_tasks_are_alive(program: &Program) {
    let count = "ls /proc/{pid}/task | wc -l; ls /proc/{pid}/fd | wc -l";
    let run = program.with(SHORT).and(&["--quiet", "--command", count]).run().succeeded();
    let counts: Vec<u64> =
        run.stdout.lines().map(|line| line.trim().parse().expect("a count")).collect();
    let least = [program.threads_per_task * 40 + 1, program.files_per_task * 40];
    assert_eq!(counts.len(), 2, "{run:#?}");
    assert!(counts[0] >= least[0], "{} threads, not {} or more", counts[0], least[0]);
    assert!(counts[1] >= least[1], "{} files, not {} or more", counts[1], least[1]);
}

/// Standard output holds the record alone.
pub fn beside_a_record_its_output_goes_to_standard_error(program: &Program) {
    let run = program.with(SHORT).and(&["--json", "--command", "echo looked"]).run();
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.record().complete);
    assert_eq!(run.complaints(), ["looked"], "{run:#?}");
}

/// What was measured is told all the same, marked incomplete.
pub fn its_failure_is_the_programs_and_the_summary_is_printed(program: &Program) {
    let run = program.with(SHORT).and(&["--command", "false"]).run();
    let run = run.failed(1, &["--command 'false'", "exit status: 1"]);
    check_beginning(program, &run.stdout, "40 tasks, 5 iterations (incomplete: failed):");

    let run = program.with(SHORT).and(&["--command", "exit 7", "--json"]).run();
    let run = run.failed(1, &["--command 'exit 7'", "exit status: 7"]);
    let record = run.record();
    assert_eq!((record.complete, record.ended_by), (false, Ending::Error));
    assert_eq!(record.iterations, 5);
    assert!(record.error.is_some_and(|error| error.contains("'exit 7'")));
}
