//! What a reader of a run's figures has to know: what is missing, what has no
//! interval, what one figure cannot describe.

use crate::judge::statistics::MIN_SAMPLE;

use super::model::{Case, CaseEstimate, Fate, MeasurementEstimate, Note};

/// A note for everything in the run of this index that needs one.
pub fn notes<'a>(cases: impl Iterator<Item = &'a Case>, run: usize) -> Vec<Note> {
    let estimates: Vec<(&str, &CaseEstimate)> = cases
        .filter_map(|case| Some((case.name.as_str(), case.estimates[run].as_ref()?)))
        .collect();
    let has_count = |is: fn(usize) -> bool| {
        let mut all = estimates.iter().flat_map(|(_, case)| &case.measurements);
        all.any(|measurement| is(measurement.time_ns.count))
    };
    let mut notes = Vec::new();
    if has_count(|count| count < MIN_SAMPLE) {
        notes.push(Note::TooFewRounds { needed: MIN_SAMPLE });
    }
    if has_count(|count| count == MIN_SAMPLE) {
        notes.push(Note::FewestRounds { count: MIN_SAMPLE });
    }
    let each = |note: fn(&str, &CaseEstimate) -> Option<Note>| {
        estimates.iter().filter_map(move |(name, case)| note(name, case))
    };
    notes.extend(each(missing));
    notes.extend(each(disturbed));
    for (name, case) in &estimates {
        let of_case = case.measurements.iter().enumerate();
        notes.extend(of_case.flat_map(|(index, measurement)| {
            let called = (index > 0).then(|| measurement.name.clone());
            [two_modes(name, called.clone(), measurement), outlier(name, called, measurement)]
                .into_iter()
                .flatten()
        }));
    }
    notes
}

/// How many invocations of a case did not measure, by what came of them.
fn missing(name: &str, case: &CaseEstimate) -> Option<Note> {
    let [failed, timed_out, refused] =
        [Fate::Failed, Fate::TimedOut, Fate::Refused].map(|fate| case.count(fate));
    (failed + timed_out + refused > 0).then(|| Note::Missing {
        case: name.to_owned(),
        failed,
        timed_out,
        refused,
        started: case.invocations.len() - case.count(Fate::Interrupted),
        first_error: case.first_error.clone(),
    })
}

/// How many invocations of a case were disturbed, and how much that matters.
fn disturbed(name: &str, case: &CaseEstimate) -> Option<Note> {
    let [clean, disturbed, unusable] =
        [Fate::Clean, Fate::Disturbed, Fate::Unusable].map(|fate| case.count(fate));
    let is_used_unusable = |summary: &super::model::InvocationSummary| {
        summary.is_used && summary.fate == Fate::Unusable
    };
    (disturbed + unusable > 0).then(|| Note::Disturbed {
        case: name.to_owned(),
        measured: clean + disturbed + unusable,
        disturbed,
        unusable,
        unusable_are_used: case.invocations.iter().any(is_used_unusable),
        worst: case.worst_disturbance.clone(),
    })
}

fn two_modes(
    name: &str,
    called: Option<String>,
    measurement: &MeasurementEstimate,
) -> Option<Note> {
    let modes = measurement.modes?;
    Some(Note::TwoModes { case: name.to_owned(), measurement: called, modes })
}

fn outlier(name: &str, called: Option<String>, measurement: &MeasurementEstimate) -> Option<Note> {
    Some(Note::Outlier {
        case: name.to_owned(),
        measurement: called,
        value_ns: measurement.outlier_ns?,
        count: measurement.time_ns.count,
    })
}
