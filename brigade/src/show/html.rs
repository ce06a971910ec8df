//! A report as one HTML page: the blocks of the text with plots, and the report as JSON. It loads
//! nothing, works without its script, and its policy allows no other script.

use harness::terminal;
use serde::Serialize;

use super::group::question;
use super::machine::machine_and_day;
use super::names::Names;
use super::page::{Block, Table};
use super::picture::TITLE;
use super::plot;
use super::report::{answered, below, made, tables};
use super::screen::answers;
use super::svg::{Picture, STYLE, escape};
use super::verdict::{Verdict, verdict};
use crate::judge::report::{Group, Report};

const PAGE_STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// The SHA-256 of `page.js`: the page's policy allows only that script.
const SCRIPT_HASH: &str = "sha256-45uh0wlMI2MsTv73raQ8kzZf7Uak3gyamKyqZ6JGV5w=";

/// The page of a report.
pub fn html(report: &Report) -> String {
    let run = &report.run;
    let (title_of_page, head) = match (&report.screen[..], &report.groups[..]) {
        ([], [group]) => (question(group).to_owned(), state(report)),
        _ => (TITLE.to_owned(), first_screen(report)),
    };
    let mut rest = below(report);
    rest.push(Block::Heading(2, "How to repeat it".to_owned()));
    rest.extend(made(run));
    let rest = rest.chunk_by(|_, next| !matches!(next, Block::Heading(2, _)));
    let of_rest = |section: &[Block]| {
        let [Block::Heading(_, heading), blocks @ ..] = section else { return None };
        Some((slug(heading), heading.clone(), elements(blocks)))
    };
    let of_groups = report.groups.iter().map(|group| of_group(report, group));
    let (mut contents, mut main) = (String::new(), String::new());
    for (id, heading, body) in of_groups.chain(rest.filter_map(of_rest)) {
        let [id, heading] = [id, heading].map(|text| escape(&text));
        contents += &format!("<li><a href=\"#{id}\">{heading}</a></li>\n");
        // The heading may repeat the page's title.
        let hidden = if heading == escape(&title_of_page) { " hidden" } else { "" };
        main += &format!(
            "<section>\n<h2 id=\"{id}\"{hidden}><a href=\"#{id}\">{heading}</a></h2>\n{body}\
             </section>\n"
        );
    }
    let [title, heading] = [&run.name, &title_of_page].map(|text| escape(text));
    let title = if title == heading { title } else { format!("{heading} {title}") };
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; base-uri 'none'; \
         form-action 'none'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{heading}</h1>\n{head}</header>\n<main>\n\
         <nav aria-label=\"Contents\">\n<ul>\n{contents}</ul></nav>\n\
         <p class=\"tools\" hidden><label>Show cases with \
         <input type=\"search\" id=\"filter\" placeholder=\"part of a name\"></label></p>\n\
         {main}</main>\n\
         <footer><p><code>brigade report</code> shows the records of a run; Brigade's \
         <code>docs/</code> explain terms and method.</p></footer>\n\
         <script type=\"application/json\" id=\"report\">{}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        embedded(report)
    );
    terminal::text(&page)
}

/// A group's place on the page, its question, and what answers it.
fn of_group(report: &Report, group: &Group) -> (String, String, String) {
    let name = if group.name.is_empty() { "other" } else { &group.name };
    let names = Names::of(report, group);
    let body = format!(
        "{}{}<details>\n<summary>Tables</summary>\n{}</details>\n",
        elements(&answered(group)),
        figures(&plot::group(group, &names)),
        elements(&tables(group, Some(&names)))
    );
    (format!("group-{name}"), question(group).to_owned(), body)
}

/// The machine and the verdict on the run.
fn state(report: &Report) -> String {
    let Verdict { word, is_good, text } = verdict(&report.run);
    let class = if is_good { "good" } else { "bad" };
    let [machine, text] = [&machine_and_day(&report.run), &text].map(|text| escape(text));
    format!(
        "<p class=\"machine\">{machine}</p>\n\
         <p class=\"machine\"><strong class=\"{class}\">{word}</strong>: {text}</p>\n"
    )
}

/// The machine, the verdict, the pictures and the answers.
fn first_screen(report: &Report) -> String {
    let answers = element(&Block::Items(answers(report)));
    state(report) + &figures(&plot::screen(&report.screen)) + &answers
}

/// Pictures next to each other, as many as fit.
fn figures(pictures: &[Picture]) -> String {
    let figures: String = pictures.iter().map(Picture::figure).collect();
    format!("<div class=\"pictures\">\n{figures}</div>\n")
}

/// A heading as a URL fragment: its letters and digits, with a hyphen for all between two.
pub fn slug(heading: &str) -> String {
    let mut slug = String::new();
    let mut is_between = false;
    for letter in heading.chars().map(|letter| letter.to_ascii_lowercase()) {
        if letter.is_ascii_alphanumeric() {
            if is_between && !slug.is_empty() {
                slug.push('-');
            }
            slug.push(letter);
        }
        is_between = !letter.is_ascii_alphanumeric();
    }
    slug
}

fn elements(blocks: &[Block]) -> String {
    blocks.iter().map(element).collect()
}

fn element(block: &Block) -> String {
    match block {
        Block::Heading(level, heading) => format!("<h{level}>{}</h{level}>\n", escape(heading)),
        Block::Paragraph(text) => format!("<p>{}</p>\n", escape(text)),
        Block::Items(texts) => {
            let items: String =
                texts.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        Block::Table(table) => table_of(table),
        Block::Code(text) => {
            let lines: Vec<String> = text.lines().map(escape).collect();
            format!("<div class=\"scroll\" tabindex=\"0\"><pre>{}</pre></div>\n", lines.join("\n"))
        }
    }
}

/// A row without a name repeats the one above, since a reader may sort or filter.
fn table_of(table: &Table) -> String {
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
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>{headings}</tr></thead>\n\
         <tbody>\n{body}</tbody></table></div>\n"
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
}
