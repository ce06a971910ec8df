//! Parts of a page as elements of HTML. What a name or a message holds is text
//! there, whatever it looks like.

use super::super::page::{Block, Table};
use super::super::svg::{Picture, escape};

/// Blocks one after the other.
pub fn blocks(page: &[Block]) -> String {
    page.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        // Sections have the first two.
        Block::Heading(_, heading) => format!("<h3>{}</h3>\n", escape(heading)),
        Block::Paragraph(text) => paragraph(text),
        Block::Items(texts) => items(texts),
        Block::Table(of) => rows(of, "wraps"),
        Block::Bars(bars) => code(&bars.text(80, super::super::bars::Characters::Eighths)),
        Block::Code(text) => code(text),
    }
}

/// A paragraph.
pub fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// A list.
pub fn items(texts: &[String]) -> String {
    let items: String = texts.iter().map(|of| format!("<li>{}</li>\n", escape(of))).collect();
    if items.is_empty() { items } else { format!("<ul>\n{items}</ul>\n") }
}

/// Lines as they are.
pub fn code(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(escape).collect();
    format!("<div class=\"scroll\" tabindex=\"0\"><pre>{}</pre></div>\n", lines.join("\n"))
}

/// A table that can be sorted. A row without a name has that of the row above, so
/// that it keeps it.
pub fn table(table: &Table) -> String {
    rows(table, "sorts")
}

/// A table of this class.
fn rows(table: &Table, class: &str) -> String {
    // Most cells are figures, so those of words are marked.
    let side = |right: bool| if right { "" } else { " class=\"left\"" };
    let heading = |(name, right): (&str, bool)| {
        format!("<th scope=\"col\"{}>{}</th>", side(right), escape(name))
    };
    let right: Vec<bool> = table.columns().map(|(_, right)| right).collect();
    let headings: String = table.columns().map(heading).collect();
    let mut name = "";
    let mut body = String::new();
    for cells in table.rows() {
        if let Some(first) = cells.first().filter(|first| !first.is_empty()) {
            name = first;
        }
        body += &format!("<tr><th scope=\"row\">{}</th>", escape(name));
        for (cell, right) in cells.iter().zip(&right).skip(1) {
            body += &format!("<td{}>{}</td>", side(*right), escape(cell));
        }
        body += "</tr>\n";
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"{class}\"><thead><tr>{headings}</tr></thead>\n\
         <tbody>\n{body}</tbody></table></div>\n"
    )
}

/// What a colour or a shape stands for.
pub struct Sign {
    /// The class that has the colour; none for a shape.
    pub class: String,
    /// The words.
    pub words: String,
}

/// A picture with what is to be known to read it.
pub fn figure(id: &str, caption: &str, signs: &[Sign], picture: &Picture) -> String {
    let sign = |Sign { class, words }: &Sign| {
        let class = if class.is_empty() { "shape" } else { class };
        format!("<li class=\"{class}\">{}</li>", escape(words))
    };
    let signs: String = signs.iter().map(sign).collect();
    let legend = match signs.is_empty() {
        true => signs,
        false => format!(" <ul class=\"legend\">{signs}</ul>"),
    };
    format!(
        "<figure><figcaption>{}{legend}</figcaption>\n{}\n</figure>\n",
        escape(caption),
        picture.element(id)
    )
}
