//! Executable files created by tests. Another process writes them: the kernel executes no file that
//! is open for writing, and a process that another test forks meanwhile would inherit the open
//! file.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable file, such as a script.
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
