//! Files that a test makes and then runs.
//!
//! While a file is open for writing, the kernel does not run it ("Text file busy"), and a
//! process that another test forks meanwhile has it open until it becomes its own program.
//! So somebody else writes the file.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a file that can be run, such as a script.
pub fn write(path: &Path, contents: &str) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
    let mut install = install.spawn().expect("install runs");
    let mut stdin = install.stdin.take().expect("a pipe");
    stdin.write_all(contents.as_bytes()).expect("install reads");
    drop(stdin);
    assert!(install.wait().expect("install ends").success(), "{}", path.display());
}

/// Copies a program.
pub fn copy(program: &Path, path: &Path) {
    let mut install = Command::new("install");
    let copied = install.args(["-m", "755"]).arg(program).arg(path).status();
    assert!(copied.expect("install runs").success(), "{}", path.display());
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    /// Each thread forks while the others write what they run next.
    #[test]
    fn what_is_written_can_be_run_at_once_beside_others() {
        let folder = tempfile::tempdir().expect("a folder");
        thread::scope(|scope| {
            for writer in 0..8 {
                let path = folder.path().join(writer.to_string());
                scope.spawn(move || {
                    for _ in 0..50 {
                        super::write(&path, "#!/bin/sh\nexit 7\n");
                        let status = Command::new(&path).status().expect("it can be run");
                        assert_eq!(status.code(), Some(7));
                    }
                });
            }
        });
    }
}
