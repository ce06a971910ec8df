//! The figures in documents match the records: each block between markers is
//! what `brigade report --update` writes. To rewrite them: `cargo run --release
//! -- report --update README.md docs/*.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Markdown files next to the manifest and in `docs/`.
fn documents() -> Vec<PathBuf> {
    let folders = [root(), root().join("docs")];
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let files = entries.map(|entry| entry.expect("an entry").path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == "md")).collect()
}

/// A document after `--update`, or the error.
fn updated(text: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().expect("a folder");
    updated_as(&folder.path().join("copy.md"), text)
}

/// The same for this file; pictures are written next to it.
fn updated_as(copy: &Path, text: &str) -> Result<String, String> {
    fs::write(copy, text).expect("writing the copy");
    let output = Command::new(env!("CARGO_BIN_EXE_brigade"))
        .args(["report", "--manifest"])
        .arg(root().join("suite.toml"))
        .arg("--update")
        .arg(copy)
        .output()
        .expect("brigade");
    if output.status.success() {
        Ok(fs::read_to_string(copy).expect("the copy"))
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn no_figure_or_picture_in_a_document_is_stale() {
    let (mut blocks, mut pictures) = (0, 0);
    for file in documents() {
        let folder = tempfile::tempdir().expect("a folder");
        let docs = folder.path().join("docs");
        fs::create_dir(&docs).expect("a folder for pictures");
        let name = file.strip_prefix(root()).expect("a document of the repository");
        let copy = folder.path().join(name);
        let text = fs::read_to_string(&file).expect("a document");
        blocks += text.matches("<!-- brigade report ").count();
        let expected = updated_as(&copy, &text).unwrap_or_else(|error| panic!("{error}"));
        let stale = "stale: run brigade report --update";
        assert!(text == expected, "{}: {stale}", file.display());
        fs::remove_file(copy).expect("the copy");
        for picture in fs::read_dir(docs).expect("the pictures") {
            let name = picture.expect("a picture").file_name();
            let [old, new] = [&root(), folder.path()].map(|root| root.join("docs").join(&name));
            assert!(fs::read(old).unwrap() == fs::read(new).unwrap(), "{name:?}: {stale}");
            pictures += 1;
        }
    }
    assert!(blocks > 0 && pictures > 0, "{blocks} blocks, {pictures} pictures");
}

const RUN: &str = "results/2026-11-22-intel-xeon-6-207-2cpu";
const OTHER: &str = "results/2026-11-23-rings";

fn block(run: &str, part: &str) -> String {
    format!("<!-- brigade report {run} {part} -->\nold\n<!-- end -->\n")
}

#[test]
fn only_the_text_between_markers_is_replaced() {
    let figure = "It takes <!-- figure async-mem-brigade -->5 ns<!-- end --> or so.\n";
    let text = format!("# A\n{}{figure}{}z\n", block(RUN, "first-screen"), block(OTHER, "groups"));
    let new = updated(&text).unwrap();
    assert!(new.starts_with("# A\n<!-- brigade report ") && new.ends_with("<!-- end -->\nz\n"));
    assert!(new.contains("\n| async task switch in memory, one thread | 1"), "{new}");
    assert!(new.contains("It takes <!-- figure async-mem-brigade -->1"), "{new}");
    assert!(!new.contains("5 ns<") && !new.contains("old"), "{new}");
    assert_eq!(new.matches("From results/").count(), 1, "{new}");
    assert!(new.contains(&format!("\nFrom {OTHER}:\n")), "{new}");
    assert_eq!(updated(&new).unwrap(), new, "a second time changes nothing");
}

#[test]
fn an_unknown_marker_is_named() {
    for (text, expected) in [
        (block(RUN, "moon"), "there is no part 'moon'"),
        (block("results/none", "groups"), "results/none"),
        (block(RUN, "group=none"), "has no 'group=none'"),
        ("<!-- figure a -->1<!-- end -->".to_owned(), "a figure comes before the first block"),
        (block(RUN, "groups").replace("end", "ende"), "no <!-- end --> follows it"),
        (
            block(RUN, "first-screen") + "<!-- figure none -->1<!-- end -->",
            "has no figure for 'none'",
        ),
    ] {
        let error = updated(&text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
