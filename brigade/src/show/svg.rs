//! Elements of SVG. Horizontal positions are shares of the width, vertical ones pixels, so that a
//! picture fills its space and its text keeps one size.

use harness::terminal;

use super::page::NO_BREAK_SPACE;

/// The style of pictures, on a page and in a file.
pub const STYLE: &str = include_str!("assets/plot.css");

/// The estimated width of a character, in pixels.
const CHARACTER: f64 = 6.6;

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// What it shows, in a few words.
    pub title: String,
    /// How to read it, in a sentence or two.
    pub description: String,
    /// Coloured classes, each with its meaning.
    pub legend: Vec<(String, String)>,
    /// Its height in pixels.
    pub height: f64,
    /// Its elements.
    pub body: String,
}

impl Picture {
    /// The picture as an HTML figure.
    pub fn figure(&self) -> String {
        let sign = |(class, words): &(String, String)| {
            format!("<li class=\"{class}\">{}</li>", escape(words))
        };
        let signs: String = self.legend.iter().map(sign).collect();
        let legend = match &*signs {
            "" => signs,
            signs => format!(" <ul class=\"legend\">{signs}</ul>"),
        };
        format!(
            "<figure><figcaption>{}{legend}</figcaption>\n<svg class=\"plot\" role=\"img\" \
             aria-label=\"{}\" width=\"100%\" height=\"{}\">{}</svg>\n</figure>\n",
            escape(&self.description),
            escape(&self.title),
            number(self.height),
            self.body
        )
    }
}

/// The picture as a file of this size in pixels, with margins and `around` drawn around it.
pub fn file(of: &Picture, [width, height]: [f64; 2], [x, y]: [f64; 2], around: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" \
         viewBox=\"0 0 {0} {1}\" class=\"plot\" role=\"img\" aria-label=\"{2}\">\n\
         <title>{2}</title><desc>{3}</desc><style>\n{STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{around}\
         <svg x=\"{4}\" y=\"{5}\" width=\"{6}\" height=\"{7}\">{8}</svg>\n</svg>\n",
        number(width),
        number(height),
        escape(&of.title),
        escape(&of.description),
        number(x),
        number(y),
        number(width - 2.0 * x),
        number(of.height),
        of.body,
    )
}

/// The part of a text at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Escapes text for SVG and HTML, attributes included.
pub fn escape(text: &str) -> String {
    let text = terminal::line(text).replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// A number with at most one decimal.
pub fn number(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    // Adding 0 turns a rounded -0 into 0.
    format!("{}", (value * 10.0).round() / 10.0 + 0.0)
}

/// A share of the width, 0 to 1, in percent.
fn across(share: f64) -> String {
    let share = if share.is_finite() { share } else { 0.0 };
    format!("{}%", (share * 1e4).round() / 100.0 + 0.0)
}

pub fn text(share: f64, y: f64, anchor: Anchor, class: &str, text: &str) -> String {
    noted(share, y, anchor, class, [text, ""])
}

/// Text some pixels to the right of a share of the width.
pub fn shifted(at: (f64, f64), y: f64, anchor: Anchor, class: &str, words: &str) -> String {
    let (share, pixels) = at;
    let moved = format!("<text dx=\"{}\" ", number(pixels));
    text(share, y, anchor, class, words).replacen("<text ", &moved, 1)
}

/// Text and a note after it; a narrow page omits the note.
pub fn noted(share: f64, y: f64, anchor: Anchor, class: &str, [text, note]: [&str; 2]) -> String {
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let note = match note {
        "" => String::new(),
        note => format!("<tspan class=\"note\" dx=\"8\">{}</tspan>", escape(note)),
    };
    let (x, y, text) = (across(share), number(y), escape(text));
    format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{text}{note}</text>")
}

/// Text at the left edge; a narrow page shows what fits into `pixels`.
pub fn shortened(y: f64, class: &str, words: &str, pixels: f64) -> String {
    let head = cut(words, pixels);
    let plain = text(0.0, y, Anchor::Start, class, words);
    if head == words {
        return plain;
    }
    let head = head.trim_end_matches('…');
    let rest = escape(&words[head.len()..]);
    let rest = format!("{}<tspan class=\"note name\">{rest}</tspan></text>", escape(head));
    let start = plain.find('>').map_or(0, |at| at + 1);
    format!("{}{rest}", &plain[..start])
}

pub fn line(from: (f64, f64), to: (f64, f64), class: &str) -> String {
    let [x1, x2] = [from.0, to.0].map(across);
    let [y1, y2] = [from.1, to.1].map(number);
    format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>")
}

/// A rectangle between two shares of the width, from `y` down.
pub fn rectangle([from, to]: [f64; 2], y: f64, height: f64, class: &str, title: &str) -> String {
    format!(
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>",
        across(from),
        number(y),
        across((to - from).max(0.0)),
        number(height),
        titled(title)
    )
}

/// A disc.
pub fn disc(at: (f64, f64), radius: f64, class: &str, title: &str) -> String {
    let (x, y, radius) = (across(at.0), number(at.1), number(radius));
    let title = titled(title);
    format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\">{title}</circle>")
}

/// Elements of one case; the page finds them by its name.
pub fn group(case: &str, class: &str, elements: &str) -> String {
    format!("<g class=\"{class}\" data-case=\"{}\">{elements}</g>", escape(case))
}

/// An element's tooltip; empty without words.
fn titled(words: &str) -> String {
    if words.is_empty() {
        return String::new();
    }
    format!("<title>{}</title>", escape(words).replace(NO_BREAK_SPACE, " "))
}

/// As much of a text as fits into `pixels`.
pub fn cut(text: &str, pixels: f64) -> String {
    clipped(text, (pixels / CHARACTER) as usize)
}

/// A text of at most this many characters, the last of which tells that it goes on.
pub fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_escaped() {
        let hostile = "\"><script>alert('x')</script>&\u{1b}[31m\u{202e}";
        let picture = Picture {
            title: hostile.to_owned(),
            description: hostile.to_owned(),
            legend: vec![("k".to_owned(), hostile.to_owned())],
            height: f64::NAN,
            body: text(0.5, f64::INFINITY, Anchor::End, "n", hostile)
                + &group(hostile, "k", &disc((0.1, 2.0), 3.0, "k", hostile)),
        };
        for svg in [picture.figure(), file(&picture, [9.0; 2], [1.0; 2], "")] {
            assert!(!svg.contains("<script") && !svg.contains(['\u{1b}', '\u{202e}']), "{svg}");
            assert!(svg.matches("&lt;script&gt;").count() >= 5, "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
