use std::io::{self, Write as _};

use harness::limits::{self, Kind, Need};

/// Says that a clause cannot be tested on this machine. It does not use
/// `eprintln!`, which the test runner swallows when a test passes.
pub fn skip(what: &str, why: &str) {
    let _ = writeln!(io::stderr(), "SKIPPED: {what}: {why}");
}

/// Whether this process may use two CPUs or more.
pub fn has_two_cpus() -> bool {
    std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() >= 2)
}

/// Whether the limits of this machine leave room for so many tasks; says so where
/// they do not.
pub fn fits_here(kind: Kind, tasks: u64) -> bool {
    let need = Need { tasks, per_task: kind.per_task(), fixed: kind.fixed() };
    let fit = limits::fitting(&need);
    if fit < tasks {
        skip(&format!("{tasks} {}", kind.tasks()), &format!("only {fit} fit here"));
    }
    fit == tasks
}
