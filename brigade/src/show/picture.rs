//! The first screen as a picture to post: a finding as its title, and the dots of each part, the
//! cheapest row first.

use super::plot;
use super::quantity::factor;
use super::screen::machine;
use super::svg::{Picture, START, cut, file, group, marks_of, placed, text};
use crate::judge::report::{Part, Report};
use crate::judge::row::TaskKind;

/// The title without a finding, and of the page of a whole run.
pub const TITLE: &str = "What concurrency costs";

/// The width of the picture and of its two columns, the margin on all sides, and where the columns
/// begin, in pixels.
const WIDTH: f64 = 800.0;
const COLUMN: f64 = 352.0;
const MARGIN: f64 = 28.0;
const TOP: f64 = 92.0;

/// The picture; `None` unless the run measured something on the first screen.
pub fn picture(report: &Report) -> Option<String> {
    let mut parts = report.screen.clone();
    for block in parts.iter_mut().flat_map(|part| &mut part.blocks) {
        block.rows.retain(|row| row.figure.is_some());
        block.rows.sort_by(|one, other| one.value().total_cmp(&other.value()));
    }
    let pictures = plot::screen(&parts);
    // The first part fills a column, the others share one.
    let (left, right) = pictures.split_at_checked(1)?;
    let (mut columns, mut bottom) = (String::new(), TOP);
    for (pictures, x) in [(left, MARGIN), (right, WIDTH - MARGIN - COLUMN)] {
        let mut y = TOP;
        for Picture { body, height, .. } in pictures {
            columns += &placed(body, [x, y], [COLUMN, *height]);
            y += height + MARGIN;
        }
        bottom = bottom.max(y);
    }
    let title = finding(&parts).unwrap_or_else(|| TITLE.to_owned());
    let legend = "dot: median, stroke: its 95 % interval, pale dots: processes, logarithmic \
                  · right: relative to the row marked 1";
    let words = [
        (48.0, "title", title.as_str()),
        (74.0, "", &machine(&report.run)),
        (bottom, "axis", legend),
    ];
    let words = words.map(|(y, class, words)| {
        text(MARGIN / WIDTH, y, START, class, &cut(words, WIDTH - 2.0 * MARGIN)) + "\n"
    });
    let body = group("", "poster", &(words.concat() + &columns));
    Some(file([&title, legend], [WIDTH, bottom + MARGIN], &body))
}

/// How many hops of the reference one of a thread costs, of the first block that shows it.
fn finding(parts: &[Part]) -> Option<String> {
    parts.iter().flat_map(|part| &part.blocks).find_map(|block| {
        let thread = block.rows.iter().find(|row| row.kind == Some(TaskKind::Thread))?;
        let reference = block.rows.iter().find(|row| row.case == block.reference)?;
        let [_, name, _] = marks_of(Some(reference.kind?));
        let (name, operation) = (name.trim_end_matches(" task"), &thread.operation);
        let ratio = thread.factor.filter(|ratio| ratio.value > 1.0 && ratio.excludes(1.0))?;
        Some(format!("A thread {operation} costs {} {name} {operation}s", factor(ratio.value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::judge::row::Row;

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
        assert_eq!(picture(&Report { screen: Vec::new(), ..report }), None);
    }
}
