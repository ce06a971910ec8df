//! A report as a page in Markdown. What a name or a message holds is text there,
//! whatever it looks like.

use harness::terminal;

use super::bars::{Bar, Bars, Characters, bar};
use super::page::{Block, NO_BREAK_SPACE, Side, Table, indented};
use super::report::page;
use crate::judge::report::model::Report;

/// The columns of the longest bar.
const BAR: usize = 24;

/// The report as a page, which names no path.
pub fn markdown(report: &Report) -> String {
    let names: Vec<String> = report.runs.iter().map(|run| escape(&run.name)).collect();
    let mut text = format!("# {}\n\n", names.join(", "));
    for run in &report.runs {
        text += &format!("A run of {}", escape(&run.started_at));
        text += &match run.command.is_empty() {
            true => ".\n\n".to_owned(),
            false => format!(", made by\n\n{}\n", indented(&run.command.join(" "))),
        };
    }
    text + &blocks(&page(report))
        + "\nThe records are beside this page; `brigade report` shows them.\n"
}

/// Parts of a page in Markdown, a blank line between two.
pub fn blocks(page: &[Block]) -> String {
    let shown = page.iter().filter(|of| !matches!(of, Block::Plots(_)));
    let blocks: Vec<String> = shown.map(block).collect();
    blocks.join("\n").replace(NO_BREAK_SPACE, " ")
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(level, heading) => {
            format!("{} {}\n", "#".repeat((*level).into()), escape(heading))
        }
        Block::Paragraph(paragraph) => escape(paragraph) + "\n",
        Block::Items(items) => items.iter().map(|item| format!("- {}\n", escape(item))).collect(),
        Block::Table(table) => table.markdown(escape),
        Block::Bars(bars) => bars_table(bars).markdown(escape),
        Block::Code(code) => indented(code),
        Block::Plots(_) => String::new(),
    }
}

/// Bars as a table, whose last column they are.
fn bars_table(bars: &Bars) -> Table {
    let [name, note, figure] = bars.headings;
    let ends = [bars.ticks.first(), bars.ticks.last()].into_iter().flatten();
    let ends: Vec<&str> = ends.map(|(_, label)| label.as_str()).collect();
    let axis = ends.join(" to ");
    let mut table = Table::new(&[
        (name, Side::Left),
        (note, Side::Left),
        (figure, Side::Right),
        (&axis, Side::Left),
    ]);
    for Bar { name, note, figure, share } in &bars.rows {
        let bar = bar(*share, BAR, Characters::Eighths);
        table.push(vec![name.clone(), note.clone(), figure.clone(), bar]);
    }
    table
}

/// Text that stays text: nothing in it is markup, an element or a link.
pub fn escape(text: &str) -> String {
    let text = terminal::line(text);
    let mut escaped = String::with_capacity(text.len());
    let mut before = '\n';
    for (index, c) in text.char_indices() {
        let is_first = index == 0;
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '~' | '|' => escaped.extend(['\\', c]),
            '#' | '+' | '-' | '=' if is_first => escaped.extend(['\\', c]),
            '(' | '[' if before == ']' => escaped.extend(['\\', c]),
            ':' if before == ']' && text.starts_with('[') => escaped.extend(['\\', c]),
            '/' if before == ':' => escaped.extend(['\\', c]),
            '.' | ')' if is_number(&text[..index]) && ends_word(&text[index + 1..]) => {
                escaped.extend(['\\', c]);
            }
            '.' if text[..index].to_ascii_lowercase().ends_with("www") => escaped.push_str("\\."),
            '@' => escaped.push_str("&#64;"),
            c => escaped.push(c),
        }
        before = c;
    }
    escaped
}

fn ends_word(rest: &str) -> bool {
    rest.chars().next().is_none_or(char::is_whitespace)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::report_of;
    use super::*;

    #[test]
    fn a_page_has_real_tables_and_names_no_path() {
        insta::assert_snapshot!(markdown(&report_of(&[1.0])), @r"
        # run-1

        A run of 2026-11-21T11:55:14.847Z, made by

            brigade run --profile default --seed 3940445089

        AMD EPYC, 2 CPUs, L1 32 KiB, L2 512 KiB, L3 32 MiB, kvm guest, preemption dynamic

        5 of 5 cases within ± 3 %, median ± 1.6 %

        | in short | [95 % interval] | n |
        | --- | --- | --: |
        | hop between threads | 1.79 µs [1.76, 1.82] | 6 |
        | threads over tasks (same-cpu / free) | 1.98 [1.95, 2.01] times | 6 |
        | join | 800 ns [800, 800] | 6 |

        ## From the cheapest to the dearest

        | case | op | time | 100 ns to 100 µs |
        | --- | --- | --: | --- |
        | alone | hop | 642 ns | ██████▌ |
        | tasks | hop | 907 ns | ███████▋ |
        | threads/same-cpu | hop | 1.79 µs | ██████████ |
        | create | hop | 9.12 µs | ███████████████▋ |
        | threads/spread | hop | 22.1 µs | ██████████████████▊ |

        ## What does a hop cost?

        | case | op | time [95 %] | p50 | p99 | cpu | sw/op | n |
        | --- | --- | --- | --: | --: | --: | --: | --: |
        | threads/same-cpu | hop | 1.79 µs [1.76, 1.82] | 1.61 | 3.59 | 1.71 | 1.00 | 6 |
        | threads/spread | hop | 22.1 µs [21.6, 22.4] | 19.8 | 44.1 | 15.4 | 1.00 | 6 |
        | tasks | hop | 907 ns [890, 920] | 816 | 1814 | 634 | 1.00 | 6 |
        | alone | hop | 642 ns [629, 651] | 577 | 1283 | 448 | 1.00 | 6 |

        | minus baseline | difference [95 %] | baseline | n |
        | --- | --- | --- | --: |
        | threads/same-cpu | 1.15 µs [1.11, 1.18] | alone | 6 |

        | where the time goes |  | elapsed | user | kernel | waiting or overlap [95 %] |
        | --- | --- | --: | --: | --: | --- |
        | threads/same-cpu | µs | 1.79 | 0.31 | 1.40 | 0.08 [0.05, 0.11] |
        | threads/spread | µs | 22.1 | 4.40 | 11.0 | 6.66 [6.24, 6.96] |
        | tasks | ns | 907 | 181 | 452 | 274 [257, 286] |
        | alone | ns | 642 | 128 | 320 | 194 [181, 203] |

        ## What does creating one cost?

        | case | op | time [95 %] | p50 | p99 | cpu | sw/op | n |
        | --- | --- | --- | --: | --: | --: | --: | --: |
        | create | hop | 9.12 µs [8.95, 9.25] | 8.21 | 18.2 | 12.6 | 1.00 | 6 |
        |  | join | 800 ns [800, 800] | 720 | 1600 | – | – | 6 |

        | where the time goes |  | elapsed | user | kernel | waiting or overlap [95 %] |
        | --- | --- | --: | --: | --: | --- |
        | create | µs | 9.12 | 8.00 | 4.55 | overlap 3.43 [3.30, 3.60] |

        Per operation, over n processes [95 % interval]; p50, p99 and CPU time in the unit of the time; sw: the kernel's context switches. Elapsed, with the time between laps, is user + kernel + waiting − overlap.

        Times are medians over processes: every case has fewer than 10 processes, two modes or an outlier.

        ## In words

        - A hop between tasks takes 907 ns [890, 920], one between threads 22.1 µs [21.6, 22.4]: the threads' hop takes 24.3 [23.6, 24.9] times as long (n = 6; 9 tasks; placement free against spread). 6.38 µs [5.96, 6.69] of the difference is waiting; 99 % of the hops cross CPUs, against 0 %.
        - A hop on one CPU takes 1.79 µs [1.76, 1.82], the I/O alone 642 ns [629, 651]: 1.15 µs [1.11, 1.18] remain for the switch (n = 6; 9 tasks; placement same-cpu against free).
        - Where the time of a hop goes: on one CPU 310 ns in user space, 1.40 µs in the kernel, 84.5 ns [50.6, 109] waiting, 0 % of hops cross CPUs; in creation 8.00 µs in user space, 4.55 µs in the kernel, 3.43 µs [3.30, 3.60] of it at the same time, 0 % of hops cross CPUs.

        ## Notes

        - tasks: 1 failed, of 7 started.
        - uring: skipped: no io\_uring

        Measured on: AMD EPYC, 2 CPUs, kvm guest, clock tsc, Linux 6.18.44-fc-v595, preemption dynamic, rustc 1.95.0, revision 834c51a02d54.

        30 of 30 invocations (1 interrupted), profile default, 6 rounds, seed 3940445089

        The records are beside this page; `brigade report` shows them.
        ");
    }

    #[test]
    fn a_hostile_name_is_text() {
        let mut report = report_of(&[1.0]);
        report.groups[0].cases[0].name = "<b>|x| [y](http://z)\n# h".to_owned();
        let page = markdown(&report);
        assert!(!page.contains("<b>") && !page.contains("](http"), "{page}");
        let row = page.lines().find(|line| line.contains("&lt;b&gt;") && line.contains("[1.76"));
        let row = row.expect("a row");
        assert_eq!(row.matches(" | ").count(), 7, "{row}");
    }

    #[test]
    fn what_looks_like_markup_is_text() {
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
            ("1. a", "1\\. a"),
            ("1.79", "1.79"),
            ("a\nb", "a\\\\u000ab"),
            ("&lt;", "&amp;lt;"),
            ("www.x.y me@x.y", "www\\.x.y me&#64;x.y"),
        ] {
            assert_eq!(escape(text), expected);
        }
    }
}
