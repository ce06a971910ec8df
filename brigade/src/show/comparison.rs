//! A comparison as the blocks of a page: what it can decide, the table, and notes.

use std::collections::BTreeMap;

use harness::flags::name;

use super::machine::difference;
use super::page::{Block, Columns, NO_BREAK_SPACE, Table, unbroken};
use super::quantity::{brief, ends, figure, percent, small_share, three_digits, with_ends};
use super::verdict::{RunVerdict, of_state, what_disturbed};
use crate::judge::compare::{
    Compared, Comparison, Design, MoreTime, NoVerdict, NotCompared, NotComparedFor, Pair, Side,
    SideName, Verdict,
};
use crate::judge::environment::{Difference, DifferencesByKind, by_kind};
use crate::judge::row::{ProcessOutcome, Quantity, Row};
use crate::judge::state::State;
use crate::judge::statistics::Estimate;
use crate::shell::quoted;

/// The names of the sides.
const SIDES: Pair<&str> = ["baseline", "candidate"];

/// The way of comparing builds that needs no other runs; `None` if it is not the builds that differ.
fn directly(comparison: &Comparison) -> Option<String> {
    if comparison.is_one_build || is_of_kernels(comparison) {
        return None;
    }
    let command = unbroken("brigade compare --bin OLD --bin NEW CASE…");
    Some(format!("compare the builds side by side: {command}"))
}

/// Whether the runs are of two kernels.
fn is_of_kernels(comparison: &Comparison) -> bool {
    !by_kind(&comparison.environment_differences).kernels.is_empty()
}

/// The way of comparing machines, kernels or settings.
fn groups_of_runs() -> String {
    unbroken("brigade compare A1 A2 A3 A4 A5 -- B1 B2 B3 B4 B5")
}

/// The parts of a comparison: what it decides, then each case, changed ones first.
pub fn blocks(comparison: &Comparison) -> Vec<Block> {
    let DifferencesByKind { inherited, cpus, kernels, others } =
        by_kind(&comparison.environment_differences);
    let lines = |facts: &[&Difference]| facts.iter().copied().map(difference).collect::<Vec<_>>();
    let joined = |words: &str, facts: &[&Difference], end: &str| {
        let text = format!("{words}: {}{end}", lines(facts).join(", "));
        (!facts.is_empty()).then_some(Block::Paragraph(text))
    };
    let mut page = vec![Block::Paragraph(verdict(comparison))];
    // What changes the meaning of the verdict is next to it.
    page.extend(comparison.large_correction().map(|by| Block::Paragraph(corrected_much(by))));
    let first = [&inherited[..], &kernels[..]].concat();
    page.extend(joined("These runs differ in", &first, "."));
    let shared_state = state_of_both(comparison);
    let shows_own_state = shared_state.is_none();
    page.extend(shared_state.map(Block::Paragraph));
    page.extend(resolution(comparison).map(Block::Paragraph));
    if !kernels.is_empty() && comparison.design == Design::TwoRuns {
        page.push(Block::Paragraph(boots()));
    }
    page.extend(joined("The CPUs differ in", &cpus, "."));
    let sides = SIDES.iter().zip(&comparison.sides);
    let sides = sides.map(|(label, described)| side(label, described, shows_own_state));
    page.push(Block::Items(sides.collect()));
    if comparison.is_one_build {
        let text = "Both sides are one build: what differs is the machine, not the program.";
        page.push(Block::Paragraph(text.to_owned()));
    }
    if !comparison.cases.is_empty() {
        page.push(Block::Table(table(comparison)));
        page.push(Block::Paragraph(legend(comparison)));
    }
    let notes = [lines(&others), notes(comparison)].concat();
    if !notes.is_empty() {
        page.push(Block::Items(notes));
    }
    page
}

/// Says that times are corrected by so much that the verdict depends on it.
fn corrected_much(by: f64) -> String {
    format!(
        "The machine had another speed: the reference took {} times as long in the candidate's run. \
         Ratios of times are corrected ×{by:.2}, as if every case changed by as much.",
        hundredths(1.0 / by)
    )
}

/// How to decide between two kernels.
fn boots() -> String {
    format!(
        "One run of each kernel does not separate it from what differs from boot to boot. Boot each \
         five times or more and measure once per boot; each run is then one sample: {}",
        groups_of_runs()
    )
}

/// Says that a comparison was interrupted.
pub fn interrupted(rounds: u32) -> String {
    let plural = if rounds == 1 { "" } else { "s" };
    format!("interrupted after {rounds} round{plural}")
}

/// Says that no case was compared, and why the first was not.
pub fn nothing_compared(comparison: &Comparison) -> String {
    let first = comparison.not_compared.first();
    let why = first.map_or(String::new(), |missing| format!(": {}", not_compared(missing)));
    format!("nothing was compared{why}")
}

/// A case that could not be compared, and why.
pub fn not_compared(NotCompared { case, reason }: &NotCompared) -> String {
    let reason = match reason {
        NotComparedFor::Skipped(reason) => reason.clone(),
        NotComparedFor::NotMeasured { side, error } => {
            let error = error.as_ref().map_or(String::new(), |error| format!(": {error}"));
            let [baseline, candidate] = SIDES;
            let side = match side {
                SideName::Baseline => baseline,
                SideName::Candidate => candidate,
            };
            format!("the {side} has not measured it{error}")
        }
        NotComparedFor::OtherOperation(sides) => {
            let [one, other] = sides.each_ref().map(|[name, of]| format!("{name} of {of}"));
            format!("the baseline measures {one}, the candidate {other}")
        }
        NotComparedFor::NotPositive => {
            "a figure, or the end of its interval, is not above 0".to_owned()
        }
    };
    format!("{case}: {reason}")
}

/// The most cases that the first line names.
const MOST_NAMED: usize = 3;

/// Whether the candidate is slower, or why nobody can tell and what would.
fn verdict(comparison: &Comparison) -> String {
    let cases = &comparison.cases;
    let has_few_runs = matches!(comparison.no_verdict, Some(NoVerdict::FewRuns(_)));
    if cases.is_empty() && !has_few_runs {
        return "NO VERDICT: no case has figures of both sides.".to_owned();
    }
    if let Some(reason) = comparison.no_verdict {
        return no_verdict(comparison, reason);
    }
    let with = |verdict: Verdict| cases.iter().filter(move |case| case.verdict == verdict);
    let all = cases.len();
    let slower = comparison.count(Verdict::Slower);
    let faster = comparison.count(Verdict::Faster);
    let undecided: Vec<&Compared> =
        cases.iter().filter(|case| !comparison.excludes_slowdown(case)).collect();
    let margin = format!("{}{NO_BREAK_SPACE}%", brief(comparison.margin * 100.0));
    let confidence = percent(comparison.design.confidence());
    if slower > 0 {
        format!("SLOWER: {slower} of {all}. {}", takes(with(Verdict::Slower), comparison.margin))
    } else if !undecided.is_empty() {
        format!(
            "UNDECIDED: {} of {all}. {}; {}",
            undecided.len(),
            intervals(&undecided, comparison.margin),
            what_would_decide(comparison)
        )
    } else if faster > 0 {
        let others = if faster < all {
            format!(" In the others a slowdown of {margin} or more is excluded ({confidence}).")
        } else {
            String::new()
        };
        format!(
            "FASTER: {faster} of {all}. {}{others}",
            takes(with(Verdict::Faster), comparison.margin)
        )
    } else {
        let cases = if all == 1 { "case" } else { "cases" };
        format!(
            "NOT SLOWER: in {all} of {all} {cases} a slowdown of {margin} or more is excluded \
             ({confidence})."
        )
    }
}

/// How many times as long these cases take, the largest change first.
fn takes<'a>(cases: impl Iterator<Item = &'a Compared>, margin: f64) -> String {
    let mut cases: Vec<&Compared> = cases.collect();
    let size = |case: &Compared| case.ratio.value.ln().abs();
    cases.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let shown = cases.iter().take(MOST_NAMED).map(|case| {
        let what = match case.rows[0].unit {
            Quantity::Bytes => "the memory",
            _ => "as long",
        };
        let label = &case.rows[0].label;
        let show = decimals(&case.ratio, margin);
        let times = show(case.ratio.value);
        format!("{label} takes {times} times {what} {}", ends(&case.ratio, show))
    });
    let more = match cases.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(", and {more} more below"),
    };
    shown.collect::<Vec<_>>().join(", ") + &more + "."
}

/// Cases with the intervals of their ratios, the widest first.
fn intervals(cases: &[&Compared], margin: f64) -> String {
    let width =
        |case: &Compared| case.ratio.interval.map_or(f64::INFINITY, |ends| ends.high / ends.low);
    let mut cases = cases.to_vec();
    cases.sort_by(|one, other| width(other).total_cmp(&width(one)));
    let shown = cases.iter().take(MOST_NAMED).map(|case| {
        let ends = ends(&case.ratio, decimals(&case.ratio, margin));
        format!("{}{NO_BREAK_SPACE}{ends}", case.rows[0].label)
    });
    let more = match cases.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.collect::<Vec<_>>().join(", ") + &more
}

/// What would decide about cases that are undecided.
fn what_would_decide(comparison: &Comparison) -> String {
    match comparison.design {
        Design::SideBySide => comparison.with_more_time().map_or_else(
            || "more rounds would decide.".to_owned(),
            |MoreTime { seconds, share }| {
                let time = more_time(seconds);
                format!("{time} would decide about half of the changes of {}.", percent(share))
            },
        ),
        Design::TwoRuns if is_of_kernels(comparison) => {
            "runs of more boots would decide.".to_owned()
        }
        Design::TwoRuns => directly(comparison).unwrap_or_else(|| {
            format!("five or more runs a side would decide: {}", groups_of_runs())
        }),
        Design::Groups => "more runs a side would decide.".to_owned(),
    }
}

/// How much more time, such as `3 more minutes`.
fn more_time(seconds: f64) -> String {
    match (seconds / 60.0).ceil() {
        ..=1.0 => "one more minute".to_owned(),
        minutes => format!("{minutes:.0} more minutes"),
    }
}

/// The state of both sides, if they ran on the same CPUs in the same rounds: that of the side which
/// was disturbed more.
fn state_of_both(comparison: &Comparison) -> Option<String> {
    let is_shared = comparison.sides.iter().all(|side| !side.other_cpus);
    let states = comparison.sides.iter().flat_map(|side| &side.states);
    let lost = |state: &&State| -> f64 {
        state.causes.iter().filter(|cause| !cause.is_bound).map(|cause| cause.share).sum()
    };
    let worst = states.max_by(|one, other| lost(one).total_cmp(&lost(other)))?;
    let is_asked = comparison.design == Design::SideBySide && is_shared;
    is_asked.then(|| of_state(worst).line())
}

/// From which change on the cases get verdicts, and how many have which; `None` without verdicts.
fn resolution(comparison: &Comparison) -> Option<String> {
    let Comparison { design, sides, cases, no_verdict: None, .. } = comparison else { return None };
    let share = comparison.resolution()?;
    let verdicts = [Verdict::Slower, Verdict::Faster, Verdict::Same, Verdict::Unresolved];
    let counts = verdicts
        .map(|verdict| format!("{}{NO_BREAK_SPACE}{}", comparison.count(verdict), name(&verdict)));
    let missing = comparison.not_compared.len();
    let missing = if missing > 0 { format!(", {missing} not compared") } else { String::new() };
    let are_unlike = sides.iter().any(|side| side.other_binary);
    let builds = if are_unlike { " (of these two builds)" } else { "" };
    let from = match design {
        Design::SideBySide => {
            let rounds = cases.iter().map(|case| case.ratio.count).max().unwrap_or(0);
            &format!("{rounds} rounds")
        }
        Design::TwoRuns | Design::Groups => "These runs",
    };
    Some(format!(
        "{from} can show a change only from {} on, in half of the cases: {}{missing}{builds}.",
        small_share(share),
        counts.join(", ")
    ))
}

/// Why nothing is decided, and what to do.
fn no_verdict(comparison: &Comparison, reason: NoVerdict) -> String {
    let or_directly =
        || directly(comparison).map_or_else(|| ".".to_owned(), |way| format!(", or {way}"));
    match reason {
        NoVerdict::Disturbed => {
            let disturbed = disturbed_sides(comparison);
            let runs = if disturbed.len() == 1 { "that run" } else { "both" };
            let mut states = comparison.sides.iter().flat_map(|side| &side.states);
            let is_emulated = states.any(State::is_emulated);
            let machine = if is_emulated { "real" } else { "quiet" };
            let repeat = match comparison.design {
                Design::SideBySide if is_emulated => "Repeat it on a real machine.",
                Design::SideBySide => {
                    "The sides use different CPUs. Repeat it when these are idle."
                }
                _ => &format!("Repeat {runs} on a {machine} machine{}", or_directly()),
            };
            format!("NO VERDICT: {}. {repeat}", disturbed.join("; "))
        }
        NoVerdict::FewEarlier(lacking) => {
            let known = match comparison.earlier_runs {
                0 => "nothing shows".to_owned(),
                1 => "one earlier run does not show".to_owned(),
                known => format!("{known} earlier runs of two builds do not show"),
            };
            let unknown =
                format!("NO VERDICT: {known} how much two runs of one build differ here.");
            if is_of_kernels(comparison) {
                return unknown;
            }
            let times = if lacking == 1 { "once" } else { "twice" };
            let more = if comparison.is_one_build {
                format!("Run it {times} more and compare the last two")
            } else {
                format!("Run the old build {times} more, then the new one again")
            };
            format!("{unknown} {more}{}", or_directly())
        }
        NoVerdict::FewRuns(needed) => {
            let [baseline, candidate] = comparison.sides.each_ref().map(Side::samples);
            let cases = comparison.cases.len();
            let together = match needed {
                ..=5 => String::new(),
                _ => format!(" for one case, {needed} for {cases} cases together"),
            };
            let mut states = comparison.sides.iter().flat_map(|side| &side.states);
            let others = if states.all(|state| state.is_comparable) {
                ""
            } else {
                " The others were disturbed, unsteady or too short."
            };
            format!(
                "NO VERDICT: five runs a side are needed{together}. The baseline has {baseline}, \
                 the candidate {candidate}.{others}"
            )
        }
    }
}

/// The sides that cannot be compared, and what disturbed them.
fn disturbed_sides(comparison: &Comparison) -> Vec<String> {
    let of_side = |(label, side): (&str, &Side)| {
        let is_disturbed = |state: &&State| match comparison.design {
            Design::SideBySide => !state.is_fit,
            _ => !state.is_comparable,
        };
        let state = side.states.iter().find(is_disturbed)?;
        let name = match comparison.design {
            Design::SideBySide => format!("the {label}"),
            _ => records(side),
        };
        let RunVerdict { word, .. } = of_state(state);
        Some(format!("{name} was {word}: {}", what_disturbed(state)))
    };
    SIDES.into_iter().zip(&comparison.sides).filter_map(of_side).collect()
}

/// A row for each case: changed cases, then unresolved ones, each by size of the ratio.
fn table(comparison: &Comparison) -> Table {
    let size = |case: &Compared| case.ratio.value.ln().abs();
    let rank = |case: &Compared| match case.verdict {
        Verdict::Slower | Verdict::Faster => 0,
        Verdict::Unresolved => 1,
        Verdict::Same => 2,
    };
    let mut cases: Vec<&Compared> = comparison.cases.iter().collect();
    cases.sort_by(|a, b| rank(a).cmp(&rank(b)).then(size(b).total_cmp(&size(a))));
    // Such as `1.051 [1.012, 1.093]`.
    let ratio = |ratio: &Estimate| with_ends(&thousandths(ratio.value), ratio, thousandths);
    Columns::<&Compared>::new()
        .left("case", |case| case.rows[0].label.clone())
        .right("baseline", |case| figure(&case.rows[0]))
        .right("candidate", |case| figure(&case.rows[1]))
        .left("ratio [interval]", move |case| ratio(&case.ratio))
        .left("verdict", |case| name(&case.verdict))
        .table(cases)
}

/// An end of an interval this close to what decides is shown with three decimals.
const CLOSE: f64 = 0.005;

/// How a ratio and its ends are shown in the first line: with two decimals, unless these round away on
/// which side of 1 or of the margin an end lies.
fn decimals(ratio: &Estimate, margin: f64) -> fn(f64) -> String {
    let limits = [1.0, 1.0 + margin, 1.0 / (1.0 + margin)];
    let is_close = |end: f64| limits.iter().any(|limit| (end - limit).abs() <= CLOSE);
    let are_close = ratio.interval.is_some_and(|ends| is_close(ends.low) || is_close(ends.high));
    if are_close { thousandths } else { hundredths }
}

/// A ratio with two decimals near 1.
fn hundredths(ratio: f64) -> String {
    if (0.0..9.995).contains(&ratio) { format!("{ratio:.2}") } else { three_digits(ratio) }
}

/// A ratio with three decimals near 1, where they matter.
fn thousandths(ratio: f64) -> String {
    if (0.0..9.9995).contains(&ratio) { format!("{ratio:.3}") } else { three_digits(ratio) }
}

/// The folder of a side's run, or how many runs it has.
fn records(side: &Side) -> String {
    side.records.clone().unwrap_or_else(|| format!("{} runs", side.states.len()))
}

fn side(label: &str, described: &Side, shows_own_state: bool) -> String {
    let Side { revision, wrap, args, states, .. } = described;
    let mut parts = vec![records(described)];
    if let Some(revision) = revision {
        parts.push(format!("commit {revision}"));
    }
    for (flag, words) in [("--wrap", wrap), ("--args", args)] {
        if !words.is_empty() {
            let command = quoted(words.iter().map(String::as_str));
            parts.push(quoted([flag, &*command]));
        }
    }
    if shows_own_state {
        parts.extend(state_of(states));
    }
    format!("{label}: {}", parts.join(", "))
}

/// The verdict on a side's only run, or how many of its runs have which.
fn state_of(states: &[State]) -> Option<String> {
    if let [state] = states {
        return Some(of_state(state).line());
    }
    let mut counts = BTreeMap::<&str, usize>::new();
    for state in states {
        *counts.entry(of_state(state).word).or_default() += 1;
    }
    let mut counts: Vec<String> =
        counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let unused = states.iter().filter(|state| !state.is_comparable).count();
    if unused > 0 {
        counts.push(format!("{unused} not used"));
    }
    (!counts.is_empty()).then(|| counts.join(", "))
}

/// What the columns mean.
fn legend(comparison: &Comparison) -> String {
    let Comparison { confidence, margin, design, correction, .. } = comparison;
    let sample = match design {
        Design::SideBySide => "round",
        Design::TwoRuns => "process",
        Design::Groups => "run",
    };
    let corrected = correction.map_or(String::new(), |by| format!(", corrected ×{by:.2}"));
    format!(
        "Medians; each {sample} is one sample. ratio: candidate / baseline{corrected}, with a {:.2} \
         % interval. same: within {} %.",
        confidence * 100.0,
        margin * 100.0,
    )
}

/// The notes, each a sentence.
fn notes(comparison: &Comparison) -> Vec<String> {
    let missing = comparison.not_compared.iter();
    let missing = missing.map(|missing| format!("not compared: {}", not_compared(missing)));
    let mut notes: Vec<String> = missing.collect();
    let limited = comparison.cases.iter().filter(|case| {
        case.verdict == Verdict::Unresolved && case.ratio.excludes(1.0) && case.earlier.is_some()
    });
    notes.extend(limited.map(|case| {
        let earlier = percent(case.earlier.unwrap_or(1.0) - 1.0);
        format!("{}: runs of one build differed by {earlier}", case.rows[0].label)
    }));
    let all = |what: &str, count: fn(&Row) -> usize| {
        let sum = |side: usize| comparison.cases.iter().map(|case| count(&case.rows[side])).sum();
        let [first, second]: Pair<usize> = [0, 1].map(sum);
        (first + second > 0)
            .then(|| format!("{what}: {first} of the baseline, {second} of the candidate"))
    };
    let disturbed = |row: &Row| row.count(ProcessOutcome::Disturbed);
    notes.extend(all("stopped or throttled, not used", disturbed));
    let changed = |row: &Row| row.count(ProcessOutcome::Changed);
    notes.extend(all("inherited something else than the run, not used", changed));
    notes.extend(all("failed", Row::failures));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::statistics::Interval;

    /// Otherwise `[1.00, 1.07]` would be undecided, or a slowdown excluded by `[0.99, 1.03]`.
    #[test]
    fn the_first_line_shows_on_which_side_of_what_decides_an_end_lies() {
        for (low, high, expected) in [
            (0.94, 1.21, "[0.94, 1.21]"),
            (1.001, 1.067, "[1.001, 1.067]"),
            (0.989, 1.031, "[0.989, 1.031]"),
            (0.9, 0.9712, "[0.900, 0.971]"),
            (1.034, 1.08, "[1.034, 1.080]"),
            (1.04, 1.08, "[1.04, 1.08]"),
        ] {
            let interval = Some(Interval { low, high });
            let ratio = Estimate { value: f64::midpoint(low, high), interval, count: 9 };
            let shown = ends(&ratio, decimals(&ratio, 0.03)).replace(NO_BREAK_SPACE, " ");
            assert_eq!(shown, expected);
        }
        let none = Estimate { value: 1.0, interval: None, count: 4 };
        assert_eq!(decimals(&none, 0.03)(none.value), "1.00");
    }
}
