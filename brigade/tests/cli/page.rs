//! `report.html`: its content, and how a browser shows it. The tests with a browser need Chromium,
//! and are skipped without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::skip;
use serde_json::{Value, json};

use crate::bench::{Bench, Ended, RECORD};

/// Measures the page from within, with all folds open, and stores the result in an attribute of the
/// outer page's root.
const PROBE: &str = r##"<script>
document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
  && a.top < b.bottom - 5 && b.top < a.bottom - 5;
const overlaps = [], outside = [];
for (const plot of all("svg.plot")) {
  const texts = all("text", plot).map((text) => ({ box: text.getBoundingClientRect(), text }));
  texts.forEach((a, index) => texts.slice(index + 1).forEach((b) => {
    if (overlap(a.box, b.box)) overlaps.push(escape(a.text.textContent + " | " + b.text.textContent));
  }));
  for (const mark of all("text, circle, rect, line", plot)) {
    const box = mark.getBoundingClientRect();
    if (box.left < 0 || box.right > window.innerWidth) outside.push(escape(mark.outerHTML));
  }
}
const ids = all("[id]").map((element) => element.id);
window.parent.document.documentElement.dataset.probe = btoa(JSON.stringify({
  width: window.innerWidth, wide: document.documentElement.scrollWidth, overlaps, outside,
  plots: all("svg.plot").length, dots: all(".picture.wide circle").length,
  unnamed: all("svg.plot:not([aria-label])").length, repeated: ids.length - new Set(ids).size,
  requests: performance.getEntriesByType("resource").length,
  ready: document.documentElement.dataset.ready || "no",
}));
</script>"##;

/// The browser, if it is installed.
fn chromium(what: &str) -> Option<&'static str> {
    let is_there = |name: &&str| {
        let version = Command::new(name).arg("--version").stderr(Stdio::null()).output();
        version.is_ok_and(|output| output.status.success())
    };
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_there);
    if found.is_none() {
        skip(what, "Chromium is not installed: apt-get install chromium");
    }
    found
}

/// The document that the browser builds from a page at this width, and its console output.
fn document(browser: &str, page: &Path, width: u32, flags: &[&str]) -> (String, Vec<String>) {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-extensions"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={width},1000"))
        .args(flags)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let document = String::from_utf8_lossy(&output.stdout).into_owned();
    let logged = String::from_utf8_lossy(&output.stderr);
    assert!(document.contains("</html>"), "{logged}");
    let console = logged.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
    (document, console.collect())
}

/// The result of [`PROBE`] on a page at this width, within another page: a window cannot be as
/// narrow as a phone. The page's policy is removed, since it allows no other script.
fn probed(browser: &str, page: &str, width: u32, flags: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let (head, body) = page.split_once("<meta http-equiv=").expect("a policy");
    let (_, body) = body.split_once('>').unwrap();
    let body = body.replace("</body>", &format!("{PROBE}</body>"));
    let inner = format!("{head}{body}").replace('&', "&amp;").replace('"', "&quot;");
    let style = format!("border:0;width:{width}px;height:1000px");
    fs::write(
        &file,
        format!(
            "<!doctype html><html><iframe style=\"{style}\" srcdoc=\"{inner}\"></iframe></html>"
        ),
    )
    .unwrap();
    let (document, console) = document(browser, &file, 1700, flags);
    assert!(console.is_empty(), "{console:?}");
    let (_, found) = document.split_once("data-probe=\"").expect("the probe has run");
    let (found, _) = found.split_once('"').unwrap();
    serde_json::from_slice(&STANDARD.decode(found).unwrap()).unwrap()
}

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../results").join(name)
}

/// The page of recorded runs.
fn page_of(names: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_brigade"))
        .args(["report", "--format", "html", "--manifest"])
        .arg(recorded("../suite.toml"))
        .args(names.iter().map(|name| recorded(name)))
        .output()
        .unwrap();
    let ended = Ended::from(output);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

/// A default run, and a run of a single group with curves.
const RUN: &str = "2026-11-22-intel-xeon-6-207-2cpu";
const HAND_OVERS: &str = "2026-11-24-hand-overs";

fn embedded(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"report\">").expect("a report");
    serde_json::from_str(rest.split_once("</script>").expect("an end").0).unwrap()
}

#[test]
fn a_run_leaves_a_page_that_embeds_its_report() {
    let bench = Bench::printing(RECORD);
    bench.ends(&["run", "--rounds", "2"]);
    let page = bench.result_folders()[0].join("report.html");
    let text = fs::read_to_string(&page).unwrap();
    assert!(!text.contains(bench.path("").to_str().unwrap()), "it names a path");
    let folder = page.parent().unwrap().to_str().unwrap();
    assert_eq!(bench.ends(&["report", folder, "--format=html"]).stdout, text);
    let report = bench.ends(&["report", folder, "--format=json"]).stdout;
    assert_eq!(embedded(&text), serde_json::from_str::<Value>(&report).unwrap());
}

#[test]
fn a_page_references_nothing_outside() {
    let page = page_of(&[RUN]);
    for reference in ["http:", "https:", "src=", "@import", "url(", "<link", "<iframe"] {
        assert!(!page.contains(reference), "{reference}");
    }
    let anchors = page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap());
    anchors.for_each(|id| assert!(page.contains(&format!("<h2 id=\"{id}\">")), "{id}"));
}

#[test]
fn the_policy_of_a_page_allows_its_script() {
    let page = page_of(&[RUN]);
    let script = page.split("<script>").nth(1).and_then(|rest| rest.split("</script>").next());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script");
    fs::write(&file, script.expect("a script")).unwrap();
    let sum = Command::new("sha256sum").arg(&file).output().expect("sha256sum");
    let digits = String::from_utf8(sum.stdout).unwrap();
    let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
    let hash = STANDARD.encode((0..32).map(byte).collect::<Vec<_>>());
    let policy = format!("script-src 'sha256-{hash}'");
    assert!(page.contains(&policy), "SCRIPT_HASH is sha256-{hash}");
    let Some(browser) = chromium("the page's policy") else { return };
    let file = folder.path().join("page.html");
    fs::write(&file, page).unwrap();
    let (document, console) = document(browser, &file, 1000, &[]);
    assert!(document.contains("data-ready=\"yes\"") && console.is_empty(), "{console:?}");
}

#[test]
fn a_browser_shows_every_plot_at_every_width() {
    let Some(browser) = chromium("the page in a browser") else { return };
    for names in [&[RUN][..], &[HAND_OVERS], &[RUN, HAND_OVERS]] {
        let is_one = names.len() == 1;
        let page = page_of(names);
        let report = embedded(&page);
        for (width, flags) in [
            (400, &[][..]),
            (1000, &["--blink-settings=preferredColorScheme=0"]),
            (1600, &["--force-dark-mode"]),
        ] {
            let found = probed(browser, &page, width, flags);
            let of = |key: &str| found[key].as_u64().unwrap();
            assert!(of("wide") <= of("width"), "{names:?} at {width}: it overflows: {found}");
            assert_eq!(found["overlaps"], json!([]), "{names:?} at {width}");
            assert_eq!(found["outside"], json!([]), "{names:?} at {width}");
            assert_eq!((of("unnamed"), of("repeated")), (0, 0), "{found}");
            assert_eq!((&found["ready"], of("requests")), (&json!("yes"), 0), "{found}");
            let groups = report["groups"].as_array().unwrap();
            let rows = report["screen"].to_string().matches("\"ratio\":").count();
            assert_eq!(of("dots"), if is_one { rows as u64 } else { 0 }, "{found}");
            assert_eq!(of("plots") > groups.len() as u64, is_one, "{found}");
        }
    }
}

#[test]
fn a_picture_is_xml_and_lies_within_its_edges() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("picture.svg");
    let output = Command::new(env!("CARGO_BIN_EXE_brigade"))
        .args(["report", "--format", "svg", "-o", file.to_str().unwrap(), "--manifest"])
        .args([recorded("../suite.toml"), recorded(RUN)])
        .output()
        .unwrap();
    assert_eq!(Ended::from(output).code, Some(0));
    let picture = fs::read_to_string(&file).unwrap();
    assert!(!picture.contains("href") && !picture.contains("url("), "it loads something");
    let Some(browser) = chromium("the picture in a browser") else { return };
    // A browser shows only pictures that are XML.
    let page = folder.path().join("page.html");
    let image = "<img src=\"picture.svg\" onload=\"document.title = this.naturalWidth\">";
    fs::write(&page, image).unwrap();
    let (document, _) = document(browser, &page, 1300, &[]);
    assert!(document.contains("<title>1200</title>"), "{document}");
    let found =
        probed(browser, &format!("<meta http-equiv=\"\"><body>{picture}</body>"), 1300, &[]);
    assert_eq!((&found["overlaps"], &found["outside"]), (&json!([]), &json!([])));
}

#[test]
fn the_filter_hides_the_prose_of_groups_without_a_matching_case() {
    let Some(browser) = chromium("the filter") else { return };
    let script = "<script>
        const filter = document.getElementById(\"filter\");
        filter.value = \"THREAD-FUTEX/free\";
        filter.dispatchEvent(new Event(\"input\"));
        const seen = [...document.querySelectorAll(\"section:not([hidden]) h2\")];
        document.title = seen.map((heading) => heading.id).join();
        </script></body>";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let page = page_of(&[RUN]).replace("http-equiv", "title").replace("</body>", script);
    fs::write(&file, page).unwrap();
    let (document, console) = document(browser, &file, 1000, &[]);
    assert!(document.contains("<title>group-hops</title>") && console.is_empty(), "{console:?}");
}

#[test]
fn a_page_is_opened_and_a_link_is_not_followed() {
    let bench = Bench::printing(RECORD);
    bench.ends(&["run", "--rounds", "1"]);
    let folder = &bench.result_folders()[0];
    let (page, elsewhere) = (folder.join("report.html"), bench.path("precious"));
    fs::write(&elsewhere, "mine").unwrap();
    fs::remove_file(&page).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &page).unwrap();
    let script = format!("#!/bin/sh\necho \"$1\" >'{}'\n", bench.path("opened").display());
    contract::executable::write(&bench.path("xdg-open"), &script);
    let open = |path: &str| {
        let mut brigade = bench.brigade(&["report", folder.to_str().unwrap(), "--open"]);
        brigade.env("PATH", path).env_remove("SSH_CONNECTION");
        brigade
    };
    let mut remote = open("/nowhere");
    let ended = Ended::from({
        remote.env("SSH_CONNECTION", "10.0.0.1 5000 10.0.0.2 22");
        remote
    });
    let fetch = format!("scp 10.0.0.2:{} .", page.display());
    assert_eq!((ended.code, ended.stdout.lines().last()), (Some(0), Some(&*fetch)));
    let open = |path: &str| Ended::from(open(path));
    let ended = open(&format!("{}:/usr/bin:/bin", bench.path("").display()));
    assert_eq!((ended.code, ended.stdout), (Some(0), format!("{}\n", page.display())));
    assert_eq!(fs::read_to_string(bench.path("opened")).unwrap().trim(), page.to_str().unwrap());
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "mine");
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    let ended = open("/nowhere");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("xdg-open"), "{ended:?}");
    // A page that is part of the record stays as it is.
    fs::write(&page, "recorded").unwrap();
    open("/nowhere");
    assert_eq!(fs::read_to_string(&page).unwrap(), "recorded");
}
