//! A page: a report before it becomes text or Markdown, the layout of tables, and a page as plain
//! text.

use std::iter;

use harness::terminal;
use textwrap::{Options, WordSeparator, WrapAlgorithm};

/// Width of a terminal.
pub const COLUMNS: usize = 80;

/// The narrowest column at the end of a row in which text is wrapped.
const FEWEST_FILLED: usize = 24;

/// The widest column; the standard library pads to 65,535 columns at most.
const WIDEST: usize = 1000;

/// A space at which no line breaks; it is printed as a space.
pub const NO_BREAK_SPACE: char = '\u{a0}';

/// A space in a command, at which no line breaks either, so that the command can be pasted; in every
/// format it becomes a space.
const COMMAND_SPACE: char = '\u{2007}';

/// A command that stays on one line.
pub fn unbroken(command: &str) -> String {
    command.replace(' ', &COMMAND_SPACE.to_string())
}

/// Text with ordinary spaces in its commands.
pub fn pasteable(text: &str) -> String {
    text.replace(COMMAND_SPACE, " ")
}

/// Text with ordinary spaces.
pub fn with_spaces(text: &str) -> String {
    pasteable(text).replace(NO_BREAK_SPACE, " ")
}

/// Shown in a cell without a figure.
pub const ABSENT: &str = "–";

/// A part of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A heading; 1 is the page's.
    Heading(u8, String),
    /// A paragraph.
    Paragraph(String),
    /// A list.
    Items(Vec<String>),
    /// A table.
    Table(Table),
    /// Lines shown verbatim.
    Code(String),
}

/// Parts of a page as text, with a blank line before tables, headings and
/// lists.
pub fn text(page: &[Block]) -> String {
    let mut text = String::new();
    let mut before: Option<&Block> = None;
    for block in page {
        let follows = match block {
            Block::Paragraph(_) => matches!(before, Some(Block::Items(_) | Block::Table(_))),
            Block::Heading(..) => true,
            _ => !matches!(before, Some(Block::Heading(..))),
        };
        before = Some(block);
        if follows && !text.is_empty() {
            text.push('\n');
        }
        text += &match block {
            Block::Heading(_, text) | Block::Paragraph(text) => lines(text),
            Block::Items(items) => items.iter().map(|text| item(text)).collect(),
            Block::Table(table) => table.text(),
            Block::Code(code) => code.clone(),
        };
    }
    terminal::text(&with_spaces(&text))
}

/// A table of cells of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub headings: Vec<String>,
    /// Whether each column is of figures, which are right-aligned.
    pub right: Vec<bool>,
    pub rows: Vec<Vec<String>>,
}

/// A column of a table.
pub struct Column {
    heading: String,
    /// Whether it is of figures, which are right-aligned.
    is_right: bool,
}

/// A column of text.
pub fn left(heading: &str) -> Column {
    Column { heading: heading.to_owned(), is_right: false }
}

/// A column of figures.
pub fn right(heading: &str) -> Column {
    Column { heading: heading.to_owned(), is_right: true }
}

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        let columns = columns.into_iter().map(|column| (column.heading, column.is_right));
        let (headings, right) = columns.unzip();
        Self { headings, right, rows: Vec::new() }
    }

    /// Adds a row, with one cell per column.
    pub fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.right.len());
        self.rows.push(row);
    }

    /// The table as text: aligned columns, one space apart, as wide as their
    /// widest cell. If that exceeds a terminal, text at the end of a row wraps,
    /// and a long name gets a separate line.
    pub fn text(&self) -> String {
        let mut widths: Vec<usize> =
            (0..self.right.len()).map(|column| self.width(column)).collect();
        if let [others @ .., last] = widths.as_mut_slice()
            && self.right.last() == Some(&false)
        {
            let others: usize = others.iter().map(|width| width + 1).sum();
            *last = COLUMNS.saturating_sub(others).max(FEWEST_FILLED).min(*last);
        }
        let others: usize = widths[1..].iter().map(|width| width + 1).sum();
        let names = COLUMNS.saturating_sub(others).max(width(&self.headings[0]));
        widths[0] = widths[0].min(names);
        let escaped = |row: &Vec<String>| row.iter().map(|cell| terminal::line(cell)).collect();
        let rows = iter::once(self.headings.clone()).chain(self.rows.iter().map(escaped));
        let text: String = rows.map(|row: Vec<String>| self.line(&row, &widths)).collect();
        with_spaces(&text)
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let name = &row[0];
        let (before, name) = if width(name) > widths[0] {
            (lines(name), "")
        } else {
            (String::new(), name.as_str())
        };
        let cells = iter::once(name).chain(row[1..].iter().map(String::as_str));
        let padded: Vec<String> = cells
            .zip(widths)
            .zip(&self.right)
            .map(
                |((cell, width), right)| {
                    if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                },
            )
            .collect();
        let line = without_padding(&padded.join(" ")).to_owned();
        let (last, others) = widths.split_last().expect("a table has columns");
        if width(row.last().expect("as many cells")) <= *last {
            return format!("{before}{line}\n");
        }
        let indent = " ".repeat(others.iter().map(|width| width + 1).sum());
        let first: String = line.chars().take(indent.len()).collect();
        before + &filled(row.last().expect("as many cells"), &first, &indent)
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| width(&row[column]));
        cells.chain([width(&self.headings[column])]).max().unwrap_or(0)
    }

    /// The table as Markdown; `escape` makes its cells safe.
    pub fn markdown(&self, escape: impl Fn(&str) -> String) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = |right: &bool| if *right { "--:" } else { "---" }.to_owned();
        let rules: Vec<String> = self.right.iter().map(rule).collect();
        let escaped = |row: &Vec<String>| row.iter().map(|cell| escape(cell)).collect::<Vec<_>>();
        let rows = self.rows.iter().map(|row| line(&escaped(row)));
        [line(&escaped(&self.headings)), line(&rules)].into_iter().chain(rows).collect()
    }
}

/// What a row of type `R` has in a column.
type Cell<'a, R> = Box<dyn Fn(&R) -> String + 'a>;

/// The columns of a table, each with what a row of type `R` has in it: the two cannot part.
pub struct Columns<'a, R> {
    columns: Vec<(Column, Cell<'a, R>)>,
}

impl<'a, R> Columns<'a, R> {
    /// No columns.
    pub fn new() -> Self {
        Self { columns: Vec::new() }
    }

    /// Adds a column of text.
    pub fn left(mut self, heading: &str, cell: impl Fn(&R) -> String + 'a) -> Self {
        self.columns.push((left(heading), Box::new(cell)));
        self
    }

    /// Adds a column of figures, which are right-aligned.
    pub fn right(mut self, heading: &str, cell: impl Fn(&R) -> String + 'a) -> Self {
        self.columns.push((right(heading), Box::new(cell)));
        self
    }

    /// The table with these rows.
    pub fn table(self, rows: impl IntoIterator<Item = R>) -> Table {
        let (columns, cells): (Vec<Column>, Vec<Cell<R>>) = self.columns.into_iter().unzip();
        let mut table = Table::new(columns);
        for row in rows {
            table.push(cells.iter().map(|cell| cell(&row)).collect());
        }
        table
    }
}

/// A row's label and what it has in common with others, or other words; empty ones are left out.
pub fn joined(words: [&str; 2]) -> String {
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// A line of columns without the spaces that fill the last one.
pub fn without_padding(line: &str) -> &str {
    line.trim_end()
}

/// Every character counts as one column. A longer text is shown, but not padded to.
fn width(text: &str) -> usize {
    text.chars().count().min(WIDEST)
}

/// `text`, escaped and wrapped at spaces to a terminal's width, except for longer words; each line
/// ends in a newline.
pub fn lines(text: &str) -> String {
    filled(text, "", "")
}

/// `text` as a list item, wrapped to the width of a terminal.
pub fn item(text: &str) -> String {
    filled(text, "- ", "  ")
}

/// `text`, escaped and wrapped to a terminal's width, with `first` before the first line and `others`
/// before the rest.
pub fn filled(text: &str, first: &str, others: &str) -> String {
    let options = Options::new(COLUMNS)
        .initial_indent(first)
        .subsequent_indent(others)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let text = terminal::line(text).replace(" %", &format!("{NO_BREAK_SPACE}%"));
    with_spaces(&textwrap::fill(&text, options)) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(names: [&str; 3]) -> Table {
        let mut table = Table::new([left("case"), left("time"), right("n")]);
        for (name, count) in names.into_iter().zip(["5", "13", "6"]) {
            table.push(vec![name.to_owned(), "1.79 µs [1.77, 1.81]".to_owned(), count.to_owned()]);
        }
        table
    }

    #[test]
    fn a_name_that_is_too_long_gets_a_separate_line() {
        let long = "a-name-of-a-case-that-is-so-long-that-nothing-fits-beside-it/same-cpu";
        let text = table(["ring", long, "line"]).text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], long);
        assert!(
            lines[3].starts_with(' ') && lines[3].ends_with("1.79 µs [1.77, 1.81] 13"),
            "{text}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn a_cell_may_be_wider_than_any_column() {
        let long = "x".repeat(70_000);
        let mut table = Table::new([left("case"), left("time"), right("n")]);
        table.push(vec!["a".to_owned(), long.clone(), "5".to_owned()]);
        table.push(vec!["b".to_owned(), "1".to_owned(), long]);
        assert!(table.text().lines().count() >= 3);
    }

    #[test]
    fn no_line_breaks_at_a_no_break_space_or_in_a_word() {
        let words = format!("{} 1.79{NO_BREAK_SPACE}µs", "x".repeat(COLUMNS - 6));
        assert_eq!(item(&words).lines().last(), Some("  1.79 µs"));
        let percent = format!("{} 51 %", "x".repeat(COLUMNS - 4));
        assert_eq!(lines(&percent).lines().last(), Some("51 %"));
        assert_eq!(lines(&format!("a {} b", "x-".repeat(COLUMNS))).lines().count(), 3);
        let command = format!("{} {}", "x".repeat(COLUMNS - 20), unbroken("brigade run 'a b' c d"));
        assert_eq!(lines(&command).lines().last(), Some("brigade run 'a b' c d"));
    }
}
