//! The plots of a report: dots show how much, bars of what, and curves how figures grow with a number.

use std::collections::BTreeSet;

use super::curves::{curves, operation};
use super::names::Names;
use super::quantity::{brief_ticks, factor_in_group, factor_of, percent, shown};
use super::report::{estimated, memory_item};
use super::scale::{Scale, tick, units};
use super::svg::{
    CHARACTER, END, Heads, KIND_STYLES, KindStyle, LINE, MEDIAN, MIDDLE, PROCESS, Picture, RANGE,
    START, class_of, cut, disc, line, of_case, rectangle, text,
};
use crate::judge::report::{Group, ScreenPart};
use crate::judge::row::{MemoryItem, Parts, Quantity, Row};

/// The distance between the lines of a name, the height of a mark, and of the space below it.
const NAME: f64 = 14.0;
const LANE: f64 = 12.0;
const GAP: f64 = 8.0;
/// The most rows of a picture in a group, so that it fits on a printed page.
const MOST_ROWS: usize = 18;
/// The most lines of a name.
const MOST_LINES: usize = 4;
/// Where figures end if factors follow, as a share of the width.
const FIGURES: f64 = 0.87;
/// The space for a name next to a figure, and next to a figure and a factor, in the narrowest picture.
const NEXT_TO_FIGURE: f64 = 265.0;
const NEXT_TO_BOTH: f64 = 225.0;

/// A kind of part of bars: the class of its colour, and its name.
#[derive(Clone, Copy)]
struct BarPart {
    class: &'static str,
    name: &'static str,
}

/// A part of the time of an operation, and how long it is.
struct TimePart {
    shown: BarPart,
    ns: fn(&Parts) -> f64,
}

impl TimePart {
    const fn new(class: &'static str, name: &'static str, ns: fn(&Parts) -> f64) -> Self {
        Self { shown: BarPart { class, name }, ns }
    }
}

/// The parts of the time of an operation. Without the kernel's counts all waiting is other waiting.
const TIME: [TimePart; 6] = [
    TimePart::new("h2", "user", |parts| parts.user_ns),
    TimePart::new("h6", "kernel", |parts| parts.kernel_ns),
    TimePart::new("p-rest", "other waiting", |parts| match parts.waiting_for {
        Some(why) => why.stolen_ns + why.rest_ns,
        None => parts.waiting_ns,
    }),
    TimePart::new("p-asleep", "CPUs asleep", |parts| {
        parts.waiting_for.map_or(0.0, |why| why.idle_ns)
    }),
    TimePart::new("h7", "falling asleep, waking up", |parts| {
        parts.waiting_for.map_or(0.0, |why| why.waking_ns)
    }),
    TimePart::new("h5", "queued for a CPU", |parts| {
        parts.waiting_for.map_or(0.0, |why| why.queued_ns)
    }),
];

/// The parts of the memory of a task, with the classes of their colours.
const MEMORY: [(&str, MemoryItem); 4] = [
    ("h2", MemoryItem::User),
    ("h6", MemoryItem::KernelStacks),
    ("h1", MemoryItem::PageTables),
    ("h4", MemoryItem::Slab),
];

/// What is above a mark.
struct Label<'a> {
    name: &'a str,
    figure: String,
    /// A factor; `None` in a picture without factors.
    factor: Option<&'a str>,
}

impl Label<'_> {
    /// The label's elements from `y` down, and where they end.
    fn elements(&self, y: f64) -> (String, f64) {
        let pixels = if self.factor.is_some() { NEXT_TO_BOTH } else { NEXT_TO_FIGURE };
        let baseline = y + NAME - 1.0;
        let end = if self.factor.is_some() { FIGURES } else { 1.0 };
        let mut elements = text(end, baseline, END, "figure", &self.figure);
        if let Some(factor) = self.factor.filter(|factor| !factor.is_empty()) {
            elements += &text(1.0, baseline, END, "", factor);
        }
        let mut lines = textwrap::wrap(self.name, (pixels / CHARACTER) as usize);
        if lines.len() > MOST_LINES {
            lines.truncate(MOST_LINES);
            let last = lines[MOST_LINES - 1].to_string() + "…";
            lines[MOST_LINES - 1] = cut(&last, pixels).into();
        }
        let mut below = baseline;
        for line in &lines {
            elements += &text(0.0, below, START, "name", line);
            below += NAME;
        }
        (elements, y + NAME * lines.len().max(1) as f64 + 3.0)
    }
}

/// Rows with factors to one of them.
struct Dots<'a> {
    /// What the rows have in common; may be empty.
    name: &'a str,
    /// The rows with their factors.
    rows: Vec<(&'a Row, String)>,
}

/// The parts of the first screen, each as dots.
pub fn screen(parts: &[ScreenPart]) -> Vec<Picture> {
    let picture = |part: &ScreenPart| {
        let blocks = part.blocks.iter().map(|block| Dots {
            name: &block.name,
            rows: block
                .rows
                .iter()
                .map(|row| (row, factor_of(row, block).unwrap_or_default()))
                .collect(),
        });
        let rows: Vec<&Row> = part.blocks.iter().flat_map(|block| &block.rows).collect();
        dots(&part.heading, &part.of, &blocks.collect::<Vec<_>>(), &scale_of(&rows)?)
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
    let ratios = group.comparisons.iter().filter(|row| row.unit == Quantity::Ratio);
    pictures.extend(curves(&ratios.collect::<Vec<_>>(), group.loads.as_ref(), names));
    if times.len() > 1 && pictures.is_empty() {
        pictures.extend(dots_of_group(&format!("Time of one {}", operation(&times)), &times));
    }
    if sizes.len() > 1 {
        pictures.extend(dots_of_group("Memory of one task", &sizes));
    }
    if !group.tails {
        let bars: Vec<Bar> = times.into_iter().filter_map(time).collect();
        pictures.extend(bars_of_group("Where the time goes", &TIME.map(|part| part.shown), &bars));
    }
    let bars: Vec<Bar> = sizes.into_iter().filter_map(memory).collect();
    let parts = MEMORY.map(|(class, item)| BarPart { class, name: memory_item(item) });
    pictures.extend(bars_of_group("Where the memory goes", &parts, &bars));
    pictures
}

/// Rows as dots on one axis, with factors to the cheapest of their group.
fn dots_of_group(title: &str, rows: &[&Row]) -> Vec<Picture> {
    let Some(scale) = scale_of(rows) else { return Vec::new() };
    let picture = |(title, rows): (String, &[&Row])| {
        let rows = rows.iter().map(|row| (*row, factor_in_group(row).unwrap_or_default()));
        dots(&title, "", &[Dots { name: "", rows: rows.collect() }], &scale)
    };
    parted(title, rows).into_iter().filter_map(picture).collect()
}

/// Bars with one axis; none of a single one.
fn bars_of_group(title: &str, parts: &[BarPart], all: &[Bar]) -> Vec<Picture> {
    if all.len() < 2 {
        return Vec::new();
    }
    let longest = all.iter().map(Bar::length).fold(1.0, f64::max);
    let sections = parted(title, all).into_iter();
    sections.map(|(title, section)| bars(&title, parts, section, longest)).collect()
}

/// Parts of about the same length that fit into a picture, each with its title.
fn parted<'a, T>(title: &str, all: &'a [T]) -> Vec<(String, &'a [T])> {
    let parts = all.len().div_ceil(MOST_ROWS).max(1);
    let length = all.len().div_ceil(parts).max(1);
    let title_of = |index: usize| match parts {
        1 => title.to_owned(),
        parts => format!("{title} ({} of {parts})", index + 1),
    };
    all.chunks(length).enumerate().map(|(index, part)| (title_of(index), part)).collect()
}

/// The axis on which all processes of these rows lie.
fn scale_of(rows: &[&Row]) -> Option<Scale> {
    let mut values = Vec::new();
    for row in rows {
        values.extend(row.values());
        if row.figure.is_some() {
            let ends = row.range.map_or([row.value(); 2], |range| [range.low, range.high]);
            values.extend(ends);
        }
    }
    Scale::new(rows.first()?.unit, values)
}

/// What a figure is.
fn quantity_of(unit: Quantity) -> &'static str {
    match unit {
        Quantity::Nanoseconds => "time",
        Quantity::Bytes => "memory",
        Quantity::Ratio => "ratio",
    }
}

/// Where a text begins so that it stays within the picture.
fn anchor(at: f64) -> &'static str {
    match at {
        0.0..0.05 => START,
        0.05..0.95 => MIDDLE,
        _ => END,
    }
}

/// Rows on a logarithmic axis, in named blocks: all processes, the median, and where most are.
fn dots(title: &str, what: &str, blocks: &[Dots], scale: &Scale) -> Option<Picture> {
    let rows = || blocks.iter().flat_map(|block| block.rows.iter().map(|(row, _)| *row));
    let unit = rows().next()?.unit;
    let units = units(scale, unit);
    let axis = format!("{}, {units}, logarithmic", quantity_of(unit));
    let Heads { elements: mut body, baseline } = Heads::new(title, what, &axis);
    body += &text(FIGURES, baseline, END, "axis", "median");
    body += &text(1.0, baseline, END, "axis", "×");
    let top = baseline + LINE + 6.0;
    let mut marks = String::new();
    let mut y = top;
    for block in blocks {
        if !block.name.is_empty() {
            marks += &text(0.0, y + 18.0, START, "axis", block.name);
            y += 22.0;
        }
        for (row, factor) in &block.rows {
            let Some(figure) = row.figure else { continue };
            let figure_shown = shown(figure.value, unit);
            let label = Label { name: &row.label, figure: figure_shown, factor: Some(factor) };
            let (mut elements, below) = label.elements(y);
            let middle = below + LANE / 2.0;
            let at = |value: f64| (scale.share(value), middle);
            elements += &line((0.0, middle), (1.0, middle), "track");
            let places = row.values().into_iter().map(|value| (scale.share(value) * 500.0) as u64);
            for place in places.collect::<BTreeSet<u64>>() {
                elements += &disc((place as f64 / 500.0, middle), 3.0, "process", "");
            }
            if let Some(ends) = row.range {
                elements += &line(at(ends.low), at(ends.high), "ends");
            }
            let words = format!("{}: {}", row.case, estimated(row));
            elements += &disc(at(figure.value), 4.5, "mark", &words);
            marks += &of_case(row, &format!("row {}", class_of(row)), &elements);
            y = below + LANE + GAP;
        }
    }
    for value in scale.ticks() {
        let at = scale.share(*value);
        body += &line((at, top), (at, y), "grid");
        body += &text(at, top - 6.0, anchor(at), "axis", &tick(*value, unit));
    }
    let is_shown = |style: &&KindStyle| rows().any(|row| row.kind == Some(style.kind));
    let styles = KIND_STYLES.iter().filter(is_shown);
    let legend = styles.map(|style| (style.class, style.name.to_owned()));
    let title = if what.is_empty() { title.to_owned() } else { format!("{title}: {what}") };
    Some(Picture {
        title,
        unit: units,
        signs: vec![MEDIAN, RANGE, PROCESS],
        description: String::new(),
        legend: legend.collect(),
        height: y,
        body: body + &marks,
    })
}

/// A bar.
struct Bar<'a> {
    row: &'a Row,
    /// What the parts are shares of.
    total: f64,
    /// The sizes of its parts, in the order of their names.
    sizes: Vec<f64>,
}

impl Bar<'_> {
    /// How long all parts are, where 1 is the total.
    fn length(&self) -> f64 {
        self.sizes.iter().sum::<f64>() / self.total
    }
}

/// Where the time of an operation goes.
fn time(row: &Row) -> Option<Bar<'_>> {
    let parts = row.parts?;
    let sizes = TIME.iter().map(|part| (part.ns)(&parts)).collect();
    Some(Bar { row, total: parts.elapsed_ns, sizes })
}

/// Where the memory of a task is. Its parts are estimated separately: scaled, they add up.
fn memory(row: &Row) -> Option<Bar<'_>> {
    let size = |(_, name): (&str, MemoryItem)| {
        let part = row.memory.iter().find(|part| part.name == name);
        part.map_or(0.0, |part| part.bytes_per_task.value.max(0.0))
    };
    let sizes = MEMORY.map(size);
    let total = row.figure?.value;
    let sum: f64 = sizes.iter().sum();
    if sum > 0.0 {
        Some(Bar { row, total, sizes: sizes.map(|size| size * total / sum).to_vec() })
    } else {
        None
    }
}

/// The parts of each row as shares of its whole, on an axis as long as the longest.
fn bars(title: &str, parts: &[BarPart], bars: &[Bar], longest: f64) -> Picture {
    let heads = Heads::new(title, "", "share of the whole, %");
    let mut body = heads.elements + &text(1.0, heads.baseline, END, "axis", "whole");
    let top = heads.baseline + LINE + 6.0;
    let mut marks = String::new();
    let mut y = top;
    for Bar { row, total, sizes } in bars {
        let label = Label { name: &row.label, figure: shown(*total, row.unit), factor: None };
        let (mut elements, below) = label.elements(y);
        let mut from = 0.0;
        for (BarPart { class, name }, size) in parts.iter().zip(sizes) {
            let to = from + size / total / longest;
            // The kernel's ticks allow no more than two digits.
            let amount = match row.unit {
                Quantity::Nanoseconds => brief_ticks(*size, row.unit),
                _ => shown(*size, row.unit),
            };
            let words = format!("{}: {name}: {amount}, {}", row.case, percent(size / total));
            elements += &rectangle(from..to, below, LANE, &format!("part {class}"), &words);
            from = to;
        }
        let end = 1.0 / longest;
        elements += &line((end, below - 2.0), (end, below + LANE + 2.0), "total");
        marks += &of_case(row, "row", &elements);
        y = below + LANE + GAP;
    }
    for share in shares_on_axis(longest) {
        let at = share / longest;
        body += &line((at, top), (at, y), "grid");
        body += &text(at, top - 6.0, anchor(at), "axis", &percent(share));
    }
    let mut legend = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if bars.iter().any(|bar| bar.sizes[at] > 0.0) {
            legend.push((part.class, part.name.to_owned()));
        }
    }
    let more =
        if longest > 1.0 { " A bar beyond its line ran on several CPUs at once." } else { "" };
    Picture {
        title: title.to_owned(),
        unit: "%".to_owned(),
        signs: Vec::new(),
        description: format!("Bars show shares; the number is the total.{more}"),
        legend,
        height: y,
        body: body + &marks,
    }
}

/// Round shares from 0 to the longest bar's, at most four steps.
fn shares_on_axis(longest: f64) -> impl Iterator<Item = f64> {
    let step = if longest < 2.0 { 0.5 } else { (longest / 4.0).ceil() };
    (0..=4).map(move |index| f64::from(index) * step).filter(move |share| *share <= longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::judge::loads::{LoadLine, Loads};
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
        group(&report.groups[0], &Names::new(&report, &report.groups[0]))
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
        let at = |tasks: &str| curve.body.find(&format!(" at {tasks}: ")).unwrap();
        assert!(at("5") < at("50") && at("50") < at("500"), "{}", curve.body);
        assert_eq!(pictures(vec![row("a", 1, 10.0)]), []);
    }

    /// A case's own name would be another one than that of its line in the table.
    #[test]
    fn a_ratio_of_two_lines_of_a_table_has_their_names() {
        let line = |letter: char, label: &str, cases: [String; 3]| LoadLine {
            letter,
            label: label.to_owned(),
            cases: cases.to_vec(),
            ..LoadLine::default()
        };
        let tasks = [1, 8, 64];
        let lines = vec![
            line('A', "Mutex *", tasks.map(|_| "b 8".to_owned())),
            line('B', "RwLock *", tasks.map(|tasks| format!("a {tasks}"))),
        ];
        let comparisons = tasks.map(|tasks| {
            let case = "b 8".to_owned();
            let other = Some(Other { label: case.clone(), case, measurement: None });
            Row { unit: Quantity::Ratio, other, ..row("a", tasks, 2.0) }
        });
        let loads = Some(Loads { lines, ..Loads::default() });
        let comparisons = comparisons.to_vec();
        let [picture] = &pictures_of(Group { comparisons, loads, ..Group::default() })[..] else {
            panic!("one")
        };
        assert_eq!(picture.legend[0].1, "A RwLock * / Mutex *");
    }

    /// On a usual axis they lie within a tenth of it, next to one tick.
    #[test]
    fn numbers_that_lie_close_together_are_apart_with_a_tick_at_each() {
        let of = |numbers: [u64; 3]| {
            let rows = numbers.map(|tasks| row("a", tasks, 10.0));
            let [picture] = <[Picture; 1]>::try_from(pictures(rows.to_vec())).expect("one");
            let ticks = numbers.map(|number| format!(">{number}</text>"));
            (ticks.map(|tick| picture.body.contains(&tick)), picture.body)
        };
        let (has_tick, body) = of([90, 99, 100]);
        assert_eq!(has_tick, [true; 3], "{body}");
        assert!(body.contains("cx=\"34.11%\"") && body.contains("cx=\"71.89%\""), "{body}");
        assert_eq!(of([90, 99, 1000]).0, [false, false, true], "a usual one");
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
        assert!(picture.body.contains(">none<") && !picture.body.contains(">0<"), "{picture:?}");
        let places = ["cx=\"13%\"", "cx=\"26%\"", "cx=\"93%\""].map(|at| picture.body.find(at));
        assert!(places.is_sorted() && places[0].is_some(), "{picture:?}");
    }

    #[test]
    fn a_bar_is_as_long_as_its_parts() {
        let row = row("a", 1, 10.0);
        let bar = |user| Bar { row: &row, total: 10.0, sizes: vec![user, 2.0, 1.0, 0.0, 0.0, 0.0] };
        let parts = TIME.map(|part| part.shown);
        let [picture] = &bars_of_group("", &parts, &[bar(7.0), bar(17.0)])[..] else {
            panic!("one")
        };
        let ends: Vec<&str> = picture.body.split("class=\"total\" x1=\"").skip(1).collect();
        assert!(ends.iter().all(|end| end.starts_with("50%")), "{picture:?}");
        assert_eq!((picture.body.matches("<rect").count(), picture.legend.len()), (12, 3));
        assert_eq!(picture.body.matches("%</text>").count(), 4, "%, 0, 100 and 200 %");
        assert_eq!(shares_on_axis(1.2).collect::<Vec<_>>(), [0.0, 0.5, 1.0]);
        assert_eq!(shares_on_axis(7.9).last(), Some(6.0));
    }

    /// A ratio of one phase is not a point of another's curve, nor are two sizes of a third.
    #[test]
    fn a_curve_is_of_one_measurement_at_three_numbers() {
        let comparison = |tasks: u64, measurement: &str| {
            let other = Other { label: "b".to_owned(), case: "b".to_owned(), measurement: None };
            let other = Some(Other { measurement: Some(measurement.to_owned()), ..other });
            let measurement = measurement.to_owned();
            Row { unit: Quantity::Ratio, other, measurement, ..row("a", tasks, 2.0) }
        };
        let of = |all: &[(u64, &str)]| {
            let comparisons = all.iter().map(|(tasks, name)| comparison(*tasks, name)).collect();
            pictures_of(Group { comparisons, ..Group::default() }).len()
        };
        assert_eq!(of(&[(20, "whole"), (1000, "whole"), (1000, "create")]), 0);
        assert_eq!(of(&[(20, "whole"), (1000, "whole"), (1000, "whole")]), 0);
        assert_eq!(of(&[(20, "whole"), (1000, "whole"), (5, "whole")]), 1);
    }

    #[test]
    fn a_long_name_gets_lines_and_every_row_has_its_factor() {
        let name =
            "a task with a name of so many words that it needs more than two lines next to it";
        let rows = vec![row(name, 1, 10.0), row("b", 1, 20.0)];
        let [picture] = &pictures(rows)[..] else { panic!("one") };
        assert_eq!(picture.body.matches("class=\"name\"").count(), 4, "{picture:?}");
        assert!(!picture.body.contains('…'), "{picture:?}");
        assert!(picture.body.contains(">×</text>") && picture.unit == "ns", "{picture:?}");
        let other = row("b", 1, 20.0);
        let blocks = [Dots { name: "", rows: vec![(&other, "1".to_owned())] }];
        let picture = dots("", "", &blocks, &scale_of(&[&other]).unwrap()).unwrap();
        assert!(picture.body.contains(">1</text>"), "{picture:?}");
    }

    #[test]
    fn many_rows_are_in_several_pictures_with_one_axis() {
        let names: Vec<String> = (0..40).map(|index| format!("task {index}")).collect();
        let rows = names.iter().zip(1..).map(|(name, at)| row(name, 1, f64::from(at) * 100.0));
        let pictures = pictures(rows.collect());
        let counts: Vec<usize> =
            pictures.iter().map(|picture| picture.body.matches("class=\"mark\"").count()).collect();
        assert_eq!(counts, [14, 14, 12]);
        assert!(pictures[1].title.ends_with("(2 of 3)"), "{}", pictures[1].title);
        assert!(pictures.iter().all(|picture| picture.unit == pictures[0].unit));
    }
}
