//! The first screen of a run: the machine and a verdict on the run, costs as rows with their
//! distribution over processes, and answers. It has at most 44 lines of 80 columns, and is the same
//! while the run goes on, at its end and after an interruption.

use std::collections::BTreeMap;

use harness::terminal;

use super::command;
use super::group::{answer, group_answers, question};
use super::loads;
use super::machine;
use super::names::Names;
use super::page::{COLUMNS, filled, lines, unbroken, with_spaces, without_padding};
use super::quantity::{
    brief_ticks, factor_in_group, factor_of, figure, percent, range, used_of_ended,
};
use super::scale::Scale;
use super::verdict::{FEWEST_ROUNDS, RunVerdict, next_run, no_answer, verdict};
use crate::judge::report::{
    Group, NextRun, OTHER_MANIFEST, Report, RunProgress, RunSummary, ScreenPart,
};
use crate::judge::row::{ProcessOutcome, Row};
use crate::shell::quoted;

/// The most lines of the first screen: four activities and their answers, on a terminal of 45
/// lines with its prompt. And the most sentences on it.
const MOST_LINES: usize = 44;
const MOST_ANSWERS: usize = 4;
/// The lines that are kept free for them while a run goes on.
const ROOM_FOR_ANSWERS: usize = 2 * MOST_ANSWERS;
/// The most unusual facts on it.
const MOST_INHERITED: usize = 2;

/// What happens before the first process.
pub const BUILDING: &str = "looking for tools, building guests";

/// Columns of the bar of a run's time.
const BAR: usize = 24;

/// Columns of a row: its label, median, range, factor and, after a space, its strip.
const LABEL: usize = 28;
const MEDIAN: usize = 9;
const RANGE: usize = 15;
const FACTOR: usize = 7;
const STRIP: usize = 20;
/// The cells of a strip that are on its axis.
const ON_AXIS: usize = STRIP - 1;
/// What is to the left of the strip.
const FIGURES: usize = LABEL + MEDIAN + RANGE + FACTOR + 1;

/// How to read rows with factors to a reference, and without one.
const LEGEND: &str =
    "× is relative to the row marked 1. ░▒▓: few to many processes, >: some beyond.";

/// The screen's surroundings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The folder of the run's records.
    pub folder: &'a str,
    /// The page in it, if there is one.
    pub page: Option<&'a str>,
    /// Whether the verdict is printed in bold.
    pub bold: bool,
    /// The lines of the terminal; `None` without one.
    pub height: Option<usize>,
}

impl Place<'_> {
    /// Whether so many lines scroll off, with one for the prompt.
    fn is_lower_than(&self, lines: usize) -> bool {
        self.height.is_some_and(|height| height <= lines)
    }
}

/// The largest error of an axis's end, as a share: it is kept as a logarithm.
const ROUNDING: f64 = 1e-9;

/// The screen of a run. Text from records and the manifest is escaped here.
///
/// On a terminal that is lower than the screen the most important lines come last, so that they
/// stay visible; while the run goes on only these are drawn.
pub fn screen(report: &Report, place: Place<'_>) -> String {
    let whole = arranged(report, place, false);
    if !place.is_lower_than(whole.lines().count()) {
        return whole;
    }
    arranged(report, place, true)
}

fn arranged(report: &Report, place: Place<'_>, is_low: bool) -> String {
    let is_running = report.run.progress.seconds_left.is_some();
    let is_question = report.screen.is_empty() || report.groups.len() == 1;
    // The forecast is the least important part.
    let next_run = if is_low { None } else { next_run(&report.run) };
    let next_run = next_run.map_or(String::new(), |text| lines(&text));
    let end = format!("{next_run}{}{}", if is_low { "" } else { "\n" }, end(report, place));
    let mut answers = shown_answers(report, is_question);
    let mut text = head(report, place.bold);
    // The answer to a question comes first, but until the run has ended rows keep their places.
    if is_question && !is_running {
        if !report.run.state.is_fit {
            text = why_no_answer(report, place.bold) + "\n" + &machine_and_inherited(&report.run);
        } else if !answers.is_empty() {
            text = answers.drain(..).collect::<String>() + "\n" + &text;
        }
    }
    // A group with a table, or with rows of the first screen that it explains, shows these.
    let explains = matches!(&report.groups[..], [only] if only.explains());
    let full = full_report(place);
    let mut below = not_measured(report, &full);
    if explains || report.screen.is_empty() {
        // Answers may come and go while the run goes on.
        let of_answers =
            if is_running { ROOM_FOR_ANSWERS } else { answers.concat().lines().count() };
        // One more line separates what is below from the rows.
        let used = (text.clone() + &below + &end).lines().count() + of_answers + 1;
        let room = MOST_LINES.saturating_sub(used) / report.groups.len().max(1);
        let of_group =
            |group| group_text(group, &Names::new(report, group), room, is_running, &full);
        text.extend(report.groups.iter().map(of_group));
    } else {
        text += &parts(report, is_low, is_running);
    }
    for answer in answers {
        // One more line separates them from the rows.
        if (text.clone() + &below + &answer + &end).lines().count() < MOST_LINES {
            below += &answer;
        }
    }
    if !is_low && (!below.is_empty() || !next_run.is_empty()) {
        below.insert(0, '\n');
    }
    with_spaces(&(text + &below + &end))
}

/// The sentences that the run supports: those of the asked questions, if there are any.
fn shown_answers(report: &Report, is_question: bool) -> Vec<String> {
    let mut answers = Vec::new();
    if is_question {
        answers.extend(report.groups.iter().flat_map(group_answers));
    }
    if answers.is_empty() {
        answers.extend(report.answers.iter().map(answer));
    }
    answers.iter().take(MOST_ANSWERS).map(|answer| lines(answer)).collect()
}

/// Why a disturbed run answers no question, and what to type.
fn why_no_answer(report: &Report, bold: bool) -> String {
    let command = command::same_cases(&report.run);
    let RunVerdict { word, text, .. } = no_answer(&report.run.state, command.as_deref());
    after_word(word, &text, bold)
}

/// A verdict's text after its word, which may be bold.
fn after_word(word: &str, text: &str, bold: bool) -> String {
    let word = if bold { format!("\u{1b}[1m{word}\u{1b}[0m") } else { word.to_owned() };
    // The width of a line leaves out what makes the word bold.
    filled(text, &format!("{word}: "), "")
}

/// The parts of the first screen between column heads and a legend. If lines must scroll off, the
/// first part comes last; while a run goes on it is the only one.
fn parts(report: &Report, is_low: bool, is_running: bool) -> String {
    let mut parts: Vec<&ScreenPart> = report.screen.iter().collect();
    if is_low {
        parts.rotate_left(1);
        if is_running {
            parts.drain(..parts.len() - 1);
        }
    }
    let rows: String = parts.into_iter().map(part_text).collect();
    format!("{}{rows}{LEGEND}\n", column_heads())
}

fn column_heads() -> String {
    format!(
        "{:LABEL$}{:>MEDIAN$}{:>RANGE$}{:>FACTOR$} each process (log)\n",
        "", "median", "8 in 10 within", "×"
    )
}

/// The machine, how far the run is, the verdict on it, and what it inherited.
fn head(report: &Report, bold: bool) -> String {
    let run = &report.run;
    let RunVerdict { word, text, .. } = verdict(run);
    let mut verdict = after_word(word, &text, bold);
    // A second line would move the rows while the run goes on.
    if run.progress.seconds_left.is_some() {
        verdict = verdict.lines().take(1).map(|line| format!("{line}\n")).collect();
    }
    first_line(run) + &bar(&run.progress) + &verdict + &inherited(run)
}

/// The head of an ended run without the verdict.
fn machine_and_inherited(run: &RunSummary) -> String {
    first_line(run) + &inherited(run)
}

/// What is unusual of what the run inherited, as far as there is room.
fn inherited(run: &RunSummary) -> String {
    let facts: Vec<String> =
        run.inherited.iter().take(MOST_INHERITED).map(machine::inherited).collect();
    match &facts[..] {
        [] => String::new(),
        facts => lines(&format!("inherited: {}", facts.join("; "))),
    }
}

/// The machine on the left, the day and the number of rounds on the right.
fn first_line(run: &RunSummary) -> String {
    let day = run.started_at.get(..10).unwrap_or_default();
    let right = terminal::line(&format!("{day}, {}", rounds(&run.progress)));
    let room = COLUMNS.saturating_sub(right.chars().count() + 2);
    // What is escaped is longer.
    let machine = terminal::line(&machine::machine_within(&run.machine, room));
    let machine: String = machine.chars().take(room).collect();
    format!("{machine:<room$}  {right}\n")
}

/// How many rounds are done.
fn rounds(run: &RunProgress) -> String {
    let about = f64::from(run.rounds) / run.share;
    let planned = match run.planned {
        _ if run.is_complete => String::new(),
        Some(planned) => format!(" of {planned}"),
        None if run.rounds >= FEWEST_ROUNDS && about.is_finite() => format!(" of about {about:.0}"),
        None => String::new(),
    };
    let plural = if run.rounds == 1 && planned.is_empty() { "" } else { "s" };
    let is_interrupted = !run.is_complete && run.seconds_left.is_none();
    let after = if is_interrupted { "interrupted after " } else { "" };
    format!("{after}{}{planned} round{plural}", run.rounds)
}

/// While the run goes on, a bar of its time.
fn bar(run: &RunProgress) -> String {
    let Some(left) = run.seconds_left else { return String::new() };
    let done = (run.share * BAR as f64) as usize;
    let bar = "▓".repeat(done) + &"░".repeat(BAR - done);
    let left = match run.planned {
        _ if run.share + left > 0.0 => clock(left) + " left (Ctrl-C keeps what was measured)",
        // Before the first process of a number of rounds nobody knows.
        Some(_) => String::new(),
        None => BUILDING.to_owned(),
    };
    without_padding(&format!("{bar}  {left}")).to_owned() + "\n"
}

/// Minutes and seconds, such as `1:35`.
fn clock(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// How far a run is, for a log: `34 % done, round 5, 1:35 left`.
pub fn progress(share: f64, round: u32, seconds_left: f64) -> String {
    // Before the first process of a number of rounds nobody knows how long they take.
    let is_known = share + seconds_left > 0.0;
    let left = if is_known { format!(", {} left", clock(seconds_left)) } else { String::new() };
    with_spaces(&format!("{} done, round {round}{left}", percent(share)))
}

/// What `brigade run` without names is about to do: `seconds` is `None` if rounds were given.
pub fn announcement(seconds: Option<f64>, rounds: Option<u32>) -> String {
    let how_long = match (rounds, seconds) {
        (Some(rounds), None) => format!("{rounds} round{}", if rounds == 1 { "" } else { "s" }),
        (_, seconds) => clock(seconds.unwrap_or(0.0)),
    };
    format!("measures threads, async tasks and processes for {how_long}; Ctrl-C stops it")
}

/// Why a case has no figure although its processes measured.
const INHERITED_OTHERWISE: &str = "its processes inherited something else than the run";

/// A case without a figure and the reason, and how many more there are.
fn not_measured(report: &Report, full: &str) -> String {
    let rows = report.groups.iter().flat_map(|group| &group.rows);
    let failed = rows.filter(|row| row.figure.is_none());
    let reason = |row: &'_ Row| {
        let is_changed = row.count(ProcessOutcome::Changed) > 0;
        row.error.clone().or(is_changed.then(|| INHERITED_OTHERWISE.to_owned()))
    };
    let failed = failed.filter_map(|row| Some((&row.case, reason(row)?)));
    let skipped = report.run.skipped.iter();
    let skipped = skipped.map(|skipped| (&skipped.case, skipped.reason.clone()));
    let all: BTreeMap<_, _> = skipped.chain(failed).collect();
    let Some((case, reason)) = all.first_key_value() else { return String::new() };
    let more = match all.len() {
        1 => String::new(),
        all => format!("; {} more: {full}", all - 1),
    };
    lines(&format!("not measured: {case}: {reason}{more}"))
}

/// A part: a heading with its axis, and its blocks of rows.
fn part_text(part: &ScreenPart) -> String {
    let rows: Vec<&Row> = part.blocks.iter().flat_map(|block| &block.rows).collect();
    let axis = axis(&rows);
    let mut text = heading(&format!("{}  {}", part.heading, part.of), axis.as_ref(), &rows);
    for block in &part.blocks {
        if !block.name.is_empty() {
            text += &format!(" {}\n", terminal::line(&block.name));
        }
        let factor = |row| factor_of(row, block).unwrap_or_default();
        text.extend(block.rows.iter().map(|row| line(row, &factor(row), axis.as_ref())));
    }
    text
}

/// The command that prints all tables of the run.
fn full_report(place: Place<'_>) -> String {
    let words = ["brigade", "report", "--full"].into_iter();
    let folder = Some(place.folder).filter(|folder| !folder.is_empty());
    unbroken(&terminal::line(&quoted(words.chain(folder))))
}

/// A group's question, its cases or its table as far as there is room, and its note. `full` is the
/// command that prints the rest.
fn group_text(group: &Group, names: &Names, room: usize, is_running: bool, full: &str) -> String {
    match &group.loads {
        Some(loads) if !group.parts => table_text(group, &loads::table(loads).text(), room, full),
        _ => cases_text(group, names, room, is_running, full),
    }
}

/// How to see all tables of the run, whose widest line has so many columns, if a terminal of
/// `width` columns would break its lines.
pub fn wide(columns: usize, width: usize, folder: &str) -> Option<String> {
    let command = full_report(Place { folder, ..Place::default() });
    let command = unbroken(&format!("{command} | less -S"));
    let text = format!("Some lines have {columns} columns. To see them whole: {command}");
    (columns > width).then(|| lines(&text))
}

/// How many rows there is no room for, and the command that prints them.
fn and_more(more: usize, full: &str) -> String {
    filled(&format!("and {more} more: {full}"), "  ", "  ")
}

/// A group's question, the lines of its table as far as there is room, and its note. The lines keep
/// their places.
fn table_text(group: &Group, table: &str, room: usize, full: &str) -> String {
    let question = lines(question(group));
    let note = group.note.as_ref().map_or(String::new(), |note| lines(note));
    // With blank lines before the question, and before and after the table.
    let used = question.lines().count() + note.lines().count() + 3;
    let all = table.lines().count();
    if room.saturating_sub(used).max(2) >= all {
        return format!("\n{question}\n{table}\n{note}");
    }
    // The last of these lines becomes that with the rest.
    let more_lines = and_more(all, full).lines().count();
    let shown = room.saturating_sub(used + more_lines - 1).clamp(2, all);
    let table: String = table.lines().take(shown).map(|line| format!("{line}\n")).collect();
    format!("\n{question}\n{table}{}{note}", and_more(all - shown, full))
}

/// A group's question, its cases as far as there is room, where their time goes if that answers it, and
/// its note. The cheapest case comes first once the run has ended; until then rows keep their places.
fn cases_text(group: &Group, names: &Names, room: usize, is_running: bool, full: &str) -> String {
    let labelled = |row: &Row| Row { label: names.name(row), ..row.clone() };
    let labelled: Vec<Row> = group.cases().map(labelled).collect();
    let mut rows: Vec<&Row> = labelled.iter().collect();
    if !is_running {
        rows.sort_by(|one, other| one.value().total_cmp(&other.value()));
    }
    let note = group.note.as_ref().map_or(String::new(), |note| lines(note));
    let question = lines(question(group));
    let table = if group.parts { loads::parts_table(group, names).text() } else { String::new() };
    let used = question.lines().count() + note.lines().count() + 4;
    // Next to other groups there is room for rows only.
    let of_table = if is_running && group.parts { rows.len() + 1 } else { table.lines().count() };
    let has_room = used + rows.len() + of_table <= room;
    let table = Some(table).filter(|table| has_room && !table.is_empty());
    let below = if has_room && of_table > 0 { of_table + 1 } else { 0 };
    let room = room.saturating_sub(used + below).max(2);
    let axis = axis(&rows);
    let heads = column_heads() + &heading("", axis.as_ref(), &rows);
    let mut text = format!("\n{question}{heads}");
    let shown_row =
        |row: &&Row| line(row, &factor_in_group(row).unwrap_or_default(), axis.as_ref());
    let rows: Vec<String> = rows.iter().map(shown_row).collect();
    let highest = rows.iter().map(|row| row.lines().count()).max().unwrap_or(1);
    let all = rows.len();
    let left = room.saturating_sub(and_more(all, full).lines().count());
    let shown = if all * highest <= room { all } else { (left / highest).max(1) };
    // Evenly spaced, with both ends.
    let step = |index: usize| index * (all - 1) / shown.saturating_sub(1).max(1);
    text.extend((0..shown).map(|index| rows[step(index)].as_str()));
    if shown < all {
        text += &and_more(all - shown, full);
    }
    text + &table.map_or(String::new(), |table| format!("\n{table}")) + &note
}

/// A heading with the ends of the axis above the strips; a long one gets lines for itself.
fn heading(text: &str, axis: Option<&Scale>, rows: &[&Row]) -> String {
    let unit = rows.iter().find(|row| row.figure.is_some()).map(|row| row.unit).unwrap_or_default();
    let ends = axis.map_or(String::new(), |axis| {
        let [low, high] = axis.ends().map(|end| brief_ticks(end, unit));
        let between = ON_AXIS.saturating_sub(low.chars().count());
        format!("{low}{high:>between$}")
    });
    let text = terminal::line(text);
    let line = if text.chars().count() < FIGURES {
        format!("{text:<FIGURES$}{ends}")
    } else {
        format!("{}{:FIGURES$}{ends}", lines(&text), "")
    };
    without_padding(&line).to_owned() + "\n"
}

/// A row: label, median, range, factor, and the strip, or if some processes are not used how many
/// are.
fn line(row: &Row, factor: &str, axis: Option<&Scale>) -> String {
    let label = terminal::line(&row.label);
    let median = figure(row);
    let range = row.range.map_or(String::new(), |ends| range(ends, row.unit));
    let end = match used_of_ended(row) {
        Some(count) => {
            let words = format!("{count} processes");
            if words.len() <= STRIP { words } else { count }
        }
        None => axis.map_or(String::new(), |axis| strip(axis, &row.values())),
    };
    let figures = format!("{median:>MEDIAN$}{range:>RANGE$}{factor:>FACTOR$} {end}");
    let figures = without_padding(&figures);
    // A label that is too long gets a line for itself.
    if label.chars().count() + 2 > LABEL {
        format!("{}{:LABEL$}{figures}\n", filled(&label, "  ", "    "), "")
    } else {
        format!("  {label:<width$}{figures}\n", width = LABEL - 2)
    }
}

/// The axis on which the strips of these rows lie.
fn axis(rows: &[&Row]) -> Option<Scale> {
    let ranges = rows.iter().filter_map(|row| row.range).filter(|range| range.low > 0.0);
    Scale::tight(ranges.flat_map(|range| [range.low, range.high]))
}

/// How many of these values lie where on the axis, which all cells but the last show: that is `>` if
/// some lie beyond. The first contains those below.
fn strip(axis: &Scale, values: &[f64]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let most = axis.ends()[1] * (1.0 + ROUNDING);
    let mut counts = [0_usize; ON_AXIS];
    for value in values.iter().filter(|value| **value > 0.0 && **value <= most) {
        counts[((axis.share(*value) * ON_AXIS as f64) as usize).min(ON_AXIS - 1)] += 1;
    }
    let mark = |count: &usize| match *count as f64 / values.len() as f64 {
        0.0 => '·',
        0.0..0.15 => '░',
        0.15..0.4 => '▒',
        _ => '▓',
    };
    let beyond = if values.iter().any(|value| *value > most) { '>' } else { '·' };
    counts.iter().map(mark).chain([beyond]).collect()
}

/// The screen's sentences, however many fit on it.
pub fn answers(report: &Report) -> Vec<String> {
    report.answers.iter().map(answer).collect()
}

/// Where the rest is, and what to type next: what completes the run or explains more of it.
fn end(report: &Report, place: Place<'_>) -> String {
    let progress = &report.run.progress;
    if progress.seconds_left.is_some() {
        return String::new();
    }
    let word = |text: &str| terminal::line(&quoted([text]));
    let folder = word(place.folder);
    let rest = match place.page {
        Some(page) => format!("page: {}\n", word(page)),
        None => format!("more: {}\n", full_report(place)),
    };
    let (_, has_manifest) = report.run.command_and_manifest();
    let manifest =
        if has_manifest { format!(" {}", OTHER_MANIFEST.join(" ")) } else { String::new() };
    let next = match &report.next {
        _ if !progress.is_complete && progress.resumable => {
            format!("next: brigade run --resume {folder}{manifest}\n")
        }
        Some(NextRun { group, question, seconds }) => {
            let command = unbroken(&format!("brigade run {group}{manifest}"));
            lines(&format!("next: {command} ({}): {question}", clock(*seconds)))
        }
        None => String::new(),
    };
    rest + &next
}

const _: () = assert!(FIGURES + STRIP <= COLUMNS);

#[cfg(test)]
mod tests {
    use contract::invocation::at_once;
    use fastrand::Rng;

    use super::super::page::{ABSENT, NO_BREAK_SPACE};
    use super::*;
    use crate::fixtures::{self, Sample, WholeRun};
    use crate::judge::compare::Repeat;
    use crate::judge::report::{Answer, RunData, report};
    use crate::judge::statistics::sorted;
    use crate::manifest::Manifest;
    use crate::store::results::Invocation;

    const PLACE: Place<'_> =
        Place { folder: "results/run-1", page: None, bold: false, height: None };

    #[test]
    fn the_screen_of_a_run() {
        let text = screen(&fixtures::report(), PLACE);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.lines().count() <= MOST_LINES, "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn rows_have_fixed_places_before_anything_is_measured() {
        let mut run = fixtures::run();
        let all = screen(&fixtures::report_with(&run), PLACE);
        run.invocations.clear();
        let none = screen(&fixtures::report_with(&run), PLACE);
        let places = |text: &str| {
            let labels = ["async task ", "thread, one CPU", "thread, to another CPU"];
            labels.map(|label| text.lines().position(|line| line.contains(label)).unwrap())
        };
        assert_eq!(places(&none), places(&all), "{none}");
        assert!(!none.contains(['×', '░']) || none.contains(ABSENT), "{none}");
    }

    /// One process of twelve was not disturbed: it alone has the figure, all decide the verdict.
    #[test]
    fn a_run_of_stopped_or_throttled_processes_is_not_quiet_and_its_rows_count_them() {
        type Disturb = fn(&mut Invocation, u64);
        let stop: Disturb = |process, ns| process.stopped_ns = Some(ns);
        let throttle: Disturb = |process, ns| {
            let found = &mut process.record.as_mut().unwrap().interference;
            found.throttled_ns = Some(2 * ns);
            found.throttled_periods = Some([9, 10]);
        };
        for (disturb, word) in [(stop, "STOPPED"), (throttle, "THROTTLED")] {
            let mut run = fixtures::run();
            for process in &mut run.invocations {
                if process.round > 1 && process.record.is_some() {
                    disturb(process, 20_000_000_000);
                }
            }
            let report = fixtures::report_with(&run);
            let text = screen(&report, PLACE);
            assert!(text.contains(&format!("\n{word}: ")) && text.contains("18 %"), "{text}");
            assert!(text.contains(" 1 of 12 processes\n"), "{text}");
            let full = super::super::page::text(&super::super::report::page(&report, false));
            assert!(full.contains(&format!("{word}: ")) && full.contains(" 1 of 12\n"), "{full}");
        }
    }

    #[test]
    fn two_modes_are_two_spots() {
        let axis = Scale::tight([1.0, 10.0]).unwrap();
        let mut values = vec![1.0; 6];
        values.extend([9.99; 6]);
        assert_eq!(strip(&axis, &values), format!("▓{}▓·", "·".repeat(STRIP - 3)));
        assert_eq!(strip(&axis, &[]), "");
        values.extend([0.9, 10.1]);
        assert_eq!(strip(&axis, &values), format!("▓{}▓>", "·".repeat(STRIP - 3)));
    }

    /// The value of a printed time or size, in its smallest unit, and of a printed factor.
    fn parsed(text: &str) -> f64 {
        let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("KiB", 1024.0), ("MiB", 1_048_576.0)];
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [number, unit] => {
                let unit = units.iter().find(|(name, _)| *name == unit).map_or(1.0, |pair| pair.1);
                number.parse::<f64>().unwrap() * if words[1] == "s" { 1e9 } else { unit }
            }
            _ => text.trim().parse().unwrap(),
        }
    }

    /// Checks what is printed of a run, on the screen and in full.
    fn check(report: &Report) {
        let is_clear = |answer: &Answer| answer.ratio.interval.is_some_and(|ends| ends.low >= 1.2);
        assert!(report.answers.iter().all(is_clear), "{:?}", report.answers);
        let is_ordered = |Repeat { half, tenth, worst, .. }| half <= tenth && tenth <= worst;
        assert!(report.run.repeat.is_none_or(is_ordered), "{:?}", report.run.repeat);
        let text = screen(report, PLACE);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.lines().count() <= MOST_LINES, "{}: {text}", text.lines().count());
        let full = super::super::page::text(&super::super::report::page(report, false));
        for text in [&text, &full] {
            let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '.'));
            let is_bad = |word: &&str| {
                let is_power = word.split_once('e').is_some_and(|(before, after)| {
                    before.parse::<f64>().is_ok() && after.parse::<u8>().is_ok()
                });
                ["0.0", "0.00"].contains(word) || is_power
            };
            assert_eq!(words.find(is_bad), None, "{text}");
            assert!(
                !text.contains('±') && !text.contains("NaN") && !text.contains("inf"),
                "{text}"
            );
        }
        if let [only] = &report.groups[..] {
            let shown = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let answers = group_answers(only).join(" ").replace(NO_BREAK_SPACE, " ");
            assert!(shown.starts_with(&answers), "{text}");
        }
        for block in report.screen.iter().flat_map(|part| &part.blocks) {
            let column = |row: &Row, from: usize, columns: usize| -> Option<String> {
                let label = |line: &str| line.chars().take(LABEL).collect::<String>();
                // Another part may have a row with this label.
                let figure = figure(row).replace(NO_BREAK_SPACE, " ");
                let is_row =
                    |line: &&str| label(line).trim() == row.label && line.contains(&figure);
                let line = text.lines().find(is_row)?;
                let text: String = line.chars().skip(from).take(columns).collect();
                (![ABSENT, ""].contains(&text.trim())).then_some(text)
            };
            let reference = block.rows.iter().find(|row| row.case == block.reference);
            let Some(reference) = reference.map(Row::by_round) else { continue };
            for row in &block.rows {
                let Some(factor) = column(row, LABEL + MEDIAN + RANGE, FACTOR) else { continue };
                if !factor.contains(['<', '>']) {
                    let common = row.by_round().into_iter();
                    let quotients: Vec<f64> = common
                        .filter_map(|(round, value)| Some(value / reference.get(&round)?))
                        .collect();
                    let [low, .., high] = sorted(&quotients)[..] else { continue };
                    let printed = parsed(&factor);
                    let is_within = 0.93 * low <= printed && printed <= 1.07 * high;
                    let fewer = quotients.iter().filter(|of| **of < 0.93 * printed).count();
                    let more = quotients.iter().filter(|of| **of > 1.07 * printed).count();
                    let is_median = 2 * fewer.max(more) <= quotients.len();
                    let label = &row.label;
                    assert!(is_within && is_median, "{label}: {factor} of {quotients:?}: {text}");
                }
            }
        }
    }

    /// A run of the default cases whose processes scatter by up to half, in one mode or in two.
    fn simulated(manifest: &Manifest, rng: &mut Rng) -> WholeRun {
        let mut run = fixtures::run();
        let rounds = rng.u32(0..25);
        run.description.cases =
            manifest.default_cases().iter().map(|case| case.name.clone()).collect();
        run.invocations.clear();
        let others_share = [0.0, 0.004, 0.03, 0.2][rng.usize(..4)];
        for case in &run.description.cases {
            let level = 10_f64.powf(rng.f64() * 7.0);
            let scatter = [0.0, 0.01, 0.5][rng.usize(..3)];
            let modes = [1.0, 1.0, 3.0, 2000.0][rng.usize(..4)];
            for round in 1..=rounds {
                let mode = if rng.f64() < 0.4 { modes } else { 1.0 };
                let wall_ns = level * mode * (scatter * (rng.f64() - 0.5)).exp();
                let sample = Sample { others_share, ..Sample::hop(wall_ns) };
                run.invocations.push(sample.in_round(case, round));
            }
        }
        run
    }

    #[test]
    fn what_is_printed_of_recorded_and_simulated_runs_is_whole_and_agrees() {
        let manifest = Manifest::load(None).unwrap();
        let report = |saved: &WholeRun, rounds: u32| {
            let progress = RunProgress { rounds, is_complete: true, ..Default::default() };
            let run = &mut saved.judged();
            report(&manifest, RunData { name: "run-1".to_owned(), run, progress, alike: &[] })
        };
        at_once(contract::repository::recorded_runs(), |folder| {
            check(&report(&fixtures::read(&folder), 20));
        });
        at_once(1..=4, |seed| {
            let mut rng = Rng::with_seed(seed);
            for _ in 0..50 {
                let run = simulated(&manifest, &mut rng);
                check(&report(&run, rng.u32(0..9)));
            }
        });
    }

    #[test]
    fn a_running_and_an_interrupted_run_say_how_far_they_are() {
        let mut report = fixtures::report();
        let rounds = |report: &Report| rounds(&report.run.progress);
        assert_eq!(rounds(&report), "12 rounds");
        assert_eq!(bar(&report.run.progress), "");
        let progress = &mut report.run.progress;
        progress.is_complete = false;
        progress.share = 0.5;
        progress.rounds = 9;
        assert_eq!(rounds(&report), "interrupted after 9 of about 18 rounds");
        report.run.progress.seconds_left = Some(95.4);
        assert_eq!(rounds(&report), "9 of about 18 rounds");
        let half = "▓".repeat(BAR / 2) + &"░".repeat(BAR / 2);
        assert!(bar(&report.run.progress).starts_with(&format!("{half}  1:35 left")));
        report.run.progress = RunProgress { seconds_left: Some(0.0), ..Default::default() };
        assert_eq!(rounds(&report), "0 rounds");
        assert!(bar(&report.run.progress).starts_with('░'));
    }

    /// The default run among the recorded ones.
    fn recorded() -> Report {
        let manifest = Manifest::load(None).unwrap();
        let mut reports = contract::repository::recorded_runs().into_iter().map(|folder| {
            let progress = RunProgress { rounds: 20, is_complete: true, ..Default::default() };
            let run = &mut fixtures::read(&folder).judged();
            report(&manifest, RunData { name: "run".to_owned(), run, progress, alike: &[] })
        });
        reports.find(|report| report.screen.len() == 4).expect("a default run")
    }

    #[test]
    fn in_24_lines_the_answers_and_the_first_part_stay_visible() {
        let mut report = recorded();
        let low = Place { height: Some(24), ..PLACE };
        let mut needed: Vec<String> = shown_answers(&report, false);
        let first = report.screen[0].blocks.iter().flat_map(|block| &block.rows);
        needed.extend(first.map(|row| format!("  {} ", row.label)));
        let ended = screen(&report, low);
        let ended: Vec<&str> = ended.lines().collect();
        // The prompt takes a line.
        let visible = ended[ended.len() - 23..].join("\n") + "\n";
        report.run.progress.seconds_left = Some(60.0);
        let running = screen(&report, low);
        let drawn = running.lines().take(23).collect::<Vec<_>>().join("\n") + "\n";
        for text in &needed {
            let text = text.replace(NO_BREAK_SPACE, " ");
            assert!(visible.contains(&text), "{text}:\n{visible}");
            assert!(drawn.contains(&text), "{text}:\n{drawn}");
        }
        assert!(drawn.contains(verdict(&report.run).word), "{drawn}");
    }

    #[test]
    fn tables_that_are_too_wide_say_how_to_see_them() {
        let command = "brigade report --full 'a b' | less -S\n";
        assert!(wide(106, 80, "a b").is_some_and(|text| text.ends_with(command)));
        assert_eq!(wide(80, 80, "a b"), None);
    }

    #[test]
    fn a_group_shows_its_cheapest_cases_first_and_counts_the_rest() {
        let mut report = fixtures::report();
        report.screen.clear();
        let names = Names::new(&report, &report.groups[0]);
        let full = "brigade report --full x";
        insta::assert_snapshot!(group_text(&report.groups[0], &names, 8, false, full), @"
        What does a hop cost?
                                       median 8 in 10 within      × each process (log)
                                                                    892 ns        22 µs
          async task                   906 ns     892–921 ns      1 12 of 13 processes
          and 2 more: brigade report --full x
        A hop is one hand-over.
        ");
    }
}
