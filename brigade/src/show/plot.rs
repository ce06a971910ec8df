//! The plots of a report: dots show how much, bars of what, and curves how it grows with a number.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::names::Names;
use super::quantity::{brief, brief_ticks, percent, shown};
use super::report::{compared, estimated, memory_item};
use super::scale::Scale;
use super::svg::{
    END, MARKS, MIDDLE, Mark, Picture, START, class_of, cut, disc, group as element, line,
    rectangle, text,
};
use crate::judge::loads::Loads;
use crate::judge::report::{Group, Part};
use crate::judge::row::{MemoryItem, Quantity, Row};

/// The height of a label above a mark, of a mark, and of the space below it, in pixels.
const LABEL: f64 = 17.0;
const LANE: f64 = 12.0;
const GAP: f64 = 8.0;
/// The space for a label next to a figure, in the narrowest picture.
const NAME: f64 = 280.0;

/// The parts of bars, with their classes.
const TIME: [[&str; 2]; 6] = [
    ["h2", "user"],
    ["h6", "kernel"],
    ["p-rest", "other waiting"],
    ["p-asleep", "CPUs asleep"],
    ["h7", "falling asleep, waking up"],
    ["h5", "queued for a CPU"],
];
const MEMORY: [(&str, MemoryItem); 4] = [
    ("h2", MemoryItem::User),
    ("h6", MemoryItem::KernelStacks),
    ("h1", MemoryItem::PageTables),
    ("h4", MemoryItem::Slab),
];

/// The value of a row and the ends of its interval.
fn extent(row: &Row) -> impl Iterator<Item = f64> + use<> {
    let ends = row.figure.and_then(|figure| figure.interval);
    let ends = [ends.map(|ends| ends.low), ends.map(|ends| ends.high)];
    ends.into_iter().chain([row.figure.map(|figure| figure.value)]).flatten()
}

/// The line above a mark: a label and a figure.
fn label(row: &Row, y: f64, value: f64) -> String {
    let y = y + LABEL - 4.0;
    text(0.0, y, START, "name", &cut(&row.label, NAME))
        + &text(1.0, y, END, "figure", &shown(value, row.unit))
}

/// The parts of the first screen, each as dots.
pub fn screen(parts: &[Part]) -> Vec<Picture> {
    let picture = |part: &Part| {
        let blocks = part.blocks.iter().map(|block| (&*block.name, block.rows.iter().collect()));
        dots(&part.heading, &part.of, &blocks.collect::<Vec<_>>())
    };
    parts.iter().filter_map(picture).collect()
}

/// The pictures of a group.
pub fn group(group: &Group, names: &Names) -> Vec<Picture> {
    let measured = group.cases().filter(|row| row.figure.is_some());
    let named = measured.map(|row| Row { label: names.name(row), ..row.clone() });
    let named: Vec<Row> = named.collect();
    let mut rows: Vec<&Row> = named.iter().collect();
    rows.sort_by(|one, other| one.value().total_cmp(&other.value()));
    let (sizes, times): (Vec<&Row>, Vec<&Row>) =
        rows.into_iter().partition(|row| row.unit == Quantity::Bytes);
    let mut pictures = curves(&times, group.loads.as_ref(), names);
    let operations: BTreeSet<&str> = times.iter().map(|row| &*row.operation).collect();
    let what = if operations.len() == 1 { times[0].operation.as_str() } else { "operation" };
    let ratios = group.comparisons.iter().filter(|row| row.unit == Quantity::Ratio);
    pictures.extend(curves(&ratios.collect::<Vec<_>>(), None, names));
    if times.len() > 1 && pictures.is_empty() {
        pictures.extend(dots(&format!("Time of one {what}"), "", &[("", times.clone())]));
    }
    if sizes.len() > 1 {
        pictures.extend(dots("Memory of one task", "", &[("", sizes.clone())]));
    }
    let times = times.into_iter().filter(|_| !group.tails).filter_map(time);
    pictures.extend(bars("Where the time goes", &TIME, times.collect()));
    let sizes = sizes.into_iter().filter_map(memory);
    let items = MEMORY.map(|(class, item)| [class, memory_item(item)]);
    pictures.extend(bars("Where the memory goes", &items, sizes.collect()));
    pictures
}

/// Rows on a logarithmic axis, in named blocks: all processes, the median and its interval.
fn dots(title: &str, what: &str, blocks: &[(&str, Vec<&Row>)]) -> Option<Picture> {
    let rows = || blocks.iter().flat_map(|(_, rows)| rows.iter().copied());
    let unit = rows().next()?.unit;
    let values = rows().flat_map(|row| row.values().into_iter().chain(extent(row)));
    let scale = Scale::of(unit, values)?;
    let top = if what.is_empty() { 40.0 } else { 58.0 };
    let (mut marks, mut y) = (String::new(), top);
    for (name, rows) in blocks {
        if !name.is_empty() {
            marks += &text(0.0, y + 18.0, START, "axis", name);
            y += 20.0;
        }
        for row in rows {
            let Some(figure) = row.figure else { continue };
            let middle = y + LABEL + LANE / 2.0;
            let at = |value: f64| (scale.share(value), middle);
            let mut elements =
                label(row, y, figure.value) + &line((0.0, middle), (1.0, middle), "track");
            let places = row.values().into_iter().map(|value| (scale.share(value) * 500.0) as u64);
            for place in places.collect::<BTreeSet<u64>>() {
                elements += &disc((place as f64 / 500.0, middle), 3.0, "process", "");
            }
            if let Some(ends) = figure.interval {
                elements += &line(at(ends.low), at(ends.high), "ends");
            }
            let words = format!("{}: {}", row.case, estimated(row));
            elements += &disc(at(figure.value), 4.5, "mark", &words);
            marks += &element(&row.label, &format!("row {}", class_of(row)), &elements);
            y += LABEL + LANE + GAP;
        }
    }
    let mut body = text(0.0, 14.0, START, "head", title);
    body += &text(0.0, 32.0, START, "axis", what);
    for tick in scale.ticks() {
        let at = scale.share(*tick);
        let anchor = match at {
            0.0..0.05 => START,
            0.05..0.95 => MIDDLE,
            _ => END,
        };
        body += &line((at, top), (at, y), "grid");
        body += &text(at, top - 6.0, anchor, "axis", &brief_ticks(*tick, unit));
    }
    let has = |mark: &&Mark| rows().any(|row| row.kind == Some(mark.kind));
    let legend = MARKS.iter().filter(has).map(|mark| (mark.class, mark.name.to_owned()));
    Some(Picture {
        title: format!("{title} {what}"),
        description: "Logarithmic. Pale dots are processes; a dot is their median, a stroke its 95 % interval.".to_owned(),
        legend: legend.collect(),
        height: y,
        body: body + &marks,
    })
}

/// A bar: a row, its whole, and its parts.
type Bar<'a> = (&'a Row, f64, Vec<f64>);

/// Where the time of an operation goes.
fn time(row: &Row) -> Option<Bar<'_>> {
    let parts = row.parts?;
    let [rest, idle, waking, queued] = match parts.waiting_for {
        Some(why) => [why.stolen_ns + why.rest_ns, why.idle_ns, why.waking_ns, why.queued_ns],
        None => [parts.waiting_ns, 0.0, 0.0, 0.0],
    };
    let sizes = vec![parts.user_ns, parts.kernel_ns, rest, idle, waking, queued];
    Some((row, parts.elapsed_ns, sizes))
}

/// Where the memory of a task is. Its parts are estimated separately: scaled, they add up.
fn memory(row: &Row) -> Option<Bar<'_>> {
    let size = |(_, name): (&str, MemoryItem)| {
        let part = row.memory.iter().find(|part| part.name == name);
        part.map_or(0.0, |part| part.bytes_per_task.value.max(0.0))
    };
    let (sizes, total) = (MEMORY.map(size), row.figure?.value);
    let sum: f64 = sizes.iter().sum();
    (sum > 0.0).then(|| (row, total, sizes.map(|size| size * total / sum).to_vec()))
}

/// The parts of each row as shares of its whole.
fn bars(title: &str, names: &[[&'static str; 2]], bars: Vec<Bar>) -> Option<Picture> {
    let longest = bars.iter().map(|(_, total, sizes)| sizes.iter().sum::<f64>() / total);
    let longest = longest.fold(1.0, f64::max);
    let (mut body, mut y) = (text(0.0, 14.0, START, "head", title), 20.0);
    for (row, total, sizes) in &bars {
        let (mut elements, mut from) = (label(row, y, *total), 0.0);
        for ([class, name], size) in names.iter().zip(sizes) {
            let to = from + size / total / longest;
            // The kernel's ticks allow no more than two digits.
            let amount = match row.unit {
                Quantity::Nanoseconds => brief_ticks(*size, row.unit),
                _ => shown(*size, row.unit),
            };
            let words = format!("{name}: {amount}, {}", percent(size / total));
            elements += &rectangle([from, to], y + LABEL, LANE, &format!("part {class}"), &words);
            from = to;
        }
        let end = 1.0 / longest;
        elements += &line((end, y + LABEL - 2.0), (end, y + LABEL + LANE + 2.0), "total");
        body += &element(&row.label, "row", &elements);
        y += LABEL + LANE + GAP;
    }
    let is_used = |at: &usize| bars.iter().any(|(.., sizes)| sizes[*at] > 0.0);
    let legend = (0..names.len()).filter(is_used).map(|at| (names[at][0], names[at][1].to_owned()));
    let more =
        if longest > 1.0 { " A bar beyond its line ran on several CPUs at once." } else { "" };
    (bars.len() > 1).then(|| Picture {
        title: title.to_owned(),
        description: format!("Shares of the whole, which is printed.{more}"),
        legend: legend.collect(),
        height: y,
        body,
    })
}

/// The figures of cases that differ in one number only, in its order.
type Line<'a> = Vec<(f64, &'a Row)>;

/// A curve for each number, such as the number of tasks, in which at least three cases differ.
fn curves(rows: &[&Row], table: Option<&Loads>, names: &Names) -> Vec<Picture> {
    let parameters: BTreeSet<&String> = rows.iter().flat_map(|row| row.parameters.keys()).collect();
    let picture = |name: &String| {
        let mut lines = BTreeMap::<String, Line>::new();
        for row in rows {
            let number = row.parameters.get(name).and_then(Value::as_f64);
            let number = number.or((name == "work").then_some(0.0));
            let others = row.parameters.iter().filter(|(other, _)| *other != name);
            let others = format!("{} {:?}", row.program, others.collect::<Vec<_>>());
            lines.entry(others).or_default().extend(number.map(|number| (number, *row)));
        }
        let mut lines: Vec<Line> = lines.into_values().filter(|line| line.len() >= 3).collect();
        lines.iter_mut().for_each(|line| line.sort_by(|(one, _), (other, _)| one.total_cmp(other)));
        curve(name, &lines, table, names)
    };
    parameters.into_iter().filter_map(picture).collect()
}

/// What a row compares, without this parameter.
fn name_without(row: &Row, parameter: &str, names: &Names) -> String {
    let own = names.name_of_case(&row.case_without(parameter), row);
    let Some(other) = &row.other else { return own };
    let of_other = names.name_of_case(&other.case_without(parameter), row);
    compared(row, other, [own, of_other]).join(" / ")
}

fn curve(parameter: &str, lines: &[Line], table: Option<&Loads>, names: &Names) -> Option<Picture> {
    const TOP: f64 = 32.0;
    const HEIGHT: f64 = 300.0;
    const ROOM: f64 = 15.0;
    let points = || lines.iter().flatten();
    let unit = points().next()?.1.unit;
    let numbers = Scale::of(Quantity::Ratio, points().map(|(number, _)| *number))?;
    let times = Scale::of(unit, points().flat_map(|(_, row)| extent(row)))?;
    // A logarithmic axis has no 0: it is left of the axis.
    let first = if points().any(|(number, _)| *number == 0.0) { 0.26 } else { 0.13 };
    let across = |number: f64| match number {
        0.0 => 0.13,
        _ => first + (0.93 - first) * numbers.share(number),
    };
    let down = |ns: f64| TOP + (1.0 - times.share(ns)) * HEIGHT;
    let bottom = TOP + HEIGHT;
    let what = match parameter {
        "greedy_for" => "computing, in µs".to_owned(),
        "resident_mib" => "resident memory, in MiB".to_owned(),
        "working_set" => "working set, in bytes".to_owned(),
        count => count.replace('_', " "),
    };
    let figure = if unit == Quantity::Ratio { "Ratio of times" } else { "Time of one operation" };
    let title = format!("{figure} by {what}");
    let mut body = text(0.0, 14.0, START, "head", &title);
    for ns in times.ticks() {
        body += &line((0.0, down(*ns)), (0.94, down(*ns)), "grid");
        body += &text(0.0, down(*ns) - 3.0, START, "axis", &brief_ticks(*ns, unit));
    }
    let step = numbers.ticks().len().div_ceil(5);
    let zero = (first > 0.13).then_some(&0.0);
    for number in zero.into_iter().chain(numbers.ticks().iter().step_by(step)) {
        body += &line((across(*number), TOP), (across(*number), bottom), "grid");
        body += &text(across(*number), bottom + 15.0, MIDDLE, "axis", &brief(*number));
    }
    let ends: Vec<&Row> = lines.iter().filter_map(|line| Some(line.last()?.1)).collect();
    let at = |row: &Row| row.figure.map_or(bottom, |figure| down(figure.value));
    let letters = apart(&ends.iter().map(|row| at(row)).collect::<Vec<_>>(), ROOM, [TOP, bottom]);
    let mut legend = Vec::new();
    for (index, (points, last)) in lines.iter().zip(ends).enumerate() {
        // Those of a table are the same in every run.
        let mut of_tables = table.into_iter().flat_map(|loads| &loads.lines);
        let (letter, name) = match of_tables.find(|line| line.cases.contains(&last.case)) {
            Some(line) => (line.letter, line.label.clone()),
            None => (char::from(b'A' + (index % 26) as u8), name_without(last, parameter, names)),
        };
        let places: Vec<(f64, f64)> =
            points.iter().map(|(number, row)| (across(*number), at(row))).collect();
        let mut elements: String =
            places.array_windows().map(|[one, next]| line(*one, *next, "curve")).collect();
        for ((number, row), (x, y)) in points.iter().zip(&places) {
            if let Some(ends) = row.figure.and_then(|figure| figure.interval) {
                elements += &line((*x, down(ends.low)), (*x, down(ends.high)), "cover");
            }
            let words = format!("{name}: {} at {}", estimated(row), brief(*number));
            elements += &disc((*x, *y), 3.0, "mark", &words);
        }
        elements += &line(places[places.len() - 1], (0.95, letters[index]), "leader");
        elements += &text(0.96, letters[index] + 4.0, START, "label", &letter.to_string());
        body += &element(&last.label, &format!("row {}", class_of(last)), &elements);
        legend.push((class_of(last), format!("{letter} {name}")));
    }
    Some(Picture {
        title,
        description: "Both axes are logarithmic; pale strokes are 95 % intervals.".to_owned(),
        legend,
        height: bottom + 20.0,
        body,
    })
}

/// The positions nearest to `wanted` where labels are at least `room` apart and between the ends,
/// as far as possible.
fn apart(wanted: &[f64], room: f64, [top, bottom]: [f64; 2]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    let mut least = top;
    for &index in &order {
        places[index] = places[index].max(least);
        least = places[index] + room;
    }
    let mut most = bottom;
    for &index in order.iter().rev() {
        places[index] = places[index].min(most);
        most = places[index] - room;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::judge::row::Other;
    use crate::judge::statistics::Estimate;

    fn row(label: &str, tasks: u64, ns: f64) -> Row {
        Row {
            label: label.to_owned(),
            program: "fake".to_owned(),
            case: format!("{label} {tasks}"),
            operation: "hop".to_owned(),
            parameters: [("kind".to_owned(), label.into()), ("tasks".to_owned(), tasks.into())]
                .into(),
            figure: Estimate::of(&[ns]),
            ..Row::default()
        }
    }

    fn pictures_of(shown: Group) -> Vec<Picture> {
        let mut report = fixtures::report();
        report.screen.clear();
        report.groups = vec![shown];
        group(&report.groups[0], &Names::of(&report, &report.groups[0]))
    }

    fn pictures(rows: Vec<Row>) -> Vec<Picture> {
        pictures_of(Group { rows, ..Group::default() })
    }

    #[test]
    fn rows_become_dots_and_three_numbers_a_curve() {
        let few = pictures(vec![row("a <b>", 1, 10.0), row("c", 1, 20.0)]);
        assert_eq!(few.len(), 1);
        assert_eq!(few[0].body.matches("class=\"mark\"").count(), 2);
        assert!(few[0].body.contains("a &lt;b&gt;"), "{few:?}");
        let rows = [500, 5, 50].map(|tasks| row("a", tasks, tasks as f64));
        let [curve] = &pictures([&rows[..], &[row("b", 5, 1.0)]].concat())[..] else {
            panic!("one")
        };
        assert_eq!(curve.body.matches("class=\"curve\"").count(), 2);
        let at = |tasks: &str| curve.body.find(&format!(" at {tasks}<")).unwrap();
        assert!(at("5") < at("50") && at("50") < at("500"), "{}", curve.body);
        assert_eq!(pictures(vec![row("a", 1, 10.0)]), []);
    }

    #[test]
    fn a_ratio_names_both_sides_and_no_work_is_left_of_the_axis() {
        let comparison = |work: &str| {
            let mut row = row(&format!("a{work}"), 1, 0.9);
            let number = work.rsplit(' ').find_map(|word| word.parse::<u64>().ok());
            row.parameters =
                number.map(|number| ("work".to_owned(), number.into())).into_iter().collect();
            let case = |side: &str| format!("{side}{work}");
            let other = Other { label: case("b"), case: case("b"), measurement: None };
            Row { case: case("a"), unit: Quantity::Ratio, other: Some(other), ..row }
        };
        let comparisons = ["", " --work 10", " --work 1000"].map(comparison).to_vec();
        let [picture] = &pictures_of(Group { comparisons, ..Group::default() })[..] else {
            panic!("one")
        };
        assert_eq!(picture.legend[0].1, "A a / b");
        let places = ["cx=\"13%\"", "cx=\"26%\"", "cx=\"93%\""].map(|at| picture.body.find(at));
        assert!(places.is_sorted() && places[0].is_some(), "{picture:?}");
    }

    #[test]
    fn a_bar_is_as_long_as_its_parts() {
        let row = row("a", 1, 10.0);
        let bar = |user| (&row, 10.0, vec![user, 2.0, 1.0, 0.0, 0.0, 0.0]);
        let picture = bars("", &TIME, vec![bar(7.0), bar(17.0)]).unwrap();
        let ends: Vec<&str> = picture.body.split("class=\"total\" x1=\"").skip(1).collect();
        assert!(ends.iter().all(|end| end.starts_with("50%")), "{picture:?}");
        assert_eq!((picture.body.matches("<rect").count(), picture.legend.len()), (12, 3));
    }
}
