//! The scripts that build guests, with compilers that are scripts themselves.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::SystemTime;

use contract::executable;
use tempfile::TempDir;

/// A script that builds a guest, and the tools that it needs. They print the text in `version`.
struct Language {
    folder: &'static str,
    source: &'static str,
    tools: &'static [(&'static str, &'static str)],
}

/// What the last tool does: writes what it reads to the file, and is killed halfway with the script
/// that started it if there is a file `killer`.
const WRITE: &str = "echo half >\"$file\"\n\
                     [ ! -e \"${0%/*}/killer\" ] || kill -9 $PPID $$\n\
                     cat \"${0%/*}/version\" \"$source\" >\"$file\"\n";

const LANGUAGES: [Language; 2] = [
    Language {
        folder: "cpp",
        source: "brigade.cpp",
        tools: &[(
            "g++",
            "source=brigade.cpp\n\
             case \"$*\" in\n\
             *--version*) exec cat \"${0%/*}/version\" ;;\n\
             *'-E -') exit ;;\n\
             *'-E brigade.cpp') exec cat brigade.cpp ;;\n\
             esac\n\
             while [ \"$1\" != -o ]; do shift; done\n\
             file=$2\n",
        )],
    },
    Language {
        folder: "java",
        source: "Brigade.java",
        tools: &[
            ("java", "echo \"openjdk version \\\"21.$(cat \"${0%/*}/version\")\\\"\" >&2; exit\n"),
            ("javac", "exit\n"),
            ("jar", "source=Brigade.java file=$3\n"),
        ],
    },
];

/// A copy of a script with a source and tools.
struct Copy {
    folder: TempDir,
    source: PathBuf,
}

impl Copy {
    fn new(language: &Language) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join(language.source);
        let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests");
        let script = guests.join(language.folder).join("build");
        fs::copy(script, folder.path().join("build")).expect("copy the script");
        fs::create_dir(folder.path().join("bin")).expect("a folder");
        for (name, text) in language.tools {
            let text = format!("#!/bin/sh\n{text}{WRITE}");
            executable::write(&folder.path().join("bin").join(name), text);
        }
        let copy = Self { folder, source };
        copy.use_version("1");
        fs::write(&copy.source, "source 1\n").expect("write a source");
        copy
    }

    fn use_version(&self, version: &str) {
        fs::write(self.tool("version"), version).expect("write a version");
    }

    fn tool(&self, name: &str) -> PathBuf {
        self.folder.path().join("bin").join(name)
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("cache/guest")
    }

    fn build(&self) -> Output {
        let path = std::env::var("PATH").expect("a PATH");
        let mut build = contract::command("sh");
        build.arg("build").arg(self.output()).current_dir(self.folder.path());
        build.env("JAVA_HOME", self.folder.path());
        build.env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()));
        build.output().expect("run the script")
    }

    /// What a build that succeeds leaves, and its inode.
    fn built(&self) -> (String, u64) {
        let output = self.build();
        assert!(output.status.success(), "{output:?}");
        let text = fs::read_to_string(self.output()).expect("the guest");
        (text, fs::metadata(self.output()).expect("the guest").ino())
    }
}

/// Every file of a package is as old as its release, so sources may be older than a guest that was
/// built from others.
#[test]
fn a_guest_is_built_again_if_its_sources_or_its_compiler_changed() {
    for language in &LANGUAGES {
        let copy = Copy::new(language);
        let (first, inode) = copy.built();
        assert!(first.contains("source 1"), "{first}");
        assert_eq!(copy.built(), (first.clone(), inode), "{}: nothing changed", language.folder);

        fs::write(&copy.source, "source 2\n").expect("write a source");
        let source = File::options().write(true).open(&copy.source).expect("the source");
        source.set_modified(SystemTime::UNIX_EPOCH).expect("make it old");
        let (second, inode) = copy.built();
        assert!(second.contains("source 2"), "{}: {second}", language.folder);

        copy.use_version("2");
        let (third, now) = copy.built();
        assert_ne!((&third, now), (&second, inode), "{}: another compiler", language.folder);
    }
}

#[test]
fn a_killed_build_leaves_no_part_of_a_guest() {
    for language in &LANGUAGES {
        let copy = Copy::new(language);
        fs::write(copy.tool("killer"), "").expect("write a file");
        assert!(!copy.build().status.success());
        assert!(!copy.output().exists(), "{}: half of a guest", language.folder);

        fs::remove_file(copy.tool("killer")).expect("remove it");
        let whole = copy.built();
        fs::write(&copy.source, "source 2\n").expect("write a source");
        fs::write(copy.tool("killer"), "").expect("write a file");
        assert!(!copy.build().status.success());
        let left = fs::read_to_string(copy.output()).expect("the guest");
        assert_eq!(left, whole.0, "{}: it was not replaced", language.folder);

        fs::remove_file(copy.tool("killer")).expect("remove it");
        let (built, _) = copy.built();
        assert!(built.contains("source 2"), "{}: {built}", language.folder);
    }
}
