//! A comparison as the blocks of a page: the table, its legend and notes on its precision.

use harness::terminal;

use super::notes::apart;
use super::page::{ABSENT, Block, NO_BREAK_SPACE, Table};
use super::quantity::{bytes, duration, percent, small_share, three_digits};
use crate::judge::compare::{
    BetweenRuns, CaseComparison, Comparison, Described, Design, ModesOfSides, Pair, Verdict,
};
use crate::judge::environment::{different_cpus, other_differences};
use crate::judge::ledger::Quantity;
use crate::judge::report::model::by_reason;
use crate::judge::statistics::{Estimate, Interval};

/// The fewest cases whose ratios together show a change of the machine.
const MANY_CASES: usize = 8;

/// The parts of a comparison: all cases together, then each case, changed ones
/// first.
pub fn blocks(comparison: &Comparison) -> Vec<Block> {
    let Comparison { baseline, candidate, .. } = comparison;
    let mut page: Vec<Block> = all_together(comparison).map(Block::Paragraph).into_iter().collect();
    page.push(Block::Paragraph(totals(comparison)));
    page.extend(visible(comparison).map(Block::Paragraph));
    page.extend(different_cpus(&comparison.environment_differences).map(Block::Paragraph));
    page.push(Block::Items(vec![side("baseline", baseline), side("candidate", candidate)]));
    if !comparison.cases.is_empty() {
        page.push(Block::Table(table(comparison)));
        page.push(Block::Paragraph(legend(comparison)));
    }
    let notes = notes(comparison);
    page.extend((!notes.is_empty()).then_some(Block::Items(notes)));
    page
}

/// One row per case: changed cases, then unresolved ones, each by size of the ratio.
fn table(comparison: &Comparison) -> Table {
    let mut table = Table::of("case|>baseline|ratio [interval]|verdict");
    let size = |case: &CaseComparison| case.ratio.value.ln().abs();
    let rank = |case: &CaseComparison| match case.verdict {
        Verdict::Slower | Verdict::Faster => 0,
        Verdict::Unresolved => 1,
        Verdict::Same => 2,
    };
    let mut cases: Vec<&CaseComparison> = comparison.cases.iter().collect();
    cases.sort_by(|a, b| rank(a).cmp(&rank(b)).then(size(b).total_cmp(&size(a))));
    for case in cases {
        table.push(vec![
            terminal::line(&case.title).into_owned(),
            match case.unit {
                Quantity::Bytes => bytes(case.figures[0]),
                _ => duration(case.figures[0]),
            },
            ratio(&case.ratio),
            case.verdict.as_str().to_owned(),
        ]);
    }
    table
}

/// A ratio and its interval, such as `1.051 [1.012, 1.093]`.
fn ratio(ratio: &Estimate) -> String {
    let interval = ratio.interval.map_or(ABSENT.to_owned(), |Interval { low, high }| {
        format!("{},{NO_BREAK_SPACE}{}", thousandths(low), thousandths(high))
    });
    format!("{}{NO_BREAK_SPACE}[{interval}]", thousandths(ratio.value))
}

/// A ratio with three decimals near 1, where they matter.
fn thousandths(ratio: f64) -> String {
    if (0.0..9.9995).contains(&ratio) { format!("{ratio:.3}") } else { three_digits(ratio) }
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
fn legend(comparison: &Comparison) -> String {
    let Comparison { confidence, confidence_of_each, margin, design, .. } = comparison;
    let sample = match design {
        Design::SideBySide => "round",
        Design::TwoRuns => "process",
        Design::Groups => "run",
    };
    format!(
        "baseline: time per operation, or memory per task; ratio: candidate / baseline; each \
         {sample} is one sample. Intervals: {:.0} % together, {:.2} % each; same: within {} %.",
        confidence * 100.0,
        confidence_of_each * 100.0,
        margin * 100.0,
    )
}

/// The number of cases with each verdict.
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

/// The smallest change that would have been detected: in the most precise case, in half of the
/// cases, and in all.
fn visible(comparison: &Comparison) -> Option<String> {
    let ends = comparison.cases.iter().filter_map(|case| case.ratio.interval);
    let mut widths: Vec<f64> =
        ends.map(|Interval { low, high }| ((high / low).ln() / 2.0).exp() - 1.0).collect();
    widths.sort_by(f64::total_cmp);
    let (first, last) = (widths.first()?, widths.last()?);
    let middle = widths[(widths.len() - 1) / 2];
    Some(match widths.len() {
        1 => format!("A change of {} or more would have been detected.", small_share(*first)),
        _ => format!(
            "A change of {} or more would have been detected in half of the cases; of {} in the \
             most precise one; of {} in all.",
            small_share(middle),
            small_share(*first),
            small_share(*last)
        ),
    })
}

/// One sentence per note.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = other_differences(&comparison.environment_differences);
    let missing = by_reason(&comparison.not_compared).into_iter();
    notes.extend(missing.map(|(reason, cases)| format!("Not compared: {cases}: {reason}.")));
    notes.extend(comparison.between.iter().flat_map(between));
    notes.extend(comparison.cases.iter().flat_map(|case| about(case, comparison.margin)));
    let all = |what: &str, of: fn(&CaseComparison) -> Pair<usize>| {
        let sum = |side: usize| comparison.cases.iter().map(|case| of(case)[side]).sum::<usize>();
        let [first, second] = [0, 1].map(sum);
        (first + second > 0).then(|| {
            format!("Processes {what}: {first} of the baseline, {second} of the candidate.")
        })
    };
    notes.extend(all("disturbed", |case| case.disturbed));
    notes.extend(all("not used", |case| case.unusable));
    notes.extend(all("failed", |case| case.failed));
    let open = comparison.count(Verdict::Unresolved);
    let advice = match comparison.design {
        Design::TwoRuns => "compare the builds side by side (--bin), or runs with more rounds",
        Design::SideBySide => "a larger --budget gives more rounds",
        Design::Groups => "compare more runs",
    };
    notes.extend((open > 0).then(|| format!("{open} unresolved: {advice}.")));
    notes
}

/// How much two runs differ for other reasons.
fn between(of: &BetweenRuns) -> Vec<String> {
    let BetweenRuns { states: [first, second], spread, .. } = of;
    let states = first.zip(*second).map(|(first, second)| {
        format!(
            "The machine took {} times as long for the same work during the candidate's run. The \
             ratios are corrected for that.",
            thousandths(second.reference_ns / first.reference_ns),
        )
    });
    let spread = match spread {
        Some(of) => format!(
            "So corrected, runs of one build on this machine differ by {} ({} runs). Intervals \
             allow for that.",
            apart(*of),
            of.runs,
        ),
        None => "Nothing shows how much runs of one build differ on this machine, so there is no \
                 verdict: record another run of either build next to it."
            .to_owned(),
    };
    states.into_iter().chain([spread]).collect()
}

/// The ratio over all cases, if there are enough. A change common to all is rarely caused by the
/// programs.
fn all_together(comparison: &Comparison) -> Option<String> {
    let ratios: Vec<f64> = comparison.cases.iter().map(|case| case.ratio.value).collect();
    let middle = Estimate::of(&ratios).filter(|_| ratios.len() >= MANY_CASES)?;
    let is_shared = middle.excludes(1.0) && comparison.design != Design::SideBySide;
    let why = if is_shared { ": the cause is something they share, or the machine" } else { "" };
    let all = format!("Over all cases the candidate takes {} times as long", ratio(&middle));
    Some(all + why + ".")
}

/// Notes on one case, including its 99th percentile if only that moved by more than `margin`.
fn about(case: &CaseComparison, margin: f64) -> Vec<String> {
    let modes = case.modes.map(|ModesOfSides { fast_ns, slow_ns, slow_share }| {
        format!(
            "two modes, {} and {}; slow in {} of the baseline's processes and {} of the \
             candidate's",
            duration(fast_ns),
            duration(slow_ns),
            percent(slow_share[0]),
            percent(slow_share[1]),
        )
    });
    let has_moved = matches!(case.verdict, Verdict::Slower | Verdict::Faster);
    let tail = case.percentiles.get("p99").filter(|p99| {
        matches!(Verdict::of(p99, margin), Verdict::Slower | Verdict::Faster) && !has_moved
    });
    let tail = tail.map(|p99| format!("p99 {} times", ratio(p99)));
    let sentences = [modes, tail].into_iter().flatten();
    sentences.map(|note| format!("{}: {note}.", case.title)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::page::COLUMNS;
    use super::super::{html, markdown, text};
    use super::*;
    use crate::judge::compare::sample::Sample;
    use crate::store::fixtures as sample;

    fn comparison() -> Comparison {
        // Scatter of a side's rounds around its time.
        const SCATTER: [f64; 10] = [1.0, 0.99, 1.01, 1.004, 0.996, 1.002, 0.998, 1.006, 0.994, 1.0];
        let side = |factors: [f64; 4]| {
            let names =
                ["alike/free", "longer/<b>", "shorter/free", "extreme-of-18-chars/same-cpu"];
            let cases = names.into_iter().zip(factors);
            cases.flat_map(|(name, by)| sample::case(name, SCATTER.map(|of| 1800.0 * by * of)))
        };
        let sides: [Vec<_>; 2] =
            [side([1.0, 1.0, 1.0, 1.0]), side([1.001, 1.05, 0.5, 1e9])].map(Iterator::collect);
        let names =
            ["alike/free", "longer/<b>", "shorter/free", "extreme-of-18-chars/same-cpu", "x"];
        let cases =
            names.map(|name| (name, sides.each_ref().map(|of| Sample::of(name, [&of[..]]))));
        let described = ["2026-01-01-x-baseline", "2026-01-01-x-candidate"]
            .map(|records| Described { records: records.to_owned(), ..Described::default() });
        Comparison::of(Design::SideBySide, described, cases.into(), 0.03, None)
    }

    #[test]
    fn every_format_has_the_same_rows_and_the_largest_change_first() {
        let comparison = comparison();
        let page = blocks(&comparison);
        let text = text::blocks(&page);
        let html = html::comparison(&comparison);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(!html.contains("<b>"));
        for format in [&text, &markdown::blocks(&page), &html] {
            let at = |what: &str| format.find(what).unwrap_or_else(|| panic!("{what}: {format}"));
            assert!(at("extreme") < at("shorter/free") && at("shorter/free") < at("alike/free"));
            assert!(at("2 slower, 1 faster, 1 same") < at("1 not compared"));
        }
    }
}
