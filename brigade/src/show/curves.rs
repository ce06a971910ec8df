//! Curves: how figures grow with a number, such as the number of tasks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::names::Names;
use super::quantity::brief;
use super::report::{compared, estimated};
use super::scale::{Scale, tick, units};
use super::svg::{
    Heads, INTERVAL, LINE, MEDIAN, MIDDLE, Picture, RANGE, START, TITLE, class_of, disc,
    group as element, line, text,
};
use crate::judge::loads::Loads;
use crate::judge::row::{Quantity, Row};
use crate::judge::statistics::Interval;

/// Where the vertical axis begins, below the title and a line of words, and where it ends, in pixels.
const TOP: f64 = TITLE + LINE + 14.0;
const BOTTOM: f64 = TOP + 300.0;
/// The least distance between the letters of two curves, in pixels.
const ROOM: f64 = 15.0;
/// Where the horizontal axis begins and ends, as shares of the width.
const FIRST: f64 = 0.13;
const LAST: f64 = 0.93;
/// Where it begins if 0 is left of it.
const FIRST_AFTER_ZERO: f64 = 0.26;
/// The fewest numbers at which a curve has figures.
const FEWEST: usize = 3;

/// A figure at a number.
#[derive(Clone, Copy)]
struct Point<'a> {
    number: f64,
    row: &'a Row,
}

/// The figures of cases that differ in one number only, in its order.
type Curve<'a> = Vec<Point<'a>>;

/// A picture for each number, such as the number of tasks, of which at least three are measured. Curves
/// of the lines of a `table` have their letters and names.
pub fn curves(rows: &[&Row], table: Option<&Loads>, names: &Names) -> Vec<Picture> {
    let parameters: BTreeSet<&String> = rows.iter().flat_map(|row| row.parameters.keys()).collect();
    let of_parameter =
        |parameter: &String| picture(parameter, &curves_by(parameter, rows), table, names);
    parameters.into_iter().filter_map(of_parameter).collect()
}

/// What one operation of these rows is, if it is the same.
pub fn operation<'a>(rows: &[&'a Row]) -> &'a str {
    let operations: BTreeSet<&str> = rows.iter().map(|row| &*row.operation).collect();
    match operations.first() {
        Some(only) if operations.len() == 1 && !only.is_empty() => only,
        _ => "operation",
    }
}

/// The curves by one parameter.
fn curves_by<'a>(parameter: &str, rows: &[&'a Row]) -> Vec<Curve<'a>> {
    let mut curves = BTreeMap::<String, Curve>::new();
    for &row in rows {
        let number = match row.parameters.get(parameter).and_then(Value::as_f64) {
            None if parameter == "work" => Some(0.0),
            number => number,
        };
        let others = row.parameters.iter().filter(|(other, _)| *other != parameter);
        let others = others.collect::<Vec<_>>();
        let other = row.other.as_ref();
        let other = other.map(|other| (other.case_without(parameter), &other.measurement));
        let key = format!("{} {} {others:?} {other:?}", row.program, row.measurement);
        if let Some(number) = number {
            curves.entry(key).or_default().push(Point { number, row });
        }
    }
    let mut curves: Vec<Curve> = curves.into_values().collect();
    for curve in &mut curves {
        curve.sort_by(|one, other| one.number.total_cmp(&other.number));
    }
    curves.retain(|curve| {
        let mut numbers: Vec<f64> = curve.iter().map(|point| point.number).collect();
        numbers.dedup();
        numbers.len() >= FEWEST
    });
    curves
}

/// If the largest number is less than this many times the smallest, the axis has a tick at each.
const NARROW: f64 = 2.0;

/// Both axes of a picture, which are logarithmic.
struct Axes {
    numbers: Scale,
    /// The ticks of the numbers.
    ticks: Vec<f64>,
    figures: Scale,
    unit: Quantity,
    /// Whether a curve has the number 0, which no logarithmic axis has: it is left of the axis.
    has_zero: bool,
}

impl Axes {
    /// The axes that show all points of these curves; `None` without any.
    fn new(curves: &[Curve]) -> Option<Self> {
        let points = || curves.iter().flatten();
        let unit = points().next()?.row.unit;
        let figures = points().flat_map(|point| {
            let ends = span(point.row);
            let figure = point.row.figure.map(|figure| figure.value);
            [figure, ends.map(|ends| ends.low), ends.map(|ends| ends.high)]
        });
        let (numbers, ticks) = axis_of_numbers(points().map(|point| point.number))?;
        Some(Self {
            numbers,
            ticks,
            figures: Scale::new(unit, figures.flatten())?,
            unit,
            has_zero: points().any(|point| point.number == 0.0),
        })
    }

    /// The horizontal position of a number, as a share of the width.
    fn across(&self, number: f64) -> f64 {
        let first = if self.has_zero { FIRST_AFTER_ZERO } else { FIRST };
        if number == 0.0 { FIRST } else { first + (LAST - first) * self.numbers.share(number) }
    }

    /// The vertical position of a figure, in pixels.
    fn down(&self, figure: f64) -> f64 {
        TOP + (1.0 - self.figures.share(figure)) * (BOTTOM - TOP)
    }

    /// The vertical position of a row's figure, in pixels.
    fn down_to(&self, row: &Row) -> f64 {
        row.figure.map_or(BOTTOM, |figure| self.down(figure.value))
    }

    /// The position of a point: its share of the width, and pixels.
    fn place(&self, point: &Point) -> (f64, f64) {
        (self.across(point.number), self.down_to(point.row))
    }

    /// The grid with its words.
    fn grid(&self) -> String {
        let mut elements = String::new();
        for figure in self.figures.ticks() {
            let y = self.down(*figure);
            elements += &line((0.0, y), (0.94, y), "grid");
            elements += &text(0.0, y - 3.0, START, "axis", &tick(*figure, self.unit));
        }
        if self.has_zero {
            elements += &self.upright(0.0, "none");
        }
        let step = self.ticks.len().div_ceil(5);
        for number in self.ticks.iter().step_by(step) {
            elements += &self.upright(*number, &brief(*number));
        }
        elements
    }

    /// An upright line of the grid, with words below it.
    fn upright(&self, number: f64, words: &str) -> String {
        let x = self.across(number);
        line((x, TOP), (x, BOTTOM), "grid") + &text(x, BOTTOM + 15.0, MIDDLE, "axis", words)
    }
}

/// The axis of these numbers, and its ticks; `None` if none is positive. Shares of reads, such as 90, 99
/// and 100 %, lie between two ticks of a usual axis.
fn axis_of_numbers(numbers: impl Iterator<Item = f64>) -> Option<(Scale, Vec<f64>)> {
    let mut numbers: Vec<f64> = numbers.filter(|number| *number > 0.0).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    if *numbers.last()? < NARROW * numbers[0] {
        let scale = Scale::tight(numbers.iter().copied())?;
        return Some((scale, numbers));
    }
    let scale = Scale::new(Quantity::Ratio, numbers)?;
    let ticks = scale.ticks().to_vec();
    Some((scale, ticks))
}

/// Between what a figure lies: most processes of a row, or the interval of a ratio.
fn span(row: &Row) -> Option<Interval> {
    match row.unit {
        Quantity::Ratio => row.figure?.interval,
        _ => row.range,
    }
}

/// What a row compares, without this parameter.
fn name_without(row: &Row, parameter: &str, names: &Names) -> String {
    let own = names.name_of_case(&row.case_without(parameter), row);
    let Some(other) = &row.other else { return own };
    let of_other = names.name_of_case(&other.case_without(parameter), row);
    compared(row, other, [own, of_other]).join(" / ")
}

/// The words for the numbers of a parameter.
struct NumberWords {
    in_title: String,
    on_axis: String,
}

impl NumberWords {
    fn new(parameter: &str) -> Self {
        let [in_title, on_axis] = match parameter {
            "greedy_for" => ["µs of computing", "computing, µs"],
            "read" => ["share of reads", "reads, %"],
            "resident_mib" => ["MiB of resident memory", "resident memory, MiB"],
            "working_set" => ["bytes of working set", "working set, bytes"],
            "work" => ["work", "units of work"],
            count => {
                let count = count.replace('_', " ");
                return Self { in_title: count.clone(), on_axis: count };
            }
        };
        Self { in_title: in_title.to_owned(), on_axis: on_axis.to_owned() }
    }
}

/// The curves by a parameter; `None` without any.
fn picture(
    parameter: &str,
    curves: &[Curve],
    table: Option<&Loads>,
    names: &Names,
) -> Option<Picture> {
    let rows: Vec<&Row> = curves.iter().flatten().map(|point| point.row).collect();
    let is_ratio = rows.first()?.unit == Quantity::Ratio;
    let words = NumberWords::new(parameter);
    let figure = if is_ratio { "Ratio of times" } else { "Time of one operation" };
    let title = format!("{figure} by {}", words.in_title);
    let axes = Axes::new(curves)?;
    let units = units(&axes.figures, axes.unit);
    let of_one = if is_ratio {
        "ratio of times".to_owned()
    } else {
        format!("time of one {}", operation(&rows))
    };
    let heads = Heads::new(&title, "", &format!("{of_one}, {units}, logarithmic"));
    let below = BOTTOM + 15.0 + LINE;
    let mut body = heads.elements + &axes.grid();
    body += &text(0.53, below, MIDDLE, "axis", &format!("{}, logarithmic", words.on_axis));
    let lasts: Vec<&Row> = curves.iter().filter_map(|curve| Some(curve.last()?.row)).collect();
    let wanted: Vec<f64> = lasts.iter().map(|row| axes.down_to(row)).collect();
    let letters = apart(&wanted);
    let mut legend = Vec::new();
    for (index, (points, last)) in curves.iter().zip(lasts).enumerate() {
        let line_of = |case: &str| Some(table?.place_of(case)?.0);
        let other = last.other.as_ref();
        let letter = char::from(b'A' + (index % 26) as u8);
        let (letter, name) = match (line_of(&last.case), other.map(|other| line_of(&other.case))) {
            // The letters of a table are the same in every run.
            (Some(own), None) => (own.letter, own.label.clone()),
            (Some(own), Some(Some(other))) => (letter, format!("{} / {}", own.label, other.label)),
            _ => (letter, name_without(last, parameter, names)),
        };
        let mut elements = curve(points, &axes, &name);
        elements += &line(axes.place(&points[points.len() - 1]), (0.95, letters[index]), "leader");
        elements += &text(0.96, letters[index] + 4.0, START, "label", &letter.to_string());
        body += &element(&name, &format!("row {}", class_of(last)), &elements);
        legend.push((class_of(last), format!("{letter} {name}")));
    }
    legend.sort_by(|(_, one), (_, other)| one.cmp(other));
    Some(Picture {
        title,
        unit: units,
        signs: vec![MEDIAN, if is_ratio { INTERVAL } else { RANGE }],
        description: String::new(),
        legend,
        height: below + 5.0,
        body,
    })
}

/// A curve, with the span and the tooltip of each point.
fn curve(points: &[Point], axes: &Axes, name: &str) -> String {
    let mut elements = String::new();
    for [one, next] in points.array_windows() {
        let class = if one.number == 0.0 { "curve gap" } else { "curve" };
        elements += &line(axes.place(one), axes.place(next), class);
    }
    for point in points {
        let (x, y) = axes.place(point);
        if let Some(ends) = span(point.row) {
            let class = if axes.unit == Quantity::Ratio { "cover" } else { "ends" };
            elements += &line((x, axes.down(ends.low)), (x, axes.down(ends.high)), class);
        }
        let figure = estimated(point.row);
        let words = format!("{name}: {figure} at {}: {}", brief(point.number), point.row.case);
        elements += &disc((x, y), 3.0, "mark", &words);
    }
    elements
}

/// The positions nearest to `wanted` where letters have room and are on the vertical axis, as far as
/// possible.
fn apart(wanted: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    let mut least = TOP;
    for &index in &order {
        places[index] = places[index].max(least);
        least = places[index] + ROOM;
    }
    let mut most = BOTTOM;
    for &index in order.iter().rev() {
        places[index] = places[index].min(most);
        most = places[index] - ROOM;
    }
    places
}
