//! A row for each thing over one axis: its name, its figures, and a mark with its
//! interval for each figure.

use super::super::scale::Scale;
use super::super::svg::{Anchor, Shape, cut, group, line, mark, number, rectangle, spans, text};

/// Where the first row begins, in pixels.
const TOP: f64 = 24.0;
/// The height of a row's line of text.
const LABEL: f64 = 17.0;
/// The height of the track of a mark.
const LANE: f64 = 12.0;
/// The room between two rows.
const GAP: f64 = 8.0;
/// The room for a name, in pixels: on a narrow page the rest is for a figure.
const NAME: f64 = 300.0;

/// A mark of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Its place on the axis.
    pub value: f64,
    /// The ends of its interval.
    pub interval: Option<[f64; 2]>,
    /// What it looks like.
    pub shape: Shape,
    /// Its colour.
    pub class: String,
    /// The figure.
    pub figure: String,
    /// The interval in words.
    pub ends: String,
    /// What it is of, where a row has several.
    pub of: String,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name, by which the page finds it.
    pub name: String,
    /// What more is to be said of it.
    pub note: String,
    /// Its marks, one below the other.
    pub marks: Vec<Mark>,
}

/// Rows over an axis.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The rows.
    pub rows: &'a [Row],
    /// The axis.
    pub scale: &'a Scale,
    /// A label of the axis.
    pub label: fn(f64) -> String,
    /// What does not matter: values between these.
    pub band: Option<[f64; 2]>,
    /// Whether lines lead from the beginning of the axis to the marks.
    pub leads: bool,
}

impl Rows<'_> {
    /// The elements of the picture, and its height.
    pub fn draw(&self) -> (String, f64) {
        let heights = self.rows.iter().map(|row| LABEL + LANE * row.marks.len() as f64 + GAP);
        let bottom = TOP + heights.sum::<f64>();
        let mut body = String::new();
        if let Some([low, high]) = self.band {
            let [low, high] = [low, high].map(|end| self.scale.share(end));
            body += &rectangle(low, high, TOP, bottom - TOP, "band", "");
        }
        body += &axis(self.scale, self.label, [TOP, bottom]);
        let mut y = TOP;
        for row in self.rows {
            body += &self.row(row, y);
            y += LABEL + LANE * row.marks.len() as f64 + GAP;
        }
        (body, bottom + 18.0)
    }

    fn row(&self, row: &Row, y: f64) -> String {
        let baseline = y + LABEL - 3.0;
        let name = cut(&row.name, NAME);
        let mut elements =
            spans(0.0, baseline, Anchor::Start, &[("name", &name), ("more", &row.note)]);
        let class = match &row.marks[..] {
            [first, others @ ..] if others.iter().all(|of| of.class == first.class) => {
                &*first.class
            }
            _ => "",
        };
        elements += &match &row.marks[..] {
            [only] => {
                let parts = [("figure", &*only.figure), ("more", &only.ends)];
                spans(1.0, baseline, Anchor::End, &parts)
            }
            several => {
                let each = |mark: &Mark| format!("{} {}", mark.shape.character(), mark.figure);
                let figures: Vec<String> = several.iter().map(each).collect();
                spans(1.0, baseline, Anchor::End, &[("figures", &figures.join("   "))])
            }
        };
        for (lane, of) in row.marks.iter().enumerate() {
            let y = y + LABEL + LANE * (lane as f64 + 0.5);
            let at = self.scale.share(of.value);
            let look = |what: &str| match class {
                "" => format!("{what} {}", of.class),
                _ => what.to_owned(),
            };
            elements += &line((0.0, y), (1.0, y), "track");
            if self.leads {
                elements += &line((0.0, y), (at, y), &look("lead"));
            }
            if let Some(ends) = of.interval {
                let [low, high] = ends.map(|end| self.scale.share(end));
                elements += &line((low, y), (high, y), &look("ends"));
            }
            let title = [&*of.of, &*of.figure, &*of.ends].join(" ");
            elements += &mark((at, y), 4.5, of.shape, &look("mark"), title.trim());
        }
        group(&row.name, format!("row {class}").trim_end(), &elements)
    }
}

/// The lines of an axis across a picture, with their labels above and below.
pub fn axis(scale: &Scale, label: fn(f64) -> String, [top, bottom]: [f64; 2]) -> String {
    let lines = scale.ticks().iter().map(|tick| {
        let at = scale.share(*tick);
        let anchor = match at {
            0.0..0.04 => Anchor::Start,
            0.04..0.96 => Anchor::Middle,
            _ => Anchor::End,
        };
        let label = label(*tick);
        line((at, top), (at, bottom), "grid")
            + &text(at, top - 8.0, anchor, "axis", &label)
            + &text(at, bottom + 14.0, anchor, "axis", &label)
    });
    lines.collect()
}

/// A picture within a picture, whose places across are shares of what is left of
/// the width beside a column of names at the right.
pub fn beside_names(height: f64, elements: &str, names: &str) -> String {
    format!(
        "<svg class=\"area\" width=\"52%\" height=\"{0}\">{elements}</svg>\
         <svg class=\"names\" x=\"53%\" height=\"{0}\">{names}</svg>",
        number(height)
    )
}

/// A path whose places are hundredths of width and pixels of height.
pub fn path(points: &[(f64, f64)], class: &str, height: f64, is_closed: bool) -> String {
    let point = |(index, (share, y)): (usize, &(f64, f64))| {
        format!("{}{} {}", if index == 0 { "M" } else { "L" }, number(share * 100.0), number(*y))
    };
    let d: String = points.iter().enumerate().map(point).collect();
    let end = if is_closed { "Z" } else { "" };
    format!(
        "<svg viewBox=\"0 0 100 {0}\" preserveAspectRatio=\"none\" width=\"100%\" height=\"{0}\">\
         <path class=\"{class}\" d=\"{d}{end}\"/></svg>",
        number(height)
    )
}

/// Places down for labels that want to be at these, so that no two are closer than
/// `room` and all lie between the ends, as far as there is room.
pub fn apart(wanted: &[f64], room: f64, [top, bottom]: [f64; 2]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    let mut least = top;
    for &index in &order {
        places[index] = places[index].max(least);
        least = places[index] + room;
    }
    let mut most = bottom;
    for &index in order.iter().rev() {
        places[index] = places[index].min(most);
        most = places[index] - room;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_apart() {
        assert_eq!(apart(&[10.0, 11.0, 50.0], 12.0, [0.0, 100.0]), [10.0, 22.0, 50.0]);
        assert_eq!(apart(&[99.0, 98.0], 12.0, [0.0, 100.0]), [100.0, 88.0]);
        assert!(apart(&[], 12.0, [0.0, 100.0]).is_empty());
    }
}
