//! What a reader of the table has to know about single rows of it: what is
//! missing, what has no interval, what one figure cannot describe.

use crate::judge::report::estimate::{
    CaseEstimate, Disturbances, OperationEstimate, OutcomeCounts, TwoModes,
};
use crate::judge::report::quantity::{ABSENT, duration, percent};
use crate::judge::report::table::{disturbance_mark, short_case, short_operation};
use harness::statistics::{MIN_SAMPLE, Modes};

/// One sentence for everything that needs one, in the order of `cases`.
#[must_use]
pub fn notes(cases: &[CaseEstimate]) -> Vec<String> {
    let mut notes: Vec<String> =
        [too_few_rounds(cases), fewest_rounds(cases)].into_iter().flatten().collect();
    notes.extend(cases.iter().filter_map(missing));
    notes.extend(cases.iter().filter_map(disturbed));
    for case in cases {
        notes.extend(case.operations.iter().filter_map(|operation| two_modes(case, operation)));
        notes.extend(case.operations.iter().filter_map(|operation| lone_outlier(case, operation)));
    }
    notes
}

fn too_few_rounds(cases: &[CaseEstimate]) -> Option<String> {
    has_count(cases, |count| count < MIN_SAMPLE)
        .then(|| format!("[{ABSENT}]: too few rounds for an interval, {MIN_SAMPLE} are needed."))
}

/// The range of the smallest sample is not quite a 95 % interval.
fn fewest_rounds(cases: &[CaseEstimate]) -> Option<String> {
    has_count(cases, |count| count == MIN_SAMPLE).then(|| {
        format!("n = {MIN_SAMPLE}: the interval is the whole range, which is one of 93.75 %.")
    })
}

fn has_count(cases: &[CaseEstimate], is: impl Fn(usize) -> bool) -> bool {
    cases.iter().flat_map(|case| &case.operations).any(|operation| is(operation.time_ns.count))
}

/// How many invocations of a case did not measure, by what came of them.
fn missing(case: &CaseEstimate) -> Option<String> {
    let OutcomeCounts { measured, failed, timed_out, refused } = case.outcomes;
    let counts = [(failed, "failed"), (timed_out, "timed out"), (refused, "refused")];
    let said: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let started = measured + failed + timed_out + refused;
    let why = case.first_error.as_ref().map(|error| format!("; first: {error}"));
    (!said.is_empty()).then(|| {
        let why = why.unwrap_or_default();
        let end = if why.ends_with(['.', '?', '!']) { "" } else { "." };
        format!("{}: {}, of {started} started{why}{end}", label(case), said.join(", "))
    })
}

/// How many invocations of a case were disturbed, and how much that matters.
fn disturbed(case: &CaseEstimate) -> Option<String> {
    let Disturbances { disturbed, unusable, unusable_are_used, worst } = &case.disturbances;
    let fate = if *unusable_are_used {
        "unusable but estimated from, for lack of better ones"
    } else {
        "unusable and not estimated from"
    };
    let said: Vec<String> = [(*disturbed, "disturbed"), (*unusable, fate)]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let mark = disturbance_mark(case);
    let (label, measured) = (label(case), case.outcomes.measured);
    (!said.is_empty()).then(|| {
        let (said, worst) = (said.join(", "), worst.join(", "));
        format!("{label} {mark}: of {measured} processes {said}; worst: {worst}.")
    })
}

fn two_modes(case: &CaseEstimate, operation: &OperationEstimate) -> Option<String> {
    let TwoModes { modes: Modes { fast, slow, .. }, crossing_shares } = operation.modes?;
    let (fast_ns, slow_ns) = (duration(fast.median), duration(slow.median));
    let (fast_share, slow_share) = (percent(fast.share), percent(slow.share));
    let crossing = crossing_shares
        .map(|[fast, slow]| format!("; crossing share {fast:.2} and {slow:.2}"))
        .unwrap_or_default();
    Some(format!(
        "{}: two modes: {fast_ns} in {fast_share} of processes, {slow_ns} in \
         {slow_share}{crossing}.",
        row(case, operation),
    ))
}

fn lone_outlier(case: &CaseEstimate, operation: &OperationEstimate) -> Option<String> {
    let time = duration(operation.outlier_ns?);
    let count = operation.time_ns.count;
    Some(format!(
        "{}: one of {count} processes took {time}, far from the others: too few rounds to tell \
         whether that is a second mode; the interval is the whole range.",
        row(case, operation),
    ))
}

/// What names one row of the table.
fn row(case: &CaseEstimate, operation: &OperationEstimate) -> String {
    format!("{}, {}", label(case), short_operation(operation))
}

fn label(case: &CaseEstimate) -> String {
    match &case.placement {
        Some(placement) => format!("{} {placement}", short_case(case)),
        None => case.case.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::report::estimate::estimate;
    use crate::store::invocation::{Invocation, Outcome};
    use crate::store::sample::{self, Sample};
    use harness::paragraph::NO_BREAK_SPACE;

    fn of(invocations: &[Invocation]) -> String {
        notes(&estimate(invocations)).join("\n").replace(NO_BREAK_SPACE, " ")
    }

    #[test]
    fn a_run_that_measured_everything_needs_no_notes() {
        assert_eq!(of(&sample::case("ring", [10.0; 6])), "");
    }

    #[test]
    fn too_few_rounds_are_said_once() {
        let invocations = [sample::case("one", [10.0; 4]), sample::case("two", [10.0; 4])].concat();
        assert_eq!(of(&invocations), "[–]: too few rounds for an interval, 5 are needed.");
    }

    #[test]
    fn what_did_not_measure_is_counted_by_what_came_of_it() {
        let mut invocations = sample::case("ring/free", [10.0; 6]);
        for (round, outcome) in (7..).zip([Outcome::Failed, Outcome::TimedOut, Outcome::Failed]) {
            invocations.push(sample::without_record("ring/free", round, outcome));
        }
        let refused = sample::without_record("uring/free", 1, Outcome::Refused);
        let error = Some("this kernel has no io_uring".to_owned());
        invocations.push(Invocation { error, ..refused });
        insta::assert_snapshot!(of(&invocations), @r"
        ring free: 2 failed, 1 timed out, of 9 started.
        uring/free: 1 refused, of 1 started; first: this kernel has no io_uring.
        ");
    }

    #[test]
    fn disturbed_and_unusable_invocations_are_counted() {
        let by = |others_share| Sample { others_share, ..Sample::hop(10.0) };
        let some = [0.0, 0.1, 0.0, 0.4, 0.0, 0.0].map(by);
        let all = [0.3, 0.3, 0.3, 0.3, 0.3, 0.25].map(by);
        let runs = [sample::samples("ring/free", some), sample::samples("line/free", all)];
        insta::assert_snapshot!(of(&runs.concat()), @r"
        n = 5: the interval is the whole range, which is one of 93.75 %.
        line free !: of 6 processes 6 unusable but estimated from, for lack of better ones; worst: others had 25 % of its CPUs' time.
        ring free ~: of 6 processes 1 disturbed, 1 unusable and not estimated from; worst: others had 40 % of its CPUs' time.
        ");
    }

    #[test]
    fn one_far_from_a_few_others_is_told() {
        let text = of(&sample::case("ring/free", [10.0, 10.0, 11.0, 90.0, 10.0, 11.0]));
        insta::assert_snapshot!(text, @"ring free, hop: one of 6 processes took 90.0 ns, far from the others: too few rounds to tell whether that is a second mode; the interval is the whole range.");
    }

    #[test]
    fn two_modes_are_told_with_their_shares() {
        let by = |cross_cpu_share, ns| Sample { cross_cpu_share, ..Sample::hop(ns) };
        let (fast, slow) = (|ns| by(0.02, ns), |ns| by(0.97, ns));
        let samples = [fast(2600.0), fast(2500.0), slow(22_000.0), fast(2700.0), slow(20_000.0)];
        let text = of(&sample::samples("ring/free", samples));
        insta::assert_snapshot!(text, @r"
        n = 5: the interval is the whole range, which is one of 93.75 %.
        ring free, hop: two modes: 2.60 µs in 60 % of processes, 21.0 µs in 40 %; crossing share 0.02 and 0.97.
        ");
    }
}
