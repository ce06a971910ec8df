//! The rules in docs/ARCHITECTURE.md: which layer of the runner may use which, no circles of
//! modules, no program that depends on another. Reads paths that begin with `crate` or `super` from
//! the sources, except tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The layers of the runner, and the modules that each may use.
const LAYERS: [(&str, &[&str]); 7] = [
    ("commands", &["exit", "programs", "manifest", "plan", "measure", "store", "judge", "show"]),
    ("measure", &["exit", "manifest", "store", "programs"]),
    ("plan", &["exit", "manifest", "store", "judge"]),
    ("show", &["judge"]),
    ("judge", &["exit", "manifest", "store"]),
    ("store", &["exit"]),
    ("manifest", &["exit"]),
];

/// A module by its path from the root of its crate: `judge::report`.
type Sources = BTreeMap<String, String>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("brigade/ is in the workspace")
}

/// The modules of the member `name`, each with its code outside of tests.
fn sources(name: &str) -> Sources {
    fn visit(folder: &Path, module: &str, found: &mut Sources) {
        for entry in fs::read_dir(folder).expect("read a folder") {
            let path = entry.expect("read a folder").path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name in UTF-8");
            let inner = format!("{module}::{stem}");
            if path.is_dir() {
                visit(&path, &inner, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = if ["mod", "lib", "main"].contains(&stem) { module } else { &inner };
                let text = fs::read_to_string(&path).expect("read a module");
                found.insert(name.trim_start_matches(':').to_owned(), text);
            }
        }
    }
    let mut found = Sources::new();
    visit(&root().join(name).join("src"), "", &mut found);
    without_tests(found)
}

/// The code of the modules that are not tests, without comments and the tests at their ends.
fn without_tests(texts: Sources) -> Sources {
    let mut tests = BTreeSet::new();
    for (module, text) in &texts {
        for declared in text.split("#[cfg(test)]\n").skip(1) {
            let name = declared.split_once(";\n").and_then(|(line, _)| line.split_once("mod "));
            let inner = name.map(|(_, name)| format!("{module}::{name}"));
            tests.extend(inner.map(|inner| inner.trim_start_matches(':').to_owned()));
        }
    }
    let code = |text: &str| {
        let until_tests = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let lines = until_tests.lines().map(|line| line.split("//").next().unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    };
    let kept = texts.into_iter().filter(|(module, _)| !tests.contains(module));
    kept.map(|(module, text)| (module, code(&text))).collect()
}

/// The modules that `module`, with this code, uses.
fn used(module: &str, code: &str, sources: &Sources) -> BTreeSet<String> {
    let above = |module: &str| module.rsplit_once("::").map_or("", |(above, _)| above).to_owned();
    let mut found = BTreeSet::new();
    for (start, word) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        if code[..start].ends_with(|c: char| c.is_alphanumeric() || "_:$".contains(c)) {
            continue;
        }
        let mut base = if word == "crate::" { String::new() } else { above(module) };
        let mut rest = &code[start + word.len()..];
        while let Some(further) = rest.strip_prefix("super::") {
            (base, rest) = (above(&base), further);
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && !"_:".contains(c));
        let (path, tree) = rest.split_at(end.unwrap_or(rest.len()));
        // One level of braces: `use crate::judge::{compare, report::Report}`.
        let inner = tree.strip_prefix('{').and_then(|tree| tree.split('}').next());
        for name in inner.unwrap_or_default().split(',') {
            let path = format!("{base}::{path}{}", name.trim());
            let path = path.trim_start_matches(':').trim_end_matches(':');
            // The longest prefix that is a module; an item of the root has none.
            let mut ends = path.rmatch_indices("::").map(|(end, _)| &path[..end]);
            let known = |path: &&str| sources.contains_key(*path);
            found.extend(Some(path).filter(known).or_else(|| ends.find(known)).map(str::to_owned));
        }
    }
    found.remove(module);
    found
}

fn arrows(sources: &Sources) -> BTreeMap<&str, BTreeSet<String>> {
    let of = |(module, code): (&'_ String, &String)| used(module, code, sources);
    sources.iter().map(|source| (source.0.as_str(), of(source))).collect()
}

/// Uses between layers that are not allowed.
fn wrong_arrows(sources: &Sources) -> Vec<String> {
    let layer = |module: &str| module.split("::").next().unwrap_or_default().to_owned();
    let mut wrong = Vec::new();
    for (module, used) in arrows(sources) {
        let Some((own, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer(module)) else {
            continue;
        };
        let is_wrong = |target: &String| target != own && !allowed.contains(&target.as_str());
        let targets = used.iter().filter(|used| is_wrong(&layer(used)));
        wrong.extend(targets.map(|target| format!("{module} uses {target}")));
    }
    wrong
}

/// The modules in circles. A folder's `mod.rs` and the modules in it count as one.
fn circles(sources: &Sources) -> Vec<&str> {
    let arrows = arrows(sources);
    let inside = |inner: &str, outer: &str| inner.starts_with(&format!("{outer}::"));
    let next = |module: &str| -> Vec<&String> {
        let used = arrows.get(module).into_iter().flatten();
        used.filter(|used| !inside(used, module) && !inside(module, used)).collect()
    };
    let is_in_circle = |from: &&str| {
        let (mut seen, mut waiting) = (BTreeSet::new(), next(from));
        while let Some(module) = waiting.pop() {
            if seen.insert(module) {
                waiting.extend(next(module));
            }
        }
        seen.iter().any(|module| module == from)
    };
    arrows.keys().copied().filter(is_in_circle).collect()
}

#[test]
fn arrows_point_one_way_and_form_no_circles() {
    assert_eq!(wrong_arrows(&sources("brigade")), [""; 0]);
    assert_eq!(circles(&sources("brigade")), [""; 0]);
    assert_eq!(circles(&sources("harness")), [""; 0]);
    let broken = [
        ("judge::report", "use crate::store::{laps, folder};\nuse crate::show::table;"),
        ("show::table", "fn f() { crate::judge::report::f(); }"),
        ("store::folder", "use super::super::commands::run;"),
        ("store::laps", "//! As crate::show does.\n"),
        ("commands::run", "use crate::measure::lock::{Lock as L};"),
        ("measure", "use crate::measure::lock;"),
        ("measure::lock", "use super::Run;\n#[cfg(test)]\nmod tests { use crate::show::table; }"),
    ];
    let broken = broken.map(|(module, text)| (module.to_owned(), text.to_owned()));
    let broken = without_tests(broken.into_iter().collect());
    let expected = ["judge::report uses show::table", "store::folder uses commands::run"];
    assert_eq!(wrong_arrows(&broken), expected);
    assert_eq!(circles(&broken), ["judge::report", "show::table"]);
}

/// The folders that the workspace's manifest names as members.
pub fn members() -> Vec<String> {
    let members = manifest("Cargo.toml")["workspace"]["members"].as_array().cloned();
    let members = members.expect("a list of members");
    members.iter().map(|member| member.as_str().expect("a folder").to_owned()).collect()
}

fn manifest(path: &str) -> toml::Table {
    let text = fs::read_to_string(root().join(path)).expect("read a manifest");
    text.parse().expect("parse a manifest")
}

#[test]
fn programs_depend_on_no_other_program() {
    let libraries = ["features", "harness", "contract"];
    let members = members();
    for member in members.iter().filter(|member| *member != "brigade") {
        let manifest = manifest(&format!("{member}/Cargo.toml"));
        assert_eq!(manifest["lints"]["workspace"].as_bool(), Some(true), "{member}");
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let names = manifest.get(table).and_then(|table| table.as_table()).into_iter();
            let mut others = names.flat_map(|table| table.keys());
            let is_program =
                |name: &&String| members.contains(name) && !libraries.contains(&&***name);
            assert_eq!(others.find(is_program), None, "{member} depends on a program");
        }
    }
}

/// Every crate of these members and its features, as cargo builds them together. Macros run in the
/// compiler, so their features are not part of a program.
fn features_of(members: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["tree", "--locked", "--offline", "--prefix=none"]);
    cargo.args(["--edges=normal,no-proc-macro", "--format={p} {f}"]).args(members);
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("names in UTF-8");
    lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn every_member_is_built_alone_with_the_same_features() {
    let together = features_of(&["--workspace"]);
    for member in members() {
        let is_plain = ["brigade", "proof"].contains(&&*member);
        let package = if is_plain { member.clone() } else { format!("brigade-{member}") };
        let alone = features_of(&["--package", &package]);
        let otherwise: Vec<&String> = alone.difference(&together).collect();
        assert!(
            otherwise.is_empty(),
            "add to features/Cargo.toml: alone, {member} has {otherwise:#?}"
        );
    }
}
