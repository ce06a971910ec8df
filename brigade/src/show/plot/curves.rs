//! Curves over an axis of time, each with its name beside its end.

use super::super::quantity::tick;
use super::super::scale::Scale;
use super::super::svg::{Anchor, cloud, cut, dot, group, line, text};
use super::rows::{apart, beside_names, path};

const TOP: f64 = 12.0;
/// The room for the labels of the axis below.
const BELOW: f64 = 22.0;
/// The height of a name.
const NAME_HEIGHT: f64 = 15.0;
/// The room for a name, in pixels.
const NAME: f64 = 172.0;
/// Where curves begin, beside the labels of the axis.
const START: f64 = 0.12;
/// Where curves end; behind it lines lead to the names.
const END: f64 = 0.92;

/// A curve, which has a point at least. Places across are shares of the axis, 0 to 1.
pub struct Curve {
    /// The name of its case or cases.
    pub name: String,
    /// Its colour.
    pub class: &'static str,
    /// Its points from the left.
    pub points: Vec<Point>,
    /// What is covered about it: the place across of each point, with the ends.
    pub cover: Vec<(f64, [f64; 2])>,
}

/// A point of a curve.
pub struct Point {
    /// Its place across.
    pub at: f64,
    /// Its time in nanoseconds.
    pub ns: f64,
    /// What it is.
    pub title: String,
}

/// The elements of a picture of these curves, and its height: `least` pixels for the
/// curves at least. `ticks` are places across with their labels.
pub fn draw(curves: &[Curve], time: &Scale, ticks: &[(f64, String)], least: f64) -> (String, f64) {
    let inner = (curves.len() as f64 * NAME_HEIGHT).max(least);
    let bottom = TOP + inner;
    let across = |at: f64| START + at * (END - START);
    let down = |ns: f64| TOP + (1.0 - time.share(ns)) * inner;
    let mut area = String::new();
    for ns in time.ticks() {
        let y = down(*ns);
        area += &line((0.0, y), (END, y), "grid");
        area += &text(0.0, y - 3.0, Anchor::Start, "axis", &tick(*ns));
    }
    for (at, label) in ticks {
        let x = across(*at);
        area += &line((x, TOP), (x, bottom), "grid");
        area += &text(x, bottom + 15.0, Anchor::Middle, "axis", label);
    }
    let ends: Vec<f64> = curves.iter().map(|of| down(of.points[of.points.len() - 1].ns)).collect();
    let places = apart(&ends, NAME_HEIGHT, [TOP + 4.0, bottom]);
    let mut names = String::new();
    for (Curve { name, class, points, cover }, place) in curves.iter().zip(&places) {
        let places: Vec<(f64, f64)> =
            points.iter().map(|point| (across(point.at), down(point.ns))).collect();
        let mut elements = String::new();
        if !cover.is_empty() {
            let upper = cover.iter().map(|(at, [_, high])| (across(*at), down(*high)));
            let lower = cover.iter().rev().map(|(at, [low, _])| (across(*at), down(*low)));
            let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
            elements += &path(&outline, &format!("cover {class}"), bottom, true);
        }
        elements += &path(&places, &format!("curve {class}"), bottom, false);
        let last = places[places.len() - 1];
        elements += &line(last, (1.0, *place), &format!("leader {class}"));
        let dots = points.iter().zip(places).map(|(point, at)| dot(at, &point.title));
        elements += &cloud(class, [0.0, bottom], &dots.collect::<String>());
        area += &group(name, "curves", &elements);
        let label =
            text(0.0, place + 4.0, Anchor::Start, &format!("label {class}"), &cut(name, NAME));
        names += &group(name, "curves", &label);
    }
    let height = bottom + BELOW;
    (beside_names(height, &area, &names), height)
}
