//! Pictures in SVG: as wide as their place, with text of one size. What lies
//! across is a share of the width, and what lies down is in pixels, so that a
//! picture is legible on a telephone and on a wide screen.

use harness::terminal;

use super::page::NO_BREAK_SPACE;

/// How pictures look on a page, and where they stand alone.
pub const STYLE: &str = include_str!("plot/plot.css");

/// The estimated width of a character of the text, in pixels.
const CHARACTER: f64 = 6.6;

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// What it shows, in a few words.
    pub title: String,
    /// What is to be seen on it, in a sentence or two, for those who do not see it.
    pub description: String,
    /// Its height in pixels.
    pub height: f64,
    /// Its elements.
    pub body: String,
}

impl Picture {
    /// The picture as an element of a page; `id` is its own there.
    pub fn element(&self, id: &str) -> String {
        let id = &escape(id);
        let height = number(self.height);
        format!(
            "<svg class=\"plot\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" width=\"100%\" \
             height=\"{height}\">{}</svg>",
            self.inner(id)
        )
    }

    /// The picture as a file of this width.
    pub fn file(&self, width: f64) -> String {
        let margin = 16.0;
        let outer = (number(width), number(self.height + 2.0 * margin));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" \
             viewBox=\"0 0 {0} {1}\" role=\"img\" aria-labelledby=\"f-t f-d\">\n\
             <style>\n{STYLE}</style>\n\
             <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n\
             <svg class=\"plot\" x=\"{2}\" y=\"{2}\" width=\"{3}\" height=\"{4}\">{5}</svg>\n</svg>\n",
            outer.0,
            outer.1,
            number(margin),
            number(width - 2.0 * margin),
            number(self.height),
            self.inner("f"),
        )
    }

    fn inner(&self, id: &str) -> String {
        format!(
            "<title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{}",
            escape(&self.title),
            escape(&self.description),
            self.body
        )
    }
}

/// To which side of its place a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Behind it.
    Start,
    /// About it.
    Middle,
    /// Before it.
    End,
}

/// Text that stays text in SVG and HTML, in an attribute too.
pub fn escape(text: &str) -> String {
    let text = terminal::line(text);
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A number as an attribute has it, with one decimal at the most.
pub fn number(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.1}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A share of the width, 0 to 1, to a tenth of a percent.
pub fn across(share: f64) -> String {
    match number((share * 1000.0).round() / 10.0).as_str() {
        "0" => "0".to_owned(),
        number => format!("{number}%"),
    }
}

/// An attribute, left out where it has the value that it has without.
fn attribute(name: &str, value: &str) -> String {
    if value == "0" { String::new() } else { format!(" {name}=\"{value}\"") }
}

/// A text at a share of the width.
pub fn text(share: f64, y: f64, anchor: Anchor, class: &str, text: &str) -> String {
    spans(share, y, anchor, &[(class, text)])
}

/// Parts of a line of text, each of a class of its own. A gap between two belongs to the
/// one that says `more`, since a narrow page leaves that out.
pub fn spans(share: f64, y: f64, anchor: Anchor, parts: &[(&str, &str)]) -> String {
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let part = |(index, (class, text)): (usize, &(&str, &str))| {
        let gap = [NO_BREAK_SPACE; 2].iter().collect::<String>();
        let text = match (*class, index) {
            ("more", 0) => format!("{text}{gap}"),
            ("more", _) => format!("{gap}{text}"),
            _ => (*text).to_owned(),
        };
        format!("<tspan class=\"{class}\">{}</tspan>", escape(&text))
    };
    let parts: Vec<&(&str, &str)> = parts.iter().filter(|(_, text)| !text.is_empty()).collect();
    let (class, content) = match parts[..] {
        [(class, text)] => (format!(" class=\"{class}\""), escape(text)),
        _ => (String::new(), parts.iter().copied().enumerate().map(part).collect()),
    };
    let x = attribute("x", &across(share));
    format!("<text{class}{x} y=\"{}\"{anchor}>{content}</text>", number(y))
}

/// A line between two places.
pub fn line(from: (f64, f64), to: (f64, f64), class: &str) -> String {
    let ends = [
        attribute("x1", &across(from.0)),
        attribute("y1", &number(from.1)),
        attribute("x2", &across(to.0)),
        attribute("y2", &number(to.1)),
    ];
    format!("<line class=\"{class}\"{}/>", ends.concat())
}

/// A rectangle from one share of the width to another.
pub fn rectangle(from: f64, to: f64, y: f64, height: f64, class: &str, title: &str) -> String {
    format!(
        "<rect class=\"{class}\"{}{} width=\"{}\" height=\"{}\"{}",
        attribute("x", &across(from)),
        attribute("y", &number(y)),
        across((to - from).max(0.0)),
        number(height),
        ended(title, "rect"),
    )
}

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A diamond.
    Diamond,
}

impl Shape {
    /// The character that stands for it in a text.
    pub fn character(self) -> &'static str {
        match self {
            Self::Disc => "●",
            Self::Square => "■",
            Self::Diamond => "◆",
        }
    }
}

/// A mark of this radius at a place.
pub fn mark(at: (f64, f64), radius: f64, shape: Shape, class: &str, title: &str) -> String {
    let (x, y, r) = (across(at.0), number(at.1), number(radius));
    let path = match shape {
        Shape::Disc => {
            let end = ended(title, "circle");
            return format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"{end}");
        }
        Shape::Square => format!("M-{r} -{r}H{r}V{r}H-{r}Z"),
        Shape::Diamond => {
            let r = number(radius * 1.3);
            format!("M0 -{r}L{r} 0L0 {r}L-{r} 0Z")
        }
    };
    let end = ended(title, "path");
    format!(
        "<svg class=\"over\" x=\"{x}\" y=\"{y}\"><path class=\"{class}\" d=\"{path}\"{end}</svg>"
    )
}

/// A small disc in a [`cloud`] of them.
pub fn dot(at: (f64, f64), title: &str) -> String {
    format!("<path d=\"{}\"{}", point(at), ended(title, "path"))
}

/// The outlines of dots at these places, which make rings of them.
pub fn outlines(places: &[(f64, f64)]) -> String {
    let d: String = places.iter().map(|at| point(*at)).collect();
    format!("<path class=\"outline\" d=\"{d}\"/>")
}

/// A stroke without length, in thousandths of the width and in pixels.
fn point(at: (f64, f64)) -> String {
    format!("M{} {}h0", number((at.0 * 1000.0).round()), number(at.1.round()))
}

/// Many dots of one look, in so many pixels from so many down. A dot is a stroke without
/// length: of all that has a title and a place it takes the fewest characters.
pub fn cloud(class: &str, [top, height]: [f64; 2], dots: &str) -> String {
    let (top, height) = (attribute("y", &number(top)), number(height));
    format!(
        "<svg class=\"dots {class}\"{top} height=\"{height}\" viewBox=\"0 0 1000 {height}\" \
         preserveAspectRatio=\"none\">{dots}</svg>"
    )
}

/// A cell of [`cells`], at so many columns and rows.
pub fn cell([x, y]: [usize; 2], class: &str, title: &str) -> String {
    let places = [attribute("x", &x.to_string()), attribute("y", &y.to_string())];
    format!("<rect class=\"{class}\"{}{}", places.concat(), ended(title, "rect"))
}

/// Cells in so many rows and columns, from a share of the width on and of so much of it.
pub fn cells([from, width]: [f64; 2], height: f64, count: usize, cells: &str) -> String {
    format!(
        "<svg class=\"cells\"{} width=\"{}\" height=\"{}\" viewBox=\"0 0 {count} {count}\" \
         preserveAspectRatio=\"none\">{cells}</svg>",
        attribute("x", &across(from)),
        across(width),
        number(height)
    )
}

/// Elements about one thing, with its name, by which the page finds them.
pub fn group(name: &str, class: &str, elements: &str) -> String {
    format!("<g class=\"{class}\" data-case=\"{}\">{elements}</g>", escape(name))
}

/// The end of an element of this name, with the title that a pointer over it shows.
fn ended(title: &str, element: &str) -> String {
    match title {
        "" => "/>".to_owned(),
        // No line breaks there, and a plain space is shorter.
        title => {
            format!("><title>{}</title></{element}>", escape(title).replace(NO_BREAK_SPACE, " "))
        }
    }
}

/// As much of a text as has room in so many pixels.
pub fn cut(text: &str, pixels: f64) -> String {
    let most = (pixels / CHARACTER) as usize;
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_brief_and_always_numbers() {
        let pairs =
            [(1.0, "1"), (0.126, "0.1"), (-0.001, "0"), (f64::NAN, "0"), (f64::INFINITY, "0")];
        for (value, expected) in pairs {
            assert_eq!(number(value), expected, "{value}");
        }
    }

    #[test]
    fn what_is_written_is_text() {
        let hostile = "\"><script>alert('x')</script>&\u{1b}[31m\u{202e}";
        let picture = Picture {
            title: hostile.to_owned(),
            description: hostile.to_owned(),
            height: 10.0,
            body: text(0.5, 1.0, Anchor::End, "n", hostile)
                + &group(hostile, "k", &mark((0.1, 2.0), 3.0, Shape::Disc, "k", hostile)),
        };
        for svg in [picture.element(hostile), picture.file(100.0)] {
            assert!(!svg.contains("<script") && !svg.contains(['\u{1b}', '\u{202e}']), "{svg}");
            assert!(svg.matches("&lt;script&gt;").count() >= 5, "{svg}");
        }
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(cut("abc", 20.0), "abc");
        assert_eq!(cut("abcdef", 20.0), "ab…");
    }
}
