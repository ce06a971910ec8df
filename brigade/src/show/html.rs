//! A report as one HTML page: the blocks of the text with plots, and the report as JSON. It loads
//! nothing, works without its script, and its policy allows no other script.

use harness::terminal;
use serde::Serialize;

use super::group::{group_answers, question};
use super::loads;
use super::machine::machine_and_day;
use super::names::Names;
use super::page::{Block, Table};
use super::picture::TITLE;
use super::plot;
use super::quantity::{factor_of, figure};
use super::report::{closing, made, overview, tables, within};
use super::screen::answers;
use super::svg::{FACTORS, INTERVAL, MEDIAN, PROCESS, Picture, RANGE, STYLE, escape};
use super::verdict::{RunVerdict, next_run, verdict};
use crate::judge::report::{Group, Report, ScreenBlock, ScreenPart};

const PAGE_STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// The SHA-256 of `page.js`: the page's policy allows only that script.
const SCRIPT_HASH: &str = "sha256-iMSG0n8kButbziJIIZkX/vMWcRyfhhLoF1yx/pB0cho=";

/// A part of the page with a heading.
struct Section {
    /// Its place on the page.
    id: String,
    heading: String,
    /// Its elements.
    body: String,
}

/// The page of a report: the verdict, the answers and the rows of the first screen; then its plots, and
/// the groups.
pub fn html(report: &Report) -> String {
    let run = &report.run;
    // The page of one group is about its question.
    let only = match &report.groups[..] {
        [only] => Some(only),
        _ => None,
    };
    let title_of_page = only.map_or(TITLE, question);
    let mut rest = closing(report);
    rest.push(Block::Heading(2, "How to repeat it".to_owned()));
    rest.extend(made(run));
    let rest = rest.chunk_by(|_, next| !matches!(next, Block::Heading(2, _)));
    let of_rest = |section: &[Block]| {
        let [Block::Heading(_, heading), blocks @ ..] = section else { return None };
        let body = elements(blocks, heading);
        Some(Section { id: fragment(heading), heading: heading.clone(), body })
    };
    // As on a terminal, a group's own table may explain more than the rows of the first screen.
    let first = only.filter(|group| group.explains() || report.screen.is_empty());
    let screen = if first.is_some() { &[][..] } else { &report.screen };
    let of_groups = report.groups.iter().map(|group| Section {
        id: format!("group-{}", if group.name.is_empty() { "other" } else { &group.name }),
        heading: question(group).to_owned(),
        body: of_group(report, group, only.is_none(), first.is_none()),
    });
    let mut contents = String::new();
    let mut main = String::new();
    for section in of_groups.chain(rest.filter_map(of_rest)) {
        let [id, heading] = [&section.id, &section.heading].map(|text| escape(text));
        contents += &format!("<li><a href=\"#{id}\">{heading}</a></li>\n");
        // The heading may repeat the page's title.
        let hidden = if section.heading == title_of_page { " hidden" } else { "" };
        main += &format!(
            "<section>\n<h2 id=\"{id}\"{hidden}><a href=\"#{id}\">{heading}</a></h2>\n{}\
             </section>\n",
            section.body
        );
    }
    let [title, heading] = [&*run.name, title_of_page].map(escape);
    let title = if title == heading { title } else { format!("{heading} {title}") };
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; base-uri 'none'; \
         form-action 'none'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{heading}</h1>\n{}{}</header>\n<main>\n\
         <nav aria-label=\"Contents\">\n<ul>\n{contents}</ul></nav>\n\
         <p class=\"tools\" hidden><label>Show cases with \
         <input type=\"search\" id=\"filter\" placeholder=\"part of a name\"></label></p>\n\
         {}{}{main}</main>\n\
         <footer><p><code>brigade report</code> shows the records of a run; Brigade's \
         <code>docs/</code> explain terms and method.</p></footer>\n\
         <script type=\"application/json\" id=\"report\">{}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        head(report, only),
        first.map_or_else(
            || screen_tables(screen),
            |group| table_of_group(group, &Names::new(report, group))
        ),
        signs(),
        figures(&plot::screen(screen)),
        embedded(report)
    );
    terminal::text(&page)
}

/// The machine, the verdict on the run, the answers, and how far the next run will be from this one.
fn head(report: &Report, only: Option<&Group>) -> String {
    let RunVerdict { word, is_good, text } = verdict(&report.run);
    let class = if is_good { "good" } else { "bad" };
    let [machine, text] = [&machine_and_day(&report.run), &text].map(|text| escape(text));
    let state = format!(
        "<p class=\"machine\">{machine}</p>\n\
         <p class=\"machine\"><strong class=\"{class}\">{word}</strong>: {text}</p>\n"
    );
    let asked = only.map_or_else(Vec::new, group_answers);
    let sentences = if asked.is_empty() { answers(report) } else { asked };
    let sentences = match &sentences[..] {
        [] => String::new(),
        _ => element(&Block::Items(sentences), ""),
    };
    let next_run = next_run(&report.run).map(Block::Paragraph);
    state + &sentences + &next_run.map_or_else(String::new, |text| element(&text, ""))
}

/// A group: the sentences that answer its question and its table, unless they are above, and its plots.
fn of_group(report: &Report, group: &Group, has_answers: bool, has_table: bool) -> String {
    let names = Names::new(report, group);
    let answers = if has_answers { group_answers(group) } else { Vec::new() };
    let answers: Vec<Block> = answers.into_iter().map(Block::Paragraph).collect();
    let table = if has_table { table_of_group(group, &names) } else { String::new() };
    let note = group.note.clone().map(Block::Paragraph);
    format!(
        "{}{table}{}{}<details>\n<summary>All figures, with command lines</summary>\n{}</details>\n",
        elements(&answers, ""),
        note.map_or_else(String::new, |note| element(&note, "")),
        figures(&plot::group(group, &names)),
        elements(&tables(group, Some(&names)), question(group))
    )
}

/// The table that answers a group's question, or its cases.
fn table_of_group(group: &Group, names: &Names) -> String {
    let table = match &group.loads {
        Some(loads) => loads::table(loads),
        None => overview(group, names),
    };
    table_element(&table, question(group))
}

/// The parts of the first screen as tables.
fn screen_tables(parts: &[ScreenPart]) -> String {
    let tables: String = parts.iter().map(screen_table).collect();
    if tables.is_empty() { tables } else { format!("<div class=\"tables\">\n{tables}</div>\n") }
}

fn screen_table(part: &ScreenPart) -> String {
    let [heading, of] = [&part.heading, &part.of].map(|text| escape(text));
    let bodies: String = part.blocks.iter().map(block_of_rows).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"rows\">\n\
         <caption><strong>{heading}</strong> {of}</caption>\n\
         <thead><tr><td></td><th scope=\"col\">median</th><th scope=\"col\">8 in 10 within</th>\
         <th scope=\"col\">×</th></tr></thead>\n{bodies}</table></div>\n"
    )
}

fn block_of_rows(block: &ScreenBlock) -> String {
    let mut rows = String::new();
    if !block.name.is_empty() {
        let name = escape(&block.name);
        rows += &format!("<tr><th scope=\"rowgroup\" colspan=\"4\">{name}</th></tr>\n");
    }
    for row in &block.rows {
        let cells = [figure(row), within(row), factor_of(row, block).unwrap_or_default()];
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        let [case, label] = [&row.case, &row.label].map(|text| escape(text));
        rows += &format!(
            "<tr data-case=\"{case}\" data-name=\"{label}\">\
             <th scope=\"row\" title=\"{case}\">{label}</th>{cells}</tr>\n"
        );
    }
    format!("<tbody>\n{rows}</tbody>\n")
}

/// The legend of all plots.
fn signs() -> String {
    let signs = [MEDIAN, RANGE, PROCESS, INTERVAL];
    let signs = signs.map(|sign| format!("<li class=\"{}\">{}</li>", sign.class, sign.meaning));
    format!(
        "<ul class=\"legend signs\">{}<li class=\"s-none\">{FACTORS}</li></ul>\n",
        signs.concat()
    )
}

/// Pictures next to each other, as many as fit.
fn figures(pictures: &[Picture]) -> String {
    if pictures.is_empty() {
        return String::new();
    }
    let figures: String = pictures.iter().map(Picture::figure).collect();
    format!("<div class=\"pictures\">\n{figures}</div>\n")
}

/// A heading as a URL fragment: its letters and digits, with a hyphen for all between two.
pub fn fragment(heading: &str) -> String {
    let mut fragment = String::new();
    let mut is_between = false;
    for letter in heading.chars().map(|letter| letter.to_ascii_lowercase()) {
        if letter.is_ascii_alphanumeric() {
            if is_between && !fragment.is_empty() {
                fragment.push('-');
            }
            fragment.push(letter);
        }
        is_between = !letter.is_ascii_alphanumeric();
    }
    fragment
}

/// Blocks of the section with this heading.
fn elements(blocks: &[Block], heading: &str) -> String {
    blocks.iter().map(|block| element(block, heading)).collect()
}

fn element(block: &Block, section: &str) -> String {
    match block {
        Block::Heading(level, heading) => format!("<h{level}>{}</h{level}>\n", escape(heading)),
        Block::Paragraph(text) => format!("<p>{}</p>\n", escape(text)),
        Block::Items(texts) => {
            let items: String =
                texts.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        Block::Table(table) => table_element(table, section),
        Block::Code(text) => {
            let lines: Vec<String> = text.lines().map(escape).collect();
            format!("<div class=\"scroll\" tabindex=\"0\"><pre>{}</pre></div>\n", lines.join("\n"))
        }
    }
}

/// A row without a name repeats the one above, since a reader may sort or filter. The caption, which names
/// the table's section, is for those who hear the page.
fn table_element(table: &Table, section: &str) -> String {
    let class = |right: bool| if right { "" } else { " class=\"left\"" };
    let heading = |(name, right): (&String, &bool)| {
        format!("<th scope=\"col\"{}>{}</th>", class(*right), escape(name))
    };
    let headings: String = table.headings.iter().zip(&table.right).map(heading).collect();
    let mut name = "";
    let mut body = String::new();
    for row in &table.rows {
        if !row[0].is_empty() {
            name = &row[0];
        }
        let case = escape(name);
        body += &format!("<tr data-case=\"{case}\"><th scope=\"row\">{case}</th>");
        for (cell, right) in row.iter().zip(&table.right).skip(1) {
            body += &format!("<td{}>{}</td>", class(*right), escape(cell));
        }
        body += "</tr>\n";
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><caption class=\"heard\">{}: {}</caption>\n\
         <thead><tr>{headings}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n",
        escape(section),
        escape(&table.headings[0])
    )
}

/// JSON that cannot end the script element around it.
fn embedded(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn the_page_of_one_group_has_the_state_of_its_run() {
        let mut report = fixtures::report();
        report.screen.clear();
        report.groups.truncate(1);
        assert!(html(&report).contains("<strong class=\"good\">QUIET</strong>"));
    }

    #[test]
    fn the_first_screen_is_a_table_below_the_answers() {
        let report = fixtures::report();
        let page = html(&report);
        let answer = &answers(&report)[0];
        let [answer, caption, first, plot] = [
            answer,
            "<caption><strong>HAND OVER</strong> one hop</caption>",
            "<th scope=\"row\" title=\"tasks\">async task</th>",
            "<svg",
        ]
        .map(|text| page.find(text).unwrap_or_else(|| panic!("{text} is not in {page}")));
        assert!(answer < caption && caption < first && first < plot);
        assert!(page.contains("<th scope=\"rowgroup\" colspan=\"4\">in memory</th>"), "{page}");
    }
}
