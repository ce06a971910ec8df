//! The first screen of a run: a verdict on the machine, costs as dots on a logarithmic axis, and
//! conclusions. At most 40 lines of 80 columns; a group's screen has at most 30.

use harness::terminal;

use super::curve::drawn;
use super::notes;
use super::page::{ABSENT, COLUMNS, NO_BREAK_SPACE, filled, lines};
use super::quantity::{brief, bytes, duration, three_digits};
use super::report::unfinished;
use super::scale::Scale;
use crate::judge::ledger::Quantity;
use crate::judge::report::model::{
    Case, CaseEstimate, Group, JudgedOutcome, Report, RunSummary, ScreenRow, Sentence, TaskKind,
    by_reason,
};
use crate::judge::statistics::Estimate;

/// The most lines of the first screen, and of that of a group.
const MOST_LINES: usize = 40;
const MOST_LINES_OF_GROUP: usize = 30;

/// The most sentences below the figures.
const MOST_SENTENCES: usize = 5;

/// Columns of the axis, and of a row's text before it.
const AXIS: usize = 24;
const TEXT: usize = 32;

/// How to print a screen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Use the colours of a terminal.
    pub colours: bool,
    /// Use only ASCII on the axis.
    pub ascii: bool,
}

impl Style {
    /// Text in a colour of the terminal.
    fn paint(self, code: &str, text: &str) -> String {
        if self.colours && code != "0" {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
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

/// The screen of a run, or those of the groups it ran.
///
/// Text from records and the manifest is escaped here, since the colours must not be.
pub fn screen(report: &Report, folder: &str, style: Style) -> String {
    let end = commands(report, folder);
    let text = figures_above(report, style, end.lines().count());
    let explained = if is_first(report) { explained(report, &text, &end) } else { String::new() };
    text + &plain(&(explained + &end), style)
}

/// The top of the screen: the verdict and the figures, of a run that may be going on.
pub fn figures(report: &Report, style: Style) -> String {
    figures_above(report, style, 0)
}

/// The figures, of groups as many as leave room for the lines below.
fn figures_above(report: &Report, style: Style, below: usize) -> String {
    let mut text = head(report, style);
    if !is_first(report) {
        let most = MOST_LINES_OF_GROUP.saturating_sub(text.lines().count() + below);
        text.extend(report.groups.iter().map(|group| of_group(group, style, most)));
        return plain(&text, style);
    }
    for part in &report.screen {
        let rows = part.blocks.iter().flat_map(|block| &block.rows);
        let Some(axis) = Axis::of(rows.map(|row| row.figure.value), part.unit) else { continue };
        text += &axis.heading(&format!("{}: {}", part.heading, part.of));
        for block in part.blocks.iter().filter(|block| !block.rows.is_empty()) {
            if !block.name.is_empty() {
                text += &format!(" {}\n", terminal::line(&block.name));
            }
            text.extend(block.rows.iter().map(|row| axis.row(row, style)));
        }
    }
    plain(&text, style)
}

/// Whether the run was for the first screen: for all that it shows.
fn is_first(report: &Report) -> bool {
    let command = &report.runs[0].command;
    let is_of_all = command.get(2).is_none_or(|word| word.starts_with("--"))
        && !command.iter().any(|word| word == "--case");
    is_of_all && !report.screen.is_empty()
}

fn head(report: &Report, style: Style) -> String {
    let run = &report.runs[0];
    let day = run.started_at.get(..10).unwrap_or_default();
    let (is_good, verdict) = notes::verdict_in_words(run);
    let colour = if is_good { "1;32" } else { "1;33" };
    let text = format!("brigade: {}, {day}", machine_in_brief(run));
    let text = lines(&terminal::line(&text));
    let verdict = lines(&terminal::line(&verdict));
    let (first, rest) = verdict.split_once(':').unwrap_or((&verdict, ""));
    format!("{text}{}:{rest}{}", style.paint(colour, first), not_measured(report))
}

/// The machine without its caches and kernel options; the full report has them.
fn machine_in_brief(run: &RunSummary) -> String {
    let is_brief = |part: &&str| {
        !["L1 ", "L2 ", "L3 ", "preemption", "idle "].iter().any(|of| part.starts_with(of))
    };
    run.machine.split(", ").filter(is_brief).collect::<Vec<_>>().join(", ")
}

/// The machine, the day and Brigade's version, in one line.
pub fn machine(run: &RunSummary) -> String {
    let day = run.started_at.get(..10).unwrap_or_default();
    format!("{}, {day}, Brigade {}", machine_in_brief(run), run.version)
}

/// One line for cases without figures and cases with missing ones.
fn not_measured(report: &Report) -> String {
    let estimates = report.groups.iter().flat_map(|group| &group.cases);
    let estimates: Vec<&CaseEstimate> = estimates.filter_map(Case::first).collect();
    let lacks = |case: &&&CaseEstimate| {
        use JudgedOutcome::{Failed, Refused, TimedOut};
        [Failed, Refused, TimedOut].iter().any(|of| case.count(*of) > 0)
    };
    let lacking = estimates.iter().filter(lacks).count();
    let skipped = &report.runs[0].skipped;
    let all = estimates.len() + skipped.len();
    match (&by_reason(skipped)[..], lacking) {
        ([], 0) => String::new(),
        ([(reason, _)], 0) => {
            let text = format!("skipped: {} of {all} cases: {reason}", skipped.len());
            lines(&terminal::line(&text))
        }
        _ => {
            let count = lacking + skipped.len();
            format!("not measured: {count} of {all} cases (brigade report --notes)\n")
        }
    }
}

/// The sentences and the legend below the `figures`, as far as `end` leaves room.
fn explained(report: &Report, figures: &str, end: &str) -> String {
    let legend = "× the async task of the same block; ± half of the 95 % interval.\n";
    let used = [figures, legend, end].map(|text| text.lines().count()).iter().sum::<usize>() + 1;
    let mut left = MOST_LINES.saturating_sub(used);
    let mut sentences = String::new();
    for sentence in conclusions(report).take(MOST_SENTENCES) {
        let said = bullet(&sentence);
        match left.checked_sub(said.lines().count()) {
            Some(rest) => left = rest,
            None => continue,
        }
        sentences += &said;
    }
    if !sentences.is_empty() {
        sentences.insert(0, '\n');
    }
    sentences + legend
}

/// What the figures mean, the most important first.
pub fn conclusions(report: &Report) -> impl Iterator<Item = String> {
    report.recorded.clone().into_iter().chain(report.sentences.iter().map(said))
}

/// A sentence with its ratio.
fn said(Sentence { text, ratio }: &Sentence) -> String {
    let words = format!("{} times", factor(ratio.value));
    format!("{} {}.", text.trim_end_matches('.').replacen("{}", &words, 1), ends(ratio))
}

/// A group's question, its curve, its other cases and its note, in at most this many lines.
fn of_group(group: &Group, style: Style, most: usize) -> String {
    let question = lines(&terminal::line(&group.question));
    let note = group.note.as_ref().map_or(String::new(), |note| lines(&terminal::line(note)));
    let paint = |kind, text: &str| style.paint(Style::of_kind(kind), text);
    let (curve, in_curve) = drawn(group, paint).unwrap_or_default();
    // An empty line above.
    let used =
        1 + [&question, &note, &curve].map(|text| text.lines().count()).iter().sum::<usize>();
    let rows = rows_of(group, &in_curve, most.saturating_sub(used), style);
    if curve.is_empty() && rows.is_empty() {
        return String::new();
    }
    format!("\n{question}{curve}{rows}{note}")
}

/// The cases of a group but these, cheapest first. If they do not fit, only the ends and those that
/// the group compares are shown, and then evenly spaced ones.
fn rows_of(group: &Group, but: &[&str], room: usize, style: Style) -> String {
    let row = |case: &Case| {
        let figure = case.first()?.figure()?;
        let (text, name) = (case.title.clone(), case.name.clone());
        Some(ScreenRow { text, case: name, kind: case.kind, figure, ratio: None })
    };
    // Bytes do not fit on an axis of times.
    let holds = |case: &Case| case.first().is_some_and(|of| of.held().is_some());
    let is_memory = group.cases.iter().all(holds);
    let cases = group.cases.iter().filter(|case| is_memory || !holds(case));
    let cases = cases.filter(|case| !but.contains(&&*case.name));
    let mut rows: Vec<ScreenRow> = cases.filter_map(row).collect();
    rows.sort_by(|one, other| one.figure.value.total_cmp(&other.figure.value));
    let unit = if is_memory { Quantity::Bytes } else { Quantity::Nanoseconds };
    let Some(axis) = Axis::of(rows.iter().map(|row| row.figure.value), unit) else {
        return String::new();
    };
    let heading = axis.heading("").trim_start_matches('\n').to_owned();
    // The line that counts what is left out takes one.
    let room = room.saturating_sub(heading.lines().count() + 1).max(1);
    let all = rows.len();
    let every = |rows: &[ScreenRow], step: usize| -> Vec<String> {
        let last = rows.len().saturating_sub(1);
        let shown = rows.iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last);
        shown.map(|(_, row)| axis.row(row, style)).collect()
    };
    let fits = |shown: &Vec<String>| shown.concat().lines().count() <= room;
    if !fits(&every(&rows, 1)) && !group.comparisons.is_empty() {
        let names = group.comparisons.iter().flat_map(|of| [Some(&of.case), of.other.as_ref()]);
        let names: Vec<&String> = names.flatten().collect();
        let ends = [rows[0].case.clone(), rows[all - 1].case.clone()];
        rows.retain(|row| names.contains(&&row.case) || ends.contains(&row.case));
    }
    let most = rows.len().max(1);
    let shown = (1..=most).map(|step| every(&rows, step)).find(fits);
    let shown = shown.unwrap_or_else(|| every(&rows, most));
    let left_out = match all - shown.len() {
        0 => String::new(),
        count => format!("  and {count} more\n"),
    };
    format!("{heading}{}{left_out}", shown.concat())
}

/// Commands to type next.
fn commands(report: &Report, folder: &str) -> String {
    let run = &report.runs[0];
    let total: usize = report.groups.iter().map(|group| group.cases.len()).sum();
    let mut commands = vec![
        ("brigade report --full".to_owned(), format!("tables of all {total} cases, every note")),
        ("brigade report --open".to_owned(), "the page".to_owned()),
    ];
    if !report.screen.is_empty() {
        let more = [
            ("brigade impact --pid PID", "does switching matter to my program?"),
            ("brigade advise", "which settings of this machine cost most"),
        ];
        commands.extend(more.map(|(command, why)| (command.to_owned(), why.to_owned())));
    }
    commands.extend(run.quality.remedy.as_ref().map(|flags| {
        (format!("brigade run {flags}"), format!("every case to ±{} %", run.quality.target_percent))
    }));
    let line = |(command, why): &(String, String)| {
        lines(&format!("  {command:<26} {why}").replacen(' ', &NO_BREAK_SPACE.to_string(), 30))
    };
    let figures = report.groups.iter().flat_map(|group| &group.cases);
    let mut figures = figures.filter_map(|case| case.first()?.figure());
    let mut text = match figures.any(|figure| figure.half_width().is_none()) {
        true => format!("{ABSENT}: too few usable processes for an interval.\n\n"),
        false => String::from("\n"),
    };
    text.extend(commands.iter().map(line));
    text += &unfinished(&run.progress, folder);
    text += &format!("records in {}\n", terminal::line(folder));
    text
}

/// A logarithmic axis for figures of one quantity.
pub struct Axis {
    /// Positions of values.
    pub scale: Scale,
    unit: Quantity,
}

impl Axis {
    /// The axis for these values; `None` unless one is positive.
    pub fn of(values: impl Iterator<Item = f64>, unit: Quantity) -> Option<Self> {
        Some(Self { scale: Scale::of(values)?, unit })
    }

    /// A figure with its unit.
    pub fn show(&self, value: f64) -> String {
        if self.unit == Quantity::Bytes { bytes(value) } else { duration(value) }
    }

    /// A round value, briefly.
    pub fn tick(&self, value: f64) -> String {
        if self.unit == Quantity::Bytes {
            let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (0.0, "B")];
            let (size, unit) = *units.iter().find(|(size, _)| value >= *size).unwrap_or(&units[3]);
            return format!("{}{unit}", brief(value / size.max(1.0)));
        }
        let shown = self.show(value);
        let (number, unit) = shown.split_once(NO_BREAK_SPACE).unwrap_or((&shown, ""));
        number.parse().map_or(shown.clone(), |number| format!("{}{unit}", brief(number)))
    }

    /// A heading with as many tick values as fit above the axis.
    fn heading(&self, text: &str) -> String {
        let labels = self.scale.labels(AXIS, |tick| self.tick(tick));
        let before = COLUMNS - labels.chars().count().max(AXIS + 1);
        format!("\n{:<before$}{labels}", terminal::line(text)).trim_end().to_owned() + "\n"
    }

    /// A row: text, figure, half-width of the interval, ratio, dot.
    fn row(&self, row: &ScreenRow, style: Style) -> String {
        let text = terminal::line(&row.text).replace(NO_BREAK_SPACE, " ");
        // Too long: it gets a separate line.
        let (before, text) = if text.chars().count() > TEXT {
            (filled(&text, "  ", "    "), String::new())
        } else {
            (String::new(), text)
        };
        let share = row.figure.half_width().map_or(ABSENT.to_owned(), |share| match share {
            share if share < 0.005 => "<1".to_owned(),
            share => format!("{:.0}", share * 100.0),
        });
        let ratio = row.ratio.map_or(String::new(), |ratio| format!("×{}", factor(ratio.value)));
        let figure = self.show(row.figure.value);
        let (dot, line) = if style.ascii { ("o", ".") } else { ("●", "·") };
        let place = self.scale.column(row.figure.value, AXIS);
        let dot = style.paint(Style::of_kind(row.kind), dot);
        let dots = format!("{}{dot}{}", line.repeat(place), line.repeat(AXIS - 1 - place));
        format!("{before}  {text:<TEXT$}{figure:>9} ±{share:>2} %{ratio:>6} {dots}\n")
    }
}

/// A ratio with two digits, or three above a hundred.
pub fn factor(ratio: f64) -> String {
    match ratio {
        0.0..9.95 => format!("{ratio:.1}"),
        9.95..9999.5 => format!("{ratio:.0}"),
        _ => three_digits(ratio),
    }
}

fn ends(ratio: &Estimate) -> String {
    ratio.interval.map_or(String::new(), |ends| {
        format!("[{},{NO_BREAK_SPACE}{}]", factor(ends.low), factor(ends.high))
    })
}

/// A sentence as a list item.
fn bullet(text: &str) -> String {
    filled(&terminal::line(text), "  · ", "    ")
}

/// Text with plain spaces, and in ASCII if the terminal needs that.
fn plain(text: &str, style: Style) -> String {
    let text = text.replace(NO_BREAK_SPACE, " ");
    if style.ascii {
        text.replace('·', "-")
            .replace('…', "~")
            .replace('±', "+-")
            .replace('×', "x")
            .replace('µ', "u")
            .replace(ABSENT, "-")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::curve::curves;
    use super::super::fixtures;
    use super::super::quantity::letter;
    use super::*;
    use crate::manifest::Manifest;
    use crate::store::saved_run::SavedRun;

    #[test]
    fn the_screen_of_a_group_has_a_dot_for_each_case_and_colours_only_if_asked() {
        let report = fixtures::report_of(&[1.0]);
        let text = screen(&report, "results/run", Style::default());
        let dots: Vec<usize> = text
            .lines()
            .filter_map(|line| Some(line.find('●')? - line.find('·').unwrap_or(0)))
            .collect();
        assert_eq!(dots.len(), 5, "{text}");
        assert!(dots[..4].is_sorted(), "cheapest first: {text}");
        assert!(text.contains("What does a hop cost?") && !text.contains('\u{1b}'), "{text}");
        let style = Style { colours: true, ascii: false };
        assert!(screen(&report, "results/run", style).contains("\u{1b}["));
        assert!(!screen(&report, "results/run", style).contains("\u{1b}[0m·"), "no colour");
        let ascii = Style { colours: false, ascii: true };
        let plain = screen(&report, "results/run", ascii);
        assert!(plain.is_ascii() && !plain.contains("too few"), "{plain}");
        let mut few = fixtures::run(1.0);
        few.invocations.retain(|of| of.round == 1);
        let report = fixtures::report_with(&fixtures::manifest(), &[few]);
        let plain = screen(&report, "results/run", ascii);
        assert!(plain.is_ascii() && plain.contains("-: too few usable processes"), "{plain}");
    }

    #[test]
    fn a_long_group_shows_its_ends_and_the_cases_that_it_compares() {
        let mut report = fixtures::report_of(&[1.0]);
        let group = &mut report.groups[0];
        for number in 0..30 {
            let mut between = group.cases[0].clone();
            (between.name, between.title) = (format!("between {number}"), "between".to_owned());
            group.cases.push(between);
        }
        let text = of_group(group, Style::default(), 20);
        assert!(text.matches('●').count() >= 2 && text.contains("more\n"), "{text}");
        assert!(!text.contains("between"), "{text}");
    }

    /// A group of the suite, measured: each case takes longer than the one before it.
    fn measured(manifest: &Manifest, group: &crate::manifest::Group) -> Group {
        let like = fixtures::report_of(&[1.0]).groups.remove(0).cases.remove(0);
        let case = |(at, name): (usize, &String)| {
            let case = manifest.cases.iter().find(|case| case.name == *name).unwrap();
            let mut measured = like.clone();
            (measured.name, measured.title) = (name.clone(), name.clone());
            measured.kind = manifest.kind_of(name, &case.program);
            measured.key.program.clone_from(&case.program);
            let flags = case.flags.windows(2).filter(|pair| pair[0].starts_with("--"));
            measured.key.parameters = flags
                .map(|pair| {
                    let number = pair[1].parse::<u64>().map(Into::into);
                    let name = pair[0].trim_start_matches('-').replace('-', "_");
                    (name, number.unwrap_or_else(|_| pair[1].clone().into()))
                })
                .chain([("placement".to_owned(), case.placement.as_str().into())])
                .collect();
            let time = &mut measured.estimates[0].as_mut().unwrap().measurements[0].time_ns;
            time.value = 150.0 * 1.1_f64.powi(at as i32);
            measured
        };
        let (name, question) = (group.name.clone(), group.question.clone());
        let cases = group.cases.iter().enumerate().map(case).collect();
        Group { name, question, note: group.note.clone(), cases, ..Group::default() }
    }

    #[test]
    fn a_group_with_a_curve_shows_each_of_its_lines_on_one_screen() {
        let manifest = Manifest::load(None).unwrap();
        let mut found = Vec::new();
        for group in &manifest.groups {
            let group = measured(&manifest, group);
            let curves = curves(&group);
            let most = curves.into_iter().map(|(_, lines)| lines.len()).max().unwrap_or_default();
            if drawn(&group, |_, mark| mark.to_owned()).is_none() {
                continue;
            }
            let mut report = fixtures::report_of(&[1.0]);
            report.groups = vec![group.clone()];
            let text = screen(&report, "results/2026-11-25-amd-epyc-25-17-2cpu", Style::default());
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(text.lines().count() <= 30 && widest <= 80, "{widest} columns: {text}");
            let key = |line: &str| line.chars().skip(33).take(2).collect::<String>();
            let keys: Vec<String> = text.lines().map(key).collect();
            let is_shown = |index: usize| keys.contains(&format!("{} ", letter(index)));
            assert!((0..most).all(is_shown), "{most} lines: {text}");
            let unit = match &*group.name {
                "processes" => ", in MiB",
                "greedy" => ", in µs",
                _ => "",
            };
            assert!(text.contains(unit), "{unit}: {text}");
            found.push(group.name);
        }
        assert_eq!(found, ["processes", "tasks", "surface", "greedy", "locks", "rings"]);
    }

    #[test]
    fn a_groups_screen_has_at_most_30_lines_of_80_columns() {
        let mut report = fixtures::report_of(&[1.0]);
        report.groups.truncate(1);
        report.groups[0].comparisons.clear();
        for count in 0..40 {
            let mut case = report.groups[0].cases[0].clone();
            case.name = format!("case {count}");
            if count % 3 == 0 {
                case.title = "tasks over pipes, ".repeat(5);
            }
            report.groups[0].cases.push(case);
            let text = screen(&report, "results/run", Style::default());
            assert!(text.lines().count() <= MOST_LINES_OF_GROUP, "{count}: {text}");
            assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        }
    }

    #[test]
    fn what_was_not_measured_is_one_line_with_the_reason_if_there_is_only_one() {
        let mut report = fixtures::report_of(&[1.0]);
        let line_with_failures = not_measured(&report);
        assert!(
            line_with_failures.starts_with("not measured: 2 of 6 cases"),
            "{line_with_failures}"
        );
        let failed = |case: &Case| case.first().map_or(0, |of| of.count(JudgedOutcome::Failed));
        report.groups.iter_mut().for_each(|group| group.cases.retain(|case| failed(case) == 0));
        let line = |report: &Report| not_measured(report).lines().next().unwrap().to_owned();
        let all = report.groups.iter().map(|group| group.cases.len()).sum::<usize>() + 1;
        assert_eq!(line(&report), format!("skipped: 1 of {all} cases: no io_uring"));
        let mut second = report.runs[0].skipped[0].clone();
        second.reason = "no Go".to_owned();
        report.runs[0].skipped.push(second);
        let all = all + 1;
        let expected = format!("not measured: 2 of {all} cases (brigade report --notes)");
        assert_eq!(line(&report), expected);
        report.runs[0].skipped.clear();
        assert_eq!(not_measured(&report), "");
    }

    #[test]
    fn sentences_are_ordered_by_how_far_they_are_from_a_guess() {
        let more = "
            [[screen]]
            heading = 'HAND OVER'
            of = 'one hop'
            blocks = [{ reference = 'tasks', rows = [{ text = 'a task', case = 'tasks' }] }]
            [[sentence]]
            text = 'As guessed, {}.'
            case = 'threads/same-cpu'
            over = 'tasks'
            guess = 1.98
            [[sentence]]
            text = 'A little: {}.'
            case = 'threads/same-cpu'
            over = 'tasks'
            guess = 1
            [[sentence]]
            text = 'Much: {}.'
            case = 'threads/spread'
            over = 'tasks'
            guess = 1
            [[sentence]]
            text = 'First: {}.'
            case = 'threads/same-cpu'
            over = 'tasks'
            guess = 1.9
            first = true
        ";
        let manifest = Manifest::parse(&format!("{}{more}", fixtures::MANIFEST)).unwrap();
        let report = fixtures::report_with(&manifest, &[fixtures::run(1.0)]);
        let text = screen(&report, "results/run", Style::default());
        let said = text.lines().filter(|line| line.starts_with("  · "));
        let expected = [
            "  · First: 2.0 times [1.9, 2.0].",
            "  · Much: 24 times [24, 25].",
            "  · A little: 2.0 times [1.9, 2.0].",
        ];
        assert_eq!(said.collect::<Vec<_>>(), expected, "{text}");
    }
}
