//! A report as a Markdown page, in which names and messages are escaped, and as CSV.

use std::borrow::Cow;

use csv::Writer;
use harness::terminal;
use serde::Serialize;
use serde_json::Value;

use super::page::{Block, with_spaces};
use super::report::{made, page};
use crate::judge::report::Report;
use crate::judge::row::{ProcessOutcome, Quantity};

/// The report as a page; it names no path.
pub fn markdown(report: &Report) -> String {
    let run = &report.run;
    let heading = vec![Block::Heading(1, run.name.clone())];
    blocks(&[heading, made(run), page(report, true)].concat())
}

/// Parts of a Markdown page, with a blank line between them.
pub fn blocks(page: &[Block]) -> String {
    with_spaces(&page.iter().map(block).collect::<Vec<_>>().join("\n"))
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(level, heading) => {
            format!("{} {}\n", "#".repeat((*level).into()), escape(heading))
        }
        Block::Paragraph(paragraph) => escape(paragraph) + "\n",
        Block::Items(items) => items.iter().map(|item| format!("- {}\n", escape(item))).collect(),
        Block::Table(table) => table.markdown(escape),
        Block::Code(code) => {
            terminal::text(code).lines().map(|line| format!("    {line}\n")).collect()
        }
    }
}

/// Escapes Markdown, HTML and links.
fn escape(text: &str) -> String {
    let text = terminal::line(text);
    let mut escaped = String::with_capacity(text.len());
    let mut before = '\n';
    for (index, c) in text.char_indices() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '~' | '|' => escaped.extend(['\\', c]),
            '#' | '+' | '-' | '=' if index == 0 => escaped.extend(['\\', c]),
            '(' | '[' if before == ']' => escaped.extend(['\\', c]),
            ':' if before == ']' && text.starts_with('[') => escaped.extend(['\\', c]),
            '/' if before == ':' => escaped.extend(['\\', c]),
            '.' if text[..index].to_ascii_lowercase().ends_with("www") => escaped.push_str("\\."),
            '@' => escaped.push_str("&#64;"),
            c => escaped.push(c),
        }
        before = c;
    }
    escaped
}

/// A line of CSV: the figure of one process, or its outcome if it has none.
#[derive(Serialize)]
struct CsvLine<'a> {
    run: Cow<'a, str>,
    host: Cow<'a, str>,
    case: Cow<'a, str>,
    program: Cow<'a, str>,
    parameters: String,
    measurement: Cow<'a, str>,
    unit: Quantity,
    round: u32,
    outcome: ProcessOutcome,
    value: Option<f64>,
    /// The median over the case's processes, in the lines of its figure.
    system_calls_per_operation: Option<f64>,
}

/// The names of the fields, which the first line writes otherwise.
const COLUMNS: [&str; 11] = [
    "run",
    "host",
    "case",
    "program",
    "parameters",
    "measurement",
    "unit",
    "round",
    "outcome",
    "value",
    "system_calls_per_operation",
];

/// The report as CSV, with one line per row and process.
///
/// # Errors
/// Never: it is written to memory.
pub fn csv(report: &Report) -> anyhow::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    let mut is_empty = true;
    for row in report.groups.iter().flat_map(|group| &group.rows) {
        for process in row.processes.iter() {
            is_empty = false;
            writer.serialize(CsvLine {
                run: cell(&report.run.name),
                host: cell(&report.run.label),
                case: cell(&row.case),
                program: cell(&row.program),
                parameters: Value::from_iter(row.parameters.clone()).to_string(),
                measurement: cell(&row.measurement),
                unit: row.unit,
                round: process.round,
                outcome: process.outcome,
                value: process.value,
                system_calls_per_operation: row.system_calls,
            })?;
        }
    }
    if is_empty {
        writer.write_record(COLUMNS)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// Text as a cell that no spreadsheet interprets as a formula.
fn cell(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return format!("'{text}").into();
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_report_without_lines_has_the_same_columns() {
        let report = fixtures::report();
        let columns = |report| csv(report).unwrap().lines().next().unwrap().to_owned();
        let empty = Report { groups: Vec::new(), ..report.clone() };
        assert_eq!(columns(&report), columns(&empty));
    }

    #[test]
    fn markup_in_names_is_escaped() {
        for (text, expected) in [
            (
                "thread-brigade/same-cpu, 1.79 µs [1.77, 1.81]",
                "thread-brigade/same-cpu, 1.79 µs [1.77, 1.81]",
            ),
            ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
            ("a|b", "a\\|b"),
            ("[x](http://y)", "[x]\\(http:\\//y)"),
            ("![x][y]", "![x]\\[y]"),
            ("[x]: /y", "[x]\\: /y"),
            ("**a** _b_ `c` ~~d~~", "\\*\\*a\\*\\* \\_b\\_ \\`c\\` \\~\\~d\\~\\~"),
            ("# a", "\\# a"),
            ("1.79", "1.79"),
            ("a\nb", "a\\\\u000ab"),
            ("&lt;", "&amp;lt;"),
            ("www.x.y me@x.y", "www\\.x.y me&#64;x.y"),
        ] {
            assert_eq!(escape(text), expected);
        }
    }
}
