//! Tasks that do not fit are refused before any exists, with exit code 3 and one line with the
//! limit, its value, the need and the command that raises it; tasks that fit run.

use std::process::{Command, Stdio};

use nix::sys::resource::Resource;

use crate::control_group::ControlGroup;
use crate::invocation::{Invocation, Run};
use crate::{Program, machine, skip};

/// A run with this many tasks and few iterations.
fn short(program: &Program, tasks: u64) -> Invocation {
    program.with(&["--tasks", &tasks.to_string(), "--iters", "2", "--warmups", "0"])
}

/// The number of tasks that fit, from a refusal.
fn fitting(refusal: &Run) -> u64 {
    let line = refusal.complaints()[0];
    let (_, after) = line.split_once("enough for ").unwrap_or_else(|| panic!("{line}"));
    let number = after.split(' ').next().expect("a word");
    number.parse().unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Under a limit that refuses 100 tasks with these words, as many run as the refusal says; one more
/// is refused. Returns how many.
fn check_refusal(limited: impl Fn(u64) -> Invocation, words: &[&str]) -> u64 {
    let run = limited(100).run().failed(3, words);
    assert_eq!(run.stdout, "");
    let fitting = fitting(&run);
    let observed = limited(fitting).run();
    assert_eq!(observed.code, Some(0), "{observed:#?}");
    limited(fitting + 1).run().failed(3, &words[..1]);
    fitting
}

/// The program raises a soft limit itself.
pub fn the_file_limit_refuses_what_does_not_fit_and_nothing_else(program: &Program) {
    check_that_files_meet_their_limit(program, &[]);
    let _ = short(program, 100).limited(Resource::RLIMIT_NOFILE, 32, 1024).run().succeeded();
}

/// With these flags, whose tasks use files. Of two consecutive limits, one leaves a file unused by
/// channels of two files.
pub fn check_that_files_meet_their_limit(program: &Program, flags: &[&str]) {
    for files in [64, 65] {
        let limited = |tasks| {
            let run = short(program, tasks).and(flags).and(&["--command", "ls /proc/{pid}/fd"]);
            run.limited(Resource::RLIMIT_NOFILE, files, files)
        };
        check_refusal(limited, &["RLIMIT_NOFILE", &format!(" is {files} "), "prlimit"]);
    }
}

/// Stacks of threads count towards it.
pub fn the_address_space_limit_refuses(program: &Program) {
    // A runtime has a worker per CPU by default, and each worker an arena.
    let cpus = harness::cpus::allowed().expect("the CPUs of this process").len() as u64;
    // 64 MiB, and a stack.
    let bytes = (1 << 30) + cpus * (67 << 20);
    let limited = |tasks| short(program, tasks).limited(Resource::RLIMIT_AS, bytes, bytes);
    let _ = limited(3).run().succeeded();
    limited(bytes / 1024).run().failed(3, &["RLIMIT_AS", &bytes.to_string(), "prlimit"]);
}

/// The limit is set on a parent of the program's group.
pub fn the_pids_limit_of_an_ancestor_group_refuses(program: &Program) {
    let Some(group) = group_of(50) else { return };
    let cpu = harness::cpus::allowed().expect("the CPUs of this process")[0];
    let inside = |tasks| short(program, tasks).from_shell(&group.entering()).on_cpus(&[cpu]);
    let file = group.limit_file().display().to_string();
    check_refusal(inside, &[&file, " is 50 ", &format!("tee {file}")]);
}

/// The task that does not fit is named; those before it end, and so does the program.
pub fn a_limit_that_cannot_be_seen_ends_the_tasks_created_until_then(program: &Program) {
    check_unseen(program, 50, &["--tasks=100"], "cannot create task ");
}

/// A group that may have this many threads; `None` if none can be created.
fn group_of(most: u64) -> Option<ControlGroup> {
    let group = ControlGroup::with_most_threads(most);
    group.inspect_err(|why| skip("the limit pids.max of a control group", why)).ok()
}

/// Runs a program that may have at most `most` threads, including its own, and that cannot see the
/// limit in the file system; `None` if that cannot be arranged.
pub fn unseen(program: &Program, most: u64, flags: &[&str]) -> Option<Run> {
    Some(program.with(flags).from_shell(&group_of(most)?.entering_unseen()).run())
}

/// Such a run ends with an error that names what could not be created.
pub fn check_unseen(program: &Program, most: u64, flags: &[&str], what: &str) {
    if let Some(run) = unseen(program, most, flags) {
        run.failed(3, &[what, "Resource temporarily unavailable"]);
    }
}

/// Worker threads of a runtime count towards a group's limit although they are no tasks; if the
/// limit is not visible, none may be missing silently. `flags` request more than 50 of them.
pub fn check_that_workers_meet_the_pids_limit(program: &Program, flags: &[&str]) {
    let Some(group) = group_of(50) else { return };
    let file = group.limit_file().display().to_string();
    let run = short(program, 3).and(flags).from_shell(&group.entering()).run();
    run.failed(3, &[&file, " is 50 "]);
    check_unseen(program, 50, flags, "cannot create the tokio runtime");
}

/// Root is exempt from the limit, so it becomes a user without any other thread here.
pub fn the_users_thread_limit_refuses(program: &Program) {
    let user = 100_000 + std::process::id();
    let script = format!(r#"exec setpriv --reuid={user} --regid={user} --clear-groups "$@""#);
    if !succeeds(&script, &["test", "-x", program.path]) {
        return skip("the limit RLIMIT_NPROC", "cannot run the program as another user");
    }
    let limited =
        |tasks| short(program, tasks).from_shell(&script).limited(Resource::RLIMIT_NPROC, 50, 50);
    let fitting = check_refusal(limited, &["RLIMIT_NPROC", " is 50 ", "--nproc="]);
    assert_eq!(fitting, 49, "the program itself is the only other thread");
}

/// An empty folder is mounted over `/proc`, the source of limits and counters.
pub fn without_proc_it_ends_with_one_line(program: &Program) {
    let hide = |then: &str| {
        format!("exec unshare --mount sh -c 'mount -t tmpfs none /proc && {then}' sh \"$@\"")
    };
    if !succeeds(&hide("true"), &[]) {
        return skip("a machine without /proc", "a file system cannot be mounted over it");
    }
    program.short().from_shell(&hide("exec \"$@\"")).run().failed(1, &["/proc"]);
}

/// As many threads as fit into the machine's memory maps are created: with one map too few, the
/// standard library aborts the program.
pub fn check_that_as_many_threads_run_as_fit(program: &Program, flags: &[&str]) {
    let _machine = machine::alone();
    let run = program.with(flags).and(&["--tasks=4000000000"]).run();
    let fit = fitting(&run);
    if !run.stderr.contains("vm.max_map_count") || fit > 40_000 {
        return skip("as many threads as fit", "vm.max_map_count did not refuse, or refused late");
    }
    let _ = program.with(flags).and(&["--tasks", &fit.to_string()]).run().succeeded();
}

fn succeeds(script: &str, command: &[&str]) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).args(command).stdin(Stdio::null());
    shell.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
