//! The walls that docs/ARCHITECTURE.md describes, held against the code: which
//! layer of the runner may use which, that no modules use one another in a
//! circle, and that what is pure knows no operating system.
//!
//! Imports are read as text: `use` trees and paths that begin with `crate` or
//! `super`, outside of tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The layers of the runner, and the layers that each may use.
const LAYERS: [(&str, &[&str]); 7] = [
    ("commands", &["manifest", "plan", "measure", "store", "judge", "show"]),
    ("measure", &["manifest", "store"]),
    ("plan", &["manifest", "store", "judge"]),
    ("show", &["judge"]),
    ("judge", &["manifest", "store"]),
    ("store", &[]),
    ("manifest", &[]),
];

/// Modules beside the layers that each of them may use.
const FOR_ALL: [&str; 1] = ["exit"];

/// Layers that are pure.
const PURE: [&str; 3] = ["judge", "plan", "show"];

/// What only a module that knows an operating system mentions.
const OPERATING_SYSTEM: [&str; 12] = [
    "std::fs",
    "std::process",
    "std::os",
    "std::thread",
    "std::env",
    "std::net",
    "nix::",
    "libc::",
    "rustix::",
    "SystemTime",
    "Instant::now",
    "SystemFiles::live",
];

/// A module by its path from the root of its crate: `["judge", "report"]`.
type Module = Vec<String>;

/// A crate's modules, each with its code outside of tests.
type Sources = BTreeMap<Module, String>;

fn path_of(text: &str) -> Module {
    text.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The modules of the member `name`.
fn sources(name: &str) -> Sources {
    fn visit(folder: &Path, module: &Module, sources: &mut Sources) {
        for entry in fs::read_dir(folder).expect("read a folder") {
            let path = entry.expect("read a folder").path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name in UTF-8");
            let inner = [module.as_slice(), &[stem.to_owned()]].concat();
            if path.is_dir() {
                visit(&path, &inner, sources);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let is_root = ["mod", "lib", "main"].contains(&stem);
                let text = fs::read_to_string(&path).expect("read a module");
                sources.insert(if is_root { module.clone() } else { inner }, text);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let mut found = Sources::new();
    visit(&root.join(name).join("src"), &Vec::new(), &mut found);
    without_tests(found)
}

/// The modules that are not tests as a whole, without the tests at their ends.
fn without_tests(texts: Sources) -> Sources {
    let mut tests = BTreeSet::new();
    for (module, text) in &texts {
        for declared in text.split("#[cfg(test)]\n").skip(1) {
            let line = declared.lines().next().unwrap_or_default();
            let name = line.strip_suffix(';').and_then(|line| line.split_once("mod "));
            tests.extend(name.map(|(_, name)| [module.as_slice(), &[name.to_owned()]].concat()));
        }
    }
    let kept = texts.into_iter().filter(|(module, _)| !tests.contains(module));
    kept.map(|(module, text)| (module, code(&text))).collect()
}

/// A module's code without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let until_tests = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = until_tests.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Every path that `module`, with this code, mentions: from the root of the
/// crate, with the name of what is used at its end.
fn mentioned(module: &Module, code: &str) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    for (start, word) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let before = code[..start].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
            continue;
        }
        let mut base = if word == "crate::" { Vec::new() } else { parent(module) };
        let mut rest = &code[start + word.len()..];
        while let Some(further) = rest.strip_prefix("super::") {
            base = parent(&base);
            rest = further;
        }
        expand(&base, rest, &mut found);
    }
    found
}

fn parent(module: &Module) -> Module {
    module[..module.len().saturating_sub(1)].to_vec()
}

/// Adds the paths of a `use` tree that follows `base`; returns what is behind it.
fn expand<'a>(base: &Module, tree: &'a str, found: &mut BTreeSet<Module>) -> &'a str {
    let tree = tree.trim_start();
    if let Some(mut rest) = tree.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            if let Some(behind) = rest.strip_prefix('}') {
                return behind;
            }
            let behind = expand(base, rest, found);
            rest = behind.trim_start().trim_start_matches(',');
            if rest.is_empty() {
                return rest;
            }
        }
    }
    let end = tree.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(tree.len());
    let (name, rest) = tree.split_at(end);
    let mut path = base.clone();
    if name != "self" {
        path.push(name.to_owned());
    }
    if let Some(rest) = rest.strip_prefix("::") {
        return expand(&path, rest, found);
    }
    found.insert(path);
    // The alias of `name as alias`.
    rest.trim_start()
        .strip_prefix("as ")
        .map_or(rest, |alias| alias.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Which modules each module uses, itself aside.
fn arrows(sources: &Sources) -> BTreeMap<Module, BTreeSet<Module>> {
    let owner = |path: &Module| {
        let ends = (1..=path.len()).rev().map(|end| path[..end].to_vec());
        let known = ends.into_iter().find(|module| sources.contains_key(module));
        // What is not a module is an item of the crate's root.
        known.unwrap_or_default()
    };
    let of = |(module, code): (&Module, &String)| {
        let used =
            mentioned(module, code).iter().map(owner).filter(|used| used != module).collect();
        (module.clone(), used)
    };
    sources.iter().map(of).collect()
}

/// The arrows between layers that are not allowed.
fn wrong_arrows(sources: &Sources) -> Vec<String> {
    let mut wrong = Vec::new();
    for (module, used) in arrows(sources) {
        let Some(layer) = module.first() else { continue };
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| name == layer) else { continue };
        for used in used.iter().filter(|used| used.first() != Some(layer)) {
            let Some(target) = used.first() else { continue };
            if !allowed.contains(&target.as_str()) && !FOR_ALL.contains(&target.as_str()) {
                wrong.push(format!("{} uses {}", module.join("::"), used.join("::")));
            }
        }
    }
    wrong
}

/// Circles of modules. A folder's `mod.rs` and the modules in it are one to
/// outsiders, so that the arrows between them do not count.
fn circles(sources: &Sources) -> Vec<String> {
    let arrows = arrows(sources);
    let next = |module: &Module| -> Vec<Module> {
        let used = arrows.get(module).into_iter().flatten();
        let apart = |used: &&Module| !used.starts_with(module) && !module.starts_with(used);
        used.filter(apart).cloned().collect()
    };
    let reaches = |from: &Module, to: &Module| {
        let (mut seen, mut waiting) = (BTreeSet::new(), next(from));
        while let Some(module) = waiting.pop() {
            if module == *to {
                return true;
            }
            if seen.insert(module.clone()) {
                waiting.extend(next(&module));
            }
        }
        false
    };
    let in_circle = sources.keys().filter(|module| reaches(module, module));
    in_circle.map(|module| module.join("::")).collect()
}

/// What pure modules mention of the operating system.
fn impurities(sources: &Sources) -> Vec<String> {
    let pure = sources
        .iter()
        .filter(|(module, _)| module.first().is_some_and(|layer| PURE.contains(&layer.as_str())));
    pure.flat_map(|(module, code)| {
        let mentioned = OPERATING_SYSTEM.iter().filter(|word| code.contains(*word));
        mentioned.map(move |word| format!("{} mentions {word}", module.join("::")))
    })
    .collect()
}

/// A crate made up of these modules.
fn made_up(modules: &[(&str, &str)]) -> Sources {
    let text = |text: &str| text.to_owned();
    without_tests(modules.iter().map(|(module, code)| (path_of(module), text(code))).collect())
}

#[test]
fn arrows_between_layers_point_one_way() {
    assert_eq!(wrong_arrows(&sources("brigade")), [""; 0]);
    let broken = made_up(&[
        ("judge::report", "use crate::{exit::Exit, store::invocation};\nuse crate::show::table;"),
        ("show::table", "fn f() { crate::judge::report::f(); }"),
        ("store::folder", "use super::super::commands::run;"),
        ("commands::run", "use crate::measure::{self, lock::{Lock as L}};"),
        ("measure::lock", "#[cfg(test)]\nmod simulation;"),
        ("measure::lock::simulation", "use crate::show::table;"),
    ]);
    let broken = wrong_arrows(&broken);
    assert_eq!(broken, ["judge::report uses show::table", "store::folder uses commands::run"]);
}

#[test]
fn no_modules_use_one_another_in_a_circle() {
    assert_eq!(circles(&sources("brigade")), [""; 0]);
    assert_eq!(circles(&sources("harness")), [""; 0]);
    let broken = made_up(&[
        ("bench", "use crate::{laps::Laps, creation::Creation};"),
        ("laps", "use super::bench::Bench;"),
        ("creation", "use crate::clock;"),
        ("clock", "//! As crate::bench does.\n\n#[cfg(test)]\nmod tests { use crate::bench; }"),
        ("limits", "pub mod read;\nuse read::files;"),
        ("limits::read", "use super::limit;"),
    ]);
    assert_eq!(circles(&broken), ["bench", "laps"]);
}

#[test]
fn what_is_pure_knows_no_operating_system() {
    assert_eq!(impurities(&sources("brigade")), [""; 0]);
    let broken =
        made_up(&[("plan::order", "use std::fs::File;"), ("measure::lock", "use nix::a;")]);
    assert_eq!(impurities(&broken), ["plan::order mentions std::fs"]);
}
