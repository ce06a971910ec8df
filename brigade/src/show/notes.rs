//! Notes on a run: what a reader must know in addition to its figures.

use super::page::{NO_BREAK_SPACE, named};
use super::quantity::{duration, percent, small_share, three_digits};
use crate::judge::repeat::{Repeat, Spread, State};
use crate::judge::report::model::{
    Case, CaseEstimate, JudgedOutcome, MeasurementEstimate, Quality, Report, RunProgress,
    RunSummary, by_reason,
};
use crate::judge::statistics::FEWEST_TIMES;
use crate::judge::taken::{NOTABLE, Taken, UNFIT};

/// A change of the machine's speed within a run is reported from this share on.
const LARGE_CHANGE: f64 = 0.1;

/// Notes on the run with this index: cases that are imprecise, had too few rounds for an interval,
/// failed or were disturbed, and figures that one value cannot describe.
pub fn notes(report: &Report, run: usize) -> Vec<String> {
    let summary = &report.runs[run];
    let cases = report.groups.iter().flat_map(|group| &group.cases);
    let cases: Vec<(&Case, &CaseEstimate)> =
        cases.filter_map(|case| Some((case, case.estimates[run].as_ref()?))).collect();
    let mut notes: Vec<String> = wide(&summary.quality, &cases).into_iter().collect();
    let cases: Vec<(String, &CaseEstimate)> =
        cases.into_iter().map(|(case, of)| (named(&case.title, &case.name), of)).collect();
    let measurements = || cases.iter().flat_map(|(_, case)| &case.measurements);
    if measurements().any(|of| of.time_ns.count < FEWEST_TIMES) {
        notes.push(format!("[–]: too few rounds for an interval, {FEWEST_TIMES} are needed."));
    }
    for (name, case) in &cases {
        notes.extend(missing(case).into_iter().map(|note| format!("{name}: {note}.")));
        notes.extend(disturbed(case).into_iter().map(|note| format!("{name}: {note}.")));
        notes.extend(taken(case).into_iter().map(|note| format!("{name}: {note}.")));
    }
    for (name, case) in &cases {
        for (index, measurement) in case.measurements.iter().enumerate() {
            let row =
                if index == 0 { name.clone() } else { format!("{name}, {}", measurement.name) };
            notes.extend(spread(measurement).map(|note| format!("{row}: {note}.")));
        }
    }
    let skipped = by_reason(&summary.skipped).into_iter();
    notes.extend(skipped.map(|(reason, cases)| format!("{cases}: skipped: {reason}")));
    notes
}

/// The cases that missed the precision target.
fn wide(quality: &Quality, cases: &[(&Case, &CaseEstimate)]) -> Option<String> {
    let is_wide = |(case, _): &&(&Case, &CaseEstimate)| quality.wide.contains(&case.name);
    let wide = cases.iter().filter(is_wide).filter_map(|(case, estimate)| {
        let time = estimate.principal()?;
        let width = time.half_width();
        let width = width.map_or(String::new(), |share| format!(" ± {:.1} %", share * 100.0));
        let figure = format!("{width} (n = {})", time.count);
        let figure = figure.replace(' ', &NO_BREAK_SPACE.to_string());
        Some(named(&case.title, &case.name) + &figure)
    });
    let wide: Vec<String> = wide.collect();
    let target = quality.target_percent;
    (!wide.is_empty()).then(|| format!("wider than ± {target} %: {}.", wide.join("; ")))
}

fn missing(case: &CaseEstimate) -> Option<String> {
    use JudgedOutcome::{Failed, Interrupted, Refused, TimedOut};
    let counts =
        counted(case, &[(Failed, "failed"), (TimedOut, "timed out"), (Refused, "refused")])?;
    let started = case.invocations.len() - case.count(Interrupted);
    let error = case.first_error.as_ref();
    let error = error.map_or(String::new(), |of| format!("; first: {}", of.trim_end_matches('.')));
    Some(format!("{counts}, of {started} started{error}"))
}

fn disturbed(case: &CaseEstimate) -> Option<String> {
    use JudgedOutcome::{Clean, Disturbed, Unusable};
    let unusable =
        if case.uses_unusable() { "unusable, used anyway" } else { "unusable, not used" };
    let counts = counted(case, &[(Disturbed, "disturbed"), (Unusable, unusable)])?;
    let measured: usize = [Clean, Disturbed, Unusable].iter().map(|of| case.count(*of)).sum();
    let worst = case.worst_disturbance.join(", ");
    Some(format!("of {measured} processes {counts}; worst: {worst}"))
}

/// How many invocations had each of these outcomes; `None` if none had.
fn counted(case: &CaseEstimate, outcomes: &[(JudgedOutcome, &str)]) -> Option<String> {
    let counts = outcomes.iter().map(|(outcome, words)| (case.count(*outcome), words));
    let some = counts.filter(|(count, _)| *count > 0);
    let texts: Vec<String> = some.map(|(count, words)| format!("{count} {words}")).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Two modes, or one outlier.
fn spread(of: &MeasurementEstimate) -> impl Iterator<Item = String> {
    let modes = of.modes.map(|modes| {
        let mode = |median, share| format!("{} in {}", duration(median), percent(share));
        let (fast, slow) = (modes.fast, modes.slow);
        format!(
            "two modes: {} of processes, {}",
            mode(fast.median, fast.share),
            mode(slow.median, slow.share)
        )
    });
    let outlier = of.outlier_ns.map(|ns| {
        format!(
            "one of {} processes took {}, far from the others: more rounds would show whether that \
             is a second mode; the interval is the whole range",
            of.time_ns.count,
            duration(ns)
        )
    });
    modes.into_iter().chain(outlier)
}

/// What kept tasks from running, briefly.
fn causes(taken: &Taken) -> Vec<String> {
    let Taken { others, stolen, throttled, throttled_periods, stopped, unexplained, .. } = *taken;
    let shares = [
        (others.filter(|share| *share > taken.resolution), "others took"),
        (stolen, "the hypervisor took"),
        (Some(stopped), "signals stopped it for"),
        (Some(unexplained), "unexplained:"),
    ];
    let shares = shares.into_iter().filter_map(|(share, words)| Some((share?, words)));
    let shares = shares.filter(|(share, _)| *share > NOTABLE / 4.0);
    let quota = throttled_periods.filter(|[used_up, _]| *used_up > 0).map(|[used_up, periods]| {
        let share = percent(throttled);
        format!("the CPU quota throttled it in {used_up} of {periods} periods, {share}")
    });
    shares.map(|(share, words)| format!("{words} {}", percent(share))).chain(quota).collect()
}

/// What kept a case's tasks from running, as shares of the CPU time available to it.
fn taken(case: &CaseEstimate) -> Option<String> {
    let taken = case.taken.filter(Taken::is_notable)?;
    Some(format!("of its CPU time {}", causes(&taken).join(", ")))
}

/// The verdict on a run, in words: whether its figures can be quoted.
fn verdict(taken: Option<Taken>) -> String {
    let Some(taken) = taken else {
        return "No record of what else used the CPUs".to_owned();
    };
    let causes = causes(&taken).join(", ");
    match taken.share() {
        share if share > UNFIT => {
            format!("Do not quote these figures: of the CPU time {causes}")
        }
        share if share > NOTABLE => format!("Busy: of the CPU time {causes}"),
        _ if taken.others.is_none() => "No record of what else used the CPUs".to_owned(),
        _ if taken.resolution > NOTABLE => {
            format!(
                "Quiet, as far as ticks show: they miss others that use less than {}",
                percent(taken.resolution)
            )
        }
        _ => "Quiet".to_owned(),
    }
}

/// Whether the figures of a run can be quoted, and why. The text begins with the verdict in
/// capitals and a colon.
pub fn verdict_in_words(run: &RunSummary) -> (bool, String) {
    let good = match run.quality.median_half_width_percent {
        Some(percent) => {
            format!(" Half of the figures are good to ±{percent:.0}{NO_BREAK_SPACE}%.")
        }
        None if run.quality.cases == 0 => String::new(),
        None => " Few of the figures have an interval.".to_owned(),
    };
    let others = run.repeat.map_or(String::new(), |repeat| {
        format!(" Runs of this build differ by {}.", apart(repeat.spread))
    });
    let Some(taken) = run.quality.taken else {
        return (
            false,
            format!("UNKNOWN: the run did not record what else used the CPUs.{good}{others}"),
        );
    };
    let causes = causes(&taken).join(", ");
    let (is_good, verdict) = match taken.share() {
        share if share > NOTABLE => {
            let worst = [
                (taken.stolen.unwrap_or(0.0), "STOLEN"),
                (taken.throttled, "THROTTLED"),
                (taken.stopped, "STOPPED"),
                (taken.others.unwrap_or(0.0), "BUSY"),
                (taken.unexplained, "DISTURBED"),
            ];
            let worst = worst.into_iter().max_by(|one, other| one.0.total_cmp(&other.0));
            let advice =
                if share > UNFIT { "do not quote these figures" } else { "quote with care" };
            let word = worst.map_or("DISTURBED", |(_, word)| word);
            (false, format!("{word}: {advice}. Of the CPU time {causes}."))
        }
        share => {
            let had = small_share(share);
            let words = match taken.others {
                None => "the run did not record the use by others.".to_owned(),
                Some(_) => format!("others used {had} of the CPU time."),
            };
            (taken.others.is_some(), format!("QUIET ENOUGH: {words}"))
        }
    };
    (is_good, format!("{verdict}{good}{others}"))
}

/// Whether a run can be quoted, its precision and its disturbances, in one line.
pub fn quality(quality: &Quality) -> String {
    let mut parts = Vec::new();
    parts.push(match quality.median_half_width_percent {
        Some(percent) => format!(
            "Half of this run's times are within ± {percent:.1} % (median of {})",
            quality.cases
        ),
        None => format!("Few of this run's {} times have an interval", quality.cases),
    });
    let independent = quality.processes.zip(quality.independent_processes);
    parts.extend(independent.map(|(processes, independent)| {
        format!("{processes:.0} processes per case, worth {independent:.0} independent ones")
    }));
    parts.extend(quality.steal_seconds.map(|seconds| format!("{seconds:.1} s of steal")));
    parts.extend(match quality.disturbed {
        0 => None,
        1 => Some("1 process disturbed".to_owned()),
        count => Some(format!("{count} processes disturbed")),
    });
    let remedy = quality
        .remedy
        .as_ref()
        .map(|flags| format!("; for ± {} % in every case: {flags}", quality.target_percent));
    let verdict = verdict(quality.taken);
    format!("{verdict}. {}{}", parts.join(", "), remedy.unwrap_or_default())
}

/// How much the figures of runs of one build differ.
pub fn apart(spread: Spread) -> String {
    match spread.distance() {
        0.0 => "no more than their intervals".to_owned(),
        ..0.005 => "less than 1 %".to_owned(),
        distance => format!("up to {}", percent(distance.exp_m1())),
    }
}

/// The machine's state, and how much runs of this build differ on it, in one line.
pub fn state(run: &RunSummary) -> Option<String> {
    let State { change, .. } = run.state?;
    let changed = (change - 1.0).abs() > LARGE_CHANGE;
    let changed = changed.then(|| {
        let change = three_digits(change);
        format!("By its end the machine took {change} times as long for the same work")
    });
    let repeat = match run.repeat {
        Some(Repeat { spread, slowness }) => format!(
            "{} runs of this build differ by {}; the machine took {} times as long for the same \
             work as in the quietest",
            spread.runs,
            apart(spread),
            three_digits(slowness),
        ),
        None => "One run does not show how much runs differ".to_owned(),
    };
    Some(changed.into_iter().chain([repeat]).collect::<Vec<_>>().join(". "))
}

/// How complete a run is, and how to repeat it.
pub fn extent(run: &RunSummary) -> String {
    let progress = &run.progress;
    let RunProgress { planned, remaining, .. } = *progress;
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

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;

    #[test]
    fn half_of_the_times_counts_those_without_an_interval() {
        let precision = |measured_once: &[&str]| {
            let mut run = fixtures::run(1.0);
            run.invocations.retain(|of| of.round == 1 || !measured_once.contains(&&*of.case));
            let report = fixtures::report_with(&fixtures::manifest(), &[run]);
            let run = &report.runs[0];
            format!("{} {}", quality(&run.quality), verdict_in_words(run).1)
        };
        let most = precision(&["tasks", "alone"]);
        assert!(most.contains("Half of this run's") && most.contains("Half of the fig"), "{most}");
        let few = precision(&["tasks", "alone", "create", "threads/spread"]);
        assert!(few.contains("Few of this run's") && few.contains("Few of the fig"), "{few}");
    }

    #[test]
    fn runs_that_differ_by_less_than_one_percent_do_not_differ_by_zero() {
        let said = |deviation| apart(Spread { runs: 2, deviation });
        assert_eq!(said(0.0), "no more than their intervals");
        assert_eq!(said(0.0005), "less than 1 %");
        assert!(said(0.05).starts_with("up to "));
    }
}
