//! The curves of a group: cases that differ in one number, such as the number of tasks.

use harness::terminal;

use super::quantity::{brief, duration, letter, tick};
use super::scale::Scale;
use super::svg::clipped;
use crate::judge::report::model::{Case, CaseEstimate, Group, MeasurementEstimate, TaskKind};
use crate::judge::report::pairs::{Series, series};
use crate::judge::statistics::Estimate;

/// The first run's estimate of a case and its principal measurement. Cases of CPU pairs are on the
/// map instead.
pub fn measured(case: &Case) -> Option<(&CaseEstimate, &MeasurementEstimate)> {
    let estimate = Case::first(case).filter(|_| case.key.pair().is_none())?;
    Some((estimate, estimate.measurement(None)?))
}

/// A line of a curve.
pub struct Line<'a> {
    pub name: String,
    pub kind: Option<TaskKind>,
    /// The number, and the time of an operation.
    pub points: Vec<(f64, &'a Estimate)>,
    /// The names of the cases.
    pub cases: Vec<&'a str>,
}

impl<'a> Line<'a> {
    /// The line for cases whose number is positive; `None` for fewer than three.
    fn of(series: Series<'a>) -> Option<Self> {
        let (_, first) = *series.first()?;
        let (mut titles, mut points, mut cases) = (Vec::new(), Vec::new(), Vec::new());
        for (number, case) in series.into_iter().filter(|(number, _)| *number > 0.0) {
            let Some((_, of)) = measured(case) else { continue };
            titles.push(case.title.as_str());
            points.push((number, &of.time_ns));
            cases.push(case.name.as_str());
        }
        let line = Self { name: shared(&titles), kind: first.kind, points, cases };
        (line.points.len() >= 3).then_some(line)
    }
}

/// For each number that cases of a group differ in, its name and its lines, if there are any.
pub fn curves(group: &Group) -> Vec<(&str, Vec<Line<'_>>)> {
    let mut parameters: Vec<&str> = Vec::new();
    for (name, value) in group.cases.iter().flat_map(|case| &case.key.parameters) {
        if value.is_number() && !parameters.contains(&&**name) {
            parameters.push(name);
        }
    }
    let lines = |name| series(name, &group.cases).into_iter().filter_map(Line::of).collect();
    let curves = parameters.into_iter().map(|name| (name, lines(name)));
    curves.filter(|(_, lines): &(_, Vec<Line>)| !lines.is_empty()).collect()
}

/// Columns of the labels before a curve in text, of the curve, and of a name after it.
const LABELS: usize = 7;
const WIDTH: usize = 24;
const NAME: usize = 26;
/// The fewest rows of a curve in text.
const FEWEST_ROWS: usize = 8;

/// The curve with the most points in text, its lines keyed by letters, and the cases in it; `None`
/// if these take no more rows. `paint` colours a mark by the kind of task.
pub fn drawn(
    group: &Group,
    paint: impl Fn(Option<TaskKind>, &str) -> String,
) -> Option<(String, Vec<&str>)> {
    let points = |lines: &[Line]| lines.iter().map(|line| line.points.len()).sum::<usize>();
    let (parameter, mut lines) =
        curves(group).into_iter().max_by_key(|(_, lines)| points(lines))?;
    let rows = lines.len().max(FEWEST_ROWS);
    if points(&lines) <= rows + 1 {
        return None;
    }
    let all = || lines.iter().flat_map(|line| &line.points);
    let numbers = Scale::of(all().map(|(number, _)| *number))?;
    let times = Scale::of(all().map(|(_, time)| time.value))?;
    let across = |number: f64| numbers.column(number, WIDTH);
    let down = |ns: f64| (1.0 - times.share(ns)) * (rows - 1) as f64;
    let end = |line: &Line| line.points.last().map_or(0.0, |(_, time)| time.value);
    lines.sort_by(|one, other| end(other).total_cmp(&end(one)));
    let mut cells = vec![vec![" ".to_owned(); WIDTH]; rows];
    let mut put = |row: f64, column: usize, mark| {
        std::mem::replace(&mut cells[row.round() as usize][column], mark)
    };
    for line in &lines {
        for [(number, time), (next, after)] in line.points.array_windows() {
            let (from, to) = (across(*number), across(*next));
            let step = (down(after.value) - down(time.value)) / (to - from).max(1) as f64;
            for column in from..=to {
                let row = down(time.value) + (column - from) as f64 * step;
                put(row, column, paint(line.kind, "·"));
            }
        }
    }
    let mut several = "";
    for (index, line) in lines.iter().enumerate() {
        for (number, time) in &line.points {
            let (row, column) = (down(time.value), across(*number));
            let mark = paint(line.kind, &letter(index));
            let before = put(row, column, mark.clone());
            if before != mark && !before.contains([' ', '·']) {
                several = ", *: several";
                put(row, column, "*".to_owned());
            }
        }
    }
    let mut labels = vec![String::new(); rows];
    for ns in times.ticks() {
        labels[down(*ns).round() as usize] = tick(*ns);
    }
    let ends: Vec<f64> = lines.iter().map(|line| down(end(line))).collect();
    let key = key(&lines, &ends, rows);
    let row = |row: usize| format!("{:>LABELS$} {} {}", labels[row], cells[row].concat(), key[row]);
    let mut text: Vec<String> = (0..rows).map(row).collect();
    text.push(format!(
        "{:LABELS$} {} {}",
        "",
        numbers.labels(WIDTH, brief),
        axis_name(parameter) + several
    ));
    let text: String = text.iter().map(|line| line.trim_end().to_owned() + "\n").collect();
    Some((text, lines.iter().flat_map(|line| line.cases.clone()).collect()))
}

/// The name of an axis for the values of a parameter, with their unit.
pub fn axis_name(parameter: &str) -> String {
    match parameter {
        "greedy_for" => "computing, in µs".to_owned(),
        "resident_mib" => "resident memory, in MiB".to_owned(),
        "working_set" => "working set, in bytes".to_owned(),
        count => count.replace('_', " "),
    }
}

/// The letter, name, first and last time of each line, in rows near its end.
fn key(lines: &[Line], ends: &[f64], rows: usize) -> Vec<String> {
    let mut key = vec![String::new(); rows];
    let places = apart(ends, 1.0, [0.0, (rows - 1) as f64]);
    for (index, ((line, name), row)) in lines.iter().zip(in_brief(lines)).zip(places).enumerate() {
        let [first, last] = [0, line.points.len() - 1].map(|at| duration(line.points[at].1.value));
        key[row.round() as usize] = format!("{} {name:<NAME$} {first} to {last}", letter(index));
    }
    key
}

/// The lines' names without the parts and the first words that all have in common, and without the
/// end of long ones.
fn in_brief(lines: &[Line]) -> Vec<String> {
    let parts = |line: &Line| -> Vec<String> {
        terminal::line(&line.name).replace(" … ", ", ").split(", ").map(str::to_owned).collect()
    };
    let all: Vec<Vec<String>> = lines.iter().map(parts).collect();
    let differs = |part: &&String| lines.len() == 1 || !all.iter().all(|of| of.contains(part));
    let name = |parts: &Vec<String>| {
        let kept: Vec<String> = parts.iter().filter(differs).cloned().collect();
        if kept.is_empty() { parts } else { &kept }.join(", ")
    };
    let names: Vec<String> = all.iter().map(name).collect();
    let same = |at: &usize| {
        let mut words = names
            .iter()
            .map(|name| name.split_inclusive(' ').nth(*at).filter(|word| word.ends_with(' ')));
        let word = words.next().flatten();
        word.is_some() && words.all(|other| other == word)
    };
    let alike = if lines.len() == 1 { 0 } else { (0..).take_while(same).count() };
    let brief =
        |name: &String| clipped(&name.split_inclusive(' ').skip(alike).collect::<String>(), NAME);
    names.iter().map(brief).collect()
}

/// The common beginning and end of names, such as `threads … of 16 KiB`; the first name if there is
/// none.
fn shared(names: &[&str]) -> String {
    let Some(first) = names.first() else { return String::new() };
    // The names differ in a number, so the common part contains none of its digits.
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
    // A word of which only the end is common is left out.
    let reversed: Vec<String> = names.iter().map(|name| name.chars().rev().collect()).collect();
    let tail: String = common(&reversed).chars().rev().collect();
    let is_word = !first.trim_end_matches(&*tail).ends_with(char::is_alphanumeric);
    let tail = if is_word { &*tail } else { tail.split_once(' ').map_or("", |(_, rest)| rest) };
    match (&*head, tail) {
        ("", "") => (*first).to_owned(),
        (_, "") => head,
        (head, tail) => format!("{head} … {tail}"),
    }
}

/// The positions nearest to `wanted` where labels are at least `room` apart and between the ends,
/// as far as possible.
pub fn apart(wanted: &[f64], room: f64, [top, bottom]: [f64; 2]) -> Vec<f64> {
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

    #[test]
    fn names_of_lines_begin_with_what_differs() {
        for (names, expected) in [
            (
                &["launch by fork", "launch by clone with CLONE_VM"][..],
                &["fork", "clone with CLONE_VM"][..],
            ),
            (&["tokio, one worker", "tokio, all CPUs"], &["one worker", "all CPUs"]),
            (&["thread", "thread … of 2 MiB"], &["thread", "of 2 MiB"]),
            (&["launch by fork"], &["launch by fork"]),
            (&["a b", "one two three four five six"], &["a b", "one two three four five s…"]),
        ] {
            let line = |name: &&str| Line {
                name: (*name).to_owned(),
                kind: None,
                points: Vec::new(),
                cases: Vec::new(),
            };
            assert_eq!(in_brief(&names.iter().map(line).collect::<Vec<_>>()), expected);
        }
    }
}
