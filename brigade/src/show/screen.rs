//! The first screen of a run: the machine and a verdict on the run, costs as rows with their
//! distribution over processes, and answers. It has at most 40 lines of 80 columns, and is the same
//! while the run goes on, at its end and after an interruption.

use harness::terminal;

use super::page::{ABSENT, COLUMNS, NO_BREAK_SPACE, lines};
use super::quantity::{brief_ticks, bytes, duration, factor, range};
use super::verdict::{Verdict, next_run, verdict};
use crate::judge::report::{Answer, Group, Part, Report, RunSummary};
use crate::judge::row::{Quantity, Row, TaskKind};

/// The most lines of the first screen, and the most sentences on it.
const MOST_LINES: usize = 40;
const MOST_ANSWERS: usize = 4;

/// Columns of a row: its label, median, range, factor and strip.
const LABEL: usize = 28;
const MEDIAN: usize = 9;
const RANGE: usize = 15;
const FACTOR: usize = 6;
const STRIP: usize = 20;

/// How to print a screen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Use the colours of a terminal.
    pub colours: bool,
    /// Use only ASCII in strips.
    pub ascii: bool,
}

impl Style {
    /// Text in a colour of the terminal.
    fn paint(self, code: &str, text: &str) -> String {
        match self.colours && code != "0" {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    /// The colour of a kind of task.
    fn of_kind(kind: Option<TaskKind>) -> &'static str {
        match kind {
            Some(TaskKind::Thread) => "34",
            Some(TaskKind::AsyncTask) => "32",
            Some(TaskKind::Coroutine) => "35",
            Some(TaskKind::Goroutine) => "36",
            Some(TaskKind::Process) => "33",
            Some(TaskKind::Alone) | None => "0",
        }
    }
}

/// The screen of a run whose records are in `folder`. Text from records and the manifest is escaped
/// here, since the colours must not be.
pub fn screen(report: &Report, folder: &str, style: Style) -> String {
    let end = end(report, folder);
    let mut text = head(report, style);
    if report.screen.is_empty() {
        let room = MOST_LINES.saturating_sub(text.lines().count() + end.lines().count());
        let room = room / report.groups.len().max(1);
        text.extend(report.groups.iter().map(|group| of_group(group, room, style)));
    }
    text.extend(report.screen.iter().map(|part| of_part(part, style)));
    let mut room = MOST_LINES.saturating_sub(text.lines().count() + end.lines().count() + 1);
    let answers = report.answers.iter().map(answer).take(MOST_ANSWERS);
    let mut said = String::new();
    for line in answers.chain(next_run(&report.run)).map(|of| lines(&terminal::line(&of))) {
        if let Some(left) = room.checked_sub(line.lines().count()) {
            room = left;
            said += &line;
        }
    }
    if !said.is_empty() {
        said.insert(0, '\n');
    }
    plain(&(text + &said + &end), style)
}

fn plain(text: &str, style: Style) -> String {
    let text = text.replace(NO_BREAK_SPACE, " ");
    if !style.ascii {
        return text;
    }
    let ascii = |c: char| match c {
        'µ' => 'u',
        '×' => 'x',
        '–' => '-',
        '·' => '.',
        '░' => ':',
        '▒' => '+',
        '▓' => '#',
        c => c,
    };
    text.chars().map(ascii).collect()
}

fn head(report: &Report, style: Style) -> String {
    let run = &report.run;
    let Verdict { word, is_good, text } = verdict(run);
    let machine = lines(&terminal::line(&format!("brigade: {}", machine(run))));
    let verdict = lines(&terminal::line(&format!("{word}: {text}")));
    let rest = verdict.strip_prefix(word).unwrap_or(&verdict);
    let colour = if is_good { "1;32" } else { "1;33" };
    format!("{machine}{}{rest}{}", style.paint(colour, word), not_measured(report))
}

/// The machine and the day in one line; the full report has caches and kernel options.
pub fn machine(run: &RunSummary) -> String {
    let day = run.started_at.get(..10).unwrap_or_default();
    format!("{}, {day}", run.machine)
}

/// A line that counts the cases without figures.
fn not_measured(report: &Report) -> String {
    let cases = report.groups.iter().flat_map(|group| &group.rows);
    let failed = cases.filter(|row| row.failures() > 0 && row.figure.is_none()).count();
    let skipped = &report.run.skipped;
    match (failed, &skipped[..]) {
        (0, []) => String::new(),
        (0, [only]) => lines(&terminal::line(&format!("skipped: {}: {}", only.case, only.reason))),
        _ => format!("not measured: {} cases (brigade report --full)\n", failed + skipped.len()),
    }
}

/// A part: a heading with its axis, and its blocks of rows.
fn of_part(part: &Part, style: Style) -> String {
    let rows = || part.blocks.iter().flat_map(|block| &block.rows);
    let axis = Axis::of(rows());
    let mut text = heading(&format!("{}  {}", part.heading, part.of), axis.as_ref(), part.unit);
    for block in &part.blocks {
        if !block.name.is_empty() {
            text += &format!(" {}\n", terminal::line(&block.name));
        }
        text.extend(block.rows.iter().map(|row| {
            let factor = match row.factor {
                _ if row.case == block.reference => "1".to_owned(),
                Some(of) => factor(of.value),
                None => String::new(),
            };
            line(row, &factor, axis.as_ref(), style)
        }));
    }
    text
}

/// A group's question, its cases, cheapest first, as far as there is room, and its note.
fn of_group(group: &Group, room: usize, style: Style) -> String {
    let mut rows: Vec<&Row> = cases(&group.rows).filter(|row| row.figure.is_some()).collect();
    rows.sort_by(|one, other| value(one).total_cmp(&value(other)));
    let Some(cheapest) = rows.first().map(|row| value(row)) else { return String::new() };
    let note = group.note.as_ref().map_or(String::new(), |note| lines(&terminal::line(note)));
    let room = room.saturating_sub(4 + note.lines().count()).max(2);
    let axis = Axis::of(rows.iter().copied());
    let unit = rows[0].unit;
    let mut text = format!("\n{}", lines(&terminal::line(&group.question)));
    text += heading("", axis.as_ref(), unit).trim_start_matches('\n');
    let all = rows.len();
    let shown = if all <= room { all } else { room.saturating_sub(1) };
    // Evenly spaced, with both ends.
    let step = |index: usize| index * (all - 1) / (shown - 1).max(1);
    for row in (0..shown).map(|index| rows[step(index)]) {
        text += &line(row, &factor(value(row) / cheapest), axis.as_ref(), style);
    }
    if shown < all {
        text += &format!("  and {} more: brigade report --full\n", all - shown);
    }
    text + &note
}

/// The figures of the cases, without those of single measurements.
pub fn cases(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let mut before = None;
    rows.iter().filter(move |row| before.replace(&row.case) != Some(&row.case))
}

fn value(row: &Row) -> f64 {
    row.figure.map_or(f64::INFINITY, |of| of.value)
}

fn heading(text: &str, axis: Option<&Axis>, unit: Quantity) -> String {
    let ends = axis.map_or(String::new(), |axis| {
        let [low, high] = axis.ends.map(|end| brief_ticks(end.exp(), unit));
        let between = STRIP.saturating_sub(low.chars().count());
        format!("{low}{high:>between$}")
    });
    let text = terminal::line(text);
    // A long heading takes the place of the word above the medians.
    let columns = match text.chars().count() > LABEL {
        true => format!("{text:<width$}", width = LABEL + MEDIAN),
        false => format!("{text:<LABEL$}{:>MEDIAN$}", "median"),
    };
    format!("\n{columns}{:>RANGE$}{:>FACTOR$} {ends}", "80 % of them", "×").trim_end().to_owned()
        + "\n"
}

/// A row: label, median, range, factor, strip.
fn line(row: &Row, factor: &str, axis: Option<&Axis>, style: Style) -> String {
    let label = terminal::line(&row.label);
    let median = row.figure.map_or(ABSENT.to_owned(), |of| match row.unit {
        Quantity::Bytes => bytes(of.value),
        _ => duration(of.value),
    });
    let range = row.range.map_or(String::new(), |of| range(of, row.unit));
    let strip = axis.map_or(String::new(), |axis| axis.strip(&row.values()));
    let strip = style.paint(Style::of_kind(row.kind), &strip);
    let figures = format!("{median:>MEDIAN$}{range:>RANGE$}{factor:>FACTOR$} {strip}");
    // A label that is too long gets a line for itself.
    match label.chars().count() + 2 > LABEL {
        true => format!("  {label}\n{:LABEL$}{figures}\n", ""),
        false => format!("  {label:<width$}{figures}\n", width = LABEL - 2),
    }
}

/// A logarithmic axis on which strips lie; its ends are natural logarithms.
struct Axis {
    ends: [f64; 2],
}

impl Axis {
    fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<Self> {
        let ranges = rows.filter_map(|row| row.range).filter(|range| range.low > 0.0);
        let all: Vec<f64> = ranges.flat_map(|of| [of.low.ln(), of.high.ln()]).collect();
        let low = all.iter().copied().reduce(f64::min)?;
        let high = all.iter().copied().reduce(f64::max)?;
        // Equal figures would lie far apart on an axis that is too short.
        let pad = ((1.25_f64.ln() - (high - low)) / 2.0).max(0.0);
        Some(Self { ends: [low - pad, high + pad] })
    }

    /// How many of these values lie where.
    fn strip(&self, values: &[f64]) -> String {
        let [low, high] = self.ends;
        let mut counts = [0_usize; STRIP];
        for value in values.iter().filter(|value| **value > 0.0) {
            let place = (value.ln() - low) / (high - low) * STRIP as f64;
            counts[(place.max(0.0) as usize).min(STRIP - 1)] += 1;
        }
        let share = |count: usize| count as f64 / values.len() as f64;
        let mark = |count: &usize| match share(*count) {
            _ if *count == 0 => '·',
            few if few < 0.15 => '░',
            some if some < 0.4 => '▒',
            _ => '▓',
        };
        if values.is_empty() { String::new() } else { counts.iter().map(mark).collect() }
    }
}

/// A sentence with its ratio.
fn answer(Answer { text, ratio }: &Answer) -> String {
    let words = format!("{} times", factor(ratio.value));
    text.replacen("{}", &words, 1)
}

/// What the screen's sentences are, without the room of the screen.
pub fn answers(report: &Report) -> Vec<String> {
    report.answers.iter().map(answer).collect()
}

/// What to type next, how to resume, and where the records are.
fn end(report: &Report, folder: &str) -> String {
    let progress = &report.run.progress;
    let folder = terminal::line(folder);
    let mut text =
        "\nmore: brigade report --full, --open · brigade list · brigade advise\n".to_owned();
    if !progress.is_complete {
        let of = progress.planned.map_or(String::new(), |of| format!(" of {of}"));
        text += &format!("after {}{of} rounds", progress.rounds);
        text += &match progress.resumable {
            true => format!("; brigade run --resume {folder}\n"),
            false => "\n".to_owned(),
        };
    }
    text + &format!("records in {folder}\n")
}

const _: () = assert!(LABEL + MEDIAN + RANGE + FACTOR + 1 + STRIP <= COLUMNS);

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;

    #[test]
    fn the_screen_of_a_run() {
        let text = screen(&fixtures::report(), "results/run-1", Style::default());
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.lines().count() <= MOST_LINES, "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn rows_have_fixed_places_before_anything_is_measured() {
        let mut run = fixtures::run();
        let all = screen(&fixtures::report_with(&run), "results/run-1", Style::default());
        run.invocations.clear();
        let none = screen(&fixtures::report_with(&run), "results/run-1", Style::default());
        let places = |text: &str| {
            let labels = ["async task ", "thread, one CPU", "thread, to another CPU"];
            labels.map(|label| text.lines().position(|line| line.contains(label)).unwrap())
        };
        assert_eq!(places(&none), places(&all), "{none}");
        assert!(!none.contains(['×', '░']) || none.contains(ABSENT), "{none}");
    }

    #[test]
    fn two_modes_are_two_spots() {
        let axis = Axis { ends: [0.0, 10_f64.ln()] };
        let mut values = vec![1.0; 6];
        values.extend([9.99; 6]);
        assert_eq!(axis.strip(&values), format!("▓{}▓", "·".repeat(STRIP - 2)));
        assert_eq!(axis.strip(&[]), "");
    }

    #[test]
    fn a_group_shows_its_cheapest_cases_first_and_counts_the_rest() {
        let mut report = fixtures::report();
        report.screen.clear();
        let group = of_group(&report.groups[0], 7, Style::default());
        let lines: Vec<&str> = group.lines().collect();
        assert!(lines.iter().any(|line| line.starts_with("  tasks")), "{group}");
        assert!(group.contains("and 2 more"), "{group}");
    }
}
