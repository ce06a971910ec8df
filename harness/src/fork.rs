//! Forks of a process that has one thread.

use std::fs;
use std::io;

use nix::unistd::{ForkResult, fork};

/// Forks this process, whose child is then as able as itself.
///
/// # Errors
/// That it has several threads, or the kernel's refusal.
pub fn fork_alone() -> io::Result<ForkResult> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process of several threads cannot be forked"));
    }
    // SAFETY: this process has one thread, so no lock is held by another one
    // that the child lacks.
    Ok(unsafe { fork() }?)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_process_of_several_threads_is_not_forked() {
        // Whoever runs the tests waits for this thread, and is another one.
        let error = thread::spawn(|| fork_alone().map(|_| ())).join().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "a process of several threads cannot be forked");
    }
}
