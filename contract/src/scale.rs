//! Scale: what grows with the number of tasks grows no faster than it.

use std::mem::MaybeUninit;
use std::process::{Command, Stdio};

use crate::{Program, machine};

/// How often each number of tasks is run. The least time of several is that of
/// the run that was disturbed least.
const RUNS: usize = 3;

/// Checks that a run of one iteration with four times as many tasks takes less
/// than eight times the CPU time, set-up and shut-down included: linear is
/// four, and what grows with the square sixteen. `tasks` must be so many that
/// the process itself, which starts and ends, is little beside them.
pub fn check_that_cpu_time_is_linear(program: &Program, flags: &[&str], tasks: u32) {
    let _machine = machine::alone();
    let mut least = [f64::INFINITY; 2];
    for _ in 0..RUNS {
        for (tasks, least) in [tasks, 4 * tasks].into_iter().zip(&mut least) {
            *least = least.min(cpu_seconds(program, flags, tasks));
        }
    }
    let [few, many] = least;
    assert!(
        few > 0.0 && many < 8.0 * few,
        "{few} s for {tasks} tasks, {many} s for 4 times as many"
    );
}

/// The CPU time of one run in seconds, as the kernel tells who waits for its end:
/// to the microsecond, where clock ticks would be too coarse.
fn cpu_seconds(program: &Program, flags: &[&str], tasks: u32) -> f64 {
    let mut command = Command::new(program.path);
    command.args(["--quiet", "--iters=1", "--warmups=0", "--tasks", &tasks.to_string()]);
    command.args(flags).stdin(Stdio::null()).stderr(Stdio::null());
    #[expect(clippy::zombie_processes, reason = "it is waited for by its number")]
    let child = command.spawn().unwrap_or_else(|error| panic!("starting {command:?}: {error}"));
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: the kernel writes both, which outlive the call; all zeros is a
    // value of `rusage`, so that it is one after a failure too.
    let (pid, usage) = unsafe {
        let pid = libc::wait4(child.id().cast_signed(), &raw mut status, 0, usage.as_mut_ptr());
        (pid, usage.assume_init())
    };
    assert_eq!((pid, status), (child.id().cast_signed(), 0), "{command:?}");
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
