//! A report as one page of HTML: the blocks of the text with plots, and the report as JSON.
//! It loads nothing, can be read without its script, and its policy permits no other.

use harness::terminal;
use serde::Serialize;

use super::comparison::blocks as blocks_of_comparison;
use super::ladder::{Rung, rungs};
use super::page::{Block, Table};
use super::plot;
use super::report::page as blocks_of;
use super::svg::{Picture, STYLE, escape};
use crate::judge::compare::Comparison;
use crate::judge::report::model::Report;

const PAGE_STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// The SHA-256 of `page.js`, by which the page's policy knows its script.
const SCRIPT_HASH: &str = "sha256-6Prz5U0NPqCmJZDetDXdCcrLB2NJ7aW1axg9TArS9bc=";

/// The page of a report.
pub fn html(report: &Report) -> String {
    let names: Vec<&str> = report.runs.iter().map(|run| run.name.as_str()).collect();
    let mut blocks = vec![Block::Heading(2, "In short".to_owned())];
    blocks.extend(blocks_of(report));
    blocks.push(Block::Heading(2, "How to repeat it".to_owned()));
    for run in &report.runs {
        let profile = format!("A run of {}, profile {}", run.started_at, run.profile);
        blocks.push(Block::Paragraph(profile));
        blocks.push(Block::Code(run.command.join(" ")));
    }
    // Several runs are in columns of tables, not in plots.
    let plotted = Some(report).filter(|report| report.runs.len() == 1);
    page(&names.join(", "), &blocks, report, plotted)
}

/// The page of a comparison, the largest change first.
pub fn comparison(comparison: &Comparison) -> String {
    let mut blocks = vec![Block::Heading(2, "Comparison".to_owned())];
    blocks.extend(blocks_of_comparison(comparison));
    let title = format!("{} against {}", comparison.candidate.records, comparison.baseline.records);
    page(&title, &blocks, comparison, None)
}

/// A page of these blocks, which embeds `value`. The plots are those of `report`.
fn page(title: &str, blocks: &[Block], value: &impl Serialize, report: Option<&Report>) -> String {
    let mut contents = String::new();
    let mut main = String::new();
    for (index, block) in blocks.iter().enumerate() {
        if let Block::Heading(2, heading) = block {
            let mut section =
                blocks[index + 1..].iter().take_while(|of| !matches!(of, Block::Heading(2, _)));
            let group = section.find_map(|block| match block {
                Block::Plots(group) => Some(group.as_str()),
                _ => None,
            });
            let (id, short) = match group {
                Some("") => ("group-other".to_owned(), "other"),
                Some(group) => (format!("group-{group}"), group),
                None => (slug(heading), heading.as_str()),
            };
            let end = if main.is_empty() { "" } else { "</section>\n" };
            let [id, heading, short] = [&id, heading, short].map(escape);
            contents += &format!("<a href=\"#{id}\">{short}</a>\n");
            main += &format!("{end}<section id=\"{id}\">\n<h2>{heading}</h2>\n");
        } else {
            main += &element(block, report);
        }
    }
    let title = escape(title);
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; base-uri 'none'; \
         form-action 'none'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n<nav aria-label=\"Contents\">\n{contents}</nav>\n\
         <p class=\"tools\" hidden><label>Show cases with \
         <input type=\"search\" id=\"filter\" placeholder=\"part of a name\"></label></p>\n\
         </header>\n<main>\n{main}</section>\n</main>\n\
         <footer><p>The records are in the folder of this page; <code>brigade report</code> \
         shows them. Brigade's <code>docs/</code> explain terms and method.</p></footer>\n\
         <script type=\"application/json\" id=\"report\">{}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        embedded(value)
    );
    terminal::text(&page).into_owned()
}

/// A heading as part of an address.
fn slug(heading: &str) -> String {
    let lower = heading.to_ascii_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("-")
}

fn element(block: &Block, report: Option<&Report>) -> String {
    match block {
        Block::Heading(level, heading) => format!("<h{level}>{}</h{level}>\n", escape(heading)),
        Block::Paragraph(text) => format!("<p>{}</p>\n", escape(text)),
        Block::Items(texts) => {
            let items: String =
                texts.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        Block::Table(table) => table_of(table),
        Block::Ladder(table) => {
            let picture = report.and_then(|of| plot::ladder(&rungs(of)));
            picture.map_or_else(
                || table_of(table),
                |picture| format!("<div id=\"ladder\">{}</div>\n", picture.figure()),
            )
        }
        Block::Code(text) => code(text),
        Block::Plots(name) => report.map_or(String::new(), |report| plots(report, name)),
    }
}

fn code(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(escape).collect();
    format!("<div class=\"scroll\" tabindex=\"0\"><pre>{}</pre></div>\n", lines.join("\n"))
}

/// A row without a name gets that of the row above, since a reader may sort or filter.
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
        let case = escape(name);
        body += &format!("<tr data-case=\"{case}\"><th scope=\"row\">{case}</th>");
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

/// The plots of a group: curves or maps of CPUs if it has some, or else its ladder, and the
/// processes.
fn plots(report: &Report, name: &str) -> String {
    let Some(group) = report.groups.iter().find(|group| group.name == name) else {
        return String::new();
    };
    let mut pictures = plot::curves(group);
    let maps = report.pairs.iter().filter(|map| map.group == group.name);
    pictures.extend(maps.filter_map(|map| plot::heat(report, map)));
    if pictures.is_empty() {
        let rungs: Vec<Rung> = group.cases.iter().filter_map(Rung::of).collect();
        pictures.extend(plot::ladder(&rungs));
    }
    let mut plots: String = pictures.iter().map(Picture::figure).collect();
    if let Some(strips) = plot::strips(group) {
        let (title, figure) = (escape(&strips.title), strips.figure());
        plots += &format!("<details>\n<summary>{title}</summary>\n{figure}</details>\n");
    }
    plots
}

/// JSON in which nothing ends the element of script that it is in.
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
    fn hostile_words_are_text_and_the_report_is_embedded_unchanged() {
        let mut report = report_of(&[1.0]);
        let hostile = "</script><b onclick='x'>&{{ 1 }}<!--\u{1b}\u{202e}\u{2028}".to_owned();
        let group = &mut report.groups[0];
        (group.question, group.name) = (hostile.clone(), hostile.clone());
        group.cases[0].name = hostile.clone();
        let run = &mut report.runs[0];
        run.skipped = vec![Skipped { case: hostile.clone(), reason: hostile.clone() }];
        run.command = vec![hostile.clone()];
        (run.name, run.machine, run.profile) = (hostile.clone(), hostile.clone(), hostile);
        let page = html(&report);
        assert!(!page.contains("<b ") && !page.contains(['\u{1b}', '\u{202e}', '\u{2028}']));
        assert_eq!(page.matches("</script>").count(), 2);
        let (_, json) = page.split_once("id=\"report\">").unwrap();
        let (json, _) = json.split_once("</script>").unwrap();
        assert_eq!(serde_json::from_str::<Report>(json).unwrap(), report);
    }
}
