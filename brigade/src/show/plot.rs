//! The plots of a report: the ladder, the processes of a case, curves, and a map of CPUs.

use super::ladder::{Rung, Scale};
use super::pairs::{Steps, name, places, words};
use super::quantity::{Unit, brief, duration, estimated_duration, interval, tick};
use super::svg::{Anchor, Picture, cut, disc, group as element, line, noted, rectangle, text};
use crate::judge::report::model::{
    Case, CaseEstimate, CpuPlace, Group, JudgedOutcome, MeasurementEstimate, PairMap, Report,
    TaskKind,
};
use crate::judge::report::pairs::{Series, series};
use crate::judge::statistics::Estimate;

/// The height of a line of text above a mark, in pixels.
const LABEL: f64 = 17.0;
/// The space between two rows, in pixels.
const GAP: f64 = 8.0;
/// The space for a name above its row; on a narrow page the rest is for a figure.
const NAME: f64 = 260.0;

/// The class of a kind of task, which sets its colour.
fn class_of(kind: Option<TaskKind>) -> &'static str {
    match kind {
        Some(TaskKind::Thread) => "k-thread",
        Some(TaskKind::AsyncTask) => "k-async",
        Some(TaskKind::Coroutine) => "k-coroutine",
        Some(TaskKind::Goroutine) => "k-goroutine",
        Some(TaskKind::Process) => "k-process",
        Some(TaskKind::Alone) | None => "k-alone",
    }
}

/// The ends of an interval and the value in it.
fn extent(time: &Estimate) -> impl Iterator<Item = f64> {
    let ends = time.interval.into_iter().flat_map(|ends| [ends.low, ends.high]);
    ends.chain([time.value])
}

/// A row for each case with a mark for its time in the first run; `None` without a time.
pub fn ladder(rungs: &[Rung]) -> Option<Picture> {
    const LANE: f64 = 12.0;
    const TOP: f64 = 24.0;
    let timed: Vec<(&Rung, &Estimate)> = rungs.iter().map(|rung| (rung, &rung.time)).collect();
    let scale = Scale::of(timed.iter().flat_map(|(_, time)| extent(time)))?;
    let bottom = TOP + timed.len() as f64 * (LABEL + LANE + GAP);
    let mut body = String::new();
    for ns in scale.ticks() {
        let at = scale.share(*ns);
        let anchor = match at {
            0.0..0.04 => Anchor::Start,
            0.04..0.96 => Anchor::Middle,
            _ => Anchor::End,
        };
        body += &line((at, TOP), (at, bottom), "grid");
        for y in [TOP - 8.0, bottom + 14.0] {
            body += &text(at, y, anchor, "axis", &tick(*ns));
        }
    }
    let mut label = TOP + LABEL - 3.0;
    for (rung, time) in timed {
        let note = [&*rung.operation, rung.kind.map_or("", TaskKind::as_str)].join(" · ");
        let name = [&*cut(&rung.name, NAME), note.trim_end_matches(" · ")];
        let unit = Unit::of(time.value);
        let figure = [&*duration(time.value), &interval(time, |ns| unit.show(ns))];
        let mut row = noted(0.0, label, Anchor::Start, "name", name)
            + &noted(1.0, label, Anchor::End, "figure", figure);
        let (at, y) = (scale.share(time.value), label + 3.0 + LANE / 2.0);
        row += &line((0.0, y), (1.0, y), "track");
        row += &line((0.0, y), (at, y), "lead");
        if let Some(ends) = time.interval {
            row += &line((scale.share(ends.low), y), (scale.share(ends.high), y), "ends");
        }
        row += &disc((at, y), 4.5, "mark", &estimated_duration(time));
        body += &element(&rung.name, &format!("row {}", class_of(rung.kind)), &row);
        label += LABEL + LANE + GAP;
    }
    let has = |kind: &TaskKind| rungs.iter().any(|rung| rung.kind == Some(*kind));
    let kinds = TaskKind::ALL.into_iter().filter(has);
    Some(Picture {
        title: "Time of one operation by case".to_owned(),
        description: "Time of one operation on a logarithmic axis. A thick stroke is the 95 % \
                      interval."
            .to_owned(),
        legend: kinds
            .map(|kind| (class_of(Some(kind)).to_owned(), kind.as_str().to_owned()))
            .collect(),
        height: bottom + 18.0,
        body,
    })
}

/// The cheapest and the most expensive case, in a sentence.
pub fn extremes(rungs: &[Rung]) -> Option<String> {
    // A baseline to be subtracted is no answer, unless there is nothing else.
    let is_alone = |rung: &&Rung| rung.kind == Some(TaskKind::Alone);
    let mut answers: Vec<&Rung> = rungs.iter().filter(|rung| !is_alone(rung)).collect();
    if answers.is_empty() {
        answers = rungs.iter().collect();
    }
    let end = |rung: &Rung| {
        format!("{} ({} per {})", rung.name, duration(rung.time.value), rung.operation)
    };
    let (first, last) = (end(answers.first()?), end(answers.last()?));
    let count = rungs.len();
    Some(format!("{count} cases: the cheapest is {first}, the most expensive {last}."))
}

/// The first run's estimate of a case and its principal measurement. Cases of pairs of CPUs
/// are on the map.
fn measured(case: &Case) -> Option<(&CaseEstimate, &MeasurementEstimate)> {
    let estimate = case.estimates.first()?.as_ref().filter(|_| case.key.pair().is_none())?;
    Some((estimate, estimate.measurement(None)?))
}

/// A strip for each case of a group with a mark for each process, in the order in which they
/// ended; `None` without a time.
pub fn strips(group: &Group) -> Option<Picture> {
    const STRIP: f64 = 34.0;
    /// From the edge to the first mark, as a share of the width.
    const EDGE: f64 = 0.012;
    let mut body = String::new();
    let mut y = 0.0;
    for case in &group.cases {
        let Some((estimate, of)) = measured(case) else { continue };
        let values = || of.values_ns.iter().flatten().copied();
        let Some(scale) = Scale::of(values().chain(extent(&of.time_ns))) else { continue };
        let top = y + LABEL;
        let down = |ns: f64| top + 3.0 + (1.0 - scale.share(ns)) * (STRIP - 6.0);
        let [low, high] = [f64::min, f64::max].map(|of| values().reduce(of).unwrap_or_default());
        let span = format!("{} to {}", duration(low), duration(high));
        let mut strip = text(0.0, top - 4.0, Anchor::Start, "name", &cut(&case.name, 0.8 * NAME))
            + &text(1.0, top - 4.0, Anchor::End, "figure", &span)
            + &rectangle([0.0, 1.0], top, STRIP, "strip", "");
        if let Some(ends) = of.time_ns.interval {
            let [high, low] = [down(ends.high), down(ends.low)];
            strip += &rectangle([0.0, 1.0], high, (low - high).max(1.0), "band", "");
        }
        let middle = down(of.time_ns.value);
        strip += &line((0.0, middle), (1.0, middle), "middle");
        let last = estimate.invocations.len().saturating_sub(1).max(1) as f64;
        for (index, (of, value)) in estimate.invocations.iter().zip(&of.values_ns).enumerate() {
            let at = EDGE + index as f64 / last * (1.0 - 2.0 * EDGE);
            let time = value.map_or(String::new(), |ns| format!(" {}", duration(ns)));
            let (class, outcome) = match (of.is_used && value.is_some(), of.outcome) {
                (true, JudgedOutcome::Clean) => ("mark", ""),
                (true, outcome) => ("mark disturbed", outcome.as_str()),
                (false, outcome) => ("mark unused", outcome.as_str()),
            };
            let title = format!("{}:{time} {outcome}", of.round);
            let place = (at, value.map_or(top + STRIP - 5.0, down));
            strip += &disc(place, 2.5, class, title.trim_end());
        }
        body += &element(&case.name, &format!("row {}", class_of(case.kind)), &strip);
        y += LABEL + STRIP + GAP;
    }
    (!body.is_empty()).then(|| Picture {
        title: "Every process in order".to_owned(),
        description: "A mark for each process, in the order in which they ended. Each strip has \
                      its own axis, with a line at the estimate and a band for its interval."
            .to_owned(),
        legend: [("disturbed", "disturbed"), ("unused", "not used, or not measured")]
            .map(|(class, words)| (format!("sign {class}"), words.to_owned()))
            .into(),
        height: y,
        body,
    })
}

/// A picture for each number that cases of a group differ in, such as the number of tasks: a
/// line for each series of cases.
pub fn curves(group: &Group) -> Vec<Picture> {
    let mut parameters: Vec<&String> = Vec::new();
    for (name, value) in group.cases.iter().flat_map(|case| &case.key.parameters) {
        if value.is_number() && !parameters.contains(&name) {
            parameters.push(name);
        }
    }
    parameters.into_iter().filter_map(|parameter| curve(parameter, group)).collect()
}

/// A line of a curve.
struct Line<'a> {
    name: String,
    class: &'static str,
    /// The number, and the time of an operation.
    points: Vec<(f64, &'a Estimate)>,
}

impl<'a> Line<'a> {
    /// The line of cases whose number has a logarithm; `None` of fewer than three.
    fn of(series: Series<'a>) -> Option<Self> {
        let (_, first) = *series.first()?;
        let cases = series.into_iter().filter(|(number, _)| *number > 0.0);
        let (names, points): (Vec<&str>, Vec<_>) = cases
            .filter_map(|(number, case)| {
                let (_, of) = measured(case)?;
                Some((case.name.as_str(), (number, &of.time_ns)))
            })
            .unzip();
        let line = Self { name: shared(&names), class: class_of(first.kind), points };
        (line.points.len() >= 3).then_some(line)
    }
}

/// What names begin and end with, such as `threads … of 16 KiB`; the first if they share
/// nothing.
fn shared(names: &[&str]) -> String {
    let Some(first) = names.first() else { return String::new() };
    // The names differ in a number: none of its digits belong to what they share.
    let common = |names: &[String]| -> String {
        let alike = |other: &String| {
            names[0].chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
        };
        let begin: String =
            names[0].chars().take(names.iter().map(alike).min().unwrap_or(0)).collect();
        begin.trim_end_matches(|c: char| c.is_ascii_digit() || " ,-/".contains(c)).to_owned()
    };
    let head = common(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    if head == **first {
        return head;
    }
    let reversed: Vec<String> = names.iter().map(|name| name.chars().rev().collect()).collect();
    let tail: String = common(&reversed).chars().rev().collect();
    match (&*head, &*tail) {
        ("", "") => (*first).to_owned(),
        (_, "") => head,
        (head, tail) => format!("{head} … {tail}"),
    }
}

fn curve(parameter: &str, group: &Group) -> Option<Picture> {
    const TOP: f64 = 12.0;
    /// The height of a name.
    const NAME_HEIGHT: f64 = 15.0;
    // Where curves begin, end, and have their names, as shares of the width.
    const START: f64 = 0.065;
    const END: f64 = 0.48;
    const NAMES: f64 = 0.53;
    let lines: Vec<Line> =
        series(parameter, &group.cases).into_iter().filter_map(Line::of).collect();
    let points = || lines.iter().flat_map(|of| &of.points);
    let numbers = Scale::of(points().map(|(number, _)| *number))?;
    let times = Scale::of(points().flat_map(|(_, time)| extent(time)))?;
    let inner = (lines.len() as f64 * NAME_HEIGHT).max(220.0);
    let bottom = TOP + inner;
    let across = |number: f64| START + numbers.share(number) * (END - START);
    let down = |ns: f64| TOP + (1.0 - times.share(ns)) * inner;
    let mut body = String::new();
    for ns in times.ticks() {
        body += &line((0.0, down(*ns)), (END, down(*ns)), "grid");
        body += &text(0.0, down(*ns) - 3.0, Anchor::Start, "axis", &tick(*ns));
    }
    for (index, number) in numbers.ticks().iter().enumerate() {
        let x = across(*number);
        // A narrow page has room for every second number.
        let class = if index % 2 == 0 { "axis" } else { "axis note" };
        body += &line((x, TOP), (x, bottom), "grid");
        body += &text(x, bottom + 15.0, Anchor::Middle, class, &brief(*number));
    }
    let ends: Vec<f64> =
        lines.iter().filter_map(|of| of.points.last()).map(|(_, time)| down(time.value)).collect();
    let labels = apart(&ends, NAME_HEIGHT, [TOP + 4.0, bottom]);
    for (Line { name, class, points }, label) in lines.iter().zip(labels) {
        let place = |(number, time): &(f64, &Estimate)| (across(*number), down(time.value));
        let places: Vec<(f64, f64)> = points.iter().map(place).collect();
        let mut elements: String =
            places.windows(2).map(|ends| line(ends[0], ends[1], "curve")).collect();
        for ((number, time), at) in points.iter().zip(&places) {
            if let Some(ends) = time.interval {
                elements += &line((at.0, down(ends.low)), (at.0, down(ends.high)), "cover");
            }
            let title = format!("{name}: {} at {}", estimated_duration(time), brief(*number));
            elements += &disc(*at, 2.5, "mark", &title);
        }
        elements += &line(places[places.len() - 1], (NAMES - 0.01, label), "leader");
        elements += &text(NAMES, label + 4.0, Anchor::Start, "label", &cut(name, 172.0));
        body += &element(name, &format!("row {class}"), &elements);
    }
    let parameter = parameter.replace('_', " ");
    Some(Picture {
        title: format!("Time of one operation by {parameter}"),
        description: format!(
            "Time of one operation by {parameter}, on two logarithmic axes. Pale strokes \
             are 95 % intervals."
        ),
        legend: Vec::new(),
        height: bottom + 22.0,
        body,
    })
}

/// The places nearest to `wanted` at which no two labels are closer than `room` and all lie
/// between the ends, as far as there is room.
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

/// What an operation takes between each pair of CPUs: a cell for each pair, whose colour is
/// the time; `None` without a pair.
pub fn heat(report: &Report, map: &PairMap) -> Option<Picture> {
    /// The share of the width before the first column.
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
        // Few cells have room for their figures.
        if count <= 5 {
            let ([at, _], [_, down]) = (middle(x), middle(y));
            let figure = duration(pair.time_ns.value);
            body += &text(at, down + 4.0, Anchor::Middle, "figure", &figure);
        }
    }
    // Lines between caches and, thicker, between nodes.
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
    // As many numbers along both sides as there is room for.
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
            "{}: time of one operation between two CPUs, a cell for each pair. CPUs that share a \
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

    /// Cases of so many tasks, each of which costs 10 ns.
    fn growing(tasks: &[u64]) -> Group {
        let mut group = report_of(&[1.0]).groups.remove(0);
        let of = group.cases[0].clone();
        let case = |tasks: &u64| {
            let mut case = of.clone();
            case.key.parameters.insert("tasks".to_owned(), (*tasks).into());
            case.name = format!("ring, {tasks}/same-cpu");
            case.estimates[0].as_mut().unwrap().measurements[0].time_ns.value =
                10.0 * *tasks as f64;
            case
        };
        group.cases = tasks.iter().map(case).collect();
        group
    }

    #[test]
    fn a_strip_has_a_mark_for_each_process_that_shows_what_came_of_it() {
        let mut group = report_of(&[1.0]).groups.remove(0);
        group.cases.truncate(1);
        let estimate = group.cases[0].estimates[0].as_mut().unwrap();
        estimate.invocations[1].outcome = JudgedOutcome::Disturbed;
        estimate.invocations[2].is_used = false;
        estimate.measurements[0].values_ns[3] = None;
        let picture = strips(&group).unwrap();
        let looks = ["mark\"", "mark disturbed\"", "mark unused\""];
        assert_eq!(looks.map(|look| count(&picture, look)), [9, 1, 2]);
        group.cases.clear();
        assert_eq!(strips(&group), None);
    }

    #[test]
    fn a_curve_joins_the_cases_in_the_order_of_their_number() {
        let [picture] = <[_; 1]>::try_from(curves(&growing(&[500, 5, 50]))).unwrap();
        assert_eq!((count(&picture, "class=\"mark\""), count(&picture, "class=\"curve\"")), (3, 2));
        let at = |tasks: &str| picture.body.find(&format!(" at {tasks}<")).unwrap();
        assert!(at("5") < at("50") && at("50") < at("500"), "{}", picture.body);
        assert!(curves(&growing(&[5, 50])).is_empty(), "two cases are no curve");
    }

    #[test]
    fn a_map_has_a_cell_for_each_pair() {
        let report = sixty_four();
        let picture = heat(&report, &report.pairs[0]).unwrap();
        assert_eq!(count(&picture, "class=\"cell"), report.pairs[0].pairs.len());
        assert_eq!((picture.legend.len(), count(&picture, "class=\"figure\"")), (8, 0));
    }
}
