//! What brigade prints from saved runs and the manifest, and how other programs read it: every
//! figure is computed a second time by `scripts/recompute.py`, the page is read by Chromium, and the
//! jq recipes of docs/CI.md are run. A test is skipped if its program is not
//! installed; `.ci/run` installs them all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use contract::invocation::at_once;
use contract::repository;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::bench::{self, Bench, Ended, RECORD, edit};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn a_report_repeats_what_the_run_printed_and_left_in_its_folder() {
    let script = format!("[ ${{0##*/}} = b ] && exit 1; echo '{RECORD}'");
    let bench = Bench::new(&["a", "b"], &script);
    bench.ends(&["run", "--rounds", "1", "--name", "z-first"]);
    let words = ["run", "--seed", "7", "--name", "a-second", "--rounds", "2"];
    let ran = bench.ends(&words);
    let folder = bench.result_folders().remove(0);
    let folder = folder.to_str().unwrap();
    let printed = |arguments: &[&str]| {
        let ended = bench.ends(&[&["report", "--full"], arguments].concat());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        ended.stdout
    };
    assert_eq!(printed(&[folder]), ran.stdout);
    assert_eq!(printed(&[]), ran.stdout, "the latest run");
    for (format, file) in [("markdown", "report.md"), ("html", "report.html")] {
        let page = fs::read_to_string(Path::new(folder).join(file)).unwrap();
        assert!(!page.contains(bench.path("").to_str().unwrap()), "it names a path");
        assert_eq!(printed(&["--format", format, folder]), page);
    }
    let json = printed(&["--format", "json", folder]);
    let report: Value = serde_json::from_str(&json).unwrap();
    let rows = &report["groups"][0]["rows"];
    assert_eq!((&rows[0]["case"], &rows[0]["figure"]["value"]), (&"a".into(), &75.0.into()));
    let outcomes = rows[1]["processes"].as_array().unwrap().iter();
    let outcomes: Vec<&Value> = outcomes.map(|process| &process["outcome"]).collect();
    assert_eq!(rows[1]["case"], "b");
    assert_eq!(outcomes, ["failed", "failed"]);
    let command: Vec<&str> =
        report["run"]["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(command.ends_with(&["--seed", "7", "--manifest", "FILE"]), "{command:?}");
    let page = fs::read_to_string(Path::new(folder).join("report.html")).unwrap();
    let (_, embedded) = page.split_once("id=\"report\">").expect("a report");
    let embedded: Value =
        serde_json::from_str(embedded.split("</script>").next().unwrap()).unwrap();
    assert_eq!(embedded, report);
    assert_eq!(bench.ends(&["report", "nowhere"]).code, Some(1));

    // A run of another manifest can be reported without it, nor is a local one read.
    fs::write(bench.path("suite.toml"), "no manifest").unwrap();
    let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
    brigade.current_dir(bench.path("")).args(["report", "--full", folder]);
    let ended = Ended::from(brigade);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
}

#[test]
fn the_list_shows_groups_and_their_cases_and_what_a_case_does() {
    let bench = Bench::new(&["a", "b --via c"], "");
    let manifest = bench.manifest() + "note = 'Mind the gap.'\n";
    let list = |arguments: &[&str]| {
        let ended = Ended::from(bench.brigade_with(&manifest, &[&["list"], arguments].concat()));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        ended.stdout
    };
    assert_snapshot!(list(&[]), @"
    group     cases seconds question
    (default)     2      30 What does concurrency cost on this machine?
    letters       2      30 Which?

    brigade run GROUP measures a group; without GROUP it measures the first line.
    brigade list GROUP prints the cases of a group; brigade list 'CASE' explains
    one.
    ");
    assert_snapshot!(list(&["letters"]), @"
    Which?
    Mind the gap.

    a
    b --via c

    measure:  brigade run letters --manifest FILE
    ");
    let folder = bench.path("").display().to_string();
    assert_snapshot!(list(&["b --via=c"]).replace(&folder, "FOLDER/"), @"
    answers: Which?

    A program in another language, or outside this repository: what a lap does is in
    its source.

    by hand:  FOLDER/b --via c --placement free
    measure:  brigade run 'b --via c' --manifest FILE
    ");
}

/// What is printed to measure a case by hand runs, with the first word as this binary.
#[test]
fn the_list_explains_only_cases_that_can_run_with_a_command_that_can_be_pasted() {
    let list = |case: &str| {
        let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
        brigade.args(["list", case]);
        Ended::from(brigade)
    };
    let shown = list("thread-switch --via futex");
    let by_hand = shown.stdout.lines().find_map(|line| line.strip_prefix("by hand:  "));
    let words = shlex::split(by_hand.expect("a command")).expect("words");
    assert_eq!(words[..2], ["brigade", "thread-switch"], "{shown:?}");
    let mut program = contract::command(env!("CARGO_BIN_EXE_brigade"));
    program.args(&words[1..]).args(["--iters", "8", "--json"]);
    let ended = Ended::from(program);
    assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");

    for (case, reason) in [
        ("thread-brigade --placment spread", "did you mean '--placement'?"),
        ("thread-brigade --placement sprad", "did you mean 'spread'?"),
        ("thread-brigade --tasks x", "'x'"),
        ("async-mem-brigade --placement spread", "one thread"),
    ] {
        let ended = list(case);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert!(ended.stderr.contains(reason), "{case}: {ended:?}");
    }
    let mut bench = Bench::new(&["a"], "");
    bench.case_keys = ", needs_cpus = 100000";
    let ended = bench.ends(&["list", "a"]);
    let folder = bench.path("").display().to_string();
    let cpus = format!("may use {}", harness::cpus::allowed().expect("CPUs").len());
    let shown = ended.stdout.replace(&folder, "FOLDER/").replace(&cpus, "may use 2");
    assert_snapshot!(shown, @"
    answers: Which?

    A program in another language, or outside this repository: what a lap does is in
    its source.

    by hand:  FOLDER/a --placement free
    cannot run here: it needs 100000 CPUs, but this process may use 2
    ");
}

#[test]
fn tables_that_a_terminal_would_break_say_how_to_see_them_whole() {
    let folder = &repository::recorded_runs()[0];
    for (columns, is_broken) in [(80, true), (400, false)] {
        let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
        brigade.args(["report", "--full"]).arg(folder);
        let copy = Path::new("/dev/null");
        let Some(ended) = bench::on_terminal(&brigade, columns, copy) else { return };
        let last = ended.stdout.lines().last().unwrap_or_default();
        assert_eq!(last.ends_with(" | less -S"), is_broken, "{ended:?}");
    }
}

/// Measures the page from within, with all folds open, and stores the result in the outer page's
/// title.
const PROBE: &str = r##"<script>
document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const plain = (text) => text.replace(/[<>&"\\]/g, "");
const overlaps = [], outside = [];
for (const plot of all("svg.plot")) {
  const boxes = all("text", plot).map((text) => [text.getBoundingClientRect(), text.textContent]);
  boxes.forEach(([a, one], index) => boxes.slice(index + 1).forEach(([b, other]) => {
    if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 5 && b.top < a.bottom - 5)
      overlaps.push(plain(one + " | " + other));
  }));
  for (const mark of all("text, circle, rect, line", plot)) {
    const box = mark.getBoundingClientRect();
    if (box.left < 0 || box.right > window.innerWidth) outside.push(plain(mark.outerHTML));
  }
}
const ids = all("[id]").map((element) => element.id);
const measured = {
  overflows: document.documentElement.scrollWidth > window.innerWidth, overlaps, outside,
  plots: all("svg.plot").length > 0, unnamed: all("svg.plot:not([aria-label])").length,
  repeated: ids.length - new Set(ids).size,
  requests: performance.getEntriesByType("resource").length,
};
const filter = document.getElementById("filter");
filter.value = "PROCESS";
filter.dispatchEvent(new Event("input"));
const seen = all("section:not([hidden]) h2").length;
const filters = seen > 0 && seen < all("h2").length;
window.parent.document.title = JSON.stringify({ ...measured, filters });
</script>"##;

/// The document that the browser builds from a page; it must log nothing.
fn document(browser: &str, page: &str, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    fs::write(&file, page).unwrap();
    let output = contract::command(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-dev-shm-usage"])
        .args(["--enable-logging=stderr", "--window-size=1700,1000"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .args(flags)
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let logged = String::from_utf8_lossy(&output.stderr);
    assert!(!logged.contains("CONSOLE"), "{logged}");
    String::from_utf8(output.stdout).unwrap()
}

/// The result of [`PROBE`] on a page at this width, within another page: a window cannot be as
/// narrow as a phone. The page's policy is removed, since it allows no other script.
fn probed(browser: &str, page: &str, width: u32, flags: &[&str]) -> Value {
    let inner = page.replace("http-equiv", "title").replace("</body>", &format!("{PROBE}</body>"));
    let inner = inner.replace('&', "&amp;").replace('"', "&quot;");
    let style = format!("border:0;width:{width}px;height:1000px");
    let outer = format!(
        "<!doctype html><head><title></title><iframe style=\"{style}\" srcdoc=\"{inner}\"></iframe>"
    );
    let document = document(browser, &outer, flags);
    let title = document.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    serde_json::from_str(title.unwrap()).unwrap()
}

/// What `brigade report` prints of a run.
fn report_of(run: &Path, format: &str) -> String {
    let mut command = contract::command(env!("CARGO_BIN_EXE_brigade"));
    command.args(["report", "--format", format, "--manifest"]);
    command.arg(root().join("suite.toml")).arg(run);
    let ended = Ended::from(command);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

/// The reports of the recorded runs in JSON, which several tests read.
pub static JSON: LazyLock<Vec<String>> =
    LazyLock::new(|| at_once(repository::recorded_runs(), |run| report_of(&run, "json")));

/// A default run, and a run with curves.
const RUN: &str = "2026-11-29-amd-epyc-26-2-2cpu";
const CURVES: &str = "2026-11-29-sharing";

#[test]
fn a_browser_shows_a_page_that_loads_nothing_at_every_width() {
    let page_of =
        |name: &'static str| (name, report_of(&root().join("results").join(name), "html"));
    let pages = [RUN, CURVES].map(page_of);
    let page = &pages[0].1;
    for reference in ["http:", "https:", "src=", "@import", "url(", "<link", "<iframe"] {
        assert!(!page.contains(reference), "{reference}");
    }
    let anchors = page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap());
    anchors.for_each(|id| assert!(page.contains(&format!("<h2 id=\"{id}\"")), "{id}"));
    let mut browsers = ["chromium", "chromium-browser", "google-chrome"].into_iter();
    let is_there = |name: &&str| contract::command(name).arg("--version").output().is_ok();
    let browser = browsers.find(is_there).unwrap_or("chromium");
    if !has(&[browser, "--version"], "the page in a browser") {
        return;
    }
    // The page's policy allows its script.
    assert!(document(browser, page, &[]).contains("data-ready=\"yes\""));
    let fine = json!({
        "overflows": false, "overlaps": [], "outside": [], "plots": true, "unnamed": 0,
        "repeated": 0, "requests": 0, "filters": true,
    });
    for (name, page) in &pages {
        for (width, flags) in [(400, &[][..]), (1280, &["--blink-settings=preferredColorScheme=0"])]
        {
            let mut found = probed(browser, page, width, flags);
            // Every group of the other run may match.
            if *name == CURVES {
                found["filters"] = true.into();
            }
            assert_eq!(found, fine, "{name} at {width}");
        }
    }
}

/// The text of all elements in a page that begin so.
fn texts_of<'a>(page: &'a str, begin: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(begin).skip(1).map(|rest| {
        let rest = rest.split_once('>').expect("a tag").1;
        rest.split('<').next().expect("a text")
    })
}

/// HTML without its tags.
fn without_tags(html: &str) -> String {
    html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect()
}

#[test]
fn the_page_of_every_recorded_run_answers_first_and_names_cases_as_people_do() {
    at_once(repository::recorded_runs(), |run| {
        let name = run.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
        let page = report_of(&run, "html");
        let body = page.split("<body>").nth(1).expect("a body");
        let body = body.split("<script").next().expect("a body");
        let place = |begin: &str| body.find(begin).unwrap_or_else(|| panic!("{name}: {begin}"));
        assert!(place("<strong class=") < place("<table"), "{name}: the verdict is first");
        assert!(place("<table") < place("<svg"), "{name}: tables come before plots");
        for section in body.split("<h2 ").skip(1) {
            let below = section.split_once("</h2>").expect("a heading").1;
            let below = below.split("</section>").next().expect("a section");
            assert!(!without_tags(below).trim().is_empty(), "{name}: nothing is below {section}");
        }
        assert!(!body.contains("<div class=\"pictures\">\n</div>"), "{name}");
        for table in body.split("<table").skip(1) {
            let table = table.split("</table>").next().expect("a table");
            assert!(table.contains("<caption"), "{name}: {table}");
            let heads = table.matches("<th ").count();
            assert_eq!(table.matches(" scope=\"").count(), heads, "{name}: {table}");
        }
        for svg in body.split("<svg").skip(1) {
            let title = texts_of(svg, "<title").next().expect("a title");
            let unit = title.rsplit(", in ").next().expect("a unit");
            let units = ["ns", "µs", "ms", "s", "B", "KiB", "MiB", "%"];
            let has_unit = unit.split(" to ").all(|unit| units.contains(&unit));
            // A ratio has none.
            assert!(has_unit || title.starts_with("Ratio of "), "{name}: {title}");
        }
        for label in texts_of(body, "<text class=\"name\"").chain(texts_of(body, "<li class=\"k-"))
        {
            assert!(!label.contains("--") && !label.contains('…'), "{name}: {label}");
        }
        for words in texts_of(body, "<text class=\"axis\"") {
            let is_zero = words.split(['\u{a0}', ' ', '×']).next() == Some("0");
            assert!(!is_zero || words.ends_with('%'), "{name}: {words}");
        }
    });
}

/// The output of a program, for a test that is skipped without it.
fn printed(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Whether a command succeeds; without it the test of `what` is skipped.
pub fn has(command: &[&str], what: &str) -> bool {
    contract::can(what, contract::command(command[0]).args(&command[1..]))
}

/// What `brigade` prints, in a file of a folder.
fn saved(folder: &Path, name: &str, arguments: &[&str]) -> String {
    let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
    let text = printed(brigade.current_dir(root()).args(arguments).env("LC_ALL", "C.UTF-8"));
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The output of `scripts/recompute.py`, and whether all figures agree.
pub fn recomputed(arguments: &[&str]) -> (bool, String) {
    let mut python = contract::command("python3");
    python.arg(root().join("scripts/recompute.py")).args(arguments).current_dir(root());
    let output = python.stdin(Stdio::null()).output().expect("it can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
    (output.status.success(), String::from_utf8(output.stdout).expect("UTF-8"))
}

pub const PYTHON: [&str; 3] = ["python3", "-c", "import tomllib"];

#[test]
fn every_printed_figure_of_every_recorded_run_follows_from_the_records() {
    if !has(&PYTHON, "figures computed a second time") {
        return;
    }
    let runs = repository::recorded_runs();
    let runs: Vec<&str> = runs.iter().map(|run| run.to_str().unwrap()).collect();
    at_once(runs.iter().zip(&*JSON), |(run, report)| {
        let folder = tempfile::tempdir().unwrap();
        let json = folder.path().join("report.json");
        fs::write(&json, report).unwrap();
        let [csv, markdown] = [("csv", "report.csv"), ("markdown", "report.md")]
            .map(|(format, name)| saved(folder.path(), name, &["report", "--format", format, run]));
        let (agrees, text) = recomputed(&[*run, json.to_str().unwrap(), &csv, &markdown]);
        assert!(agrees, "{run}: {text}");
    });
    let folder = tempfile::tempdir().unwrap();
    let halves = [0, 1].map(|parity| half_of(runs[0], parity, folder.path()));
    let [old, new] = halves.each_ref().map(String::as_str);
    let file = saved(folder.path(), "c.json", &["compare", old, new, "--format", "json"]);
    let (agrees, text) = recomputed(&[old, new, &file]);
    assert!(agrees, "{text}");
}

/// A run of every other round of a recorded one.
fn half_of(run: &str, parity: u64, folder: &Path) -> String {
    let half = folder.join(format!("half-{parity}"));
    fs::create_dir(&half).unwrap();
    for name in ["run.json", "environment.json"] {
        fs::copy(Path::new(run).join(name), half.join(name)).unwrap();
    }
    // Two folders of one run are not compared.
    edit(half.join("run.json"), |run| run["seed"] = parity.into());
    let records = fs::read_to_string(Path::new(run).join("records.jsonl")).unwrap();
    let is_in = |line: &&str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["round"].as_u64().unwrap() % 2 == parity
    };
    let lines: Vec<&str> = records.lines().filter(is_in).collect();
    fs::write(half.join("records.jsonl"), lines.join("\n") + "\n").unwrap();
    half.to_str().unwrap().to_owned()
}

#[test]
fn a_figure_wrong_by_one_in_its_last_digit_is_detected() {
    if !has(&PYTHON, "figures wrong by one") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = &repository::recorded_runs()[0];
    let run = run.to_str().unwrap();
    let file = saved(folder.path(), "page.md", &["report", "--format", "markdown", run]);
    let page = fs::read_to_string(&file).unwrap();
    let right =
        page.lines().rfind(|line| line.starts_with("| ") && line.contains(" µs [")).unwrap();
    // The last digit of an interval, and of a count of switches.
    for (end, _) in [right.find("] |"), right.rfind(" | ")].into_iter().flatten().zip(0..) {
        let at = right[..end].rfind(|c: char| c.is_ascii_digit()).expect("a figure");
        let digit = (right.as_bytes()[at] - b'0' + 1) % 10;
        let wrong = format!("{}{digit}{}", &right[..at], &right[at + 1..]);
        fs::write(&file, page.replace(right, &wrong)).unwrap();
        assert!(!recomputed(&[run, &file]).0, "{wrong}");
    }
}

/// Each recipe is a jq program in a block that begins with the name of the format.
#[test]
fn the_recipes_of_the_document_make_what_other_tools_read() {
    if !has(&["jq", "--version"], "the jq recipes of docs/CI.md") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = &repository::recorded_runs()[0];
    let run = run.to_str().unwrap();
    saved(folder.path(), "report.json", &["report", "--format", "json", run]);
    let document = fs::read_to_string(root().join("docs/CI.md")).unwrap();
    let made = |tool: &str| -> String {
        let recipe = document.split(&format!("# {tool}\n")).nth(1).unwrap().split("```").next();
        let mut shell = contract::command("sh");
        printed(shell.args(["-euc", recipe.unwrap()]).current_dir(folder.path()))
    };
    let entries: Value = serde_json::from_str(&made("github-action-benchmark")).unwrap();
    let entries = entries.as_array().unwrap();
    let metrics: Value = serde_json::from_str(&made("Bencher")).unwrap();
    assert!(entries.len() > 10 && metrics.as_object().unwrap().len() <= entries.len());
    for entry in entries {
        assert!(entry["value"].is_f64() && entry["unit"].is_string(), "{entry}");
        let mut metric = metrics[entry["name"].as_str().unwrap()].as_object().unwrap().values();
        assert!(metric.any(|value| value["value"] == entry["value"]), "{entry}");
    }
    let text = made("benchstat");
    fs::write(folder.path().join("runs"), &text).unwrap();
    let lines = |text: &str| text.lines().filter(|line| line.starts_with("Benchmark")).count();
    assert!(lines(&text) > entries.len());
    if has(&["sh", "-c", "command -v benchstat"], "Go's format in benchstat") {
        let mut benchstat = contract::command("benchstat");
        let table = printed(benchstat.args(["-format", "csv", "runs"]).current_dir(folder.path()));
        assert!(table.lines().count() > entries.len(), "{table}");
    }
    let file = folder.path().join("report.json");
    let mut report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    report["groups"][0]["rows"][0]["processes"][0]["outcome"] = "disturbed".into();
    fs::write(&file, report.to_string()).unwrap();
    assert_eq!(lines(&made("benchstat")), lines(&text) - 1);
}
