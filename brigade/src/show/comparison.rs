//! A comparison as text: the table, its legend, and notes on how far to trust it.

use crate::judge::statistics::Estimate;
use harness::terminal;

use super::markdown::escape;
use super::page::{ABSENT, NO_BREAK_SPACE, Side, Table, item, lines};
use super::quantity::{duration, estimated_ratio, percent, three_digits};
use crate::judge::compare::comparison::{
    CaseComparison, Comparison, Described, Design, ModesRecord, RatioRecord, Skipped,
};
use crate::judge::compare::machine::Machine;
use crate::judge::compare::verdict::{Pair, Verdict};
use crate::judge::environment::{different_cpus, other_differences};

/// The fewest cases whose ratios show a change of the machine.
const MANY_CASES: usize = 8;

/// The least difference in the share of hops between CPUs that is reported.
const CROSSING_DIFFERENCE: f64 = 0.1;

/// A comparison as plain text of at most 80 columns, ended by a newline.
pub fn render(comparison: &Comparison) -> String {
    let sides: String = sides(comparison).iter().map(|side| item(&terminal::line(side))).collect();
    let notes: String = notes(comparison).iter().map(|note| item(&terminal::line(note))).collect();
    let cases: Vec<&CaseComparison> = comparison.cases.iter().collect();
    let cases = match cases.is_empty() {
        true => String::new(),
        false => format!("\n{}{}", table(&cases).text(), legend(comparison)),
    };
    let cpus = different_cpus(&comparison.environment_differences);
    let cpus = cpus.map_or(String::new(), |cpus| lines(&terminal::line(&cpus)));
    format!("{cpus}{sides}{cases}\n{notes}{}\n", totals(comparison))
}

/// The cases, the largest change first.
pub fn by_size(comparison: &Comparison) -> Vec<&CaseComparison> {
    let size = |case: &CaseComparison| case.ratio.estimate.ln().abs();
    let mut cases: Vec<&CaseComparison> = comparison.cases.iter().collect();
    cases.sort_by(|a, b| size(b).total_cmp(&size(a)));
    cases
}

/// A row for each case.
pub fn table(cases: &[&CaseComparison]) -> Table {
    let mut table = Table::new(&[
        ("case", Side::Left),
        ("time", Side::Right),
        ("ratio [interval]", Side::Left),
        ("p50", Side::Right),
        ("p90", Side::Right),
        ("p99", Side::Right),
        ("verdict", Side::Left),
    ]);
    for case in cases {
        let percentile = |name| {
            let ratio = case.percentiles.get(name);
            ratio.map_or_else(|| ABSENT.to_owned(), |ratio| three_digits(ratio.estimate))
        };
        let [baseline_ns, _] = case.ns_per_operation;
        table.push(vec![
            terminal::line(&case.case).into_owned(),
            duration(baseline_ns),
            ratio(&case.ratio),
            percentile("p50"),
            percentile("p90"),
            percentile("p99"),
            case.verdict.as_str().to_owned(),
        ]);
    }
    table
}

/// A ratio and its interval, such as `1.051 [1.012, 1.093]`.
fn ratio(ratio: &RatioRecord) -> String {
    let interval = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => {
            format!("{},{NO_BREAK_SPACE}{}", thousandths(low), thousandths(high))
        }
        _ => ABSENT.to_owned(),
    };
    format!("{}{NO_BREAK_SPACE}[{interval}]", thousandths(ratio.estimate))
}

/// A ratio with three decimals near 1, where they matter.
fn thousandths(ratio: f64) -> String {
    if (0.0..9.9995).contains(&ratio) { format!("{ratio:.3}") } else { three_digits(ratio) }
}

/// What the sides are.
pub fn sides(comparison: &Comparison) -> [String; 2] {
    [side("baseline", &comparison.baseline), side("candidate", &comparison.candidate)]
}

fn side(name: &str, described: &Described) -> String {
    let Described { records, revision, under, with, setting } = described;
    let mut parts = vec![records.clone()];
    parts.extend(revision.as_ref().map(|revision| format!("commit {revision}")));
    let words =
        [("under", under), ("with", with)].into_iter().filter(|(_, words)| !words.is_empty());
    parts.extend(words.map(|(how, words)| format!("{how} '{}'", words.join(" "))));
    parts.extend(setting.clone());
    format!("{name}: {}", parts.join(", "))
}

/// What the columns mean.
pub fn legend(comparison: &Comparison) -> String {
    let Comparison { confidence, margin, design, .. } = comparison;
    let together = confidence * 100.0;
    let each = match comparison.confidence_of_each() {
        Some((least, most)) if least < most => {
            format!("{:.2} to {:.2} % each", least * 100.0, most * 100.0)
        }
        Some((all, _)) => format!("{:.2} % each", all * 100.0),
        None => "none".to_owned(),
    };
    let intervals = match design {
        Design::SideBySide => format!("Intervals: {together:.0} % together, {each};"),
        Design::SavedRuns => {
            format!("Intervals: {each}; all faster and slower: {together:.0} % together;")
        }
    };
    format!(
        "time: the baseline's, per operation; ratio and p50 to p99: candidate / baseline.\n\
         {intervals} same: within {} %.\n",
        margin * 100.0,
    )
}

/// Within what cases are the same.
pub fn extent_of(comparison: &Comparison) -> String {
    format!("within {} %", comparison.margin * 100.0)
}

/// A comparison in Markdown, for a comment on a change: what is the same is folded
/// away.
pub fn markdown(comparison: &Comparison) -> String {
    let cases = by_size(comparison);
    let (same, others): (Vec<&CaseComparison>, Vec<_>) =
        cases.iter().copied().partition(|case| case.verdict == Verdict::Same);
    let list = |items: &[String]| -> String {
        items.iter().map(|item| format!("- {}\n", escape(item))).collect()
    };
    let mut text = format!("**{}**\n\n", escape(&totals(comparison)));
    if let Some(cpus) = different_cpus(&comparison.environment_differences) {
        text += &format!("{}\n\n", escape(&cpus));
    }
    text += &(list(&sides(comparison)) + "\n");
    if !others.is_empty() {
        text += &format!("{}\n", table(&others).markdown(escape));
    }
    if !same.is_empty() {
        text += &format!(
            "<details><summary>{} the same {}</summary>\n\n{}\n</details>\n\n",
            same.len(),
            extent_of(comparison),
            table(&same).markdown(escape)
        );
    }
    let notes = notes(comparison);
    if !cases.is_empty() {
        text += &legend(comparison).lines().map(|line| escape(line) + "\n").collect::<String>();
    }
    if !notes.is_empty() {
        text += &format!("\n{}", list(&notes));
    }
    text.replace(NO_BREAK_SPACE, " ")
}

/// The number of cases with each verdict.
pub fn totals(comparison: &Comparison) -> String {
    let verdicts = [Verdict::Slower, Verdict::Faster, Verdict::Same, Verdict::Unresolved];
    let counts =
        verdicts.map(|verdict| format!("{} {}", comparison.count(verdict), verdict.as_str()));
    let missing = match comparison.not_compared.len() {
        0 => String::new(),
        count => format!(", {count} not compared"),
    };
    format!("Cases: {}{missing}", counts.join(", "))
}

/// One sentence for each thing to know.
pub fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = other_differences(&comparison.environment_differences);
    notes.extend(not_compared(&comparison.not_compared));
    notes.extend(drift(comparison));
    notes.extend(machine(comparison));
    notes.extend(all_together(comparison));
    notes.extend(comparison.cases.iter().flat_map(about));
    notes.extend(unresolved(comparison));
    notes
}

/// The cases that were not compared, by reason.
fn not_compared(cases: &[Skipped]) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for Skipped { case, reason } in cases {
        match by_reason.iter_mut().find(|(known, _)| known == reason) {
            Some((_, cases)) => cases.push(case),
            None => by_reason.push((reason, vec![case])),
        }
    }
    let reasons = by_reason.into_iter();
    reasons
        .map(|(reason, cases)| format!("Not compared: {}: {reason}.", cases.join(", ")))
        .collect()
}

fn drift(comparison: &Comparison) -> Option<String> {
    let drift = comparison.drift.filter(|drift| *drift > 1.0)?;
    Some(format!(
        "The two halves of each run differ by more than chance: all intervals are widened by a \
         factor of {drift:.2}."
    ))
}

/// What the machine itself did.
fn machine(comparison: &Comparison) -> Option<String> {
    let Machine { kernel, user } = comparison.machine?;
    Some(format!(
        "The machine itself: in the candidate's run, the same work took {} times as long in the \
         kernel and {} times as long outside it. Intervals allow for that.",
        thousandths(kernel),
        thousandths(user),
    ))
}

/// A change that all cases share is rarely one of the programs.
fn all_together(comparison: &Comparison) -> Option<String> {
    let ratios: Vec<f64> = comparison.cases.iter().map(|case| case.ratio.estimate).collect();
    let middle = Estimate::of(&ratios).filter(|_| ratios.len() >= MANY_CASES)?;
    let is_shared = middle.excludes(1.0) && comparison.design != Design::SideBySide;
    is_shared.then(|| {
        format!(
            "Over all cases the candidate takes {} times as long: something that they share has \
             changed, or the machine has.",
            estimated_ratio(&middle)
        )
    })
}

/// The notes on one case.
fn about(case: &CaseComparison) -> Vec<String> {
    let sentences = [modes(case), crossings(case), place(case), disturbed(case), failed(case)];
    sentences.into_iter().flatten().map(|note| format!("{}: {note}.", case.case)).collect()
}

fn modes(case: &CaseComparison) -> Option<String> {
    let ModesRecord { fast_ns, slow_ns, slow_share: [first, second] } = case.modes?;
    Some(format!(
        "two modes, {} and {}; slow in {} of the baseline's processes and {} of the candidate's",
        duration(fast_ns),
        duration(slow_ns),
        percent(first),
        percent(second),
    ))
}

fn crossings(case: &CaseComparison) -> Option<String> {
    let [Some(first), Some(second)] = case.crossing_share else { return None };
    let is_noted = case.modes.is_some() || (first - second).abs() > CROSSING_DIFFERENCE;
    is_noted.then(|| {
        let (first, second) = (percent(first), percent(second));
        format!("{first} of the baseline's hops cross CPUs, {second} of the candidate's")
    })
}

fn place(case: &CaseComparison) -> Option<String> {
    let second_place = case.second_place.filter(|found| found.excludes_one())?;
    Some(format!(
        "the side that runs second takes {} times as long; both run second equally often",
        ratio(&second_place)
    ))
}

fn disturbed(case: &CaseComparison) -> Option<String> {
    let kinds = [("disturbed", case.disturbed), ("unusable", case.unusable)];
    let counts: Vec<String> = kinds
        .into_iter()
        .filter(|(_, counts)| *counts != [0, 0])
        .map(|(kind, counts)| invocations(counts, kind))
        .collect();
    (!counts.is_empty()).then(|| counts.join("; "))
}

fn failed(case: &CaseComparison) -> Option<String> {
    let [first, second] = case.failed;
    (first + second > 0).then(|| invocations(case.failed, "failed"))
}

fn invocations([first, second]: Pair<usize>, what: &str) -> String {
    format!("{what}: {first} invocations of the baseline, {second} of the candidate")
}

/// What to do about unresolved cases.
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
    use crate::judge::environment::Difference;
    use crate::show::page::COLUMNS;
    use crate::store::invocation::Invocation;
    use crate::store::sample::{self, Sample as Hop};

    /// Scatter of a side's rounds about its time.
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

    fn comparison(design: Design, cases: &[&str], sides: Pair<&[Invocation]>) -> Comparison {
        let of_runs = Some(Machine { kernel: 1.005, user: 0.994 });
        let (method, drift, machine) = match design {
            Design::SideBySide => (Method::Rounds, None, None),
            Design::SavedRuns => {
                (Method::Runs { drift: 1.2, machine: of_runs }, Some(1.2), of_runs)
            }
        };
        let judgement = Judgement { method, confidence: 0.99, of_difference: 0.99, margin: 0.03 };
        let compared = cases.iter().map(|case| {
            let sides = sides.map(|side| Sample::of(case, side));
            judgement.compare(case, sides.each_ref()).unwrap()
        });
        Comparison {
            schema_version: SCHEMA_VERSION.to_owned(),
            design,
            baseline: described("2026-01-01-x-baseline"),
            candidate: described("2026-01-01-x-candidate"),
            confidence: 0.95,
            margin: judgement.margin,
            drift,
            machine,
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
        compared.candidate.under = vec!["chrt".to_owned(), "-b".to_owned(), "0".to_owned()];
        insta::assert_snapshot!(render(&compared), @r"
        - baseline: 2026-01-01-x-baseline
        - candidate: 2026-01-01-x-candidate, under 'chrt -b 0'

        case            time ratio [interval]      p50  p90  p99 verdict
        alike/free   1.80 µs 1.001 [0.994, 1.009] 1.00 1.00 1.00 same
        longer/free  1.80 µs 1.050 [1.043, 1.058] 1.05 1.05 1.05 slower
        shorter/free 1.80 µs 0.083 [0.083, 0.084] 0.08 0.08 0.08 faster
        unclear/free 1.80 µs 1.004 [0.867, 1.201] 1.00 1.00 1.00 unresolved
        time: the baseline's, per operation; ratio and p50 to p99: candidate / baseline.
        Intervals: 95 % together, 99.00 % each; same: within 3 %.

        - 1 unresolved: a larger --budget gives more rounds.
        Cases: 1 slower, 1 faster, 1 same, 1 unresolved
        ");
    }

    #[test]
    fn a_comment_begins_with_what_changed_most_and_folds_what_is_the_same() {
        let cases = ["alike/free", "longer_<b>", "shorter/free"];
        let first = cases.map(|case| rounds(case, 1800.0)).concat();
        let second = [
            other_rounds(cases[0], 1801.0),
            other_rounds(cases[1], 1890.0),
            other_rounds(cases[2], 150.0),
        ];
        let compared = comparison(Design::SideBySide, &cases, [&first, &second.concat()]);
        insta::assert_snapshot!(markdown(&compared), @r"
        **Cases: 1 slower, 1 faster, 1 same, 0 unresolved**

        - baseline: 2026-01-01-x-baseline
        - candidate: 2026-01-01-x-candidate

        | case | time | ratio [interval] | p50 | p90 | p99 | verdict |
        | --- | --: | --- | --: | --: | --: | --- |
        | shorter/free | 1.80 µs | 0.083 [0.083, 0.084] | 0.08 | 0.08 | 0.08 | faster |
        | longer\_&lt;b&gt; | 1.80 µs | 1.050 [1.043, 1.058] | 1.05 | 1.05 | 1.05 | slower |

        <details><summary>1 the same within 3 %</summary>

        | case | time | ratio [interval] | p50 | p90 | p99 | verdict |
        | --- | --: | --- | --: | --: | --: | --- |
        | alike/free | 1.80 µs | 1.001 [0.994, 1.009] | 1.00 | 1.00 | 1.00 | same |

        </details>

        time: the baseline's, per operation; ratio and p50 to p99: candidate / baseline.
        Intervals: 95 % together, 99.00 % each; same: within 3 %.
        ");
        let page = crate::show::html::comparison(&compared);
        assert!(page.contains("longer_&lt;b&gt;") && !page.contains("<b>"), "{page}");
    }

    #[test]
    fn two_runs_with_notes_of_every_kind() {
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
        compared.baseline.revision = Some("0123456789ab+".to_owned());
        let difference = |name: &str, values: Pair<Option<&str>>| Difference {
            name: name.to_owned(),
            values: values.map(|value| value.map(str::to_owned)),
        };
        compared.environment_differences = vec![
            difference("processor.cache.l1", [Some("1 KiB"), Some("2 KiB")]),
            difference("kernel.release", [Some("6.1.0"), Some("6.18.0")]),
            difference("software.rustc", [None, Some("1.95")]),
        ];
        let missing =
            |case: &str, reason: &str| Skipped { case: case.to_owned(), reason: reason.to_owned() };
        compared.not_compared = vec![
            missing("fork", "--max-time is 1 in the baseline and 2 in the candidate"),
            missing("uring", "the candidate has not measured it"),
            missing("vfork", "--max-time is 1 in the baseline and 2 in the candidate"),
        ];
        compared.cases[0].disturbed = [0, 2];
        compared.cases[0].failed = [1, 0];
        insta::assert_snapshot!(render(&compared), @r"
        different CPUs: processor.cache.l1: 1 KiB → 2 KiB
        - baseline: 2026-01-01-x-baseline, commit 0123456789ab+
        - candidate: 2026-01-01-x-candidate

        case         time ratio [interval]     p50  p90  p99 verdict
        ring/free 2.50 µs 1.045 [1.029, 13.6] 1.05 1.05 1.05 slower
        time: the baseline's, per operation; ratio and p50 to p99: candidate / baseline.
        Intervals: 99.00 % each; all faster and slower: 95 % together; same: within 3 %.

        - kernel.release: 6.1.0 → 6.18.0
        - software.rustc: – → 1.95
        - Not compared: fork, vfork: --max-time is 1 in the baseline and 2 in the
          candidate.
        - Not compared: uring: the candidate has not measured it.
        - The two halves of each run differ by more than chance: all intervals are
          widened by a factor of 1.20.
        - The machine itself: in the candidate's run, the same work took 1.005 times as
          long in the kernel and 0.994 times as long outside it. Intervals allow for
          that.
        - ring/free: two modes, 2.60 µs and 22.0 µs; slow in 0 % of the baseline's
          processes and 38 % of the candidate's.
        - ring/free: 0 % of the baseline's hops cross CPUs, 2 % of the candidate's.
        - ring/free: disturbed: 0 invocations of the baseline, 2 of the candidate.
        - ring/free: failed: 1 invocations of the baseline, 0 of the candidate.
        Cases: 1 slower, 0 faster, 0 same, 0 unresolved, 3 not compared
        ");
    }

    #[test]
    fn a_change_that_all_cases_share_is_reported() {
        let names: Vec<String> = (0..8).map(|number| format!("case-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let side = |side: fn(&str, f64) -> Vec<Invocation>, hop_ns| {
            names.iter().flat_map(|name| side(name, hop_ns)).collect::<Vec<_>>()
        };
        let (first, second) = (side(rounds, 1000.0), side(other_rounds, 1020.0));
        let text = |design| render(&comparison(design, &names, [&first, &second]));
        let expected = "Over all cases the candidate takes 1.02 [1.02, 1.02] times";
        assert!(text(Design::SavedRuns).contains(expected));
        assert!(!text(Design::SideBySide).contains("Over all cases"));
    }

    #[test]
    fn running_second_is_reported_where_it_matters() {
        // By turns each side begins a second later and takes a tenth longer.
        let side = |offset: u32| {
            let at = |round: u32| {
                let place = (round + offset) % 2;
                let started_at = format!("2026-01-01T00:{round:02}:{place:02}Z");
                let hop = Hop::hop(1000.0 + 100.0 * f64::from(place) + f64::from(round));
                Invocation { started_at, ..hop.in_round("ring/free", round) }
            };
            (1..=20).map(at).collect::<Vec<_>>()
        };
        let text = render(&comparison(Design::SideBySide, &["ring/free"], [&side(0), &side(1)]));
        assert!(text.contains("- ring/free: the side that runs second takes 1.0"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_whatever_the_figures() {
        let extremes = [0.3, 999.4, 99_949.0, 9.995e6, 999.9e9, 3.2e14];
        for first_ns in extremes {
            for second_ns in extremes {
                let case = "a-case-of-18-chars/same-cpu";
                let sides = [rounds(case, first_ns), other_rounds(case, second_ns)];
                let text = render(&comparison(Design::SavedRuns, &[case], [&sides[0], &sides[1]]));
                for line in text.lines() {
                    assert!(line.chars().count() <= COLUMNS, "{line}");
                }
            }
        }
    }
}
