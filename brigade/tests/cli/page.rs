//! `report.html`: what a browser makes of it. The tests with a browser need
//! Chromium, and are skipped where it is not installed.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::skip;
use serde_json::{Value, json};

use crate::bench::{Bench, Ended, RECORD};

/// Looks at the page from within, with all folds open, and leaves what it found in
/// an attribute of the root of the page around it.
const PROBE: &str = r##"<script>
document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
const boxes = (plot) => [...plot.querySelectorAll("text")]
  .filter((text) => text.getClientRects().length > 0 && text.textContent !== "")
  .map((text) => ({ box: text.getBoundingClientRect(), words: text.textContent }));
const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
  && a.top < b.bottom - 5 && b.top < a.bottom - 5;
const overlaps = [];
for (const plot of document.querySelectorAll("svg.plot")) {
  const texts = boxes(plot);
  texts.forEach((a, index) => texts.slice(index + 1).forEach((b) => {
    if (overlap(a.box, b.box)) overlaps.push(a.words + " | " + b.words);
  }));
}
const count = (selector) => document.querySelectorAll(selector).length;
const unnamed = [...document.querySelectorAll("svg.plot")].filter((plot) =>
  plot.getAttribute("aria-labelledby").split(" ").some((id) =>
    !document.getElementById(id) || document.getElementById(id).textContent === ""));
window.parent.document.documentElement.dataset.probe = encodeURIComponent(JSON.stringify({
  width: window.innerWidth, wide: document.documentElement.scrollWidth, overlaps,
  plots: count("svg.plot"), rungs: count("#ladder .row"), sections: count("main section"),
  tables: count("table"), rows: count("tbody tr"), headers: count("tbody th[scope=row]"),
  unnamed: unnamed.length, repeated: count("[id]") -
    new Set([...document.querySelectorAll("[id]")].map((element) => element.id)).size,
  figures: JSON.parse(document.getElementById("figures").textContent).cases.length,
  requests: performance.getEntriesByType("resource").length,
  ready: document.documentElement.dataset.ready || "no",
  executed: document.documentElement.dataset.executed || "no",
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

/// The document that the browser makes of a page at this width, and what its console says.
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
    let said = logged.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
    (document, said.collect())
}

/// What [`PROBE`] finds on a page at this width, within another: a window is never as
/// narrow as a telephone. The page's policy is taken from it, which lets no other
/// script run.
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
    let (document, said) = document(browser, &file, 1700, flags);
    assert!(said.is_empty(), "{said:?}");
    let (_, found) = document.split_once("data-probe=\"").expect("the probe has run");
    let (found, _) = found.split_once('"').unwrap();
    serde_json::from_str(&decoded(found)).unwrap()
}

/// What `encodeURIComponent` has made of a text.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).unwrap()
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
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    ended.stdout
}

/// A default run, of more processes than others.
const RUN: &str = "2026-11-22-intel-xeon-6-207-2cpu";
const SWITCHES: &str = "2026-11-22-amd-epyc-2cpu-switches";

#[test]
fn a_run_leaves_a_page_and_names_it_last() {
    let bench = Bench::printing(RECORD);
    let ended = bench.ends(&["run", "--rounds", "2"]);
    let page = bench.result_folders()[0].join("report.html");
    assert_eq!(ended.stdout.lines().last(), page.to_str(), "{ended:?}");
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"), "{text}");
    assert!(!text.contains(bench.path("").to_str().unwrap()), "it names a path");
    let again = bench.ends(&["report", page.parent().unwrap().to_str().unwrap(), "--format=html"]);
    assert_eq!(again.stdout, text);
}

#[test]
fn a_page_refers_to_nothing_outside_and_is_small() {
    let page = page_of(&[RUN]);
    for reference in ["http:", "https:", "src=", "@import", "url(", "<link", "<iframe"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.len() < 300_000, "{} bytes", page.len());
    let bytes = of_a_process(RUN, &page);
    assert!(bytes < 230, "{bytes} bytes for each process");
    let references = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let local = |path: &str| path.starts_with('#') || recorded(RUN).join(path).is_file();
    references.for_each(|path| assert!(local(path), "{path}"));
}

#[test]
fn a_page_of_a_busy_machine_is_small_too() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["run.json", "environment.json"] {
        fs::copy(recorded(RUN).join(name), folder.path().join(name)).unwrap();
    }
    let disturbed = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let interference = &mut line["record"]["interference"];
        if let Some(wall) = interference["wall_ns"].as_u64() {
            // A tenth of both CPUs' time, beyond what a tick or two may be.
            interference["others_cpu_ns"] = json!(wall / 5 + 100_000_000);
        }
        line.to_string() + "\n"
    };
    let records = fs::read_to_string(recorded(RUN).join("records.jsonl")).unwrap();
    let records: String = records.lines().map(disturbed).collect();
    fs::write(folder.path().join("records.jsonl"), records).unwrap();
    let page = page_of(&[folder.path().to_str().unwrap()]);
    assert!(page.matches("<svg class=\"dots rings").count() > 30, "few are disturbed");
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

/// How much of a page there is for each process of a run, in bytes.
fn of_a_process(name: &str, page: &str) -> usize {
    let records = fs::read_to_string(recorded(name).join("records.jsonl")).unwrap();
    page.len() / records.lines().count()
}

#[test]
fn the_policy_of_a_page_knows_its_script() {
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
    assert!(script.expect("a script").lines().count() <= 100);
}

#[test]
fn a_browser_shows_every_plot_at_every_width() {
    let Some(browser) = chromium("the page in a browser") else { return };
    for names in [&[RUN][..], &[SWITCHES], &[RUN, SWITCHES]] {
        let page = page_of(names);
        for (width, flags) in [
            (400, &[][..]),
            (1000, &["--blink-settings=preferredColorScheme=0"]),
            (1600, &["--force-dark-mode"]),
        ] {
            let found = probed(browser, &page, width, flags);
            let of = |key: &str| found[key].as_u64().unwrap();
            assert!(of("wide") <= of("width"), "{names:?} at {width}: it overflows: {found}");
            assert_eq!(found["overlaps"], json!([]), "{names:?} at {width}");
            assert_eq!((of("unnamed"), of("repeated")), (0, 0), "{found}");
            assert!(of("plots") >= of("tables") / 2 && of("tables") > 2, "{found}");
            assert_eq!(of("rows"), of("headers"), "{found}");
            assert_eq!((&found["ready"], of("requests")), (&json!("yes"), 0), "{found}");
            if let [_] = names {
                assert_eq!(of("rungs"), of("figures"), "{found}");
            }
        }
    }
}

#[test]
fn a_page_says_the_same_without_script() {
    let Some(browser) = chromium("the page without script") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let page = page_of(&[RUN]);
    fs::write(&file, &page).unwrap();
    let (with, said) = document(browser, &file, 1000, &[]);
    assert!(said.is_empty(), "{said:?}");
    assert!(with.contains("data-ready=\"yes\""), "the page's policy keeps its own script out");
    let (before, policy) = page.split_once("script-src '").expect("a policy");
    let (_, after) = policy.split_once("'").unwrap();
    fs::write(&file, format!("{before}script-src 'none'{after}")).unwrap();
    let (without, said) = document(browser, &file, 1000, &[]);
    assert_eq!(said.len(), 1, "the console says that the policy keeps it out: {said:?}");
    assert!(!without.contains("data-ready"), "the policy keeps no script out");
    for what in ["<svg", "<tr", "<details", "<p>"] {
        assert_eq!(with.matches(what).count(), without.matches(what).count(), "{what}");
    }
}

/// A folder whose every word would act on a page: it runs a script, loads a picture,
/// ends an element.
fn hostile(bench: &Bench, port: u16) -> PathBuf {
    let words = format!(
        "</script></title></svg><script>document.documentElement.dataset.executed='yes'</script>\
         <img src=http://127.0.0.1:{port}/b onerror=\"fetch(1)\">'&<!--\u{2028}{{{{ 1 }}}}\
         \u{1b}[31m\u{202e}"
    );
    assert!(words.chars().count() <= 200, "a longer name of a program is left out");
    bench.ends(&["run"]);
    let folder = bench.result_folders()[0].clone();
    let (run_file, records_file) = (folder.join("run.json"), folder.join("records.jsonl"));
    let mut run: Value = serde_json::from_str(&fs::read_to_string(&run_file).unwrap()).unwrap();
    run["cases"] = json!([words]);
    run["profile"] = json!(words);
    run["skipped"] = json!([{ "case": words, "reason": words }]);
    run["procedure"]["command"] = json!([words]);
    fs::write(run_file, run.to_string()).unwrap();
    let records = fs::read_to_string(&records_file).unwrap();
    let hostile = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["case"] = json!(words);
        line["record"]["program"] = json!(words);
        line["record"]["parameters"] = json!({ "placement": words, words.as_str(): 1e300 });
        let measured = &mut line["record"]["measurements"][0];
        // A name of a measurement has an end.
        let name = format!("</script><img src=http://127.0.0.1:{port}/c onerror=alert(1)>\"'&");
        (measured["name"], measured["operation"]) = (json!(name), json!(name));
        line.to_string() + "\n"
    };
    fs::write(records_file, records.lines().map(hostile).collect::<String>()).unwrap();
    folder
}

/// Has a measurement take so many times as long.
fn lengthen(measurement: &mut Value, times: u64) {
    for (name, figure) in measurement.as_object_mut().unwrap() {
        if let Some(whole) = figure.as_u64().filter(|_| name.ends_with("_ns")) {
            *figure = json!(whole * times);
        } else if let Some(part) =
            figure.as_f64().filter(|_| name.contains("ns_") || name.contains("_ns"))
        {
            *figure = json!(part * times as f64);
        }
    }
}

/// The folder of a run of pairs of 64 CPUs, on a machine that is made up: two nodes, four
/// caches, siblings 32 apart.
fn of_64_cpus(bench: &Bench) -> PathBuf {
    bench.ends(&["run", "--rounds", "1"]);
    let folder = bench.result_folders()[0].clone();
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let value = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let eight = |first: u32| format!("{first}-{},{}-{}", first + 7, first + 32, first + 39);
    let mut environment = value(&read("environment.json"));
    environment["processor"]["sharing"] = json!({
        "allowed": "0-63",
        "cores": (0..32).map(|core| format!("{core},{}", core + 32)).collect::<Vec<_>>(),
        "caches": [eight(0), eight(8), eight(16), eight(24)],
        "nodes": ["0-15,32-47", "16-31,48-63"],
    });
    let pairs =
        (0..64_u32).flat_map(|first| (first + 2..64).step_by(5).map(move |cpu| (first, cpu)));
    let ways = [("spin", 10), ("futex", 600)];
    let all = ways.into_iter().flat_map(|way| pairs.clone().map(move |pair| (way, pair)));
    let line = value(read("records.jsonl").lines().next().unwrap());
    let (mut names, mut records) = (Vec::new(), String::new());
    for ((way, times), (first, second)) in all {
        let name = format!("core-{way}/{first},{second}");
        let cpus = format!("{first},{second}");
        let far = if first / 16 % 2 == second / 16 % 2 { 1 } else { 4 };
        for round in 1..=6 {
            let mut line = line.clone();
            (line["case"], line["round"]) = (json!(name), json!(round));
            line["record"]["parameters"] =
                json!({ "placement": "spread", "cpus": cpus, "via": way });
            lengthen(&mut line["record"]["measurements"][0], times * far + round);
            records += &(line.to_string() + "\n");
        }
        names.push(name);
    }
    let mut run = value(&read("run.json"));
    (run["cases"], run["details"], run["rounds"]) = (json!(names), json!([]), json!(6));
    for (name, text) in [
        ("environment.json", environment.to_string()),
        ("run.json", run.to_string()),
        ("records.jsonl", records),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    folder
}

#[test]
fn pairs_of_64_cpus_are_two_heat_maps() {
    let bench = Bench::printing(RECORD);
    let folder = of_64_cpus(&bench);
    let report = |format| {
        let ended = bench.ends(&["report", folder.to_str().unwrap(), "--format", format]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{format}");
        ended.stdout
    };
    let page = report("html");
    let pairs = (0..64).map(|first| 62_usize.saturating_sub(first).div_ceil(5)).sum::<usize>();
    assert_eq!(page.matches("<title>CPUs ").count(), 2 * pairs);
    assert_eq!(page.matches("<svg class=\"cells\"").count(), 2);
    assert!(page.len() < 300_000, "{} bytes", page.len());
    assert_eq!(report("text").matches(" between CPUs, of which").count(), 2);
    assert_eq!(
        report("csv").lines().filter(|line| line.contains("\"\"cpus\"\":")).count(),
        12 * pairs
    );
    let Some(browser) = chromium("heat maps in a browser") else { return };
    for width in [400, 1000, 1600] {
        let found = probed(browser, &page, width, &[]);
        let of = |key: &str| found[key].as_u64().unwrap();
        assert!(of("wide") <= of("width"), "at {width} it overflows: {found}");
        assert_eq!(found["overlaps"], json!([]), "at {width}");
        // Two maps, and the ladder, on which each distance is a rung of each way.
        assert_eq!((of("plots"), of("rungs"), of("figures")), (3, 8, 0), "{found}");
    }
}

#[test]
fn nothing_of_a_hostile_folder_runs_or_reaches_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let bench = Bench::printing(RECORD);
    let folder = hostile(&bench, listener.local_addr().unwrap().port());
    let ended = bench.ends(&["report", folder.to_str().unwrap(), "--format", "html"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let page = &ended.stdout;
    assert!(page.contains("&lt;script&gt;") && !page.contains("<img"), "{page}");
    assert_eq!(page.matches("<script").count(), 2, "{page}");
    let Some(browser) = chromium("a hostile page in a browser") else { return };
    // Without its policy too: nothing is there that it would have to stop.
    let found = probed(browser, page, 1000, &[]);
    assert_eq!((&found["executed"], &found["ready"]), (&json!("no"), &json!("yes")), "{found}");
    assert!(found["plots"].as_u64().unwrap() > 1, "{found}");
    assert!(listener.accept().is_err(), "the page has asked for something");
    // The test can fail: the probe sees what runs.
    let page = page.replace(
        "</main>",
        "<script>document.documentElement.dataset.executed='yes'</script></main>",
    );
    assert_eq!(probed(browser, &page, 1000, &[])["executed"], "yes");
}

#[test]
fn a_page_is_opened_and_follows_no_link() {
    let bench = Bench::printing(RECORD);
    bench.ends(&["run", "--rounds", "1"]);
    let folder = &bench.result_folders()[0];
    let (page, elsewhere) = (folder.join("report.html"), bench.path("precious"));
    fs::write(&elsewhere, "mine").unwrap();
    fs::remove_file(&page).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &page).unwrap();
    let opener = bench.path("xdg-open");
    let script = format!("#!/bin/sh\necho \"$1\" >'{}'\n", bench.path("opened").display());
    contract::executable::write(&opener, &script);
    let open = |path: &str| {
        let mut brigade = bench.brigade(&["report", folder.to_str().unwrap(), "--open"]);
        brigade.env("PATH", path);
        Ended::from(brigade)
    };
    let path = format!("{}:/usr/bin:/bin", bench.path("").display());
    let ended = open(&path);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(ended.stdout, format!("{}\n", page.display()));
    let opened = fs::read_to_string(bench.path("opened")).unwrap();
    assert_eq!(opened.trim_end(), page.to_str().unwrap());
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "mine");
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    let ended = open("/nowhere");
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("the page is not opened: xdg-open: "), "{ended:?}");
    let ended = bench.ends(&["report", folder.to_str().unwrap(), "--open", "--format", "csv"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
}
