//! A report as a Markdown page, in which names and messages are escaped, and as CSV.

use std::borrow::Cow;

use csv::Writer;
use harness::terminal;
use serde_json::Value;

use super::page::{Block, NO_BREAK_SPACE};
use super::report::{made, page};
use crate::judge::report::Report;
use crate::judge::row::Process;

/// The report as a page; it names no path.
pub fn markdown(report: &Report) -> String {
    let run = &report.run;
    let heading = vec![Block::Heading(1, run.name.clone())];
    blocks(&[heading, made(run).to_vec(), page(report)].concat())
}

/// Parts of a Markdown page, with a blank line between them.
pub fn blocks(page: &[Block]) -> String {
    page.iter().map(block).collect::<Vec<_>>().join("\n").replace(NO_BREAK_SPACE, " ")
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

/// The columns of CSV.
const COLUMNS: &str = "run,host,case,program,parameters,measurement,unit,round,outcome,value";

/// The report as CSV, with one line per row and process.
///
/// # Errors
/// Never: it is written to memory.
pub fn csv(report: &Report) -> anyhow::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS.split(','))?;
    for row in report.groups.iter().flat_map(|group| &group.rows) {
        let parameters = Value::from_iter(row.parameters.clone()).to_string();
        let case = (
            [&report.run.name, &report.run.label, &row.case, &row.program].map(|text| cell(text)),
            &parameters,
            cell(&row.measurement),
        );
        for Process { round, outcome, value, .. } in &row.processes {
            writer.serialize((&case, row.unit, round, outcome, value))?;
        }
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
