//! The rows of a report other than cases: main figures, comparisons and kinds of tasks.

use serde_json::Value;

use super::estimate::shown;
use super::model::{
    Case, CaseEstimate, FigureRow, Group, MeasurementEstimate, ScreenBlock, ScreenPart, ScreenRow,
    Sentence,
};
use super::{Cases, RunData};
use crate::judge::interference::Sampled;
use crate::judge::ledger::Quantity;
use crate::judge::repeat::moved_since;
use crate::judge::statistics::{CONFIDENCE, Dependence, Estimate, correlation};
use crate::manifest::{FigureSpec, Manifest, ScreenSpec, SentenceSpec};

/// Parameters in which two compared cases should agree; otherwise the row names
/// the difference.
const CONDITIONS: [&str; 4] = ["placement", "tasks", "work", "working_set"];

/// The parts of the first screen, as far as the first run measured them.
pub fn screen(manifest: &Manifest, cases: &Cases) -> Vec<ScreenPart> {
    let row = |(of, ratio): (&FigureSpec, FigureSpec)| {
        let (case, ..) = cases.find(&of.case, 0)?;
        Some(ScreenRow {
            text: of.text.clone().unwrap_or_else(|| case.title.clone()),
            case: case.name.clone(),
            kind: case.kind,
            figure: figure(of, cases, 0)?,
            ratio: figure(&ratio, cases, 0),
        })
    };
    let part = |of: &ScreenSpec| {
        let blocks = of.blocks.iter().map(|block| ScreenBlock {
            name: block.name.clone(),
            rows: block.ratios().filter_map(row).collect(),
        });
        let blocks: Vec<ScreenBlock> = blocks.filter(|block| !block.rows.is_empty()).collect();
        let rows = of.blocks.iter().flat_map(|block| &block.rows);
        let memory = rows.clone().any(|row| is_memory(row, cases, 0));
        let unit = if memory { Quantity::Bytes } else { Quantity::Nanoseconds };
        let ScreenSpec { heading, of, .. } = of.clone();
        (!blocks.is_empty()).then_some(ScreenPart { heading, of, unit, blocks })
    };
    manifest.screen.iter().filter_map(part).collect()
}

/// Sentences whose ratio differs from what a reader would guess: fixed ones first, then the
/// farthest from the guess, measured from the nearer end of the interval.
pub fn sentences(manifest: &Manifest, cases: &Cases) -> Vec<Sentence> {
    let sentence = |of: &SentenceSpec| {
        let ratio = figure(&of.ratio(), cases, 0)?;
        let ends = ratio.interval?;
        let surprise = (ends.low / of.guess).max(of.guess / ends.high).ln();
        let rank = if of.first { f64::INFINITY } else { surprise };
        (surprise > 0.0).then(|| (rank, Sentence { text: of.text.clone(), ratio }))
    };
    let mut found: Vec<(f64, Sentence)> = manifest.sentences.iter().filter_map(sentence).collect();
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found.into_iter().map(|(_, sentence)| sentence).collect()
}

/// Figures that changed since the run before.
pub fn moved(run: &RunData) -> Vec<FigureRow> {
    let before = run.previous.as_ref().map_or(&[][..], |previous| &previous.invocations);
    let row = |(case, ratio)| FigureRow {
        text: None,
        case: shown(case),
        other: Some(shown(&run.since)),
        unit: Quantity::Ratio,
        figures: vec![Some(ratio)],
        unlike: Vec::new(),
    };
    let alike: Vec<_> = run.alike.iter().map(|run| &run.invocations[..]).collect();
    moved_since(before, &run.saved.invocations, &alike).into_iter().map(row).collect()
}

/// A group's comparisons.
pub fn comparisons(manifest: &Manifest, group: &Group, cases: &Cases) -> Vec<FigureRow> {
    let stated = manifest.groups.iter().filter(|of| of.name == group.name);
    let stated = stated.flat_map(|of| &of.comparisons).cloned();
    stated.filter_map(|of| figure_row(&of, cases)).collect()
}

/// The row, if a run has a figure for it.
fn figure_row(of: &FigureSpec, cases: &Cases) -> Option<FigureRow> {
    let runs = 0..cases.runs;
    let figures: Vec<_> = runs.clone().map(|run| figure(of, cases, run)).collect();
    let with_both = runs.zip(&figures).find(|(_, figure)| figure.is_some())?.0;
    let (case, _, sample) = cases.find(&of.case, with_both)?;
    let other = of.other().and_then(|other| cases.find(other, with_both));
    Some(FigureRow {
        text: of.text.clone(),
        case: match &of.measurement {
            Some(measurement) => format!("{}, {}", case.name, shown(measurement)),
            None => case.name.clone(),
        },
        other: other.map(|(other, ..)| other.name.clone()),
        unit: if of.over.is_some() {
            Quantity::Ratio
        } else if is_memory(of, cases, with_both) {
            Quantity::Bytes
        } else {
            Quantity::Nanoseconds
        },
        unlike: other.map_or(Vec::new(), |(other, _, other_sample)| {
            unlike([(case, sample), (other, other_sample)])
        }),
        figures,
    })
}

fn is_memory(of: &FigureSpec, cases: &Cases, run: usize) -> bool {
    let found = cases.find(&of.case, run);
    of.measurement.is_none() && found.is_some_and(|(_, estimate, _)| estimate.held().is_some())
}

fn figure(of: &FigureSpec, cases: &Cases, run: usize) -> Option<Estimate> {
    let (_, estimate, _) = cases.find(&of.case, run)?;
    if is_memory(of, cases, run) {
        let held = estimate.held()?;
        let Some(other) = of.other() else { return Some(held) };
        return held.over(cases.find(other, run)?.1.held()?, 0.0, CONFIDENCE);
    }
    let measured = |estimate: &CaseEstimate, measurement: Option<&str>| {
        let whole = measurement.is_none();
        let whole = whole.then(|| created_and_ended(estimate, &cases.dependence[run])).flatten();
        whole.or_else(|| estimate.measurement(measurement).cloned())
    };
    let measurement = measured(estimate, of.measurement.as_deref())?;
    let Some(other) = of.other() else { return Some(measurement.time_ns) };
    let (_, other, _) = cases.find(other, run)?;
    let less = measured(other, None)?;
    let correlation = correlation(&estimate.by_round(&measurement), &other.by_round(&less));
    let (time, less) = (measurement.time_ns, less.time_ns);
    if of.over.is_some() {
        time.over(less, correlation, CONFIDENCE)
    } else {
        Some(time.minus(less, correlation, CONFIDENCE))
    }
}

/// Conditions that differ between two cases. Two programs over channels must also use the same
/// channel.
fn unlike(cases: [(&Case, &[Sampled]); 2]) -> Vec<String> {
    let value = |(case, sample): (&Case, &[Sampled]), name: &str| -> Option<Value> {
        let tasks = || Some(sample.first()?.record.tasks.into());
        let given = case.key.parameters.get(name).cloned();
        given.or_else(|| if name == "tasks" { tasks() } else { None })
    };
    let [first, second] = cases.map(|(case, _)| &case.key.program);
    let channels = cases.map(|of| value(of, "channel"));
    let channel = (first != second && channels.iter().all(Option::is_some)).then_some("channel");
    let differing = CONDITIONS.into_iter().chain(channel).filter_map(|name| {
        // As text, since some programs record numbers as text.
        let [first, second] = cases.map(|of| match value(of, name) {
            None => "none".to_owned(),
            Some(Value::String(text)) => shown(&text),
            Some(other) => shown(&other.to_string()),
        });
        let prefix = if name == "placement" { String::new() } else { format!("{name} ") };
        (first != second).then(|| format!("{prefix}{first} / {second}"))
    });
    differing.collect()
}

/// Time to create a task, run it and wait for its end, if the end is measured separately in the
/// same laps: the sum of both in each process.
pub fn created_and_ended(
    estimate: &CaseEstimate,
    dependence: &Dependence,
) -> Option<MeasurementEstimate> {
    let create = estimate.measurement(None)?;
    let join = estimate.measurement(Some("join"))?;
    let phases = create.values_ns.iter().zip(&join.values_ns);
    let values_ns = phases.map(|(create, join)| Some((*create)? + (*join)?)).collect();
    let both = MeasurementEstimate { values_ns, ..create.clone() };
    let times: Vec<f64> = estimate.by_round(&both).into_values().collect();
    let time_ns = Estimate::lower_quartile(&times)?;
    let time_ns = time_ns.widened(dependence.inflation(&estimate.series(&both)));
    Some(MeasurementEstimate { time_ns, ..both })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::estimate::estimate;
    use super::*;
    use crate::store::fixtures::{self as sample, Sample};
    use crate::store::invocation::RecordedCase;

    /// The lower quartiles of the phases, 5.5 and 1, would add up to 6.5.
    #[test]
    fn creation_is_the_sum_of_its_phases_in_each_process() {
        let process = |(round, create, join)| {
            let created = Sample::hop(create).in_round("make", round);
            sample::and_measurement(created, "join", "join", join)
        };
        let all = [(1, 3.0, 9.0), (2, 9.0, 1.0), (3, 8.0, 1.0)].map(process);
        let both = estimate(&all.iter().collect::<Vec<_>>());
        let time = created_and_ended(&both, &Dependence::of(&[])).unwrap().time_ns;
        assert_eq!((time.value, time.count), (9.5, 3));
        let alone = estimate(&[&Sample::hop(3.0).in_round("make", 1)]);
        assert_eq!(created_and_ended(&alone, &Dependence::of(&[])), None);
    }

    #[test]
    fn conditions_that_differ_are_named() {
        let case = |(program, parameters): (&str, Value)| {
            let parameters = serde_json::from_value(parameters).unwrap();
            let key = RecordedCase { program: program.to_owned(), parameters };
            Case {
                key,
                name: String::new(),
                title: String::new(),
                kind: None,
                estimates: Vec::new(),
            }
        };
        for (first, second, expected) in [
            (
                ("threads", json!({ "placement": "same-cpu", "tasks": 500, "channel": "pipe" })),
                ("async", json!({ "placement": "free", "tasks": 2, "runtime": "x", "work": 5 })),
                &["same-cpu / free", "tasks 500 / 2", "work none / 5"][..],
            ),
            (
                ("threads", json!({ "channel": "pipe" })),
                ("async", json!({ "channel": "socketpair" })),
                &["channel pipe / socketpair"],
            ),
            (("switch", json!({ "via": "pipe" })), ("switch", json!({ "via": "futex" })), &[]),
            (("ring", json!({ "channel": "a" })), ("ring", json!({ "channel": "b" })), &[]),
            (("java", json!({ "tasks": "8" })), ("lock", json!({ "tasks": 8 })), &[]),
        ] {
            let [first, second] = [first, second].map(case);
            assert_eq!(unlike([(&first, &[]), (&second, &[])]), expected);
        }
    }
}
