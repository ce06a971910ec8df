//! Elements of SVG, and the colours of kinds of tasks. Horizontal positions are shares of the
//! width, vertical ones pixels, so that a picture fills its space and its text keeps one size.

use std::ops::Range;

use harness::{TaskKind, terminal};

use super::page::{NO_BREAK_SPACE, joined, pasteable};
use crate::judge::row::Row;

/// The style of pictures, on a page and in a file.
pub const STYLE: &str = include_str!("assets/plot.css");

/// The estimated width of a character, in pixels.
pub const CHARACTER: f64 = 6.6;

/// How a kind of tasks looks in a picture.
#[derive(Clone, Copy, Debug)]
pub struct KindStyle {
    pub kind: TaskKind,
    /// The class that sets its colour.
    pub class: &'static str,
    pub name: &'static str,
    /// The name before another noun, as in "async hop".
    pub before_noun: &'static str,
}

/// The styles of all kinds, the one for tasks of no kind last.
pub const KIND_STYLES: [KindStyle; 7] = [
    KindStyle::new(TaskKind::Thread, "k-thread", "thread", "thread"),
    KindStyle::new(TaskKind::AsyncTask, "k-async", "async task", "async"),
    KindStyle::new(TaskKind::EventLoop, "k-loop", "event loop", "event loop"),
    KindStyle::new(TaskKind::Coroutine, "k-coroutine", "coroutine", "coroutine"),
    KindStyle::new(TaskKind::Goroutine, "k-goroutine", "goroutine", "goroutine"),
    KindStyle::new(TaskKind::Process, "k-process", "process", "process"),
    KindStyle::new(TaskKind::None, "k-alone", "no switch", "no switch"),
];

impl KindStyle {
    const fn new(
        kind: TaskKind,
        class: &'static str,
        name: &'static str,
        before_noun: &'static str,
    ) -> Self {
        Self { kind, class, name, before_noun }
    }
}

/// The style of a kind; without one, the style of no switch.
pub fn kind_style(kind: Option<TaskKind>) -> KindStyle {
    let [.., last] = KIND_STYLES;
    KIND_STYLES.into_iter().find(|style| Some(style.kind) == kind).unwrap_or(last)
}

/// The class that sets the colour of a row.
pub fn class_of(row: &Row) -> &'static str {
    kind_style(row.kind).class
}

/// What shows processes in a picture: the same in plots and on the poster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sign {
    /// The class that draws it in a legend.
    pub class: &'static str,
    /// What a reader sees.
    pub name: &'static str,
    /// What it shows.
    pub meaning: &'static str,
}

pub const MEDIAN: Sign = Sign { class: "s-dot", name: "dot", meaning: "median" };
pub const RANGE: Sign = Sign { class: "s-stroke", name: "stroke", meaning: "8 in 10 processes" };
pub const PROCESS: Sign = Sign { class: "s-pale", name: "pale dot", meaning: "a process" };
pub const INTERVAL: Sign =
    Sign { class: "s-cover", name: "pale stroke", meaning: "95 % interval of a ratio" };

/// The signs in words.
pub fn explained(signs: &[Sign]) -> String {
    let words = signs.iter().map(|sign| format!("{}: {}", sign.name, sign.meaning));
    words.collect::<Vec<_>>().join(", ")
}

/// How to read factors.
pub const FACTORS: &str = "× is relative to the row marked 1";

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// What it shows, in a few words.
    pub title: String,
    /// The units on its axis, such as `ns to ms`.
    pub unit: String,
    /// The signs in it.
    pub signs: Vec<Sign>,
    /// What else a reader must know; may be empty.
    pub description: String,
    /// Coloured classes, each with its meaning.
    pub legend: Vec<(&'static str, String)>,
    /// The height in pixels.
    pub height: f64,
    /// The elements of SVG.
    pub body: String,
}

impl Picture {
    /// The title with the unit on its axis; ratios have none.
    fn title_with_unit(&self) -> String {
        if self.unit == "×" {
            return self.title.clone();
        }
        format!("{}, in {}", self.title, self.unit)
    }

    /// The picture as an HTML figure; the page has a legend of all signs.
    pub fn figure(&self) -> String {
        let sign = |(class, words): &(&str, String)| {
            format!("<li class=\"{class}\">{}</li>", escape(words))
        };
        let signs: String = self.legend.iter().map(sign).collect();
        let caption = match self.description.as_str() {
            "" => String::new(),
            description => format!("<figcaption>{}</figcaption>\n", escape(description)),
        };
        let title = escape(&self.title_with_unit());
        format!(
            "<figure>{caption}<svg class=\"plot\" role=\"img\" aria-label=\"{title}\" \
             width=\"100%\" height=\"{}\"><title>{title}</title>{}</svg>\n\
             <ul class=\"legend\">{signs}</ul></figure>\n",
            number(self.height),
            self.body
        )
    }

    /// The picture as a file with its legend: so narrow that a small screen does not scale it.
    pub fn file(&self) -> String {
        const WIDTH: f64 = 400.0;
        let mut body = self.body.clone();
        let mut height = self.height + 8.0;
        let signs = explained(&self.signs);
        if !signs.is_empty() {
            height += 16.0;
            body += &text(0.0, height, START, "axis", &signs);
        }
        for (class, words) in &self.legend {
            height += 16.0;
            let words = text(0.0, height, START, "label", &cut(words, WIDTH));
            body += &group("", class, &words);
        }
        let inner = Size { width: WIDTH - 8.0, height: height + 4.0 };
        let body = placed(&body, 4.0, 4.0, inner);
        let description = joined([&signs, &self.description]);
        let size = Size { width: WIDTH, height: height + 12.0 };
        file(&self.title_with_unit(), &description, size, &body)
    }
}

/// A picture's size in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub width: f64,
    pub height: f64,
}

/// Elements within another picture, at this place in pixels and of this size.
pub fn placed(body: &str, x: f64, y: f64, size: Size) -> String {
    let [x, y, width, height] = [x, y, size.width, size.height].map(number);
    format!("<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\">{body}</svg>\n")
}

/// A file of this size with these elements.
pub fn file(title: &str, description: &str, size: Size, body: &str) -> String {
    let [title, description] = [title, description].map(escape);
    let [width, height] = [size.width, size.height].map(number);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" class=\"plot\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title><desc>{description}</desc><style>\n{STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n"
    )
}

/// The part of a text that is at its position, as an attribute.
pub const START: &str = "";
pub const MIDDLE: &str = " text-anchor=\"middle\"";
pub const END: &str = " text-anchor=\"end\"";

/// Escapes text for SVG and HTML, attributes included.
pub fn escape(text: &str) -> String {
    let text = terminal::line(&pasteable(text)).replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// A number with at most one decimal.
fn number(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    // Adding 0 turns a rounded -0 into 0.
    format!("{}", (value * 10.0).round() / 10.0 + 0.0)
}

/// A share of the width, 0 to 1, in percent.
fn across(share: f64) -> String {
    let share = if share.is_finite() { share } else { 0.0 };
    format!("{}%", (share * 1e4).round() / 100.0 + 0.0)
}

pub fn text(share: f64, y: f64, anchor: &str, class: &str, text: &str) -> String {
    let x = across(share);
    let y = number(y);
    let text = escape(text);
    format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>")
}

/// The baseline of a plot's title, and the distance between lines below it, in pixels.
pub const TITLE: f64 = 14.0;
pub const LINE: f64 = 17.0;

/// The lines above a plot's marks.
pub struct Heads {
    pub elements: String,
    /// The baseline of the last line, in pixels.
    pub baseline: f64,
}

impl Heads {
    /// A plot's title, what it shows, and its axis.
    pub fn new(title: &str, what: &str, axis: &str) -> Self {
        let mut elements = text(0.0, TITLE, START, "head", title);
        let mut baseline = TITLE;
        for words in [what, axis].into_iter().filter(|words| !words.is_empty()) {
            baseline += LINE;
            elements += &text(0.0, baseline, START, "axis", words);
        }
        Self { elements, baseline }
    }
}

pub fn line(from: (f64, f64), to: (f64, f64), class: &str) -> String {
    let [x1, x2] = [from.0, to.0].map(across);
    let [y1, y2] = [from.1, to.1].map(number);
    format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>")
}

/// A rectangle between two shares of the width, from `y` down.
pub fn rectangle(span: Range<f64>, y: f64, height: f64, class: &str, title: &str) -> String {
    let [x, width] = [span.start, (span.end - span.start).max(0.0)].map(across);
    let [y, height] = [y, height].map(number);
    let title = titled(title);
    format!(
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\">{title}</rect>"
    )
}

/// A disc.
pub fn disc(at: (f64, f64), radius: f64, class: &str, title: &str) -> String {
    let x = across(at.0);
    let [y, radius] = [at.1, radius].map(number);
    let title = titled(title);
    format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\">{title}</circle>")
}

/// Elements of a case with this name; the page finds them by both. Their tooltip is its command line.
pub fn of_case(row: &Row, class: &str, elements: &str) -> String {
    let [case, name] = [&row.case, &row.label].map(|text| escape(text));
    let title = titled(&row.case);
    format!("<g class=\"{class}\" data-case=\"{case}\" data-name=\"{name}\">{title}{elements}</g>")
}

/// Elements of a row.
pub fn group(case: &str, class: &str, elements: &str) -> String {
    format!("<g class=\"{class}\" data-case=\"{}\">{elements}</g>", escape(case))
}

/// An element's tooltip; empty without words.
fn titled(words: &str) -> String {
    match words {
        "" => String::new(),
        words => format!("<title>{}</title>", escape(words).replace(NO_BREAK_SPACE, " ")),
    }
}

/// As much of a text as fits into `pixels`.
pub fn cut(text: &str, pixels: f64) -> String {
    let most = (pixels / CHARACTER) as usize;
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
            unit: hostile.to_owned(),
            signs: vec![MEDIAN, INTERVAL],
            description: hostile.to_owned(),
            legend: vec![("k", hostile.to_owned())],
            height: f64::NAN,
            body: text(0.5, f64::INFINITY, END, "n", hostile)
                + &group(hostile, "k", &disc((0.1, 2.0), 3.0, "k", hostile)),
        };
        let placed = placed(&picture.body, 1.0, 1.0, Size { width: f64::NAN, height: 2.0 });
        let size = Size { width: 9.0, height: 9.0 };
        for svg in [picture.figure(), file(hostile, hostile, size, &placed)] {
            assert!(!svg.contains("<script") && !svg.contains(['\u{1b}', '\u{202e}']), "{svg}");
            assert!(svg.matches("&lt;script&gt;").count() >= 5, "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
