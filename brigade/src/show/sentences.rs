//! What a reader must know about a run besides its figures, in words.

use super::quantity::{duration, percent};
use crate::judge::report::model::{Note, Progress, Quality, Run, TwoModes, WideCase};

/// A note in words.
pub fn note(note: &Note) -> String {
    match note {
        Note::TooFewRounds { needed } => {
            format!("[–]: too few rounds for an interval, {needed} are needed.")
        }
        Note::FewestRounds { count } => {
            format!("n = {count}: the interval is the whole range, which is one of 93.75 %.")
        }
        Note::Missing { case, failed, timed_out, refused, started, first_error } => {
            let counts = [(failed, "failed"), (timed_out, "timed out"), (refused, "refused")];
            let error = first_error
                .as_ref()
                .map_or(String::new(), |error| format!("; first: {}", error.trim_end_matches('.')));
            format!("{case}: {}, of {started} started{error}.", counted(&counts))
        }
        Note::Disturbed { case, measured, disturbed, unusable, unusable_are_used, worst } => {
            let fate = match unusable_are_used {
                true => "unusable but estimated from, for lack of better ones",
                false => "unusable and not estimated from",
            };
            let counts = counted(&[(disturbed, "disturbed"), (unusable, fate)]);
            let worst = worst.join(", ");
            format!("{case}: of {measured} processes {counts}; worst: {worst}.")
        }
        Note::TwoModes { case, measurement, modes: TwoModes { modes, crossing_shares } } => {
            let [fast, slow] =
                [modes.fast, modes.slow].map(|mode| (duration(mode.median), percent(mode.share)));
            let crossing = crossing_shares.map_or(String::new(), |[fast, slow]| {
                format!("; crossing share {fast:.2} and {slow:.2}")
            });
            format!(
                "{}: two modes: {} in {} of processes, {} in {}{crossing}.",
                row(case, measurement.as_deref()),
                fast.0,
                fast.1,
                slow.0,
                slow.1,
            )
        }
        Note::Outlier { case, measurement, value_ns, count } => format!(
            "{}: one of {count} processes took {}, far from the others: too few rounds to tell \
             whether that is a second mode; the interval is the whole range.",
            row(case, measurement.as_deref()),
            duration(*value_ns),
        ),
    }
}

fn counted(counts: &[(&usize, &str)]) -> String {
    let some = counts.iter().filter(|(count, _)| **count > 0);
    some.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

fn row(case: &str, measurement: Option<&str>) -> String {
    match measurement {
        Some(measurement) => format!("{case}, {measurement}"),
        None => case.to_owned(),
    }
}

/// The quality of a run in a line.
pub fn quality(quality: &Quality) -> String {
    let Quality { target_percent, cases, within_target, .. } = quality;
    let mut parts = vec![format!("{within_target} of {cases} cases within ± {target_percent} %")];
    parts.extend(
        quality.median_half_width_percent.map(|percent| format!("median ± {percent:.1} %")),
    );
    parts.extend(quality.steal_seconds.map(|seconds| format!("{seconds:.1} s of steal")));
    parts.extend(match quality.disturbed {
        0 => None,
        1 => Some("1 process disturbed".to_owned()),
        count => Some(format!("{count} processes disturbed")),
    });
    let remedy = quality.remedy.as_ref().map(|flags| format!("; for the rest: {flags}"));
    parts.join(", ") + &remedy.unwrap_or_default()
}

/// The cases that are less precise than was aimed at, if some are.
pub fn wide(quality: &Quality) -> Option<String> {
    let named = quality.wide.iter().map(|WideCase { case, half_width_percent, count }| {
        match half_width_percent {
            Some(percent) => format!("{case} ± {percent:.1} % (n = {count})"),
            None => format!("{case} (n = {count})"),
        }
    });
    let named: Vec<String> = named.map(|of| of.replace(' ', "\u{a0}")).collect();
    let target = quality.target_percent;
    (!named.is_empty()).then(|| format!("not within ± {target} %: {}.", named.join(", ")))
}

/// How far a run came, and what to repeat it with.
pub fn extent(run: &Run) -> String {
    let progress = &run.progress;
    let Progress { planned, remaining, .. } = *progress;
    let count = match remaining {
        0 if progress.adaptive || progress.side.is_some() => progress.ended.to_string(),
        remaining => format!("{} of {planned}", planned.saturating_sub(remaining)),
    };
    let interrupted = match progress.interrupted {
        0 => String::new(),
        count => format!(" ({count} interrupted)"),
    };
    let what = match &progress.side {
        Some(side) => format!("{side} of a comparison, profile {}", run.profile),
        None => {
            let more = if progress.adaptive { "+" } else { "" };
            format!("profile {}, {}{more} rounds", run.profile, progress.rounds)
        }
    };
    format!("{count} invocations{interrupted}, {what}, seed {}", run.seed)
}
