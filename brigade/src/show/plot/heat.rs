//! What an operation takes between each pair of CPUs: a cell for each pair, whose colour
//! is the time. CPUs that are near one another stand side by side.

use super::super::pairs::{Steps, name, places, words};
use super::super::quantity::{duration, estimated_duration};
use super::super::svg::{Anchor, Picture, cell, cells, line, text};
use crate::judge::report::model::{CpuPlace, PairMap, Report};

/// The share of the width before the first column.
const LEFT: f64 = 0.1;
/// The height of the whole map, in pixels, unless its rows would be too low or too high.
const HEIGHT: f64 = 480.0;
/// The least and the greatest height of a row, in pixels.
const ROW: [f64; 2] = [6.0, 34.0];
/// The greatest width of a column, as a share of the width.
const COLUMN: f64 = 0.16;
/// The most CPUs whose cells have their figures in them.
const MOST_WITH_FIGURES: usize = 5;
/// The most numbers along a side, of two digits and of three or more.
const MOST_NUMBERS: [usize; 2] = [16, 8];

/// The picture, and what its colours stand for; `None` without a pair.
pub fn picture(report: &Report, map: &PairMap) -> Option<(Picture, Vec<(String, String)>)> {
    let steps = Steps::of(&map.pairs)?;
    let count = map.cpus.len();
    let row = (HEIGHT / count as f64).clamp(ROW[0], ROW[1]);
    let column = ((1.0 - LEFT) / count as f64).min(COLUMN);
    let height = row * count as f64;
    let mut squares = String::new();
    let mut figures = String::new();
    for pair in &map.pairs {
        let Some([y, x]) = places(map, pair) else { continue };
        let step = steps.step(pair.time_ns.value);
        let [first, second] = pair.cpus;
        let title = format!(
            "CPUs {first} and {second}, {}: {}",
            words(pair.distance),
            estimated_duration(&pair.time_ns)
        );
        squares += &cell([x, y], &format!("h{step}"), &title);
        if count <= MOST_WITH_FIGURES {
            let at = LEFT + column * (x as f64 + 0.5);
            let figure = duration(pair.time_ns.value);
            figures += &text(at, row * (y as f64 + 0.5) + 4.0, Anchor::Middle, "figure", &figure);
        }
    }
    let pairs = format!("<path class=\"strip\" d=\"M0 0V{count}H{count}Z\"/>{squares}");
    let map_of = cells([LEFT, column * count as f64], height, count, &pairs);
    let body = map_of + &figures + &borders(map, [row, column]) + &numbers(map, [row, column]);
    let signs = (0..steps.count()).map(|step| {
        let words = format!("to {}", duration(steps.end(step)));
        (format!("h{step}"), words)
    });
    let picture = Picture {
        title: format!("{}: every pair of CPUs", name(report, map)),
        description: format!(
            "{count} CPUs along both sides, and a cell for each pair that was measured, once; its \
             colour is the time. The figures are in the table."
        ),
        height: height + 20.0,
        body,
    };
    Some((picture, signs.collect()))
}

/// Lines between caches and, thicker, between nodes.
fn borders(map: &PairMap, [row, column]: [f64; 2]) -> String {
    let border = |(index, [before, after]): (usize, [&CpuPlace; 2])| {
        let class = match () {
            () if before.node != after.node => "middle node",
            () if before.cache != after.cache => "middle",
            () => return String::new(),
        };
        let (at, down) = (LEFT + column * (index + 1) as f64, row * (index + 1) as f64);
        let bottom = row * map.cpus.len() as f64;
        line((LEFT, down), (at, down), class) + &line((at, down), (at, bottom), class)
    };
    let pairs = map.cpus.windows(2).map(|pair| [&pair[0], &pair[1]]);
    pairs.enumerate().map(border).collect()
}

/// The numbers of CPUs along both sides, as many as have room.
fn numbers(map: &PairMap, [row, column]: [f64; 2]) -> String {
    let [two_digits, more] = MOST_NUMBERS;
    let most = if map.cpus.iter().all(|place| place.cpu < 100) { two_digits } else { more };
    let every = map.cpus.len().div_ceil(most);
    let bottom = row * map.cpus.len() as f64;
    let number = |(index, place): (usize, &CpuPlace)| {
        let at = index as f64 + 0.5;
        let label = place.cpu.to_string();
        let down = (row * at + 4.0).max(10.0);
        let left = match index {
            0 => format!("CPU {label}"),
            _ => label.clone(),
        };
        text(LEFT - 0.01, down, Anchor::End, "axis", &left)
            + &text(LEFT + column * at, bottom + 14.0, Anchor::Middle, "axis", &label)
    };
    map.cpus.iter().enumerate().step_by(every).map(number).collect()
}
