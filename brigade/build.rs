//! Records in the binary how it was built: the compiler, the locked versions, and in release builds
//! the commit.

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
    println!("cargo::rerun-if-changed=guests");
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let guests = format!("[{}]", sources(&here, Path::new("guests")));
    fs::write(out.join("guests.rs"), guests).expect("write the list of guests");
    fact("RUSTC", output(&env::var("RUSTC").expect("cargo sets it"), &["--version"]));
    // The rest only in release builds: every new commit would otherwise rebuild what is only tested.
    if env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    // The folder of the profile is three above.
    let profile = out.iter().rev().nth(3).and_then(|name| name.to_str()).unwrap_or("release");
    fact("PROFILE", Some(profile.to_owned()));
    fact("OPT_LEVEL", Some(setting(profile, "opt-level", "3")));
    fact("CODEGEN_UNITS", Some(setting(profile, "codegen-units", "16")));
    fact("LTO", Some(setting(profile, "lto", "false")));
    let tree = ["tree", "--offline", "--locked", "--invert=tokio", "--depth=0"];
    let shown = ["--edges=normal,no-proc-macro", "--format={f}"];
    let cargo = env::var("CARGO").expect("cargo sets it");
    fact("TOKIO", output(&cargo, &[&tree[..], &shown].concat()));
    // In a working tree other than this workspace's, the prefix is longer.
    if output("git", &["rev-parse", "--show-prefix"]).as_deref() != Some("brigade/") {
        return;
    }
    let revision = ["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"];
    fact("REVISION", output("git", &revision));
    let state = output("git", &["rev-parse", "--git-path", "HEAD", "--git-path", "logs/HEAD"]);
    let sources = output("git", &["ls-files", "../*.rs", "../*.toml"]);
    for path in [state, sources].iter().flatten().flat_map(|paths| paths.lines()) {
        println!("cargo::rerun-if-changed={path}");
    }
}

/// The files below a folder as Rust pairs of a path and its contents.
fn sources(here: &Path, folder: &Path) -> String {
    let entries = fs::read_dir(here.join(folder)).expect("a folder of guests");
    let mut paths: Vec<_> =
        entries.map(|entry| folder.join(entry.expect("an entry").file_name())).collect();
    paths.sort();
    let source = |path: &PathBuf| match here.join(path) {
        below if below.is_dir() => sources(here, path),
        file => format!("({path:?}, include_bytes!({file:?}).as_slice()),\n"),
    };
    paths.iter().map(source).collect()
}

/// A setting of the profile in which the programs are built, which cargo does not pass: from the
/// environment or the workspace's manifest.
fn setting(profile: &str, name: &str, default: &str) -> String {
    let [owner, key] = [profile, name].map(|word| word.to_uppercase().replace('-', "_"));
    let variable = format!("CARGO_PROFILE_{owner}_{key}");
    println!("cargo::rerun-if-env-changed={variable}");
    let manifest = fs::read_to_string("../Cargo.toml").unwrap_or_default();
    let section = manifest.split(&format!("[profile.{profile}]\n")).nth(1).unwrap_or_default();
    let mut lines = section.lines().take_while(|line| !line.starts_with('['));
    let written = lines.find_map(|line| line.strip_prefix(name)?.trim().strip_prefix('='));
    let value = env::var(variable).ok().or_else(|| written.map(str::to_owned));
    value.map_or_else(|| default.to_owned(), |text| text.trim().trim_matches('"').to_owned())
}

/// A program's output, if it can run.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    if !output.status.success() {
        return None;
    }
    Some(String::from_utf8(output.stdout).ok()?.trim_end().to_owned())
}
