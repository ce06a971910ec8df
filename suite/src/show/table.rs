//! Tables of text that fit a terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

/// What stands in a cell for which there is no figure.
pub const ABSENT: &str = "–";

/// A table of aligned columns, one space apart, ended by a newline: a header
/// and rows of as many cells. The first `names` columns hold names and stand
/// left; the others hold figures and stand right.
#[must_use]
pub fn table<const COLUMNS: usize>(
    names: usize,
    header: [&str; COLUMNS],
    rows: &[[String; COLUMNS]],
) -> String {
    fill(names, &header, rows.as_flattened())
}

/// The table of these cells, row after row. It is the same for any number of
/// columns, and so compiled once.
fn fill(names: usize, header: &[&str], cells: &[String]) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header).add_rows(cells.chunks(header.len()));
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if number >= names {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt() + "\n"
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn names_stand_left_and_figures_right() {
        let row = |name: &str, figure: &str| [name.to_owned(), figure.to_owned()];
        let text = table(1, ["via", "ns"], &[row("pipe", "1.5"), row("rendezvous", "10.25")]);
        insta::assert_snapshot!(text, @r"
        via           ns
        pipe         1.5
        rendezvous 10.25
        ");
    }
}
