//! Tasks that do not fit are refused before any exists, with exit code 3 and one line with the
//! limit and the number that fits; that many run.

use nix::sys::resource::Resource;

use crate::control_group::{ControlGroup, UNMOUNT};
use crate::invocation::{Invocation, Run};
use crate::{Program, can, machine, runs_natively, skip};

/// A run with this many tasks and few iterations.
fn short(program: &Program, tasks: u64) -> Invocation {
    program.with(&["--tasks", &tasks.to_string(), "--iters", "2", "--warmups", "0"])
}

/// The number of tasks that fit, from a refusal.
fn fitting(refusal: &Run) -> u64 {
    let number = refusal.stderr.split("enough for ").nth(1).and_then(|text| text.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{refusal:?}"))
}

/// Under a limit that refuses 100 tasks and is named `limit`, as many run as the refusal says; one
/// more is refused.
fn check_refusal(limited: impl Fn(u64) -> Invocation, limit: &str) {
    let run = limited(100).run().failed(3, &[limit]);
    assert_eq!(run.stdout, "");
    let fitting = fitting(&run);
    let observed = limited(fitting).run();
    assert_eq!(observed.code, Some(0), "{observed:#?}");
    limited(fitting + 1).run().failed(3, &[limit]);
}

/// With these flags, whose tasks use files. Of two consecutive limits, one leaves a file unused by
/// channels of two files. The program raises a soft limit itself.
pub fn check_that_files_meet_their_limit(program: &Program, flags: &[&str]) {
    for files in [64, 65] {
        let limited = |tasks| {
            let run = short(program, tasks).and(flags).and(&["--command", "ls /proc/{pid}/fd"]);
            run.limited(Resource::RLIMIT_NOFILE, 32, files)
        };
        check_refusal(limited, "RLIMIT_NOFILE");
    }
}

/// The limit is set on a parent of the program's group.
pub fn the_pids_limit_of_an_ancestor_group_refuses(program: &Program) {
    let Some(group) = group_of(50) else { return };
    let cpu = harness::cpus::allowed().expect("the CPUs of this process")[0];
    let inside = |tasks| short(program, tasks).from_shell(&group.entering()).on_cpus(&[cpu]);
    check_refusal(inside, &group.limit_file().display().to_string());
}

/// The task that does not fit is named; those before it end, and so does the program.
pub fn a_limit_that_cannot_be_seen_ends_the_tasks_created_until_then(program: &Program) {
    check_unseen(program, 50, &["--tasks=100"], "task ");
}

/// A program that shows its own limits.
const CAT: Program = Program { name: "cat", path: "/bin/cat", ..Program::NEW };

/// Whether a program's limit of this kind reaches the kernel; skips the test otherwise: an emulator
/// keeps those on memory to itself.
pub fn reaches_the_kernel(resource: Resource) -> bool {
    // Enough for that program, below what a user may have at most, and no other limit's number.
    let most = (5 << 20) + 4096;
    let shown = CAT.with(&["/proc/self/limits"]).limited(resource, most, most).run().stdout;
    let reaches = shown.contains(&most.to_string());
    if !reaches {
        skip(&format!("{resource:?}"), "an emulator does not pass it on to the kernel");
    }
    reaches
}

/// A group that may have this many threads; `None` if none can be created.
fn group_of(most: u64) -> Option<ControlGroup> {
    let group = ControlGroup::with_most_threads(most);
    group.inspect_err(|why| skip("the limit pids.max of a control group", why)).ok()
}

/// Runs a program that may have at most `most` threads, including its own, and that cannot see the
/// limit in the file system; `None` if that cannot be arranged. It must fail with an error that
/// names `what` could not be created.
pub fn check_unseen(program: &Program, most: u64, flags: &[&str], what: &str) -> Option<Run> {
    let group = group_of(most)?;
    let script = group.entering_unseen(UNMOUNT);
    // Who may not mount may not hide it, nor who has groups of a user namespace outside.
    let can_hide = can(
        "a limit that cannot be seen",
        crate::command("sh").args(["-c", &script, "sh", "true"]),
    );
    can_hide.then(|| program.with(flags).from_shell(&script).run().failed(3, &[what]))
}

/// Worker threads of a runtime count towards a group's limit although they are no tasks; if the
/// limit is not visible, none may be missing silently. `flags` request more than 50 of them.
pub fn check_that_workers_meet_the_pids_limit(program: &Program, flags: &[&str]) {
    let Some(group) = group_of(50) else { return };
    let run = short(program, 3).and(flags).from_shell(&group.entering()).run();
    run.failed(3, &[&group.limit_file().display().to_string()]);
    check_unseen(program, 50, flags, "runtime");
}

/// As many threads as fit into the machine's memory maps are created: with one map too few, the
/// standard library aborts the program.
pub fn check_that_as_many_threads_run_as_fit(program: &Program, flags: &[&str]) {
    if !runs_natively("as many threads as fit") {
        return;
    }
    let _machine = machine::alone();
    let run = program.with(flags).and(&["--tasks=4000000000"]).run();
    let fit = fitting(&run);
    if !run.stderr.contains("vm.max_map_count") || fit > 40_000 {
        return skip("as many threads as fit", "vm.max_map_count did not refuse, or refused late");
    }
    let _ = program.with(flags).and(&["--tasks", &fit.to_string()]).run().succeeded();
}
