//! The only way in which tests start processes, so that none of them survives its test, however that
//! ends.

use std::ffi::{CString, OsStr};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd as _, IntoRawFd as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::LazyLock;

use harness::process_stat::die_in_group_with;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::getpid;

use crate::can;

/// A command whose process leads a new group. The kernel kills the process when the thread that
/// started it ends, and the group when the test's process ends.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    static PIPE: LazyLock<(PipeReader, PipeWriter)> = LazyLock::new(|| io::pipe().expect("a pipe"));
    let reader = format!("/proc/self/fd/{}", PIPE.0.as_raw_fd());
    let reader = CString::new(reader).expect("no zero");
    let test = getpid();
    let tie = move || {
        // Opened again, because each group owns its own open file.
        let reader = open(reader.as_c_str(), OFlag::O_RDONLY | OFlag::O_NONBLOCK, Mode::empty())?;
        die_in_group_with(test, reader.into_raw_fd())
    };
    let mut command = Command::new(program);
    command.process_group(0);
    // SAFETY: between fork and exec, this makes system calls and no more.
    unsafe { command.pre_exec(tie) };
    command
}

/// A shell script that executes `"$@"` as the user who owns nothing.
pub const AS_NOBODY: &str = r#"exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@""#;

/// Whether [`AS_NOBODY`] works here; without it the test of `what` is skipped, visibly.
pub fn can_be_nobody(what: &str) -> bool {
    can(what, command("sh").args(["-c", AS_NOBODY, "sh", "true"]))
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;

    use super::*;
    use crate::invocation::eventually;
    use crate::machine::stat;

    /// Set in the test's process that is killed.
    const KILLED: &str = "BRIGADE_TEST_IS_KILLED";

    /// Even a process with another user, whose death signal the kernel forgets, and its child.
    #[test]
    fn what_a_killed_test_started_ends() {
        if env::var_os(KILLED).is_some() {
            let is_nobody = can_be_nobody("the end of another user's process");
            let start = if is_nobody { AS_NOBODY } else { r#"exec "$@""# };
            let script = "sleep 6000 & echo PIDS $! $$; wait";
            let _ = command("sh").args(["-c", start, "sh", "sh", "-c", script]).status();
            return;
        }
        let name = "process::tests::what_a_killed_test_started_ends";
        let mut test = command(env::current_exe().expect("this test"));
        test.args(["--exact", name, "--nocapture"]).env(KILLED, "").stdout(Stdio::piped());
        let mut test = test.spawn().expect("this test runs");
        let lines = BufReader::new(test.stdout.take().expect("a pipe")).lines();
        let pids: Vec<i32> = lines
            .map(|line| line.expect("UTF-8"))
            .find_map(|line| Some(line.split_once("PIDS ")?.1.to_owned()))
            .map(|pids| pids.split(' ').map(|pid| pid.parse().expect("a pid")).collect())
            .expect("what it started");
        let runs = |pid: &i32| stat(*pid).is_some_and(|stat| stat.state != 'Z');
        assert!(pids.len() == 2 && pids.iter().all(runs), "{pids:?}");
        test.kill().and_then(|()| test.wait()).expect("own child");
        eventually("all have ended", || !pids.iter().any(runs));
    }
}
