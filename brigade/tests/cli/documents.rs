//! The figures in documents are those of the records: `docs/RESULTS.md` and the screen in README
//! are what `bash .ci/results` writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use contract::skip;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn results_and_the_screen_in_readme_are_those_of_the_recorded_runs() {
    let git = Command::new("git").current_dir(root()).args(["ls-files", "README.md"]).output();
    if !git.is_ok_and(|output| !output.stdout.is_empty()) {
        return skip("figures in documents", "this is no clone of git, which knows recorded runs");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    fs::copy(root().join("README.md"), folder.path().join("README.md")).unwrap();
    let mut bash = Command::new("bash");
    bash.arg(root().join(".ci/results")).arg(env!("CARGO_BIN_EXE_brigade")).arg(folder.path());
    let output = bash.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for file in ["README.md", "docs/RESULTS.md"] {
        let [old, new] = [&root(), folder.path()].map(|of| fs::read_to_string(of.join(file)));
        assert!(old.unwrap() == new.unwrap(), "{file} is stale: bash .ci/results");
    }
}

/// Every relative link of a document, and the documents.
#[test]
fn links_between_documents_lead_somewhere() {
    let folders = [root(), root().join("docs")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    let documents = files.filter(|file| file.extension().is_some_and(|of| of == "md"));
    let anchor = |heading: &str| -> String {
        let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        heading.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect()
    };
    let mut links = 0;
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains('\n') {
                continue;
            }
            links += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { document.clone() } else { document.with_file_name(file) };
            assert!(target.exists(), "{}: {link}", document.display());
            let is_heading =
                |line: &str| line.starts_with('#') && anchor(line).replace(' ', "-") == heading;
            assert!(
                heading.is_empty() || fs::read_to_string(target).unwrap().lines().any(is_heading),
                "{}: {link}",
                document.display()
            );
        }
    }
    assert!(links > 20, "{links}");
}
