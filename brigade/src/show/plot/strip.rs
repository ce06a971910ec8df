//! Every process of a case in the order in which they ended: drift, modes and
//! disturbed processes are seen at a glance.

use super::super::quantity::duration;
use super::super::scale::Scale;
use super::super::svg::{
    Anchor, Picture, cloud, cut, dot, group as element, line, outlines, rectangle, spans,
};
use super::{class_of, class_of_run, extent, label};
use crate::judge::report::model::{Case, CaseEstimate, Fate, Group, MeasurementEstimate, Report};

pub(super) const LABEL: f64 = 17.0;
const STRIP: f64 = 34.0;
pub(super) const GAP: f64 = 10.0;
/// The room for a name, in pixels.
const NAME: f64 = 220.0;
/// How far the first mark is from the edge, as a share of the width.
const EDGE: f64 = 0.012;

/// The picture; `None` where nothing was measured.
pub fn picture(report: &Report, group: &Group) -> Option<Picture> {
    let mut body = String::new();
    let mut y = 0.0;
    for case in &group.cases {
        for (run, estimate) in case.estimates.iter().enumerate() {
            let Some(estimate) = estimate else { continue };
            let Some(measurement) = estimate.measurement(None) else { continue };
            let class = match report.runs.len() {
                1 => class_of(case.kind).to_owned(),
                _ => class_of_run(run),
            };
            let name = label(report, run) + &case.name;
            if let Some(strip) = strip(&name, &class, estimate, measurement, y) {
                body += &element(&case.name, "row", &strip);
                y += LABEL + STRIP + GAP;
            }
        }
    }
    (!body.is_empty()).then(|| Picture {
        title: "Every process in order".to_owned(),
        description: "A strip for each case: a mark for each process in the order in which they \
                      ended, its height the time on an axis of the strip's own; a line at the \
                      estimate and a band for its interval."
            .to_owned(),
        height: y,
        body,
    })
}

fn strip(
    name: &str,
    class: &str,
    estimate: &CaseEstimate,
    measurement: &MeasurementEstimate,
    y: f64,
) -> Option<String> {
    let values: Vec<f64> = measurement.values_ns.iter().flatten().copied().collect();
    let scale = Scale::of(values.iter().copied().chain(extent(&measurement.time_ns)))?;
    let top = y + LABEL;
    let down = |ns: f64| top + 3.0 + (1.0 - scale.share(ns)) * (STRIP - 6.0);
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    let span = format!("{} to {}", duration(least), duration(most));
    let mut elements = frame(name, &span, top, STRIP);
    if let Some(ends) = measurement.time_ns.interval {
        let [high, low] = [down(ends.high), down(ends.low)];
        elements += &band(high, low);
    }
    let middle = down(measurement.time_ns.value);
    elements += &line((0.0, middle), (1.0, middle), "middle");
    Some(elements + &marks(class, estimate, measurement, top, &|ns| down(ns) - top))
}

/// A strip of this height with its name and what it spans above.
pub(super) fn frame(name: &str, span: &str, top: f64, height: f64) -> String {
    spans(0.0, top - 4.0, Anchor::Start, &[("name", &cut(name, NAME))])
        + &spans(1.0, top - 4.0, Anchor::End, &[("figure", span)])
        + &rectangle(0.0, 1.0, top, height, "strip", "")
}

/// A band across a strip, which is seen however narrow it is.
pub(super) fn band(high: f64, low: f64) -> String {
    rectangle(0.0, 1.0, high, (low - high).max(1.0), "band", "")
}

/// How far from the left one of so many marks is, as a share of the width.
pub(super) fn across(index: usize, count: usize) -> f64 {
    let last = count.saturating_sub(1).max(1) as f64;
    EDGE + index as f64 / last * (1.0 - 2.0 * EDGE)
}

/// A dot for each process, a ring where it was disturbed, a square where it is not used.
fn marks(
    class: &str,
    estimate: &CaseEstimate,
    measurement: &MeasurementEstimate,
    top: f64,
    down: &dyn Fn(f64) -> f64,
) -> String {
    const LOOKS: [&str; 3] = ["", "rings ", "rings squares "];
    let mut marks = LOOKS.map(|look| (look, Vec::new(), String::new()));
    let pairs = estimate.invocations.iter().zip(&measurement.values_ns);
    for (index, (invocation, value)) in pairs.enumerate() {
        let x = across(index, estimate.invocations.len());
        let (round, fate) = (invocation.round, invocation.fate.as_str());
        let (look, title) = match (value, invocation.fate, invocation.is_used) {
            (Some(ns), Fate::Clean, true) => (0, format!("{round}: {}", duration(*ns))),
            (Some(ns), _, true) => (1, format!("{round}: {}", duration(*ns))),
            (Some(ns), ..) => (2, format!("{round}: {}, {fate}", duration(*ns))),
            (None, ..) => (2, format!("{round}: {fate}")),
        };
        let at = (x, value.map_or(STRIP - 5.0, down));
        let (_, places, dots) = &mut marks[look];
        places.push(at);
        *dots += &dot(at, &title);
    }
    let cloud_of = |(look, places, dots): (&str, Vec<(f64, f64)>, String)| {
        let outlines = if look.is_empty() { String::new() } else { outlines(&places) };
        cloud(&format!("{look}{class}"), [top, STRIP], &(outlines + &dots))
    };
    let found = marks.into_iter().filter(|(_, places, _)| !places.is_empty());
    found.map(cloud_of).collect()
}

/// A row for each strip, for those who do not see it: what the table says.
pub fn spread(case: &Case, run: usize) -> Option<[String; 5]> {
    let estimate = case.estimates.get(run)?.as_ref()?;
    let measurement = estimate.measurement(None)?;
    let values: Vec<f64> = measurement.values_ns.iter().flatten().copied().collect();
    let bad = estimate.count(Fate::Disturbed) + estimate.count(Fate::Unusable);
    let missing = estimate.invocations.len() - values.len();
    Some([
        estimate.invocations.len().to_string(),
        duration(values.iter().copied().reduce(f64::min)?),
        duration(values.iter().copied().reduce(f64::max)?),
        bad.to_string(),
        missing.to_string(),
    ])
}
