//! The first screen as a picture to post: a finding as its title, and the rows of each block,
//! cheapest first, with factors.

use std::borrow::Cow;

use harness::TaskKind;

use super::machine::machine_and_day;
use super::quantity::{factor, figure};
use super::scale::Scale;
use super::svg::{
    END, FACTORS, LINE, MEDIAN, RANGE, START, Size, class_of, cut, disc, explained, file, group,
    kind_style, line, placed, text,
};
use super::verdict::verdict;
use crate::judge::report::{Report, ScreenPart};
use crate::judge::row::{Quantity, Row};

/// The title without a finding, and of the page of a whole run.
pub const TITLE: &str = "What concurrency costs";

/// The picture's size.
const SIZE: Size = Size { width: 800.0, height: 600.0 };
/// The margin on all sides, and the space between the two columns, in pixels.
const MARGIN: f64 = 28.0;
const BETWEEN: f64 = 40.0;
/// Where the columns begin and end.
const TOP: f64 = 92.0;
const BOTTOM: f64 = 566.0;
/// The heights of a part's heading and of a block's name, and the most of a row.
const HEADING: f64 = 40.0;
const NAME: f64 = 20.0;
const ROW: f64 = 38.0;
/// Where figures and factors end, as shares of a column's width.
const FIGURES: f64 = 0.8;
/// The width of a column.
const WIDTH: f64 = (SIZE.width - 2.0 * MARGIN - BETWEEN) / 2.0;
/// The width of a letter of a heading and of one beside it, and the space between, in pixels.
const LETTER: f64 = 11.0;
const SMALL_LETTER: f64 = 7.2;
const AFTER_HEADING: f64 = 12.0;

/// The picture; `None` unless the run measured something on the first screen.
pub fn picture(report: &Report) -> Option<String> {
    let mut parts = report.screen.clone();
    for block in parts.iter_mut().flat_map(|part| &mut part.blocks) {
        block.rows.retain(|row| row.figure.is_some());
    }
    parts.retain(|part| rows(part).count() > 0);
    // The first part fills a column, the others share one.
    let (left, right) = parts.split_at_checked(1)?;
    let height = height_of_rows(left).min(height_of_rows(right)).min(ROW);
    let column_at = |parts: &[ScreenPart], x: f64| {
        placed(&column(parts, height), x, TOP, Size { width: WIDTH, height: BOTTOM - TOP })
    };
    // A disturbed run has found nothing.
    let finding = if report.run.state.is_fit { finding(&parts) } else { None };
    let title = finding.unwrap_or_else(|| TITLE.to_owned());
    let machine = format!("{}, {}", machine_and_day(&report.run), verdict(&report.run).word);
    let legend = format!("{}, logarithmic · {FACTORS}", explained(&[MEDIAN, RANGE]));
    let line_at = |y: f64, class: &str, words: &str| {
        let words = cut(words, SIZE.width - 2.0 * MARGIN);
        text(MARGIN / SIZE.width, y, START, class, &words) + "\n"
    };
    let mut body = line_at(48.0, "title", &title);
    body += &line_at(74.0, "", &machine);
    body += &line_at(SIZE.height - 14.0, "axis", &legend);
    body += &column_at(left, MARGIN);
    body += &column_at(right, MARGIN + WIDTH + BETWEEN);
    Some(file(&title, &legend, SIZE, &group("", "poster", &body)))
}

fn rows(part: &ScreenPart) -> impl Iterator<Item = &Row> {
    part.blocks.iter().flat_map(|block| &block.rows)
}

/// The height of a row if these parts fill a column.
fn height_of_rows(parts: &[ScreenPart]) -> f64 {
    let count = parts.iter().flat_map(rows).count();
    let names = parts.iter().flat_map(|part| &part.blocks).filter(|block| !block.name.is_empty());
    let lines: usize = parts.iter().map(|part| beside_heading(part).len() - 1).sum();
    let rest = HEADING * parts.len() as f64 + NAME * names.count() as f64 + LINE * lines as f64;
    (BOTTOM - TOP - rest) / count.max(1) as f64
}

/// Parts below one another, with rows of this height.
fn column(parts: &[ScreenPart], height: f64) -> String {
    let mut body = String::new();
    let mut y = 0.0;
    for part in parts {
        let ends = rows(part).filter_map(|row| row.range);
        let ends = ends.flat_map(|span| [span.low, span.high]);
        let Some(scale) = Scale::new(Quantity::Nanoseconds, ends) else { continue };
        body += &text(0.0, y + 18.0, START, "head", &part.heading);
        let lines = beside_heading(part);
        for (number, words) in lines.iter().enumerate() {
            body += &text(1.0, y + 18.0 + LINE * number as f64, END, "axis", words);
        }
        y += HEADING - 12.0 + LINE * (lines.len() - 1) as f64;
        for block in &part.blocks {
            if !block.name.is_empty() {
                body += &text(0.0, y + 14.0, START, "axis", &cut(&block.name, WIDTH));
                y += NAME;
            }
            let mut rows: Vec<&Row> = block.rows.iter().collect();
            rows.sort_by(|one, other| one.value().total_cmp(&other.value()));
            for row in rows {
                body += &row_elements(row, row.case == block.reference, &scale, y, height);
                y += height;
            }
        }
        y += 12.0;
    }
    body
}

/// What the figures of a part are, in one or more lines that leave room for its heading.
fn beside_heading(part: &ScreenPart) -> Vec<String> {
    let heading = part.heading.chars().count() as f64 * LETTER;
    let room = (WIDTH - heading - AFTER_HEADING).max(SMALL_LETTER);
    let lines = textwrap::wrap(&part.of, (room / SMALL_LETTER) as usize);
    lines.into_iter().map(Cow::into_owned).collect()
}

/// A row: label, figure and factor, and below them its place on the axis.
fn row_elements(row: &Row, is_reference: bool, scale: &Scale, y: f64, height: f64) -> String {
    let times = match row.factor {
        _ if is_reference => "1".to_owned(),
        Some(ratio) => format!("{}×", factor(ratio.value)),
        None => String::new(),
    };
    let baseline = y + 12.0;
    let middle = y + height.min(34.0) - 5.0;
    let mut elements = text(0.0, baseline, START, "name", &cut(&row.label, 190.0))
        + &text(FIGURES, baseline, END, "", &figure(row))
        + &text(1.0, baseline, END, "figure", &times)
        + &line((0.0, middle), (1.0, middle), "track");
    if let Some(range) = row.range {
        let [low, high] = [range.low, range.high].map(|end| (scale.share(end), middle));
        elements += &line(low, high, "ends");
    }
    elements += &disc((scale.share(row.value()), middle), 3.5, "mark", "");
    group(&row.label, &format!("row {}", class_of(row)), &elements)
}

/// How many hops of the reference one of a thread costs, of the first block that shows it.
fn finding(parts: &[ScreenPart]) -> Option<String> {
    parts.iter().flat_map(|part| &part.blocks).find_map(|block| {
        let thread = block.rows.iter().find(|row| row.kind == Some(TaskKind::Thread))?;
        let reference = block.rows.iter().find(|row| row.case == block.reference)?;
        let name = kind_style(Some(reference.kind?)).before_noun;
        let operation = &thread.operation;
        let ratio = thread.factor.filter(|ratio| ratio.value > 1.0 && ratio.excludes(1.0))?;
        Some(format!("A thread {operation} costs {} {name} {operation}s", factor(ratio.value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::judge::state::Word;

    #[test]
    fn words_beside_a_heading_leave_room_for_it() {
        let part = |heading: &str, of: &str| {
            let part = ScreenPart {
                heading: heading.to_owned(),
                of: of.to_owned(),
                ..fixtures::report().screen[0].clone()
            };
            beside_heading(&part)
        };
        let requests = "CPU time per request, 1,000 connections, 10 busy";
        let lines = part("SERVE", requests);
        assert_eq!((lines.len(), &*lines.join(" ")), (2, requests));
        assert_eq!(part("CREATE", "start, run and join one"), ["start, run and join one"]);
        assert_eq!(part("CREATE", "").len(), 1);
        assert_eq!(part(&"X".repeat(90), "a b").len(), 2);
    }

    #[test]
    fn rows_are_sorted_within_their_block_and_the_title_is_the_finding() {
        let report = fixtures::report();
        let svg = picture(&report).unwrap();
        let block = &report.screen[0].blocks[0];
        let mut rows: Vec<&Row> = block.rows.iter().collect();
        rows.sort_by(|one, other| one.value().total_cmp(&other.value()));
        let place = |row: &Row| svg.find(&format!("data-case=\"{}\"", row.label)).unwrap();
        assert!(rows.len() > 1 && rows.is_sorted_by_key(|row| place(row)), "{svg}");
        let title = finding(&report.screen).unwrap_or_else(|| TITLE.to_owned());
        assert!(svg.contains(&format!("<title>{title}</title>")), "{svg}");
        assert!(svg.contains(", QUIET</text>"), "{svg}");
        let mut busy = report.clone();
        busy.run.state.word = Word::Busy;
        busy.run.state.is_fit = false;
        let svg = picture(&busy).unwrap();
        assert!(svg.contains(", BUSY</text>"), "{svg}");
        assert!(svg.contains(&format!("<title>{TITLE}</title>")), "{svg}");
        assert_eq!(picture(&Report { screen: Vec::new(), ..report }), None);
    }
}
