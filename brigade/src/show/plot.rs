//! The plots of a report: cases on an axis, bars of memory and time, curves, and maps of CPUs.

use clap::ValueEnum as _;

use super::curve::{Line, apart, axis_name, curves, measured};
use super::pairs::{Steps, name, places, words};
use super::quantity::{
    NO_BREAK_SPACE, Unit, brief, bytes, duration, estimated_duration, interval, letter, percent,
    tick,
};
use super::report::waits_for_child;
use super::scale::Scale;
use super::screen::factor;
use super::svg::{
    Anchor, Picture, cut, disc, group as element, line, noted, rectangle, shortened, text,
};
use crate::judge::report::model::{Case, CpuPlace, Group, PairMap, Report, TaskKind};
use crate::judge::statistics::Estimate;

/// The height of a line of text above a mark, in pixels.
const LABEL: f64 = 17.0;
/// The space between two rows, in pixels.
const GAP: f64 = 8.0;
/// The space for a name above its row on a narrow page; the rest is for a figure.
const NAME: f64 = 300.0;

/// The fewest CPUs for a map.
const FEWEST_CPUS: usize = 4;

/// The class of a kind of task, which sets its colour.
pub fn class_of(kind: Option<TaskKind>) -> &'static str {
    match kind {
        Some(TaskKind::Thread) => "k-thread",
        Some(TaskKind::AsyncTask) => "k-async",
        Some(TaskKind::Coroutine) => "k-coroutine",
        Some(TaskKind::Goroutine) => "k-goroutine",
        Some(TaskKind::Process) => "k-process",
        Some(TaskKind::Alone) | None => "k-alone",
    }
}

/// The value and the ends of its interval.
fn extent(time: &Estimate) -> impl Iterator<Item = f64> {
    let ends = time.interval.into_iter().flat_map(|ends| [ends.low, ends.high]);
    ends.chain([time.value])
}

/// A title above its row; a narrow page shows as much as fits.
fn title(y: f64, words: &str) -> String {
    shortened(y, "name", words, NAME)
}

/// One row per case of a group, shortest first: one picture of creations and one of other
/// operations, each with at least two cases.
pub fn dots(group: &Group) -> Vec<Picture> {
    let (mut created, mut others) = (Vec::new(), Vec::new());
    let timed = group.cases.iter().filter_map(|case| Some((case, measured(case)?)));
    for (case, (estimate, of)) in timed.filter(|(_, (of, _))| of.held().is_none()) {
        let operation = of.short_name();
        match estimate.whole_ns {
            Some(whole) => created.push((case, whole, "whole")),
            None if operation == "create" => created.push((case, of.time_ns, "create")),
            None => others.push((case, of.time_ns, operation)),
        }
    }
    [others, created].into_iter().filter_map(dots_of).collect()
}

fn dots_of(mut rows: Vec<(&Case, Estimate, &str)>) -> Option<Picture> {
    const LANE: f64 = 12.0;
    const TOP: f64 = 24.0;
    rows.sort_by(|(_, one, _), (_, other, _)| one.value.total_cmp(&other.value));
    let scale = Scale::of(rows.iter().flat_map(|(_, time, _)| extent(time)))?;
    let bottom = TOP + rows.len() as f64 * (LABEL + LANE + GAP);
    let mut body = String::new();
    for ns in scale.ticks() {
        let at = scale.share(*ns);
        let anchor = match at {
            0.0..0.04 => Anchor::Start,
            0.04..0.96 => Anchor::Middle,
            _ => Anchor::End,
        };
        body += &line((at, TOP), (at, bottom), "grid");
        body += &text(at, TOP - 8.0, anchor, "axis", &tick(*ns));
    }
    let mut label = TOP + LABEL - 3.0;
    for (case, time, _) in &rows {
        let unit = Unit::of(time.value);
        let figure = [&*duration(time.value), &interval(time, |ns| unit.show(ns))];
        let mut row = title(label, &case.title) + &noted(1.0, label, Anchor::End, "figure", figure);
        let (at, y) = (scale.share(time.value), label + 3.0 + LANE / 2.0);
        row += &line((0.0, y), (1.0, y), "track");
        row += &line((0.0, y), (at, y), "lead");
        if let Some(ends) = time.interval {
            row += &line((scale.share(ends.low), y), (scale.share(ends.high), y), "ends");
        }
        row +=
            &disc((at, y), 4.5, "mark", &format!("{}: {}", case.title, estimated_duration(time)));
        body += &element(&case.title, &format!("row {}", class_of(case.kind)), &row);
        label += LABEL + LANE + GAP;
    }
    let [(first, low, operation), .., (last, high, _)] = &rows[..] else { return None };
    let what = if rows.iter().any(|(_, _, of)| *of == "whole") {
        "creating a task, running it and waiting for its end".to_owned()
    } else if rows.iter().all(|(_, _, of)| of == operation) {
        format!("one {operation}")
    } else {
        "one operation".to_owned()
    };
    Some(Picture {
        title: format!("Time of {what}, by case"),
        description: format!(
            "Time of {what} on a logarithmic axis; a thick stroke is the 95 % interval. Cheapest: \
             {}, {}. Most expensive: {}, {}, {} times as long.",
            first.title,
            duration(low.value),
            last.title,
            duration(high.value),
            factor(high.value / low.value)
        ),
        legend: Vec::new(),
        height: bottom + 4.0,
        body,
    })
}

/// A part of a bar: its class, its name and its length.
type BarPart = (&'static str, &'static str, f64);

/// A bar of stacked parts.
struct Bar<'a> {
    case: &'a Case,
    /// Bars in one panel are drawn together.
    panel: &'static str,
    /// The value printed and marked.
    total: f64,
    parts: Vec<BarPart>,
}

/// Bars by panel and, within one, by magnitude: each has its axis, which begins at 0.
fn bars(mut bars: Vec<Bar>, show: fn(f64) -> String, round: fn(f64) -> f64) -> (f64, String) {
    /// The largest ratio of bars on one axis.
    const MAGNITUDE: f64 = 12.0;
    const BAR: f64 = 10.0;
    const HEADING: f64 = 34.0;
    let order: Vec<&str> = PLACEMENTS.iter().map(|(_, words)| *words).collect();
    let place = |bar: &Bar| order.iter().position(|words| *words == bar.panel);
    bars.sort_by(|a, b| (place(a).cmp(&place(b))).then(a.total.total_cmp(&b.total)));
    let is_one = |a: &Bar, b: &Bar| a.panel == b.panel;
    let (mut body, mut y) = (String::new(), 0.0);
    for panel in bars.chunk_by(is_one) {
        let mut rest = panel;
        while let Some(least) = rest.first().map(|bar| bar.total) {
            let count = rest.partition_point(|bar| bar.total <= MAGNITUDE * least.max(1e-9));
            let (those, others) = rest.split_at(count.max(1));
            rest = others;
            let length = |bar: &Bar| bar.parts.iter().map(|(_, _, size)| size).sum::<f64>();
            let most = those.iter().map(length).fold(1e-9, f64::max);
            let bottom = y + HEADING + those.len() as f64 * (LABEL + BAR + GAP);
            body += &text(0.0, y + 14.0, Anchor::Start, "head", those[0].panel);
            let step = round(most / 4.0);
            for index in 0..=(most / step) as usize {
                let at = index as f64 * step / most;
                let anchor = match at {
                    0.0 => Anchor::Start,
                    0.0..0.95 => Anchor::Middle,
                    _ => Anchor::End,
                };
                body += &line((at, y + HEADING), (at, bottom), "grid");
                let label =
                    if index == 0 { "0".to_owned() } else { short(&show(index as f64 * step)) };
                let class = if index % 2 == 0 { "axis" } else { "axis note" };
                body += &text(at, y + HEADING - 4.0, anchor, class, &label);
            }
            y += HEADING;
            for Bar { case, total, parts, .. } in those {
                let top = y + LABEL;
                let mut row = title(top - 4.0, &case.title)
                    + &text(1.0, top - 4.0, Anchor::End, "figure", &show(*total));
                let mut from = 0.0;
                for (class, words, size) in parts {
                    let to = from + size / most;
                    let title = format!("{words}: {}", show(*size));
                    row += &rectangle([from, to], top, BAR, &format!("part {class}"), &title);
                    from = to;
                }
                let at = total / most;
                row += &line((at, top - 2.0), (at, top + BAR + 2.0), "total");
                body += &element(&case.title, "row", &row);
                y += LABEL + BAR + GAP;
            }
            y += GAP;
        }
    }
    (y, body)
}

/// A figure without trailing zeros.
fn short(figure: &str) -> String {
    let (number, unit) = figure.split_once(NO_BREAK_SPACE).unwrap_or((figure, ""));
    format!("{}{NO_BREAK_SPACE}{unit}", number.parse().map_or(number.to_owned(), brief))
}

/// The largest of 1, 2 or 5 times a power of ten that is at most `value`.
fn round_time(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0].map(|by| by * power).into_iter().find(|of| *of <= value).unwrap_or(power)
}

/// The same, in KiB from 1 KiB on.
fn round_bytes(value: f64) -> f64 {
    let unit = 1024_f64.powf((value.max(1.0).ln() / 1024_f64.ln()).floor());
    unit * round_time(value / unit)
}

/// Placements, in the order of the panels.
const PLACEMENTS: [(&str, &str); 3] = [
    ("same-cpu", "all on one CPU"),
    ("free", "placed by the kernel"),
    ("spread", "always to another CPU"),
];

/// The memory of each case of a group, by part; `None` for fewer than two.
pub fn memory(group: &Group) -> Option<Picture> {
    let bar = |case| -> Option<Bar> {
        let estimate = Case::first(case)?;
        let parts = MEMORY.into_iter().filter_map(|(class, name)| {
            let part = estimate.memory.iter().find(|part| part.name == name)?;
            Some((class, name, part.bytes_per_task.value.max(0.0)))
        });
        let mut parts: Vec<BarPart> = parts.collect();
        let total = estimate.held()?.value;
        // The parts are estimated separately: scaled, they add up.
        let sum: f64 = parts.iter().map(|(_, _, size)| size).sum();
        parts.iter_mut().for_each(|(_, _, size)| *size *= total / sum.max(1e-9));
        Some(Bar { case, panel: "", total, parts })
    };
    let found: Vec<Bar> = group.cases.iter().filter_map(bar).collect();
    let most = found.iter().max_by(|a, b| a.total.total_cmp(&b.total))?;
    let (_, part, size) = most.parts.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let words = format!(
        "Memory of one waiting task, in bytes; bars of similar size share an axis. \"{}\" uses \
         most: {}, of which {} {part}.",
        most.case.title,
        bytes(most.total),
        percent(size / most.total),
    );
    (found.len() > 1)
        .then(|| stack("Memory of a task by part", words, bars(found, bytes, round_bytes)))
}

fn stack(title: &str, description: String, (height, body): (f64, String)) -> Picture {
    Picture { title: title.to_owned(), description, legend: Vec::new(), height, body }
}

/// Where the time of an operation goes, for each case of a group; `None` for fewer than two.
pub fn time(group: &Group) -> Option<Picture> {
    let bar = |case| -> Option<Bar> {
        let estimate = Case::first(case).filter(|of| of.held().is_none())?;
        let parts = &estimate.attribution.as_ref()?.parts;
        let reasons = match &parts.waiting_for {
            _ if waits_for_child(case, estimate) => vec![parts.waiting_ns.value],
            Some(of) => {
                let rest_ns = of.stolen_ns.value + of.rest_ns.value;
                let [idle, transition] = [of.idle_ns, of.idle_transition_ns].map(|of| of.value);
                vec![rest_ns, idle, transition, of.runnable_ns.value]
            }
            None => vec![parts.waiting_ns.value],
        };
        let sizes = [parts.user_ns.value, parts.kernel_ns.value].into_iter().chain(reasons);
        let found = TIME.into_iter().zip(sizes).map(|((class, name), ns)| (class, name, ns));
        let placement = estimate.placement.as_deref().unwrap_or("free");
        let panel = PLACEMENTS.iter().find(|(of, _)| *of == placement)?.1;
        Some(Bar { case, panel, total: parts.elapsed_ns.value, parts: found.collect() })
    };
    let found: Vec<Bar> = group.cases.iter().filter_map(bar).collect();
    let waits = |bar: &Bar| bar.parts[2..].iter().map(|(_, _, ns)| ns).sum::<f64>() / bar.total;
    let most = found.iter().max_by(|a, b| waits(a).total_cmp(&waits(b)))?;
    let waiting = match waits(most) {
        share if share < 0.01 => "None of them waits".to_owned(),
        share => {
            let is_child = Case::first(most.case).is_some_and(|of| waits_for_child(most.case, of));
            let what = if is_child { "for its child, " } else { "" };
            format!("\"{}\" waits most, {what}{} of the time", most.case.title, percent(share))
        }
    };
    let words = format!(
        "Where the time of one operation goes; bars of similar size share an axis. {waiting}. The \
         line is the elapsed time: a longer bar ran on several CPUs at once."
    );
    (found.len() > 1)
        .then(|| stack("Where the time goes", words, bars(found, duration, round_time)))
}

/// The parts of bars, with their classes.
const TIME: [(&str, &str); 6] = [
    ("h2", "user"),
    ("h6", "kernel"),
    ("p-rest", "other waiting"),
    ("p-asleep", "CPUs asleep"),
    ("h7", "falling asleep, waking up"),
    ("h5", "queued for a CPU"),
];
const MEMORY: [(&str, &str); 4] =
    [("h2", "user memory"), ("h6", "kernel stacks"), ("h1", "page tables"), ("h4", "slab")];

/// Every colour in the plots of a report, with its meaning.
pub fn legend(report: &Report) -> Vec<(String, String)> {
    let cases = || report.groups.iter().flat_map(|group| &group.cases);
    let has = |kind: &&TaskKind| cases().any(|case| case.kind == Some(**kind));
    let kinds = TaskKind::value_variants().iter().filter(has);
    let kinds = kinds.map(|kind| (class_of(Some(*kind)), kind.as_str()));
    let is_held = cases().any(|case| Case::first(case).is_some_and(|of| of.held().is_some()));
    let parts = TIME.into_iter().chain(MEMORY.into_iter().filter(|_| is_held));
    kinds.chain(parts).map(|(class, words)| (class.to_owned(), words.to_owned())).collect()
}

/// A picture for each number that cases of a group differ in, such as the number of tasks: one line
/// per series of cases, for a wide page and a narrow one.
pub fn curve_pictures(group: &Group) -> Vec<[Picture; 2]> {
    let both = |(parameter, lines): (&str, Vec<Line>)| {
        Some([curve(parameter, &lines, false)?, curve(parameter, &lines, true)?])
    };
    curves(group).into_iter().filter_map(both).collect()
}

fn curve(parameter: &str, lines: &[Line], is_narrow: bool) -> Option<Picture> {
    const TOP: f64 = 12.0;
    const NAME_HEIGHT: f64 = 16.0;
    /// Left end of curves, as a share of the width.
    const START: f64 = 0.065;
    let points = || lines.iter().flat_map(|of| &of.points);
    let numbers = Scale::of(points().map(|(number, _)| *number))?;
    let times = Scale::of(points().flat_map(|(_, time)| extent(time)))?;
    // Right end of curves and start of their names. A narrow page has the names below, keyed by
    // letters.
    let [end, names] = if is_narrow { [0.9, 0.94] } else { [0.62, 0.66] };
    let inner = (lines.len() as f64 * NAME_HEIGHT).max(if is_narrow { 260.0 } else { 420.0 });
    let bottom = TOP + inner;
    let across = |number: f64| START + numbers.share(number) * (end - START);
    let down = |ns: f64| TOP + (1.0 - times.share(ns)) * inner;
    let mut body = String::new();
    for ns in times.ticks() {
        body += &line((0.0, down(*ns)), (end, down(*ns)), "grid");
        body += &text(0.0, down(*ns) - 3.0, Anchor::Start, "axis", &tick(*ns));
    }
    let words = axis_name(parameter);
    for (index, number) in numbers.ticks().iter().enumerate() {
        let x = across(*number);
        // A narrow page shows every second number.
        let class = if index % 2 == 0 { "axis" } else { "axis note" };
        body += &line((x, TOP), (x, bottom), "grid");
        body += &text(x, bottom + 15.0, Anchor::Middle, class, &brief(*number));
    }
    body += &text((START + end) / 2.0, bottom + 32.0, Anchor::Middle, "axis", &words);
    let ends: Vec<f64> =
        lines.iter().filter_map(|of| of.points.last()).map(|(_, time)| down(time.value)).collect();
    let labels = apart(&ends, NAME_HEIGHT, [TOP + 4.0, bottom]);
    let mut y = bottom + 50.0;
    for (index, (Line { name, kind, points, .. }, label)) in lines.iter().zip(labels).enumerate() {
        let place = |(number, time): &(f64, &Estimate)| (across(*number), down(time.value));
        let places: Vec<(f64, f64)> = points.iter().map(place).collect();
        let mut elements: String =
            places.windows(2).map(|ends| line(ends[0], ends[1], "curve")).collect();
        for ((number, time), at) in points.iter().zip(&places) {
            if let Some(ends) = time.interval {
                elements += &line((at.0, down(ends.low)), (at.0, down(ends.high)), "cover");
            }
            let title = format!("{name}: {} at {}", estimated_duration(time), brief(*number));
            elements += &disc(*at, 3.0, "mark", &title);
        }
        elements += &line(places[places.len() - 1], (names - 0.01, label), "leader");
        let text_at = |x, y, words: &str| text(x, y, Anchor::Start, "label", words);
        if is_narrow {
            elements += &text_at(names, label + 4.0, &letter(index));
            elements += &text_at(0.0, y, &format!("{} {}", letter(index), cut(name, 340.0)));
            y += NAME_HEIGHT;
        } else {
            elements += &text_at(names, label + 4.0, &cut(name, 290.0));
        }
        body += &element(name, &format!("row {}", class_of(*kind)), &elements);
    }
    let change = |line: &Line| {
        let [(_, first), .., (_, last)] = &line.points[..] else { return (1.0, String::new()) };
        let [from, to] = [first, last].map(|time| duration(time.value));
        (last.value / first.value, format!("{}, from {from} to {to}", line.name))
    };
    let far = |line: &Line| change(line).0.ln().abs();
    let most = lines.iter().max_by(|a, b| far(a).total_cmp(&far(b)))?;
    Some(Picture {
        title: format!("Time of one operation by {words}"),
        description: format!(
            "Time of one operation by {words}, on two logarithmic axes; pale strokes are 95 % \
             intervals. What changes most: {}.",
            change(most).1
        ),
        legend: Vec::new(),
        height: if is_narrow { y } else { bottom + 38.0 },
        body,
    })
}

/// The time of an operation between each pair of CPUs: one cell per pair, coloured by time; `None`
/// without a pair, or with too few CPUs for a pattern.
pub fn heat(report: &Report, map: &PairMap) -> Option<Picture> {
    if map.cpus.len() < FEWEST_CPUS {
        return None;
    }
    /// The share of the width left of the first column.
    const LEFT: f64 = 0.1;
    let steps = Steps::of(&map.pairs)?;
    let count = map.cpus.len();
    let row = (480.0 / count as f64).clamp(6.0, 34.0);
    let column = ((1.0 - LEFT) / count as f64).min(0.16);
    let left = |at: usize| LEFT + column * at as f64;
    let middle = |at: usize| [left(at) + column / 2.0, row * (at as f64 + 0.5)];
    let bottom = row * count as f64;
    let mut body = String::new();
    for pair in &map.pairs {
        let Some([y, x]) = places(map, pair) else { continue };
        let [first, second] = pair.cpus;
        let (far, time) = (words(pair.distance), estimated_duration(&pair.time_ns));
        let title = format!("CPUs {first} and {second}, {far}: {time}");
        let class = format!("cell h{}", steps.step(pair.time_ns.value));
        body += &rectangle([left(x), left(x + 1)], row * y as f64, row, &class, &title);
        // Only large cells have room for figures.
        if count <= 5 {
            let ([at, _], [_, down]) = (middle(x), middle(y));
            let figure = duration(pair.time_ns.value);
            body += &text(at, down + 4.0, Anchor::Middle, "figure", &figure);
        }
    }
    // Lines between caches, thicker ones between nodes.
    for (index, two) in map.cpus.windows(2).enumerate() {
        let class = if two[0].node != two[1].node {
            "middle node"
        } else if two[0].cache != two[1].cache {
            "middle"
        } else {
            continue;
        };
        let (at, down) = (left(index + 1), row * (index + 1) as f64);
        body += &line((LEFT, down), (at, down), class);
        body += &line((at, down), (at, bottom), class);
    }
    // As many numbers along both sides as fit.
    let most = if map.cpus.iter().all(|place| place.cpu < 100) { 16 } else { 8 };
    for (index, CpuPlace { cpu, .. }) in
        map.cpus.iter().enumerate().step_by(count.div_ceil(most).max(1))
    {
        let [at, down] = middle(index);
        let word = if index == 0 { "CPU " } else { "" };
        let label = format!("{word}{cpu}");
        body += &text(LEFT - 0.01, (down + 4.0).max(10.0), Anchor::End, "axis", &label);
        body += &text(at, bottom + 14.0, Anchor::Middle, "axis", &cpu.to_string());
    }
    let legend = (0..steps.count())
        .map(|step| (format!("h{step}"), format!("to {}", duration(steps.end(step)))));
    Some(Picture {
        title: format!("{}: every pair of CPUs", name(report, map)),
        description: format!(
            "{}: time of one operation between two CPUs, one cell per pair. CPUs that share a \
             core, a cache or a NUMA node are neighbours. Lines separate caches, thick lines \
             nodes.",
            name(report, map)
        ),
        legend: legend.collect(),
        height: bottom + 20.0,
        body,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{report_of, sixty_four};
    use super::*;

    fn count(picture: &Picture, what: &str) -> usize {
        picture.body.matches(what).count()
    }

    /// Cases with this many tasks, each costing 10 ns.
    fn growing(tasks: &[u64]) -> Group {
        let mut group = report_of(&[1.0]).groups.remove(0);
        let of = group.cases[0].clone();
        let case = |tasks: &u64| {
            let mut case = of.clone();
            case.key.parameters.insert("tasks".to_owned(), (*tasks).into());
            case.title = format!("ring, {tasks}/same-cpu");
            case.estimates[0].as_mut().unwrap().measurements[0].time_ns.value =
                10.0 * *tasks as f64;
            case
        };
        group.cases = tasks.iter().map(case).collect();
        group
    }

    #[test]
    fn a_curve_joins_the_cases_in_the_order_of_their_number() {
        let [[picture, _]] = <[_; 1]>::try_from(curve_pictures(&growing(&[500, 5, 50]))).unwrap();
        assert_eq!((count(&picture, "class=\"mark\""), count(&picture, "class=\"curve\"")), (3, 2));
        let at = |tasks: &str| picture.body.find(&format!(" at {tasks}<")).unwrap();
        assert!(at("5") < at("50") && at("50") < at("500"), "{}", picture.body);
        assert!(curve_pictures(&growing(&[5, 50])).is_empty(), "two cases are no curve");
    }

    #[test]
    fn a_map_has_a_cell_for_each_pair() {
        let report = sixty_four();
        let picture = heat(&report, &report.pairs[0]).unwrap();
        assert_eq!(count(&picture, "class=\"cell"), report.pairs[0].pairs.len());
        assert_eq!((picture.legend.len(), count(&picture, "class=\"figure\"")), (8, 0));
    }
}
