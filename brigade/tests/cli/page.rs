//! `report.html`: its content, and how a browser shows it. The tests with a browser need Chromium,
//! and are skipped without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use contract::skip;
use serde_json::{Value, json};

use crate::bench::{Bench, Ended, RECORD};

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
window.parent.document.title = JSON.stringify({
  overflows: document.documentElement.scrollWidth > window.innerWidth, overlaps, outside,
  plots: all("svg.plot").length > 0, unnamed: all("svg.plot:not([aria-label])").length,
  repeated: ids.length - new Set(ids).size,
  requests: performance.getEntriesByType("resource").length,
});
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

/// The document that the browser builds from a page; it must log nothing.
fn document(browser: &str, page: &str, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    fs::write(&file, page).unwrap();
    let output = Command::new(browser)
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

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../results").join(name)
}

/// What `brigade report` prints of a recorded run.
fn report_of(name: &str, format: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brigade"));
    command.args(["report", "--format", format, "--manifest"]);
    command.args([recorded("../suite.toml"), recorded(name)]);
    let ended = Ended::from(command);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

/// A default run, and a run with curves.
const RUN: &str = "2026-11-22-intel-xeon-6-207-2cpu";
const CURVES: &str = "2026-11-25-sharing";

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
    let (_, embedded) = text.split_once("id=\"report\">").expect("a report");
    let embedded: Value =
        serde_json::from_str(embedded.split("</script>").next().unwrap()).unwrap();
    assert_eq!(embedded, serde_json::from_str::<Value>(&report).unwrap());
}

#[test]
fn a_page_loads_nothing_and_its_policy_allows_its_script_only() {
    let page = report_of(RUN, "html");
    for reference in ["http:", "https:", "src=", "@import", "url(", "<link", "<iframe"] {
        assert!(!page.contains(reference), "{reference}");
    }
    let anchors = page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap());
    anchors.for_each(|id| assert!(page.contains(&format!("<h2 id=\"{id}\"")), "{id}"));
    let script = page.split("<script>").nth(1).and_then(|rest| rest.split("</script>").next());
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("script"), script.expect("a script")).unwrap();
    let sum = "sha256sum <script | cut -c1-64 | tr a-f A-F | basenc -d --base16 | base64";
    let mut hash = Command::new("sh");
    let hash = Ended::from({
        hash.args(["-c", sum]).current_dir(&folder);
        hash
    });
    let policy = format!("script-src 'sha256-{}'", hash.stdout.trim());
    assert!(page.contains(&policy), "SCRIPT_HASH: {policy}");
    let Some(browser) = chromium("the page's policy") else { return };
    assert!(document(browser, &page, &[]).contains("data-ready=\"yes\""));
}

#[test]
fn a_browser_shows_every_plot_at_every_width() {
    let Some(browser) = chromium("the page in a browser") else { return };
    let fine = json!({
        "overflows": false, "overlaps": [], "outside": [], "plots": true, "unnamed": 0,
        "repeated": 0, "requests": 0,
    });
    for name in [RUN, CURVES] {
        let page = report_of(name, "html");
        for (width, flags) in [(400, &[][..]), (1280, &["--blink-settings=preferredColorScheme=0"])]
        {
            assert_eq!(probed(browser, &page, width, flags), fine, "{name} at {width}");
        }
    }
    let picture = report_of(RUN, "svg");
    assert!(!picture.contains("href") && !picture.contains("url("), "it loads something");
    let picture = format!("<body>{picture}</body>");
    assert_eq!(probed(browser, &picture, 1300, &[]), fine, "the picture");
}

#[test]
fn the_filter_hides_groups_without_a_matching_case() {
    let Some(browser) = chromium("the filter") else { return };
    let script = "<script>
        const filter = document.getElementById(\"filter\");
        filter.value = \"PROCESS\";
        filter.dispatchEvent(new Event(\"input\"));
        const seen = document.querySelectorAll(\"section:not([hidden]) h2\").length;
        document.title = seen > 0 && seen < document.querySelectorAll(\"h2\").length;
        </script></body>";
    let page = report_of(RUN, "html").replace("http-equiv", "title").replace("</body>", script);
    assert!(document(browser, &page, &[]).contains("<title>true</title>"));
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
    let open = |path: &str, connection: &str| {
        let mut brigade = bench.brigade(&["report", folder.to_str().unwrap(), "--open"]);
        brigade.env("PATH", path).env("SSH_CONNECTION", connection);
        Ended::from(brigade)
    };
    let ended = open("/nowhere", "10.0.0.1 5000 10.0.0.2 22");
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains("scp 10.0.0.2:"), "{ended:?}");
    let ended = open(&format!("{}:/usr/bin:/bin", bench.path("").display()), "");
    assert_eq!((ended.code, ended.stdout), (Some(0), format!("{}\n", page.display())));
    assert_eq!(fs::read_to_string(bench.path("opened")).unwrap().trim(), page.to_str().unwrap());
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "mine");
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    // A page that is part of the record stays as it is.
    fs::write(&page, "recorded").unwrap();
    assert_eq!(open("/nowhere", "").code, Some(1));
    assert_eq!(fs::read_to_string(&page).unwrap(), "recorded");
}
