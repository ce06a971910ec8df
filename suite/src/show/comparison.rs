//! What a comparison prints: the table, what its words mean, and what has to be
//! known before they are believed.

use harness::statistics::Estimate;
use harness::terminal;

use crate::judge::environment::difference::Difference;
use crate::judge::report::quantity::{duration, estimated_ratio, percent};
use harness::paragraph::item;

use super::comparison_table::{ratio, short_case, table};
use crate::judge::compare::comparison::{
    CaseComparison, Comparison, Described, Design, NotCompared, RegimesRecord,
};
use crate::judge::compare::verdict::Verdict;

/// The fewest cases whose ratios tell something about the machine.
const MANY_CASES: usize = 8;

/// A difference of the share of hops between CPUs that is worth a word.
const CROSSING_DIFFERENCE: f64 = 0.1;

/// A comparison as plain text of at most 80 columns, ended by a newline.
#[must_use]
pub fn page(comparison: &Comparison) -> String {
    let [first, second] = &comparison.arms;
    let arms = format!("{}{}", arm("A", first), arm("B", second));
    let notes: String = notes(comparison).iter().map(|note| item(&terminal::line(note))).collect();
    let cases = match comparison.cases.as_slice() {
        [] => String::new(),
        cases => format!("\n{}{}", table(cases), legend(comparison)),
    };
    format!("{arms}{cases}\n{notes}{}\n", totals(comparison))
}

/// What an arm is.
fn arm(name: &str, described: &Described) -> String {
    let Described { records, revision, under, with } = described;
    let mut parts = vec![records.clone()];
    parts.extend(revision.as_ref().map(|revision| format!("commit {revision}")));
    let words =
        [("under", under), ("with", with)].into_iter().filter(|(_, words)| !words.is_empty());
    parts.extend(words.map(|(how, words)| format!("{how} '{}'", words.join(" "))));
    item(&terminal::line(&format!("{name}: {}", parts.join(", "))))
}

fn legend(comparison: &Comparison) -> String {
    let Comparison { confidence, margin, .. } = comparison;
    let each = match comparison.confidence_of_each() {
        Some((least, most)) if least < most => {
            format!(", {:.2} to {:.2} % each", least * 100.0, most * 100.0)
        }
        Some((all, _)) => format!(", {:.2} % each", all * 100.0),
        None => String::new(),
    };
    format!(
        "B/A: how many times as long B takes; p50 to p99: the same of percentiles.\n\
         Intervals hold with {:.0} % together{each}; same: within {} %.\n",
        confidence * 100.0,
        margin * 100.0,
    )
}

/// How many cases there are of each verdict.
fn totals(comparison: &Comparison) -> String {
    let verdicts = [Verdict::Slower, Verdict::Faster, Verdict::Same, Verdict::Unresolved];
    let counts =
        verdicts.map(|verdict| format!("{} {}", comparison.count(verdict), verdict.as_str()));
    let missing = match comparison.not_compared.len() {
        0 => String::new(),
        count => format!(", {count} not compared"),
    };
    format!("Cases: {}{missing}", counts.join(", "))
}

/// One sentence for everything that needs one.
fn notes(comparison: &Comparison) -> Vec<String> {
    let differences = &comparison.environment_differences;
    let mut notes: Vec<String> = differences.iter().filter_map(environment).collect();
    notes.extend(["A", "B"].iter().enumerate().filter_map(|arm| untold(arm, differences)));
    notes.extend(not_compared(&comparison.not_compared));
    notes.extend(drift(comparison));
    notes.extend(all_together(comparison));
    notes.extend(comparison.cases.iter().flat_map(about));
    notes.extend(unresolved(comparison));
    notes
}

/// A fact that both environments tell, and not alike.
fn environment(difference: &Difference) -> Option<String> {
    let [Some(first), Some(second)] = &difference.values else { return None };
    Some(format!("The environments differ: {} is {first} in A and {second} in B.", difference.name))
}

/// The facts that the environment of one arm alone does not tell.
fn untold((arm, name): (usize, &&str), differences: &[Difference]) -> Option<String> {
    let missing = differences.iter().filter(|difference| difference.values[arm].is_none());
    let names: Vec<&str> = missing.map(|difference| difference.name.as_str()).collect();
    (!names.is_empty())
        .then(|| format!("The environment of {name} does not tell: {}.", names.join(", ")))
}

/// What was not compared, by the reason.
fn not_compared(cases: &[NotCompared]) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for NotCompared { case, reason } in cases {
        match by_reason.iter_mut().find(|(known, _)| known == reason) {
            Some((_, cases)) => cases.push(case),
            None => by_reason.push((reason, vec![case])),
        }
    }
    let said = by_reason.into_iter();
    said.map(|(reason, cases)| format!("Not compared: {}: {reason}.", cases.join(", "))).collect()
}

fn drift(comparison: &Comparison) -> Option<String> {
    let drift = comparison.drift.filter(|drift| *drift > 1.0)?;
    Some(format!(
        "The halves of the runs lie further apart than chance explains: the intervals are \
         {drift:.2} times as wide for it."
    ))
}

/// What moves all cases alike is hardly the programs.
fn all_together(comparison: &Comparison) -> Option<String> {
    let ratios: Vec<f64> = comparison.cases.iter().map(|case| case.ratio.estimate).collect();
    let middle = Estimate::of(&ratios).filter(|_| ratios.len() >= MANY_CASES)?;
    let is_told = middle.excludes(1.0) && comparison.design == Design::SavedRuns;
    is_told.then(|| {
        format!(
            "Over all cases B takes {} times as long: either what they share has changed, or \
             the machine.",
            estimated_ratio(&middle)
        )
    })
}

/// What has to be known about one case.
fn about(case: &CaseComparison) -> Vec<String> {
    let sentences = [modes(case), crossings(case), place(case), disturbed(case), failed(case)];
    sentences.into_iter().flatten().map(|said| format!("{}: {said}.", label(case))).collect()
}

fn label(case: &CaseComparison) -> String {
    match &case.placement {
        Some(placement) => format!("{} {placement}", short_case(case)),
        None => case.case.clone(),
    }
}

fn modes(case: &CaseComparison) -> Option<String> {
    let RegimesRecord { fast_ns, slow_ns, slow_share: [first, second] } = case.regimes?;
    Some(format!(
        "two modes, {} and {}; the slow one in {} of A's processes and {} of B's",
        duration(fast_ns),
        duration(slow_ns),
        percent(first),
        percent(second),
    ))
}

fn crossings(case: &CaseComparison) -> Option<String> {
    let [Some(first), Some(second)] = case.crossing_share else { return None };
    let is_told = case.regimes.is_some() || (first - second).abs() > CROSSING_DIFFERENCE;
    is_told
        .then(|| format!("{} of A's hops cross CPUs, {} of B's", percent(first), percent(second)))
}

fn place(case: &CaseComparison) -> Option<String> {
    let second_place = case.second_place.filter(|found| found.excludes_one())?;
    Some(format!(
        "whichever arm runs second takes {} times as long; both do equally often",
        ratio(&second_place)
    ))
}

fn disturbed(case: &CaseComparison) -> Option<String> {
    let kinds = [("disturbed", case.disturbed), ("unusable", case.unusable)];
    let said: Vec<String> = kinds
        .into_iter()
        .filter(|(_, counts)| *counts != [0, 0])
        .map(|(kind, [first, second])| format!("{first} of A and {second} of B {kind}"))
        .collect();
    (!said.is_empty()).then(|| format!("invocations: {}", said.join(", ")))
}

fn failed(case: &CaseComparison) -> Option<String> {
    let [first, second] = case.failed;
    (first + second > 0).then(|| format!("invocations: {first} of A and {second} of B failed"))
}

/// What to do about cases that are not resolved.
fn unresolved(comparison: &Comparison) -> Option<String> {
    let open = comparison.count(Verdict::Unresolved);
    let advice = match comparison.design {
        Design::SavedRuns => "compare the builds side by side (--bin), or runs of more rounds",
        Design::SideBySide => "a larger --budget gives more rounds",
    };
    (open > 0).then(|| format!("{open} unresolved: {advice}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::compare::comparison::{Judgement, Method, SCHEMA_VERSION};
    use crate::judge::compare::sample::Sample;
    use crate::judge::compare::verdict::Arms;
    use crate::store::invocation::Invocation;
    use crate::store::sample::{self, Sample as Hop};
    use harness::paragraph::COLUMNS;

    /// Scatter of one arm's rounds about its time.
    const SCATTER: [f64; 10] = [1.0, 0.99, 1.01, 1.004, 0.996, 1.002, 0.998, 1.006, 0.994, 1.0];

    /// Ten rounds of a case with hops of `hop_ns`.
    fn rounds(case: &str, hop_ns: f64) -> Vec<Invocation> {
        sample::case(case, SCATTER.map(|by| hop_ns * by))
    }

    /// Another ten, whose scatter is not that of the first.
    fn other_rounds(case: &str, hop_ns: f64) -> Vec<Invocation> {
        let mut scatter = SCATTER;
        scatter.rotate_left(3);
        sample::case(case, scatter.map(|by| hop_ns * by))
    }

    fn described(records: &str) -> Described {
        Described { records: records.to_owned(), ..Described::default() }
    }

    fn comparison(design: Design, cases: &[&str], arms: Arms<&[Invocation]>) -> Comparison {
        let (method, drift) = match design {
            Design::SideBySide => (Method::Rounds, None),
            Design::SavedRuns => (Method::Runs { drift: 1.2 }, Some(1.2)),
        };
        let judgement = Judgement { method, confidence: 0.99, margin: 0.03 };
        let compared = cases.iter().map(|case| {
            let arms = arms.map(|arm| Sample::of(case, arm));
            judgement.compare(case, arms.each_ref()).unwrap()
        });
        Comparison {
            schema_version: SCHEMA_VERSION.to_owned(),
            design,
            arms: [described("2026-01-01-x-a"), described("2026-01-01-x-b")],
            confidence: 0.95,
            margin: judgement.margin,
            drift,
            environment_differences: Vec::new(),
            cases: compared.collect(),
            not_compared: Vec::new(),
        }
    }

    #[test]
    fn the_four_verdicts_side_by_side() {
        let cases = ["alike/free", "longer/free", "shorter/free", "unclear/free"];
        let first = cases.map(|case| rounds(case, 1800.0)).concat();
        let unclear = [0.9, 1.1, 0.95, 1.2, 1.0, 0.8, 1.3, 0.9, 1.1, 1.0].map(|by| 1800.0 * by);
        let second = [
            other_rounds("alike/free", 1801.0),
            other_rounds("longer/free", 1890.0),
            other_rounds("shorter/free", 150.0),
            sample::case("unclear/free", unclear),
        ];
        let mut compared = comparison(Design::SideBySide, &cases, [&first, &second.concat()]);
        compared.arms[1].under = vec!["chrt".to_owned(), "-b".to_owned(), "0".to_owned()];
        insta::assert_snapshot!(page(&compared), @r"
        - A: 2026-01-01-x-a
        - B: 2026-01-01-x-b, under 'chrt -b 0'

        case               placed     A/op B/A [interval]       p50  p90  p99 verdict
        alike              free     1.80µs 1.001 [0.994,1.009] 1.00 1.00 1.00 same
        longer             free     1.80µs 1.050 [1.043,1.058] 1.05 1.05 1.05 slower
        shorter            free     1.80µs 0.083 [0.083,0.084] 0.08 0.08 0.08 faster
        unclear            free     1.80µs 1.004 [0.867,1.201] 1.00 1.00 1.00 unresolved
        B/A: how many times as long B takes; p50 to p99: the same of percentiles.
        Intervals hold with 95 % together, 99.00 % each; same: within 3 %.

        - 1 unresolved: a larger --budget gives more rounds.
        Cases: 1 slower, 1 faster, 1 same, 1 unresolved
        ");
    }

    #[test]
    fn what_has_to_be_known_of_two_runs() {
        let fast = |case: &str| rounds(case, 2500.0);
        let mixed = |case: &str| {
            let slow = Hop { cross_cpu_share: 0.97, ..Hop::hop(22_000.0) };
            let quick = Hop { cross_cpu_share: 0.02, ..Hop::hop(2_600.0) };
            sample::samples(case, [quick, slow, quick, quick, slow, quick, slow, quick])
        };
        let mut compared = comparison(
            Design::SavedRuns,
            &["ring/free"],
            [&fast("ring/free"), &mixed("ring/free")],
        );
        compared.arms[0].revision = Some("0123456789ab+".to_owned());
        let difference = |name: &str, values: Arms<Option<&str>>| Difference {
            name: name.to_owned(),
            values: values.map(|value| value.map(str::to_owned)),
        };
        compared.environment_differences = vec![
            difference("kernel.release", [Some("6.1.0"), Some("6.18.0")]),
            difference("software.go", [None, Some("go1.26")]),
        ];
        let missing = |case: &str, reason: &str| NotCompared {
            case: case.to_owned(),
            reason: reason.to_owned(),
        };
        compared.not_compared = vec![
            missing("fork", "--max-time is 1 in A and 2 in B"),
            missing("uring", "B has not measured it"),
            missing("vfork", "--max-time is 1 in A and 2 in B"),
        ];
        compared.cases[0].disturbed = [0, 2];
        compared.cases[0].failed = [1, 0];
        insta::assert_snapshot!(page(&compared), @r"
        - A: 2026-01-01-x-a, commit 0123456789ab+
        - B: 2026-01-01-x-b

        case               placed     A/op B/A [interval]       p50  p90  p99 verdict
        ring               free     2.50µs 1.045 [1.034,13.51] 1.05 1.05 1.05 slower
        B/A: how many times as long B takes; p50 to p99: the same of percentiles.
        Intervals hold with 95 % together, 99.00 % each; same: within 3 %.

        - The environments differ: kernel.release is 6.1.0 in A and 6.18.0 in B.
        - The environment of A does not tell: software.go.
        - Not compared: fork, vfork: --max-time is 1 in A and 2 in B.
        - Not compared: uring: B has not measured it.
        - The halves of the runs lie further apart than chance explains: the intervals
          are 1.20 times as wide for it.
        - ring free: two modes, 2.60 µs and 22.0 µs; the slow one in 0 % of A's
          processes and 38 % of B's.
        - ring free: 0 % of A's hops cross CPUs, 2 % of B's.
        - ring free: invocations: 0 of A and 2 of B disturbed.
        - ring free: invocations: 1 of A and 0 of B failed.
        Cases: 1 slower, 0 faster, 0 same, 0 unresolved, 3 not compared
        ");
    }

    #[test]
    fn what_moves_all_cases_alike_is_said() {
        let names: Vec<String> = (0..8).map(|number| format!("case-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let arm = |arm: fn(&str, f64) -> Vec<Invocation>, hop_ns| {
            names.iter().flat_map(|name| arm(name, hop_ns)).collect::<Vec<_>>()
        };
        let (first, second) = (arm(rounds, 1000.0), arm(other_rounds, 1020.0));
        let said = |design| page(&comparison(design, &names, [&first, &second]));
        assert!(said(Design::SavedRuns).contains("Over all cases B takes 1.02 [1.02, 1.02] times"));
        assert!(!said(Design::SideBySide).contains("Over all cases"));
    }

    #[test]
    fn running_second_is_told_where_it_matters() {
        // By turns each arm begins a second later and takes a tenth longer.
        let arm = |offset: u32| {
            let at = |round: u32| {
                let place = (round + offset) % 2;
                let started_at = format!("2026-01-01T00:{round:02}:{place:02}Z");
                let hop = Hop::hop(1000.0 + 100.0 * f64::from(place) + f64::from(round));
                Invocation { started_at, ..hop.in_round("ring/free", round) }
            };
            (1..=20).map(at).collect::<Vec<_>>()
        };
        let said = page(&comparison(Design::SideBySide, &["ring/free"], [&arm(0), &arm(1)]));
        assert!(said.contains("- ring free: whichever arm runs second takes 1.0"), "{said}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_whatever_the_figures() {
        let extremes = [0.3, 999.4, 99_949.0, 9.995e6, 999.9e9, 3.2e14];
        for first_ns in extremes {
            for second_ns in extremes {
                let case = "a-case-of-18-chars/same-cpu";
                let arms = [rounds(case, first_ns), other_rounds(case, second_ns)];
                let said = page(&comparison(Design::SavedRuns, &[case], [&arms[0], &arms[1]]));
                for line in said.lines() {
                    assert!(line.chars().count() <= COLUMNS, "{line}");
                }
            }
        }
    }
}
