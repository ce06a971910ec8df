//! Executable files created by tests. Another process writes them: the kernel executes no file that
//! is open for writing, and a process that another test forks meanwhile would inherit the open
//! file.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

pub fn write(path: &Path, contents: impl AsRef<[u8]>) {
    let mut install = crate::command("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
    let mut install = install.spawn().expect("install runs");
    let mut stdin = install.stdin.take().expect("a pipe");
    stdin.write_all(contents.as_ref()).expect("install reads");
    drop(stdin);
    assert!(install.wait().expect("install ends").success(), "{}", path.display());
}

pub fn copy(program: &Path, path: &Path) {
    write(path, fs::read(program).expect("a program"));
}
