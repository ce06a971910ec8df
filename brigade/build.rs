//! What the binary records of its making: the compiler, the locked versions, and in release
//! builds the commit.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let fact = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            println!("cargo::rustc-env=BRIGADE_{name}={value}");
        }
    };
    // In the workspace, or in a package.
    let lock = ["../Cargo.lock", "Cargo.lock"].into_iter().find(|path| Path::new(path).exists());
    let lock = lock.expect("there is a Cargo.lock");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::copy(lock, out.join("Cargo.lock")).expect("copy Cargo.lock");
    println!("cargo::rerun-if-changed={lock}");
    fact("RUSTC", output(&env::var("RUSTC").expect("cargo sets it"), &["--version"]));
    // A commit would have everything built again that is only to be tested.
    if env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    // Below the top of a working tree that is not this workspace's, there is more of a prefix.
    let answer = output("git", &["rev-parse", "--show-prefix", "HEAD"]);
    let Some(revision) = answer.as_deref().and_then(|answer| answer.strip_prefix("brigade/\n"))
    else {
        return;
    };
    fact("REVISION", Some(revision.to_owned()));
    let changes = output("git", &["status", "--porcelain", "--untracked-files=no", ".."]);
    fact("DIRTY", changes.map(|changes| (!changes.is_empty()).to_string()));
    for path in ["HEAD", "logs/HEAD"] {
        let path = output("git", &["rev-parse", "--git-path", path]);
        println!("cargo::rerun-if-changed={}", path.expect("git knows"));
    }
    for path in ["../Cargo.toml", "../suite.toml", "Cargo.toml", "build.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    for member in fs::read_dir("..").expect("read the workspace").flatten() {
        let sources = member.path().join("src");
        if sources.is_dir() {
            println!("cargo::rerun-if-changed={}", sources.display());
        }
    }
}

/// What a program prints, if it can.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then_some(())?;
    Some(String::from_utf8(output.stdout).ok()?.trim_end().to_owned())
}
