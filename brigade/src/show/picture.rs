//! The picture of a run, to share: the parts of the first screen side by side.

use super::plot::screen;
use super::screen::machine;
use super::svg::{Anchor, cut, file, placed, text};
use super::verdict::verdict;
use crate::judge::report::Report;

/// The title of the picture, and of the page of a whole run.
pub const TITLE: &str = "What concurrency costs";

/// The width, the margin on both sides, the space between parts and that above them, in pixels.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 32.0;
const BETWEEN: f64 = 40.0;
const HEAD: f64 = 112.0;

/// The picture with the machine, the version and the verdict; `None` unless the run measured
/// something on the first screen.
pub fn svg(report: &Report) -> Option<String> {
    let parts = screen(&report.screen);
    let count = parts.len() as f64;
    let width = (WIDTH - 2.0 * MARGIN - (count - 1.0) * BETWEEN) / count;
    let places = (0..parts.len()).map(|at| MARGIN + at as f64 * (width + BETWEEN));
    let placed = parts
        .iter()
        .zip(places)
        .map(|(part, x)| placed(&part.body, [x, HEAD], [width, part.height]));
    let bottom = HEAD + parts.iter().map(|part| part.height).reduce(f64::max)? + 30.0;
    let legend = &parts[0].description;
    let verdict = verdict(&report.run);
    let words = [
        (44.0, "title", TITLE),
        (70.0, "", &*machine(&report.run)),
        (90.0, "", &format!("{}: {} Brigade {}", verdict.word, verdict.text, report.run.version)),
        (bottom, "axis", &format!("{legend} brigade report --format svg")),
    ];
    let line = |(y, class, words): (f64, &str, &str)| {
        text(MARGIN / WIDTH, y, Anchor::Start, class, &cut(words, WIDTH - 2.0 * MARGIN)) + "\n"
    };
    let body: String = words.map(line).into_iter().chain(placed).collect();
    Some(file([TITLE, legend], [WIDTH, bottom + 14.0], &body))
}
