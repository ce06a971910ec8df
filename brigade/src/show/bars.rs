//! Bars of text: a row for each figure, with a bar as long as its share of an axis.

use harness::terminal;

/// The characters that bars are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Characters {
    /// Eighths of a block, where the reader's locale is UTF-8.
    Eighths,
    /// ASCII.
    Plain,
}

/// Blocks of one to eight eighths.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The widest column of names; a longer name stands on a line of its own.
const WIDEST_NAME: usize = 30;

/// Bars over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// The headings of names, notes and figures.
    pub headings: [&'static str; 3],
    /// The rows.
    pub rows: Vec<Bar>,
    /// Labels of the axis, each at its share of the axis.
    pub ticks: Vec<(f64, String)>,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What the figure is of.
    pub name: String,
    /// What more is to be said of it.
    pub note: String,
    /// The figure.
    pub figure: String,
    /// Its share of the axis, 0 to 1.
    pub share: f64,
}

impl Bars {
    /// As lines of at most `columns` characters, each ended by a newline.
    pub fn text(&self, columns: usize, characters: Characters) -> String {
        let widest = |of: fn(&Bar) -> &str, heading: &str| {
            let widths = self.rows.iter().map(|row| width(of(row)));
            widths.chain([width(heading)]).max().unwrap_or_default()
        };
        let name = widest(|row| &row.name, self.headings[0]).min(WIDEST_NAME);
        let note = widest(|row| &row.note, self.headings[1]);
        let figure = widest(|row| &row.figure, self.headings[2]);
        let axis = columns.saturating_sub(name + note + figure + 3).max(1);
        let line = |cells: [&str; 3], bar: &str| {
            let [first, second, third] = cells.map(terminal::line);
            let (before, first) = match width(&first) > name {
                true => (format!("{first}\n"), ""),
                false => (String::new(), &*first),
            };
            let line = format!("{first:<name$} {second:<note$} {third:>figure$} {bar}");
            format!("{before}{}\n", line.trim_end())
        };
        let rows = self.rows.iter().map(|row| {
            line([&row.name, &row.note, &row.figure], &bar(row.share, axis, characters))
        });
        line(self.headings, &self.axis(axis)) + &rows.collect::<String>()
    }

    /// The labels of the axis, as many in equal steps as have room.
    fn axis(&self, columns: usize) -> String {
        let steps = 1..=self.ticks.len();
        steps.filter_map(|step| self.labels(step, columns)).next().unwrap_or_default()
    }

    /// Every so many labels, if they have room side by side. One that reaches beyond
    /// the end is left out.
    fn labels(&self, step: usize, columns: usize) -> Option<String> {
        let mut line = String::new();
        for (share, label) in self.ticks.iter().step_by(step) {
            let at = (share * columns as f64).round() as usize;
            if at + width(label) > columns {
                continue;
            }
            if !line.is_empty() && width(&line) >= at {
                return None;
            }
            line = format!("{line:<at$}{label}");
        }
        Some(line)
    }
}

/// A bar over a share of so many columns; whatever is above zero is seen.
pub fn bar(share: f64, columns: usize, characters: Characters) -> String {
    let least = if share > 0.0 { 1 } else { 0 };
    let units = |each: usize| ((share * (columns * each) as f64).round() as usize).max(least);
    match characters {
        Characters::Plain => "#".repeat(units(1).min(columns)),
        Characters::Eighths => {
            let eighths = units(8).min(columns * 8);
            let mut bar = "█".repeat(eighths / 8);
            bar.extend((eighths % 8).checked_sub(1).map(|index| EIGHTHS[index]));
            bar
        }
    }
}

/// Every character counts as one column.
fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars() -> Bars {
        let row = |name: &str, figure: &str, share| Bar {
            name: name.to_owned(),
            note: "hop".to_owned(),
            figure: figure.to_owned(),
            share,
        };
        Bars {
            headings: ["case", "op", "time"],
            rows: vec![
                row("coroutine", "1.00 ns", 0.0),
                row("a-name-that-is-longer-than-its-column", "9.00 ns", 0.01),
                row("task", "12.0 ns", 0.54),
                row("thread", "99.9 ns", 1.0),
            ],
            ticks: vec![
                (0.0, "1 ns".to_owned()),
                (0.1, "2 ns".to_owned()),
                (0.5, "10 ns".to_owned()),
                (0.6, "20 ns".to_owned()),
                (1.0, "100 ns".to_owned()),
            ],
        }
    }

    #[test]
    fn bars_have_eighths_where_there_are_such_characters() {
        insta::assert_snapshot!(bars().text(64, Characters::Eighths), @r"
        case                           op     time 1 ns       10 ns
        coroutine                      hop 1.00 ns
        a-name-that-is-longer-than-its-column
                                       hop 9.00 ns ▎
        task                           hop 12.0 ns ███████████▍
        thread                         hop 99.9 ns █████████████████████
        ");
    }

    #[test]
    fn bars_are_plain_elsewhere() {
        let text = bars().text(64, Characters::Plain);
        assert!(text.is_ascii(), "{text}");
        assert!(text.contains("9.00 ns #\n") && text.contains("12.0 ns ###########\n"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 64), "{text}");
    }
}
