//! A report as one HTML page: the blocks of the text with plots, and the report as JSON. It loads
//! nothing, works without its script, and its policy allows no other script.

use harness::terminal;
use serde::Serialize;

use super::comparison::blocks as blocks_of_comparison;
use super::page::{Block, Table, with_ids, without_ids};
use super::report::{below, moved, page as blocks_of};
use super::screen::{conclusions, machine};
use super::svg::{Picture, STYLE, escape};
use super::{notes, picture, plot};
use crate::judge::compare::Comparison;
use crate::judge::report::model::Report;

const PAGE_STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// The SHA-256 of `page.js`: the page's policy allows only that script.
const SCRIPT_HASH: &str = "sha256-RMjJ4pQCx0vWaEUHLDMlH/tr0zb6QK7X1mP6koTmiKs=";

/// The page of a report.
pub fn html(report: &Report) -> String {
    let names: Vec<&str> = report.runs.iter().map(|run| run.name.as_str()).collect();
    let names = names.join(", ");
    // Several runs appear as columns of tables, not as plots.
    let plotted = Some(report).filter(|report| report.runs.len() == 1);
    let (heading, mut blocks) = match (plotted, &report.groups[..]) {
        (None, _) => {
            let short = vec![Block::Heading(2, "In short".to_owned())];
            (names.clone(), [short, blocks_of(report)].concat())
        }
        (Some(_), [group]) if report.screen.is_empty() => (group.question.clone(), below(report)),
        (Some(_), _) => (picture::TITLE.to_owned(), below(report)),
    };
    blocks.push(Block::Heading(2, "How to repeat it".to_owned()));
    for run in &report.runs {
        let profile = format!("A run of {}, profile {}", run.started_at, run.profile);
        blocks.push(Block::Paragraph(profile));
        blocks.push(Block::Code(run.command.join(" ")));
    }
    let head = plotted.map_or(String::new(), first_screen);
    let blocks: &[Block] = &blocks;
    page([&names, &heading], &head, blocks, report, plotted)
}

/// The machine, the verdict, the picture and the conclusions.
fn first_screen(report: &Report) -> String {
    let run = &report.runs[0];
    let (is_good, verdict) = notes::verdict_in_words(run);
    let class = if is_good { "good" } else { "bad" };
    let (first, rest) = verdict.split_once(':').unwrap_or((&verdict, ""));
    let [machine, first, rest] = [&machine(run), first, rest].map(escape);
    let sentences: Vec<String> = conclusions(report).take(5).collect();
    let sentences = if sentences.is_empty() {
        String::new()
    } else {
        let lead = element(&Block::Paragraph("So, on this machine:".to_owned()));
        lead + &element(&Block::Items(sentences))
    };
    format!(
        "<p class=\"machine\">{machine}</p>\n\
         <p class=\"machine\"><strong class=\"{class}\">{first}</strong>:{rest}</p>\n{}{sentences}{moved}",
        picture::figures(report),
        moved = moved(report).iter().map(element).collect::<String>(),
    )
}

/// The page of a comparison, the largest change first.
pub fn comparison(comparison: &Comparison) -> String {
    let mut blocks = vec![Block::Heading(2, "Comparison".to_owned())];
    blocks.extend(blocks_of_comparison(comparison));
    let title = format!("{} against {}", comparison.candidate.records, comparison.baseline.records);
    page([&title, &title], "", &blocks, comparison, None)
}

/// A page with a heading, the text below it, these blocks, and `value` embedded. Plots
/// are from `report`.
fn page(
    [title, title_of_page]: [&str; 2],
    head: &str,
    blocks: &[Block],
    value: &impl Serialize,
    report: Option<&Report>,
) -> String {
    let mut contents = String::new();
    let mut main = Vec::new();
    let sections = blocks.chunk_by(|_, next| !matches!(next, Block::Heading(2, _)));
    for section in sections {
        let [Block::Heading(_, heading), rest @ ..] = section else { continue };
        let group = rest.iter().find_map(|block| match block {
            Block::Plots(group) => Some(group.as_str()),
            _ => None,
        });
        let id = match group {
            Some("") => "group-other".to_owned(),
            Some(group) => format!("group-{group}"),
            None => slug(heading),
        };
        let [id, heading] = [&*id, heading].map(escape);
        contents += &format!("<li><a href=\"#{id}\">{heading}</a></li>\n");
        // The heading may repeat the page's title.
        let hidden = if heading == escape(title_of_page) { " hidden" } else { "" };
        main.push(format!(
            "<section>\n<h2 id=\"{id}\"{hidden}><a href=\"#{id}\">{heading}</a></h2>\n{}</section>\n",
            contents_of(rest, report)
        ));
    }
    let legend = report.map_or(String::new(), |report| {
        let signs = plot::legend(report).into_iter();
        let signs = signs.map(|(class, words)| format!("<li class=\"{class}\">{words}</li>"));
        format!("<ul class=\"legend\">{}</ul>\n", signs.collect::<String>())
    });
    // Without a picture, the page begins with its first plots.
    let first = usize::from(!head.is_empty() && !head.contains("<svg")).min(main.len());
    let (first, rest) = main.split_at(first);
    let [first, rest] = [first, rest].map(<[String]>::concat);
    let [title, heading] = [title, title_of_page].map(escape);
    let title = if title == heading { title } else { format!("{heading} {title}") };
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; base-uri 'none'; \
         form-action 'none'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{heading}</h1>\n{head}</header>\n<main>\n{first}\
         <nav aria-label=\"Contents\">\n<ul>\n{contents}</ul></nav>\n{legend}\
         <p class=\"tools\" hidden><label>Show cases with \
         <input type=\"search\" id=\"filter\" placeholder=\"part of a name\"></label></p>\n\
         {rest}</main>\n\
         <footer><p><code>brigade report</code> shows the records of a run; Brigade's \
         <code>docs/</code> explain terms and method.</p></footer>\n\
         <script type=\"application/json\" id=\"report\">{}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        embedded(value)
    );
    terminal::text(&page).into_owned()
}

/// The section below a heading: a group's plots, with its tables folded.
fn contents_of(blocks: &[Block], report: Option<&Report>) -> String {
    let elements = |blocks: &[Block]| blocks.iter().map(element).collect::<String>();
    let at = blocks.iter().position(|block| matches!(block, Block::Plots(_)));
    let Some((at, report)) = at.zip(report) else { return elements(blocks) };
    let Block::Plots(name) = &blocks[at] else { unreachable!("it is one") };
    let (shown, folded) = plots(report, name);
    let rest = elements(&blocks[at + 1..]);
    let tables = if shown.is_empty() { rest } else { fold("Tables", &(folded + &rest)) };
    elements(&blocks[..at]) + &shown + &tables
}

fn fold(summary: &str, contents: &str) -> String {
    format!("<details>\n<summary>{}</summary>\n{contents}</details>\n", escape(summary))
}

/// A heading as a URL fragment.
fn slug(heading: &str) -> String {
    let lower = heading.to_ascii_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("-")
}

fn element(block: &Block) -> String {
    match block {
        Block::Heading(level, heading) => format!("<h{level}>{}</h{level}>\n", escape(heading)),
        Block::Paragraph(text) => format!("<p>{}</p>\n", inline(text)),
        Block::Items(texts) => {
            let items: String =
                texts.iter().map(|text| format!("<li>{}</li>\n", inline(text))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        Block::Table(table) => table_of(table),
        Block::Code(text) => code(text),
        Block::Plots(_) => String::new(),
    }
}

/// Text with its ids in grey.
fn inline(text: &str) -> String {
    with_ids(text, escape, |id| format!(" <small>{}</small>", escape(id)))
}

fn code(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(escape).collect();
    format!("<div class=\"scroll\" tabindex=\"0\"><pre>{}</pre></div>\n", lines.join("\n"))
}

/// A row without a name repeats the one above, since a reader may sort or filter.
fn table_of(table: &Table) -> String {
    let class = |right: bool| if right { "" } else { " class=\"left\"" };
    let headings: String = table
        .columns()
        .map(|(name, right)| format!("<th scope=\"col\"{}>{}</th>", class(right), escape(name)))
        .collect();
    let mut name = "";
    let mut body = String::new();
    for row in table.rows() {
        if !row[0].is_empty() {
            name = &row[0];
        }
        let case = escape(&without_ids(name));
        body += &format!("<tr data-case=\"{case}\"><th scope=\"row\">{}</th>", inline(name));
        for (cell, (_, right)) in row.iter().zip(table.columns()).skip(1) {
            body += &format!("<td{}>{}</td>", class(right), escape(cell));
        }
        body += "</tr>\n";
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>{headings}</tr></thead>\n\
         <tbody>\n{body}</tbody></table></div>\n"
    )
}

/// The plots of a group: curves or maps of CPUs, otherwise its cases on an axis, and bars; and what
/// is folded with its tables.
fn plots(report: &Report, name: &str) -> (String, String) {
    let Some(group) = report.groups.iter().find(|group| group.name == name) else {
        return Default::default();
    };
    let [curves, dots] = [
        plot::curve_pictures(group)
            .iter()
            .map(|[wide, narrow]| {
                let [wide, narrow] = [wide, narrow].map(Picture::figure);
                format!("<div class=\"wide\">{wide}</div>\n<div class=\"narrow\">{narrow}</div>\n")
            })
            .collect::<String>(),
        plot::dots(group).iter().map(Picture::figure).collect(),
    ];
    let maps = report.pairs.iter().filter(|map| map.group == group.name);
    let maps: String =
        maps.filter_map(|map| plot::heat(report, map)).map(|of| of.figure()).collect();
    let first = curves + &maps;
    let (first, folded) = if first.is_empty() { (dots, String::new()) } else { (first, dots) };
    let bars = [plot::memory(group), plot::time(group)];
    let bars: String = bars.iter().flatten().map(Picture::figure).collect();
    (first + &bars, folded)
}

/// JSON that cannot end the script element around it.
fn embedded(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::report_of;
    use super::*;
    use crate::store::results::Skipped;

    #[test]
    fn hostile_words_are_escaped_and_the_report_is_embedded_unchanged() {
        let mut report = report_of(&[1.0]);
        let hostile = "</script><b onclick='x'>&{{ 1 }}<!--\u{1b}\u{202e}\u{2028}".to_owned();
        let group = &mut report.groups[0];
        (group.question, group.name) = (hostile.clone(), hostile.clone());
        group.cases[0].name = hostile.clone();
        let run = &mut report.runs[0];
        run.skipped = vec![Skipped { case: hostile.clone(), reason: hostile.clone() }];
        run.command = vec![hostile.clone()];
        (run.name, run.machine, run.profile) = (hostile.clone(), hostile.clone(), hostile.clone());
        let page = html(&report);
        assert!(!page.contains("<b ") && !page.contains(['\u{1b}', '\u{202e}', '\u{2028}']));
        assert_eq!(page.matches("</script>").count(), 2);
        let (_, json) = page.split_once("id=\"report\">").unwrap();
        let (json, _) = json.split_once("</script>").unwrap();
        assert_eq!(serde_json::from_str::<Report>(json).unwrap(), report);
    }
}
