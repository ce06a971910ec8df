//! Where the time of an operation goes: a bar for each case, whose parts are CPU
//! time in user space, CPU time in the kernel, and waiting by what it was for.

use super::super::quantity::{duration, percent};
use super::super::svg::{Anchor, Picture, cut, group as element, line, rectangle, spans};
use super::label;
use crate::judge::report::model::{Attribution, Group, Report, WaitingFor};

const LABEL: f64 = 17.0;
const BAR: f64 = 13.0;
const GAP: f64 = 9.0;
/// The room for a name, in pixels.
const NAME: f64 = 270.0;

/// The parts, by the class that has their colour.
pub const PARTS: [(&str, &str); 7] = [
    ("p-user", "user space"),
    ("p-kernel", "kernel"),
    ("p-idle", "asleep"),
    ("p-way", "waking"),
    ("p-runnable", "queued"),
    ("p-stolen", "stolen"),
    ("p-waiting", "other waiting"),
];

/// The picture; `None` where no record has the CPU time.
pub fn picture(report: &Report, group: &Group) -> Option<Picture> {
    let mut body = String::new();
    let mut y = 0.0;
    for case in &group.cases {
        for (run, estimate) in case.estimates.iter().enumerate() {
            let parts = estimate.as_ref().and_then(|of| of.attribution.as_ref());
            let Some(parts) = parts else { continue };
            let name = label(report, run) + &case.name;
            let Some(bar) = bar(&name, parts, y) else { continue };
            body += &element(&case.name, "row", &bar);
            y += LABEL + BAR + GAP;
        }
    }
    (!body.is_empty()).then(|| Picture {
        title: "Where the time goes".to_owned(),
        description: "A bar for each case: the shares of CPU time in user space, CPU time in the \
                      kernel, and waiting by what it was for. A line marks the elapsed time where \
                      threads ran at the same time."
            .to_owned(),
        height: y,
        body,
    })
}

/// The times of the [`PARTS`], in nanoseconds.
fn values(parts: &Attribution) -> [f64; 7] {
    let [idle, way, runnable, stolen, other] = match &parts.waiting_for {
        Some(WaitingFor { idle_ns, way_ns, runnable_ns, stolen_ns, rest_ns }) => {
            [idle_ns, way_ns, runnable_ns, stolen_ns, rest_ns].map(|of| of.value)
        }
        None => [0.0, 0.0, 0.0, 0.0, parts.waiting_ns.value],
    };
    let [user, kernel] = [&parts.user_ns, &parts.kernel_ns].map(|of| of.value);
    [user, kernel, idle, way, runnable, stolen, other].map(|ns| ns.max(0.0))
}

fn bar(name: &str, parts: &Attribution, y: f64) -> Option<String> {
    let values = values(parts);
    let whole: f64 = values.iter().sum();
    if !(whole > 0.0 && whole.is_finite()) {
        return None;
    }
    let figure = duration(parts.elapsed_ns.value);
    let shares: Vec<String> = PARTS
        .iter()
        .zip(values)
        .filter(|(_, ns)| *ns / whole >= 0.005)
        .map(|((_, what), ns)| format!("{what} {}", percent(ns / whole)))
        .collect();
    let baseline = y + LABEL - 4.0;
    let mut elements = spans(0.0, baseline, Anchor::Start, &[("name", &cut(name, NAME))]);
    let said = [("more", &*shares.join(", ")), ("figure", &figure)];
    elements += &spans(1.0, baseline, Anchor::End, &said);
    let top = y + LABEL;
    let mut from = 0.0;
    for ((class, what), ns) in PARTS.into_iter().zip(values) {
        let share = ns / whole;
        let title = format!("{what}: {}, {}", duration(ns), percent(share));
        if share > 0.0 {
            elements += &rectangle(from, from + share, top, BAR, class, &title);
        }
        from += share;
    }
    let elapsed = parts.elapsed_ns.value / whole;
    if parts.overlap_ns.value > 0.0 && elapsed < 0.99 {
        elements += &line((elapsed, top - 3.0), (elapsed, top + BAR + 3.0), "elapsed");
    }
    Some(elements)
}
