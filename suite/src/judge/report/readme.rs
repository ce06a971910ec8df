//! README's findings are what the records say: the block between its fences is
//! the summary of the results folder that it names.

use std::fs;
use std::path::Path;

use super::summary;
use crate::manifest::Manifest;
use crate::store::saved_run::SavedRun;

const BEGIN: &str = "\n```\ncase ";
const END: &str = "```\n\nIn short:";

/// The name of the folder in `results/` that the text speaks of.
fn folder(readme: &str) -> &str {
    let (_, rest) = readme.split_once("`results/").expect("README names its results");
    rest.split_once('`').expect("the name ends").0
}

fn summary_of(folder: &Path, manifest: &Manifest) -> String {
    let run = SavedRun::read(folder).expect("a recorded run");
    assert_eq!(run.warnings, [""; 0], "a recorded run is read whole");
    let cases: Vec<&str> = run.description.cases.iter().map(String::as_str).collect();
    summary(manifest, &cases, &run.invocations)
}

#[test]
fn readme_shows_what_the_records_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("README.md")).expect("README.md");
    let manifest = Manifest::load(Some(&root.join("suite.toml"))).expect("suite.toml");
    let said = summary_of(&root.join("results").join(folder(&readme)), &manifest);

    let (before, rest) = readme.split_once(BEGIN).expect("the block of findings begins");
    let (_, after) = rest.split_once(END).expect("the block of findings ends");
    let right = format!("{before}\n```\n{said}{END}{after}");
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(root.join("README.md"), &right).expect("writing README.md");
    }
    assert!(
        readme == right,
        "README's findings are not those of the records that it names: run \
         UPDATE_README=1 cargo test -p suite readme"
    );
}
