//! Limits: what does not fit is refused before a task exists, by exit code 3
//! and one line with the limit, its value, the need and the command that
//! raises it; what fits runs.

use nix::sys::resource::Resource;

use crate::control_group::ControlGroup;
use crate::invocation::{Invocation, Run};
use crate::{Program, skip};

/// What a count of tasks is followed by in a refusal.
const FITS: &str = " tasks fit into";

/// A run of so many tasks and few iterations.
fn short(program: &Program, tasks: u64) -> Invocation {
    program.with(&["--tasks", &tasks.to_string(), "--iters", "2", "--warmups", "0"])
}

/// The number of tasks that a refusal says would fit.
fn fitting(refusal: &Run) -> u64 {
    let line = refusal.complaints()[0];
    let (before, _) = line.split_once(FITS).unwrap_or_else(|| panic!("{line}"));
    let number = before.rsplit(' ').next().expect("a word");
    number.parse().unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// As many as `--tasks` takes.
pub fn more_tasks_than_any_machine_holds_are_refused(program: &Program) {
    let run = short(program, u32::MAX.into()).run().failed(3, &["4294967295 tasks need "]);
    assert!(fitting(&run) < u32::MAX.into());
    assert_eq!(run.stdout, "");
}

/// A count that fits by the refusal's own word runs, and can be looked at while
/// it does; one more does not fit.
pub fn the_file_limit_refuses_what_does_not_fit_and_nothing_else(program: &Program) {
    // Of two limits in a row one leaves no file over, as a channel takes two.
    for files in [64, 65] {
        check_file_limit(program, files);
    }
}

fn check_file_limit(program: &Program, files: u64) {
    let limited = |tasks| short(program, tasks).limited(Resource::RLIMIT_NOFILE, files, files);
    if program.files_per_task == 0 {
        let _ = limited(100).run().succeeded();
        return;
    }
    let value = format!(" is {files} ");
    let words = ["100 tasks need ", " open files", "RLIMIT_NOFILE", &value, "prlimit"];
    let run = limited(100).run().failed(3, &words);
    let fitting = fitting(&run);
    let observed = limited(fitting).and(&["--json", "--command", "ls /proc/{pid}/fd >&2"]).run();
    assert_eq!(observed.code, Some(0), "{observed:#?}");
    let memory = observed.record().memory;
    assert!(memory.is_some(), "no file was left to read it from: {observed:#?}");
    limited(fitting + 1).run().failed(3, &["RLIMIT_NOFILE"]);
}

/// The program does itself what it may do itself.
pub fn a_soft_file_limit_is_raised(program: &Program) {
    let run = short(program, 100).limited(Resource::RLIMIT_NOFILE, 32, 1024).run();
    let _ = run.succeeded();
}

/// Stacks of threads and memory of tasks meet it. Channels do not, and of
/// programs that open them the file limit may be tighter.
pub fn the_address_space_limit_refuses(program: &Program) {
    const BYTES: u64 = 1 << 30;
    let limited = |tasks| short(program, tasks).limited(Resource::RLIMIT_AS, BYTES, BYTES);
    let _ = limited(3).run().succeeded();
    if program.threads_per_task > 0 || program.files_per_task == 0 {
        let words = ["bytes of address space", "RLIMIT_AS", "1073741824", "ulimit -v"];
        limited(1_000_000).run().failed(3, &words);
    }
}

/// The limit stands in a group above the program's own. Tasks that are no
/// threads of the kernel do not meet it.
pub fn the_pids_limit_of_an_ancestor_group_refuses(program: &Program) {
    let group = match ControlGroup::with_most_threads(50) {
        Ok(group) => group,
        Err(why) => return skip("the limit pids.max of a control group", &why),
    };
    let cpu = harness::cpus::allowed().expect("the CPUs of this process")[0];
    let inside = |tasks| short(program, tasks).from_shell(&group.entering()).on_cpus(&[cpu]).run();
    if program.threads_per_task == 0 {
        let _ = inside(100).succeeded();
        return;
    }
    let file = group.limit_file().display().to_string();
    let raise = format!("| sudo tee {file}");
    let run = inside(100).failed(3, &["100 tasks need 100 threads", &file, " is 50 ", &raise]);
    let fitting = fitting(&run);
    let _ = inside(fitting).succeeded();
    inside(fitting + 1).failed(3, &[&file]);
}

/// Worker threads of a runtime count towards the limit of a group although no
/// task does. `flags` ask for more than 50 of them.
pub fn check_that_workers_meet_the_pids_limit(program: &Program, flags: &[&str]) {
    match ControlGroup::with_most_threads(50) {
        Err(why) => skip("the limit pids.max of a control group", &why),
        Ok(group) => {
            let file = group.limit_file().display().to_string();
            let run = short(program, 3).and(flags).from_shell(&group.entering()).run();
            run.failed(3, &[" threads, but ", &file, " is 50 "]);
        }
    }
}
