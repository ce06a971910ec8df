//! Limits: what does not fit is refused before a task exists, by exit code 3
//! and one line with the limit, its value, the need and the command that
//! raises it; what fits runs.

use std::io::Write as _;
use std::process::{Command, Stdio};

use harness::Amounts;
use nix::sys::resource::Resource;
use nix::unistd::geteuid;

use crate::control_group::ControlGroup;
use crate::invocation::{Invocation, Run};
use crate::{Program, machine, skip};

/// What a count of tasks is followed by in a refusal.
const FITS: &str = " tasks fit into";

/// The most threads that a test makes.
const MOST_THREADS: u64 = 40_000;

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
    if program.files_per_task > 0 {
        return check_refusal_of_files(program, &[], files);
    }
    let run = short(program, 100).limited(Resource::RLIMIT_NOFILE, files, files).run();
    let _ = run.succeeded();
}

/// With these flags, whose tasks take files: a count that fits by the refusal's own word
/// runs, and one more does not fit.
pub fn check_that_files_meet_their_limit(program: &Program, flags: &[&str]) {
    for files in [64, 65] {
        check_refusal_of_files(program, flags, files);
    }
}

fn check_refusal_of_files(program: &Program, flags: &[&str], files: u64) {
    let limited =
        |tasks| short(program, tasks).and(flags).limited(Resource::RLIMIT_NOFILE, files, files);
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
    // A runtime has a worker on each CPU by default, and each worker an arena.
    let cpus = harness::cpus::allowed().expect("the CPUs of this process").len() as u64;
    let bytes = (1 << 30) + Amounts::workers(cpus).address_space_bytes;
    let limited = |tasks| short(program, tasks).limited(Resource::RLIMIT_AS, bytes, bytes);
    let _ = limited(3).run().succeeded();
    if program.threads_per_task > 0 || program.files_per_task == 0 {
        let value = bytes.to_string();
        let words = ["bytes of address space", "RLIMIT_AS", &value, "prlimit --pid $$ --as="];
        limited(bytes / 1024).run().failed(3, &words);
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

/// A limit that the check cannot see, because the program's view of the file
/// system lacks the control groups: the task that does not fit is named, those
/// before it end, and so does the program. What it may have measured until then
/// it tells.
pub fn a_limit_that_cannot_be_seen_ends_the_tasks_created_until_then(program: &Program) {
    if program.threads_per_task == 0 {
        let _ = short(program, 100).run().succeeded();
        return;
    }
    if let Some(run) = unseen(program, 50, &["--tasks=100"]) {
        let words = ["creating task ", "Resource temporarily unavailable", "those created until"];
        run.failed(3, &words);
    }
}

/// Runs a program that may have no more than `most` threads, its own included,
/// and that cannot see this; `None` where that cannot be arranged.
pub fn unseen(program: &Program, most: u64, flags: &[&str]) -> Option<Run> {
    match ControlGroup::with_most_threads(most) {
        Ok(group) => Some(program.with(flags).from_shell(&group.entering_unseen()).run()),
        Err(why) => {
            skip("a limit pids.max that cannot be seen", &why);
            None
        }
    }
}

/// As for tasks, of the worker threads of a runtime. `flags` ask for more than
/// 50 of them; with fewer, the runtime would be another one than was asked for.
pub fn check_that_no_worker_is_missing(program: &Program, flags: &[&str]) {
    if let Some(run) = unseen(program, 50, flags) {
        run.failed(3, &["creating the tokio runtime", "Resource temporarily unavailable"]);
    }
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

/// Stacks and arenas of a runtime's workers count towards the limit of address
/// space although no task does: what is left of it decides, at every amount,
/// whether the program runs or is refused. `flags` ask for 64 workers.
pub fn check_that_workers_meet_the_address_space_limit(program: &Program, flags: &[&str]) {
    let mut codes = Vec::new();
    for mib in [200, 400, 600, 800, 1000, 1024, 1100, 1200, 1400] {
        let limited =
            short(program, 3).and(flags).limited(Resource::RLIMIT_AS, mib << 20, mib << 20);
        let run = limited.run();
        codes.push(run.code);
        match run.code {
            Some(0) => drop(run.succeeded()),
            _ => drop(run.failed(3, &[" bytes of address space", "RLIMIT_AS"])),
        }
    }
    assert_eq!(codes[0], Some(3), "{codes:?}");
}

/// `RLIMIT_NPROC` makes an exception for root, who becomes somebody else here,
/// a user without any other thread.
pub fn the_users_thread_limit_refuses(program: &Program) {
    const THREADS: u64 = 50;
    let Some(become_somebody) = somebody(program) else { return };
    let limited = |tasks| {
        let run = short(program, tasks).from_shell(&become_somebody);
        run.limited(Resource::RLIMIT_NPROC, THREADS, THREADS).run()
    };
    if program.threads_per_task == 0 {
        let _ = limited(100).succeeded();
        return;
    }
    let words =
        ["100 tasks need 100 threads", "RLIMIT_NPROC", " is 50 ", "prlimit --pid $$ --nproc="];
    let run = limited(100).failed(3, &words);
    assert_eq!(run.stdout, "");
    let fitting = fitting(&run);
    assert_eq!(fitting, THREADS - 1, "the program itself is the user's only thread");
    let _ = limited(fitting).succeeded();
    limited(fitting + 1).failed(3, &["RLIMIT_NPROC"]);
}

/// The script of a shell that becomes `"$@"` as a user with no process, if
/// there is a way and that user may run the program.
fn somebody(program: &Program) -> Option<String> {
    const SKIPPED: &str = "the limit RLIMIT_NPROC";
    if !geteuid().is_root() {
        skip(SKIPPED, "only root can become a user without threads");
        return None;
    }
    let user = 100_000 + std::process::id();
    let script = format!(r#"exec setpriv --reuid={user} --regid={user} --clear-groups "$@""#);
    let may_run = succeeds(&script, &["test", "-x", program.path]);
    if !may_run {
        skip(SKIPPED, "setpriv is missing, or another user may not run the program");
    }
    may_run.then_some(script)
}

/// An empty folder lies over `/proc`, from which limits and counters are read.
pub fn without_proc_it_ends_with_one_line(program: &Program) {
    let hide = |then: &str| {
        format!("exec unshare --mount sh -c 'mount -t tmpfs none /proc && {then}' sh \"$@\"")
    };
    if !succeeds(&hide("true"), &[]) {
        return skip("a machine without /proc", "a file system cannot be mounted over it");
    }
    let run = program.short().from_shell(&hide("exec \"$@\"")).run();
    assert_eq!(run.failed(1, &["/proc is not mounted"]).stdout, "");
}

/// A machine that is this one but for `vm.max_map_count`: another file lies
/// over it, for the program alone.
/// A task of the program takes `per_task`.
pub fn check_that_few_maps_refuse(program: &Program, per_task: Amounts) {
    const MAPS: u64 = 300;
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    writeln!(file, "{MAPS}").expect("write to it");
    let file = file.path().display();
    let script = format!(
        "exec unshare --mount sh -c 'mount --bind {file} /proc/sys/vm/max_map_count && \
         exec \"$@\"' sh \"$@\""
    );
    if !succeeds(&script, &["true"]) {
        return skip("the limit vm.max_map_count", "a file cannot be mounted over it");
    }
    let limited = |tasks| short(program, tasks).from_shell(&script).run();
    let maps = 200 * per_task.maps + per_task.allocator(200).maps;
    let need = format!("200 tasks need {maps} memory maps");
    let words = [&need, "vm.max_map_count is 300 ", "sudo sysctl vm.max_map_count="];
    let run = limited(200).failed(3, &words);
    assert_eq!(run.stdout, "");
    assert!(fitting(&run) < MAPS / per_task.maps, "{run:#?}");
    let _ = limited(20).succeeded();
}

/// As many threads as fit into the machine's memory maps are created: one map
/// too few, and the standard library aborts the program. `flags` make a program
/// whose threads meet no other limit before.
pub fn check_that_as_many_threads_run_as_fit(program: &Program, flags: &[&str]) {
    let _machine = machine::alone();
    let run = program.with(flags).and(&["--tasks=4000000000"]).run();
    let fit = fitting(&run);
    if !run.stderr.contains("vm.max_map_count") || fit > MOST_THREADS {
        return skip("as many threads as fit", "it is not vm.max_map_count that refuses, or late");
    }
    let tasks = format!("--tasks={fit}");
    let _ = program.with(flags).and(&[&tasks]).run().succeeded();
}

/// As many threads as fit into a limit of address space are created, besides
/// what the allocator reserves for the first of them.
pub fn check_that_as_many_threads_run_as_fit_into_address_space(program: &Program, flags: &[&str]) {
    let _machine = machine::alone();
    let per_task = Amounts::thread(1 << 20);
    let bytes = per_task.allocator(u64::MAX).address_space_bytes + (512 << 20);
    let limited = |tasks: u64| {
        let tasks = format!("--tasks={tasks}");
        program.with(flags).and(&[&tasks]).limited(Resource::RLIMIT_AS, bytes, bytes).run()
    };
    let fit = fitting(&limited(1_000_000).failed(3, &["RLIMIT_AS"]));
    assert!((400..512).contains(&fit), "{fit} stacks of 1 MiB in 512 MiB");
    let _ = limited(fit).succeeded();
}

/// Whether a command ends well when a shell becomes it by `script`.
fn succeeds(script: &str, command: &[&str]) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).args(command).stdin(Stdio::null());
    shell.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
