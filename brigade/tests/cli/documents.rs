//! The figures in documents are what the records say: each block between
//! markers is what `brigade report --update` writes there. To write them anew:
//! `cargo run --release -- report --update README.md docs/*.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Markdown files beside the manifest and in `docs/`.
fn documents() -> Vec<PathBuf> {
    let folders = [root(), root().join("docs")];
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let files = entries.map(|entry| entry.expect("an entry").path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == "md")).collect()
}

/// What `--update` makes of a document, or what it complains of.
fn updated(text: &str) -> Result<String, String> {
    updated_in(tempfile::tempdir().expect("a folder").path(), text)
}

/// The same in this folder, which receives its pictures.
fn updated_in(folder: &Path, text: &str) -> Result<String, String> {
    fs::create_dir_all(folder.join("docs")).expect("a folder for pictures");
    let copy = folder.join("copy.md");
    fs::write(&copy, text).expect("writing the copy");
    let output = Command::new(env!("CARGO_BIN_EXE_brigade"))
        .args(["report", "--manifest"])
        .arg(root().join("suite.toml"))
        .arg("--update")
        .arg(&copy)
        .output()
        .expect("brigade");
    match output.status.success() {
        true => Ok(fs::read_to_string(&copy).expect("the copy")),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn no_figure_in_a_document_is_stale() {
    let mut blocks = 0;
    for file in documents() {
        let text = fs::read_to_string(&file).expect("a document");
        blocks += text.matches("<!-- brigade report ").count();
        let expected = updated(&text).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            text == expected,
            "{}: not what the records say: run brigade report --update",
            file.display()
        );
    }
    assert!(blocks > 0, "README has figures");
}

#[test]
fn no_picture_in_the_readme_is_stale() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = fs::read_to_string(root().join("README.md")).expect("README.md");
    updated_in(folder.path(), &text).unwrap_or_else(|error| panic!("{error}"));
    let made = fs::read_dir(folder.path().join("docs")).expect("the pictures");
    let names: Vec<_> = made.map(|entry| entry.expect("a picture").file_name()).collect();
    assert_eq!(names, ["ladder.svg"]);
    let read = |root: &Path| fs::read_to_string(root.join("docs/ladder.svg")).expect("a picture");
    let stale = "docs/ladder.svg: not what the records say: run brigade report --update";
    assert!(read(&root()) == read(folder.path()), "{stale}");
}

#[test]
fn a_picture_is_written_beside_the_document_that_shows_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = updated_in(folder.path(), &block(RUN, "ladder=a.svg")).unwrap();
    let picture = fs::read_to_string(folder.path().join("a.svg")).unwrap();
    assert!(text.contains(" cases: the cheapest is "), "{text}");
    assert!(text.contains("](a.svg)\n<!-- end -->"), "{text}");
    assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"), "{picture}");
    assert!(picture.contains("prefers-color-scheme: dark"), "legible on light and dark");
}

const RUN: &str = "results/2026-11-21-amd-epyc-2cpu";
const OTHER: &str = "results/2026-11-21-amd-epyc-2cpu-2";

fn block(run: &str, part: &str) -> String {
    format!("<!-- brigade report {run} {part} -->\nold\n<!-- end -->\n")
}

#[test]
fn what_stands_between_markers_is_written_anew_and_the_rest_stays() {
    let figure = "It takes <!-- figure async-mem-brigade -->5 ns<!-- end --> or so.\n";
    let text = format!("# A\n{}{figure}z\n", block(RUN, "first-screen"));
    let new = updated(&text).unwrap();
    assert!(new.starts_with("# A\n<!-- brigade report ") && new.ends_with("or so.\nz\n"), "{new}");
    assert!(new.contains("\n| switch between async tasks in memory | 126 ns [121, 143] | "));
    let figure = "It takes <!-- figure async-mem-brigade -->126 ns [121, 143]<!-- end --> or so.";
    assert!(new.contains(figure) && !new.contains("old"), "{new}");
    assert_eq!(updated(&new).unwrap(), new, "a second time changes nothing");
}

#[test]
fn a_block_of_another_run_says_so() {
    let text = block(RUN, "first-screen") + &block(OTHER, "first-screen");
    let new = updated(&text).unwrap();
    assert_eq!(new.matches("From results/").count(), 1, "{new}");
    assert!(new.contains(&format!("\nFrom {OTHER}:\n")), "{new}");
}

#[test]
fn a_marker_that_is_not_understood_is_named() {
    for (text, expected) in [
        (block(RUN, "moon"), "there is no part 'moon'"),
        (block("results/none", "groups"), "results/none"),
        (block(RUN, "group=none"), "has nothing of 'group=none'"),
        ("<!-- figure a -->1<!-- end -->".to_owned(), "a figure stands before the first block"),
        (block(RUN, "groups").replace("end", "ende"), "there is no <!-- end --> after it"),
        (
            block(RUN, "first-screen") + "<!-- figure none -->1<!-- end -->",
            "has no figure of 'none'",
        ),
    ] {
        let error = updated(&text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
