//! The repository: which layer of the runner may use which (docs/ARCHITECTURE.md), what this binary
//! contains, programs that a command builds, links and figures in documents, and the scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use contract::skip;
use serde_json::json;

use crate::bench::{Bench, Ended, RECORD, json_in};
use crate::report::{PYTHON, has};

/// The layers of the runner, and the modules that each may use.
const LAYERS: [(&str, &[&str]); 7] = [
    (
        "commands",
        &["exit", "shell", "programs", "manifest", "plan", "measure", "store", "judge", "show"],
    ),
    ("measure", &["exit", "shell", "manifest", "store", "programs"]),
    ("plan", &["exit", "manifest", "store", "judge"]),
    ("show", &["shell", "judge"]),
    ("judge", &["exit", "manifest", "store"]),
    ("store", &["bounds", "exit", "shell"]),
    ("manifest", &["bounds", "exit", "programs"]),
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
    let is_test =
        |module: &str| module.ends_with("tests") || ["damage", "fixtures"].contains(&module);
    let code = |text: &str| {
        let until_tests = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let lines = until_tests.lines().map(|line| line.split("//").next().unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    };
    let kept = texts.into_iter().filter(|(module, _)| !is_test(module));
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
            base = above(&base);
            rest = further;
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
    let uses = |(module, code): (&'_ String, &String)| used(module, code, sources);
    sources.iter().map(|source| (source.0.as_str(), uses(source))).collect()
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
        let mut seen = BTreeSet::new();
        let mut waiting = next(from);
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
    let brigade = sources("brigade");
    assert!(arrows(&brigade)["commands::run"].contains("show::html"), "an arrow is not seen");
    assert_eq!(wrong_arrows(&brigade), [""; 0]);
    let has_sources = |member: &String| root().join(member).join("src").is_dir();
    for member in members().into_iter().filter(has_sources) {
        assert_eq!(circles(&sources(&member)), [""; 0], "{member}");
    }
}

/// The methods that take text apart.
const TAKES_APART: [&str; 4] = [".strip_", ".trim", ".split", ".rsplit"];
/// Methods of lists with such names.
const OF_LISTS: [&str; 3] = [".split_first", ".split_last", ".split_at_checked"];
/// Where `show` lays out columns and writes digits.
const LAYOUT: [&str; 2] = ["show::page", "show::quantity"];

/// Calls in `show` that take text apart, elsewhere than where it is laid out.
fn taken_apart(sources: &Sources) -> Vec<String> {
    let mut found = Vec::new();
    for (module, code) in sources.iter().filter(|(module, _)| module.starts_with("show::")) {
        for (at, method) in TAKES_APART.iter().flat_map(|method| code.match_indices(method)) {
            let is_of_list = OF_LISTS.iter().any(|of_list| code[at..].starts_with(of_list));
            if !is_of_list && !LAYOUT.contains(&module.as_str()) {
                found.push(format!("{module}: {method}"));
            }
        }
    }
    found
}

/// `show` gets facts. Text that it takes apart would be its own, or that of a layer below.
#[test]
fn show_reads_no_text_of_ours() {
    let sources = sources("brigade");
    let is_seen =
        |module: &&str| TAKES_APART.iter().any(|method| sources[*module].contains(method));
    assert!(LAYOUT.iter().all(is_seen), "a call is not seen");
    assert_eq!(taken_apart(&sources), [""; 0]);
}

/// The texts in code that have two words, each with the code before it in its statement.
fn sentences(code: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = code[from..].find('"').map(|at| from + at) {
        let end = literal_end(code, start);
        let text = &code[start + 1..end];
        let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphabetic);
        let has_words = text.match_indices(' ').any(|(at, _)| {
            is_letter(text[..at].chars().next_back()) && is_letter(text[at + 1..].chars().next())
        });
        // A quote as a character is no text.
        let is_text = !code[..start].ends_with('\'');
        if is_text && has_words {
            let statement = code[..start].rfind(';').map_or(0, |at| at + 1);
            found.push((text, &code[statement..start]));
        }
        from = if is_text { end + 1 } else { start + 1 };
    }
    found
}

/// Where the text that begins with a quote at `start` ends.
fn literal_end(code: &str, start: usize) -> usize {
    let mut is_escaped = false;
    for (at, letter) in code[start + 1..].char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return start + 1 + at,
            _ => {}
        }
    }
    code.len()
}

/// Conclusions are facts until `show` makes words of them; only errors are sentences at once.
#[test]
fn layers_below_show_make_no_sentences() {
    let allowed = ["ensure!(", "bail!(", ".expect(", "#[serde("];
    let sources = sources("brigade");
    let mut seen = 0;
    for (module, code) in &sources {
        if module != "plan" && !module.starts_with("judge") {
            continue;
        }
        for (text, before) in sentences(code) {
            seen += 1;
            assert!(allowed.iter().any(|word| before.contains(word)), "{module}: \"{text}\"");
        }
    }
    assert!(seen > 3, "errors are not seen");
    let made = "fn a() -> String { let b = '\"'; format!(\"{} is slow\", 1) }";
    assert_eq!(sentences(made).len(), 1);
}

/// The folders of the programs: those that the runner depends on by their paths.
fn programs() -> Vec<String> {
    let manifest = manifest("brigade/Cargo.toml");
    let dependencies = manifest["dependencies"].as_table().expect("a table");
    let path = |dependency: &toml::Value| Some(dependency.get("path")?.as_str()?.to_owned());
    let paths = dependencies.values().filter_map(path);
    paths.map(|path| path.strip_prefix("../").expect("next to brigade").to_owned()).collect()
}

/// The folders of all members: those that the workspace's manifest names, and the programs.
fn members() -> Vec<String> {
    let named = manifest("Cargo.toml")["workspace"]["members"].as_array().cloned();
    let named = named.expect("a list of members").into_iter();
    let named = named.map(|member| member.as_str().expect("a folder").to_owned());
    named.chain(programs()).collect()
}

/// The name of the package in this folder: that of the folder.
fn package(member: &str) -> &str {
    member.rsplit('/').next().unwrap_or(member)
}

fn manifest(path: &str) -> toml::Table {
    let text = fs::read_to_string(root().join(path)).expect("read a manifest");
    text.parse().expect("parse a manifest")
}

#[test]
fn programs_depend_on_no_other_program() {
    let libraries = ["features", "known-work", "harness", "contract"];
    let members = members();
    let names: Vec<&str> = members.iter().map(|member| package(member)).collect();
    for member in members.iter().filter(|member| *member != "brigade") {
        let manifest = manifest(&format!("{member}/Cargo.toml"));
        assert_eq!(manifest["lints"]["workspace"].as_bool(), Some(true), "{member}");
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let listed = manifest.get(table).and_then(|table| table.as_table()).into_iter();
            let mut others = listed.flat_map(|table| table.keys());
            let is_program =
                |name: &&String| names.contains(&&***name) && !libraries.contains(&&***name);
            assert_eq!(others.find(is_program), None, "{member} depends on a program");
        }
    }
}

/// The files of Rust below a folder, with their texts.
fn rust_below(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("read a folder") {
        let path = entry.expect("read a folder").path();
        if path.is_dir() {
            rust_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("read a file");
            found.push((path.display().to_string(), text));
        }
    }
}

/// The files with tests of processes: those in `tests` of a member, and the library of the tests.
fn tests_of_processes() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for member in members() {
        for folder in [root().join(&member).join("tests"), root().join(&member).join("benches")] {
            if folder.is_dir() {
                rust_below(&folder, &mut found);
            }
        }
    }
    rust_below(&root().join("crates/contract/src"), &mut found);
    found
}

/// A library without unit tests is not compiled for them.
#[test]
fn no_unit_test_of_a_library_is_left_out() {
    let is_untested = |member: &String| {
        let manifest = manifest(&format!("{member}/Cargo.toml"));
        manifest.get("lib").and_then(|lib| lib.get("test")?.as_bool()) == Some(false)
    };
    let untested: Vec<String> = members().into_iter().filter(is_untested).collect();
    assert!(!untested.is_empty());
    for member in untested {
        let mut files = Vec::new();
        rust_below(&root().join(&member).join("src"), &mut files);
        let test = files.iter().find(|(_, text)| text.contains("#[test]")).map(|(file, _)| file);
        assert_eq!(test, None, "{member}/Cargo.toml: remove `test = false` from [lib]");
    }
}

#[test]
fn tests_start_processes_only_as_ones_that_die_with_them() {
    let starts =
        [["Command", "::new("].concat(), ["fork", "("].concat(), ["posix_", "spawn"].concat()];
    let files = tests_of_processes();
    let is_allowed = |file: &str| file.ends_with("contract/src/process.rs");
    assert!(files.iter().any(|(file, text)| is_allowed(file) && text.contains(&starts[0])));
    for (file, text) in files.iter().filter(|(file, _)| !is_allowed(file)) {
        let line = text.lines().find(|line| starts.iter().any(|start| line.contains(start)));
        assert_eq!(line, None, "{file}: start it with contract::command, which dies with the test");
    }
}

/// Every crate of these members and its features, as cargo builds them together. Macros run in the
/// compiler, so their features are not part of a program.
fn features_of(members: &[&str]) -> BTreeSet<String> {
    let mut cargo = contract::command(env!("CARGO"));
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
        let alone = features_of(&["--package", package(&member)]);
        let otherwise: Vec<&String> = alone.difference(&together).collect();
        assert!(
            otherwise.is_empty(),
            "add to crates/features/Cargo.toml: alone, {member} has {otherwise:#?}"
        );
    }
}

/// `brigade` in an empty folder, without a manifest, a repository or guests.
fn alone(bench: &Bench, arguments: &[&str]) -> Ended {
    let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
    brigade.args(arguments).current_dir(bench.path(""));
    brigade.env("BRIGADE_LOCK", bench.path("lock")).env("XDG_CACHE_HOME", bench.path("cache"));
    Ended::from(brigade)
}

#[test]
fn a_manifest_is_named_before_the_subcommand_or_after_it() {
    let bench = Bench::new(&[], "");
    let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/../suite.toml");
    let before = alone(&bench, &["--manifest", suite, "list", "hops"]);
    let after = alone(&bench, &["list", "hops", "--manifest", suite]);
    assert_eq!((before.code, before.stdout), (Some(0), after.stdout));
    // These would be ignored.
    assert_eq!(alone(&bench, &["--rounds", "3", "list"]).code, Some(2));
}

/// This binary runs every program under its name and as a link, and the suite has a case of each.
#[test]
fn every_program_is_contained_and_in_a_case() {
    let suite = fs::read_to_string(root().join("suite.toml")).unwrap();
    let names = programs();
    assert!(names.len() > 10, "{names:?}");
    let bench = Bench::new(&[], "");
    for name in names {
        let begins_a_case = ['"', '{', ','].map(|before| format!("{before}{name}"));
        assert!(begins_a_case.iter().any(|begun| suite.contains(begun)), "{name} is in no case");
        let flags = ["--iters=1", "--warmups=0", "--command", "cat /proc/{pid}/comm"];
        let ended = alone(&bench, &[&[name.as_str()], &flags[..]].concat());
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        let shown: String = name.chars().take(15).collect();
        let mut lines = ended.stdout.lines().chain(ended.stderr.lines());
        assert!(lines.any(|line| line == shown), "{name}: {ended:?}");
    }
    assert_eq!(alone(&bench, &["thread-brigade", "--nonsense"]).code, Some(2));
    let link = bench.path("thread-brigade");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_brigade"), &link).unwrap();
    let help = Ended::from(contract::command(link).arg("--help").output().unwrap()).stdout;
    assert!(help.contains("Usage: thread-brigade [OPTIONS]"), "{help}");
}

#[test]
fn a_case_is_explained_with_the_kind_of_its_tasks() {
    let bench = Bench::new(&[], "");
    for (case, kind) in [
        ("event-loop-brigade --loop epoll-edge", "event-loop"),
        ("thread-switch --via spin --placement spread", "thread"),
        ("python-tasks creation --kind thread --tasks 1000", "thread"),
        ("python-tasks wake --greedy 1 --greedy-for 10", "async-task"),
        ("goroutine-server --placement same-cpu", "goroutine"),
    ] {
        let ended = alone(&bench, &["list", case]);
        let line = format!("kind:     {kind}");
        assert!(ended.stdout.lines().any(|shown| shown == line), "{case}: {ended:?}");
    }
}

/// Cases that run on tokio and take its settings show its defaults.
#[test]
fn a_case_of_tokio_is_explained_with_the_runtimes_settings() {
    let bench = Bench::new(&[], "");
    for (case, has_settings) in [
        ("async-brigade", true),
        ("channel-load --channel tokio --runtime tokio --capacity 64", true),
        ("echo-server --kind tokio --placement same-cpu", true),
        ("channel-load --capacity 64", false),
        ("echo-server --placement same-cpu", false),
        ("task-memory --kind tokio --waiting channel --tasks 200000", false),
    ] {
        let ended = alone(&bench, &["list", case]);
        assert_eq!(ended.stdout.contains("event_interval=61"), has_settings, "{case}: {ended:?}");
    }
}

/// The suite, the guests' sources and a folder for results are available without a repository.
#[test]
fn the_file_alone_measures() {
    let bench = Bench::new(&[], "");
    let case = ["thread-switch --via futex --placement same-cpu", "python-brigade"];
    // Outside the workspace, whose guests it would find.
    let file = bench.path("brigade");
    contract::executable::copy(Path::new(env!("CARGO_BIN_EXE_brigade")), &file);
    let with_cache = |cache: &str| {
        let mut brigade = contract::command(&file);
        brigade.args(["run", "--full", "--rounds", "1"]).args(case).current_dir(bench.path(""));
        brigade.env("BRIGADE_LOCK", bench.path("lock")).env("XDG_CACHE_HOME", bench.path(cache));
        let ended = Ended::from(brigade.output().unwrap());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        ended.stdout
    };
    let skipped = "python-brigade: skipped: ";
    assert!(with_cache("brigade/none").contains(&format!("{skipped}its source")));
    fs::remove_dir_all(bench.path("brigade-results")).unwrap();
    let shown = with_cache("cache");
    if shown.contains(skipped) {
        skip("a guest unpacked from brigade", "there is no Python 3.9 or later");
    } else {
        assert!(shown.contains("python-brigade "), "{shown}");
    }
    let folder = fs::read_dir(bench.path("brigade-results")).unwrap().next().unwrap().unwrap();
    let environment = json_in(folder.path().join("environment.json"));
    assert!(environment["software.rustc"].as_str().unwrap().starts_with("rustc "), "{environment}");
    assert!(environment["software.measured_crates.tokio"].is_string(), "{environment}");
    let page = folder.path().join("report.html");
    assert!(fs::read_to_string(page).unwrap().contains("thread-switch --via futex"));
}

/// A bench whose program a tool builds, and a folder for `$PATH` with a `tool`
/// that is this shell script.
fn built_by(tool: &str) -> (Bench, String) {
    let bench = Bench::new(&["a"], "");
    fs::remove_file(bench.path("a")).unwrap();
    for folder in ["source", "path"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    if !tool.is_empty() {
        contract::executable::write(&bench.path("path/tool"), format!("#!/bin/sh\n{tool}\n"));
    }
    let build = "needs = [{ command = ['tool', 'version'], version = '1.21' }], \
                 build = { in = 'source', command = ['tool', 'build', '{output}'] }";
    let manifest = bench.manifest().replace("path = 'a'", build);
    (bench, manifest)
}

fn with_its_path(bench: &Bench, manifest: &str, arguments: &[&str]) -> Ended {
    let mut brigade = bench.brigade_with(manifest, arguments);
    brigade.env("PATH", bench.path("path"));
    Ended::from(brigade)
}

#[test]
fn cases_of_a_program_that_cannot_be_built_are_skipped_with_the_reason() {
    let fails = "[ \"$1\" = version ] || { echo trouble; echo undefined: x >&2; exit 1; }";
    for (tool, reason) in [
        ("", "tool is not installed"),
        (fails, "tool cannot build it: undefined: x"),
        ("echo no cache >&2; exit 1", "no cache"),
    ] {
        let (bench, manifest) = built_by(tool);
        let record = RECORD.replace("\"program\":\"a\"", "\"program\":\"other\"");
        contract::executable::write(&bench.path("other"), format!("#!/bin/sh\necho '{record}'\n"));
        let manifest = manifest
            + "[[group]]\nname = 'h'\nquestion = 'Who?'\ncases = ['other']\n\
               [programs.other]\npath = 'other'\n";
        for arguments in [&["run", "--rounds", "1"][..], &["check", "a"]] {
            let ended = with_its_path(&bench, &manifest, arguments);
            assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
            assert!(ended.stdout.contains(reason), "{ended:?}");
        }
        assert_eq!(bench.records()[0]["outcome"], "measured", "the other is not affected");
    }
}

/// The documents that people read, by their names from the root.
fn documents() -> Vec<String> {
    let names = ["", "docs"].into_iter().flat_map(|folder| {
        let entries = root().join(folder).read_dir().expect("read a folder");
        let names = entries.map(|entry| entry.expect("read a folder").file_name());
        names.map(move |name| Path::new(folder).join(name).display().to_string())
    });
    names.filter(|name| name.ends_with(".md")).collect()
}

/// The links to files in a document.
fn local_links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://"))
}

/// The fragment of a link to this heading, as GitHub makes it.
fn fragment(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn links_of_documents_lead_to_files_and_headings() {
    let documents = documents();
    assert!(documents.len() > 10, "{documents:?}");
    let mut links = 0;
    for document in documents {
        let path = root().join(&document);
        let text = fs::read_to_string(&path).expect("read a document");
        for link in local_links(&text) {
            links += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            assert!(target.exists(), "{document}: {link} does not exist");
            if !heading.is_empty() {
                let text = fs::read_to_string(target).expect("read a document");
                let headings = text.lines().filter(|line| line.starts_with('#'));
                let mut fragments =
                    headings.map(|line| fragment(line.trim_start_matches(['#', ' '])));
                assert!(fragments.any(|found| found == heading), "{document}: no heading {link}");
            }
        }
    }
    assert!(links > 30, "{links} links");
}

/// A bare word after `brigade run` is a group of the suite (cases are quoted), except in PROTOCOL, whose
/// manifest is its own, and in the history.
#[test]
fn groups_that_documents_name_exist() {
    let suite = manifest("suite.toml");
    let groups = suite["group"].as_array().expect("groups").iter();
    let groups: Vec<&str> = groups.map(|group| group["name"].as_str().expect("a name")).collect();
    let mut found = 0;
    for document in documents() {
        if ["CHANGELOG.md", "docs/PROTOCOL.md"].contains(&&*document) {
            continue;
        }
        let text = fs::read_to_string(root().join(&document)).expect("read a document");
        for rest in text.split("brigade run ").skip(1) {
            let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-');
            let word = &rest[..end.unwrap_or(rest.len())];
            let is_name = !word.is_empty() && !word.starts_with('-');
            assert!(!is_name || groups.contains(&word), "{document}: brigade run {word}");
            found += usize::from(is_name);
        }
    }
    assert!(found > 10, "{found} groups");
}

/// The file that docs/ARCHITECTURE.md calls so: below the root, or in the runner or the harness.
fn source_file(name: &str) -> PathBuf {
    let places =
        ["", "brigade/src", "crates/harness/src"].map(|place| root().join(place).join(name));
    let mut found = places.into_iter().filter(|path| path.is_file());
    let first = found.next();
    assert!(found.next().is_none(), "docs/ARCHITECTURE.md: which {name}?");
    first.unwrap_or_else(|| panic!("docs/ARCHITECTURE.md: {name} does not exist"))
}

/// Each flow of a value in docs/ARCHITECTURE.md names files that exist, and counts them right.
#[test]
fn the_flows_count_their_files() {
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let items = text.split("\n- **").map(|item| item.split("\n\n").next().unwrap());
    let mut counts = Vec::new();
    for (head, flow) in items.filter_map(|item| item.split_once(" files. ")) {
        let names = flow.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs"));
        let files: BTreeSet<PathBuf> = names.map(source_file).collect();
        let count = head.rsplit(' ').next().unwrap();
        assert_eq!(count, files.len().to_string(), "{head}: {files:#?}");
        counts.push(count);
    }
    assert_eq!(counts.len(), 3, "{counts:?}");
}

/// CONTRIBUTING promises it.
#[test]
fn every_fault_has_its_tests() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let faults = text.split("\n## Faults\n").nth(1).expect("its last section");
    let rows: Vec<&str> = faults.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 30, "{} faults", rows.len());
    for row in rows {
        let tests = row.trim_end_matches(" |").rsplit('|').next().unwrap_or_default();
        let files: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!files.is_empty(), "no test: {row}");
        for file in files {
            let places = [root().join(file), root().join("brigade/tests/cli").join(file)];
            assert!(places.iter().any(|path| path.exists()), "{file} does not exist: {row}");
        }
    }
}

#[test]
fn what_documents_show_of_the_recorded_runs_is_current() {
    let git = contract::command("git").current_dir(root()).args(["ls-files", "README.md"]).output();
    if !git.is_ok_and(|output| !output.stdout.is_empty()) {
        return skip("figures in documents", "this is no clone of git, which knows recorded runs");
    }
    if !has(&PYTHON, "figures in documents") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    let documents = ["README.md", "docs/OBSERVATIONS.md", "docs/MACHINES.md"];
    for file in documents {
        fs::copy(root().join(file), folder.path().join(file)).unwrap();
    }
    let mut bash = contract::command("bash");
    bash.arg(root().join(".ci/results")).arg(env!("CARGO_BIN_EXE_brigade")).arg(folder.path());
    let output = bash.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pictures = ["time-of-one-operation-by-tasks", "ratio-of-times-by-work"];
    let pictures = pictures.map(|name| format!("docs/serve-{name}.svg"));
    let written = documents.into_iter().chain(["docs/RESULTS.md", "docs/poster.svg"]);
    for file in written.map(str::to_owned).chain(pictures) {
        let [old, new] = [root(), folder.path()].map(|path| fs::read_to_string(path.join(&file)));
        assert!(old.unwrap() == new.unwrap(), "{file} is stale: bash .ci/results");
    }
}

/// The recorded traces in OBSERVATIONS are of cases that this binary has.
#[test]
fn pictures_of_traces_are_named_as_their_cases() {
    let bench = Bench::new(&[], "");
    let mut found = 0;
    for document in root().join("docs").read_dir().expect("read docs") {
        let path = document.expect("read docs").path();
        if !path.file_name().expect("a name").to_string_lossy().starts_with("trace-") {
            continue;
        }
        found += 1;
        let text = fs::read_to_string(&path).expect("a picture");
        let title = text.split("<title>").nth(1).and_then(|rest| rest.split(": one lap").next());
        let ended = alone(&bench, &["list", title.expect("a title")]);
        assert_eq!(ended.code, Some(0), "{}: {ended:?}", path.display());
        assert!(text.contains("\u{a0}µs</text>") || text.contains("\u{a0}ms</text>"), "an axis");
    }
    assert!(found >= 3, "{found} pictures");
}

/// README lists every command, and docs/PROTOCOL.md every exit code.
#[test]
fn the_documents_name_every_command_and_exit_code() {
    let bench = Bench::printing(RECORD);
    let document = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let protocol = document("docs/PROTOCOL.md");
    let readme = document("README.md");
    let help = bench.ends(&["--help"]).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    // Descriptions continue with more indentation.
    let commands = commands.take_while(|line| !line.is_empty());
    let commands = commands.filter(|line| !line.starts_with("   "));
    let commands: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    for command in commands.into_iter().filter(|command| *command != "help") {
        let help = bench.ends(&[command, "--help"]).stdout;
        assert!(readme.contains(&format!("`brigade {command}")), "README.md lacks {command}");
        let codes = help.split("Exit codes: ").nth(1).unwrap_or_default();
        for code in codes.split(", ").filter_map(|code| code.split(' ').next()) {
            let known = code.parse::<u8>().is_err() || protocol.contains(&format!("\n| {code} | "));
            assert!(known, "docs/PROTOCOL.md lacks exit code {code}");
        }
    }
}

#[test]
fn a_verdict_needs_all_three_builds() {
    let folder = tempfile::tempdir().unwrap();
    let comparison = |verdicts: [&str; 3]| {
        let case = |(name, verdict): (&str, &str)| {
            let ratio = json!({ "value": 1.5, "interval": { "low": 1.25, "high": 1.75 } });
            json!({ "rows": [{ "case": name }], "verdict": verdict, "ratio": ratio })
        };
        let cases: Vec<_> = ["a", "b", "c"].into_iter().zip(verdicts).map(case).collect();
        json!({ "cases": cases }).to_string()
    };
    let files = ["1", "2", "3"].map(|name| folder.path().join(name));
    for (file, second) in files.iter().zip(["slower", "slower", "unresolved"]) {
        fs::write(file, comparison(["slower", second, "equal"])).unwrap();
    }
    let ended = |fail_on: &str| {
        let mut python = contract::command("python3");
        python.arg(root().join("scripts/three-ways.py")).arg(fail_on).args(&files);
        Ended::from(python)
    };
    let fails = ended("slower");
    let passes = ended("never");
    assert_eq!((fails.code, passes.code), (Some(4), Some(0)), "{fails:?}");
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows: Vec<Vec<String>> = passes.stdout.lines().skip(2).take(3).map(cells).collect();
    let verdicts: Vec<&str> = rows.iter().map(|row| &*row[4]).collect();
    assert_eq!(verdicts, ["slower", "depends on the build", "equal"], "{passes:?}");
    assert_eq!(rows[0][1], "1.500 [1.250, 1.750]");
}
