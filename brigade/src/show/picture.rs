//! The picture of a run, to share: one row per kind of task, one column of dots per part of the
//! first screen. On a narrow page the columns are stacked.

use clap::ValueEnum as _;

use super::notes;
use super::plot::class_of;
use super::screen::{Axis, machine};
use super::svg::{Anchor, Picture, cut, disc, escape, file, group, line, number, shifted, text};
use crate::judge::report::model::{Report, ScreenPart, ScreenRow, TaskKind};

/// The title of the picture, and of the page of a whole run.
pub const TITLE: &str = "What concurrency costs";

const LEGEND: &str = "Logarithmic axes. A dot is the lower quartile over processes, a stroke its \
                      95 % interval.";

/// The size of the file in pixels, as social networks show it.
const SIZE: [f64; 2] = [1200.0, 630.0];

/// The margin on both sides, and the space above the columns.
const MARGIN: f64 = 32.0;
const HEAD: f64 = 116.0;

/// The share of the width for the names of kinds, and for the space between
/// columns.
const NAMES: f64 = 0.105;
const GAP: f64 = 0.045;

/// A row of a part, with its block's name.
type Row<'a> = (&'a str, &'a ScreenRow);

fn rows(part: &ScreenPart) -> impl Iterator<Item = Row<'_>> {
    part.blocks.iter().flat_map(|block| block.rows.iter().map(move |row| (&*block.name, row)))
}

/// The parts with their axes.
fn parts(report: &Report) -> Vec<(&ScreenPart, Axis)> {
    let axis = |part: &ScreenPart| Axis::of(rows(part).map(|(_, row)| row.figure.value), part.unit);
    report.screen.iter().filter_map(|part| Some((part, axis(part)?))).collect()
}

/// The ticks of an axis between two shares of the width, which measures `pixels`: lines down to
/// `bottom`, and as many values above as fit.
fn ticks(axis: &Axis, [from, to]: [f64; 2], pixels: f64, [y, bottom]: [f64; 2]) -> String {
    let mut svg = String::new();
    let mut free = f64::NEG_INFINITY;
    for tick in axis.scale.ticks() {
        let at = from + axis.scale.share(*tick) * (to - from);
        svg += &line((at, y + 5.0), (at, bottom), "grid");
        if at * pixels >= free {
            let anchor = match axis.scale.share(*tick) {
                0.95.. => Anchor::End,
                _ => Anchor::Middle,
            };
            svg += &text(at, y, anchor, "axis", &axis.tick(*tick));
            free = at * pixels + 46.0;
        }
    }
    svg
}

/// A row's track with an interval, a dot and its value.
fn track(axis: &Axis, row: &ScreenRow, [from, to]: [f64; 2], y: f64) -> String {
    let at = |value: f64| from + axis.scale.share(value) * (to - from);
    let value = row.figure.value;
    let mut svg = line((from, y), (to, y), "track");
    if let Some(ends) = row.figure.interval {
        svg += &line((at(ends.low), y), (at(ends.high), y), "ends");
    }
    svg += &disc((at(value), y), 5.0, "mark", "");
    let (shift, anchor) = match axis.scale.share(value) {
        ..0.6 => (10.0, Anchor::Start),
        _ => (-10.0, Anchor::End),
    };
    svg + &shifted((at(value), shift), y + 4.0, anchor, "figure", &axis.show(value))
}

/// A row's words in addition to its kind.
fn variant((block, row): Row) -> String {
    let rest = row.text.strip_prefix(row.kind.map_or("", TaskKind::as_str)).unwrap_or(&row.text);
    format!("{block}{rest}").trim_start_matches([',', ' ']).to_owned()
}

/// The columns side by side, `height` pixels high; `None` without a figure.
fn columns(report: &Report, height: f64) -> Option<Picture> {
    const TOP: f64 = 66.0;
    const BAND: f64 = 8.0;
    let parts = parts(report);
    let width = SIZE[0] - 2.0 * MARGIN;
    let step = (1.0 - NAMES + GAP) / parts.len() as f64;
    let ends = |column: usize| {
        let from = NAMES + step * column as f64;
        [from, from + step - GAP]
    };
    let mut kinds: Vec<Option<TaskKind>> =
        TaskKind::value_variants().iter().copied().map(Some).collect();
    kinds.push(None);
    let cells = |kind: &Option<TaskKind>| -> Vec<Vec<Row>> {
        let of_kind = |part| rows(part).filter(|(_, row)| row.kind == *kind).collect();
        parts.iter().map(|(part, _)| of_kind(*part)).collect()
    };
    let mut bands: Vec<(Option<TaskKind>, Vec<Vec<Row>>, usize)> = kinds
        .into_iter()
        .map(|kind| {
            let cells = cells(&kind);
            let lines = cells.iter().map(Vec::len).max().unwrap_or(0);
            (kind, cells, lines)
        })
        .filter(|(_, _, lines)| *lines > 0)
        .collect();
    // Kinds are sorted by the cost of their cheapest hand-over.
    let least = |cells: &[Vec<Row>]| {
        let values = cells.first().into_iter().flatten().map(|(_, row)| row.figure.value);
        values.fold(f64::INFINITY, f64::min)
    };
    bands.sort_by(|(_, one, _), (_, other, _)| least(one).total_cmp(&least(other)));
    let lines: usize = bands.iter().map(|(_, _, lines)| lines).sum();
    let pitch = (height - TOP - BAND * bands.len() as f64) / lines.max(1) as f64;
    let mut body = String::new();
    for (column, (part, axis)) in parts.iter().enumerate() {
        let [from, to] = ends(column);
        body += &text(from, 14.0, Anchor::Start, "head", &part.heading);
        body += &text(from, 32.0, Anchor::Start, "axis", &part.of);
        body += &ticks(axis, [from, to], width, [TOP - 10.0, height]);
    }
    let mut y = TOP;
    for (kind, cells, lines) in &bands {
        body += &line((0.0, y), (1.0, y), "grid");
        let name = kind.map_or("other", TaskKind::as_str);
        let mut band = text(0.0, y + pitch / 2.0 + 6.0, Anchor::Start, "head label", name);
        for (column, rows) in cells.iter().enumerate() {
            for (index, row) in rows.iter().enumerate() {
                let top = y + BAND / 2.0 + pitch * index as f64;
                let [from, to] = ends(column);
                let words = cut(&variant(*row), (to - from) * width);
                let mut cell = text(from, top + 0.36 * pitch, Anchor::Start, "axis", &words);
                cell += &track(&parts[column].1, row.1, [from, to], top + 0.7 * pitch);
                band += &group(&row.1.case, "row", &cell);
            }
        }
        body += &format!("<g class=\"{}\">{band}</g>", class_of(*kind));
        y += BAND + pitch * *lines as f64;
    }
    (lines > 0).then(|| picture(height, body))
}

fn picture(height: f64, body: String) -> Picture {
    let legend = Vec::new();
    Picture { title: TITLE.to_owned(), description: LEGEND.to_owned(), legend, height, body }
}

/// The columns stacked.
fn stacked(report: &Report) -> Option<Picture> {
    const WIDTH: f64 = 368.0;
    const ENDS: [f64; 2] = [0.55, 1.0];
    const PITCH: f64 = 18.0;
    let mut body = String::new();
    let mut y = 0.0;
    for (part, axis) in &parts(report) {
        body += &text(0.0, y + 14.0, Anchor::Start, "head", &part.heading);
        body += &text(1.0, y + 14.0, Anchor::End, "axis", &part.of);
        let blocks = &part.blocks;
        let names = blocks.iter().skip(1).filter(|of| !of.name.is_empty()).count();
        let lines = rows(part).count() + names;
        let bottom = y + 38.0 + PITCH * lines as f64;
        body += &ticks(axis, ENDS, WIDTH, [y + 32.0, bottom]);
        y += 20.0;
        for (index, block) in blocks.iter().enumerate() {
            if index == 0 || !block.name.is_empty() {
                body += &text(0.0, y + 12.0, Anchor::Start, "axis", &block.name);
                y += PITCH;
            }
            for row in &block.rows {
                // These letters are smaller.
                let words = cut(&row.text, 1.1 * WIDTH * ENDS[0]);
                let row_of = text(0.0, y + 12.0, Anchor::Start, "small", &words)
                    + &track(axis, row, ENDS, y + 8.0);
                body += &group(&row.case, &format!("row {}", class_of(row.kind)), &row_of);
                y += PITCH;
            }
        }
        y += 6.0;
    }
    (!body.is_empty()).then(|| picture(y, body))
}

/// The picture for a page of any width; empty without a figure.
pub fn figures(report: &Report) -> String {
    let both = [("wide", columns(report, SIZE[1] - HEAD - 24.0)), ("narrow", stacked(report))];
    let figure = |(class, picture): (&str, Option<Picture>)| {
        picture.map_or(String::new(), |picture| {
            format!("<div class=\"picture {class}\">{}</div>\n", picture.figure())
        })
    };
    both.map(figure).concat()
}

/// The picture as a file, with the machine, the version and the verdict; `None` unless the run
/// measured what the first screen shows.
pub fn svg(report: &Report) -> Option<String> {
    let run = report.runs.first()?;
    let picture = columns(report, SIZE[1] - HEAD - 24.0)?;
    let (_, verdict) = notes::verdict_in_words(run);
    let lines = [
        (44.0, "title", TITLE.to_owned()),
        (70.0, "", machine(run)),
        (90.0, "", verdict),
        (SIZE[1] - 9.0, "axis", format!("{LEGEND} brigade report --format svg")),
    ];
    let words = lines.map(|(y, class, words)| {
        let words = cut(&words, SIZE[0] - 2.0 * MARGIN);
        format!(
            "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>\n",
            number(MARGIN),
            number(y),
            escape(&words)
        )
    });
    Some(file(&picture, SIZE, [MARGIN, HEAD], &words.concat()))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;
    use crate::manifest::Manifest;

    /// A report whose screen has two blocks of hand-overs and one of creation.
    fn report() -> Report {
        let more = "
            [[screen]]
            heading = 'HAND OVER'
            of = 'one hop'
            blocks = [
                { name = 'here', reference = 'tasks', rows = [{ text = 'a task', case = 'tasks' }] },
                { name = 'there', reference = 'alone', rows = [{ text = 'alone', case = 'alone' },
                    { text = 'thread, spread', case = 'threads/spread' }] },
            ]
            [[screen]]
            heading = 'CREATE'
            of = 'one'
            blocks = [{ reference = 'create', rows = [{ text = 'a <b>', case = 'create' }] }]
        ";
        let manifest = Manifest::parse(&format!("{}{more}", fixtures::MANIFEST)).unwrap();
        fixtures::report_with(&manifest, &[fixtures::run(1.0)])
    }

    #[test]
    fn a_picture_has_a_dot_and_a_value_for_each_figure_of_the_screen() {
        let report = report();
        for svg in [svg(&report).unwrap(), stacked(&report).unwrap().body] {
            assert_eq!((svg.matches("<circle").count(), svg.matches("\"figure\"").count()), (4, 4));
            assert!(svg.contains("a &lt;b&gt;") && svg.contains("HAND OVER"), "{svg}");
        }
        let whole = svg(&report).unwrap();
        assert!(whole.contains(TITLE) && whole.contains("viewBox=\"0 0 1200 630\""), "{whole}");
        assert!(whole.contains("AMD EPYC") && whole.contains("Brigade 0.1.0"), "{whole}");
        assert_eq!(svg(&fixtures::report_of(&[1.0])), None);
    }
}
