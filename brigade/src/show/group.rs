//! What answers a group's question: sentences, a table of figures by load, and where the time goes.

use super::page::{ABSENT, Table, left, right};
use super::quantity::{
    NO_BREAK_SPACE, Unit, brief_ticks, duration, estimate, factor, percent, three_digits, times,
    with_ends,
};
use crate::judge::loads::{LoadAdvice, LoadLine, Loads};
use crate::judge::prediction::{Difference, Prediction};
use crate::judge::report::{Answer, Group};
use crate::judge::row::{Quantity, Row};
use crate::judge::savings::{Saving, SavingStep, Savings};
use crate::judge::statistics::Estimate;

/// A sentence with its ratio, and its reason.
pub fn answer(Answer { text, reason, ratio, share, .. }: &Answer) -> String {
    let words = if *share { percent(1.0 - 1.0 / ratio.value) } else { times(ratio.value) };
    let reason = reason.as_ref().map_or(String::new(), |reason| format!(" {reason}"));
    text.replacen("{}", &words, 1) + &reason
}

/// A group's question, or what its cases are.
pub fn question(group: &Group) -> &str {
    if group.question.is_empty() { "Other cases" } else { &group.question }
}

/// The figures of the cases, without those of single measurements.
pub fn cases(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let mut before = None;
    rows.iter().filter(move |row| before.replace(&row.case) != Some(&row.case))
}

/// The sentences that answer a group's question; none if the run was disturbed.
pub fn group_answers(group: &Group) -> Vec<String> {
    if !group.is_fit {
        return Vec::new();
    }
    let advice = group.loads.as_ref().and_then(|loads| loads.advice.as_ref()).map(advised);
    let answers = advice.into_iter().chain(group.answers.iter().map(answer));
    let answers = answers.chain(saved(&group.savings));
    answers.chain(predicted(&group.predictions)).chain(explained(&group.differences)).collect()
}

/// What one kind of task saves, by the work in an operation.
pub fn saved(savings: &[Savings]) -> Vec<String> {
    savings.iter().filter_map(saves).collect()
}

fn saves(savings: &Savings) -> Option<String> {
    let Savings { kind, of, place, operation, at, .. } = savings;
    let place = place.as_ref().map_or(String::new(), |place| format!("{place}, "));
    let mut shares = at.iter().filter(|at| at.share.interval.is_some()).map(|at| {
        let Saving { work_ns, share, .. } = at;
        let work = brief_ticks(*work_ns, Quantity::Nanoseconds);
        format!("with {work} of work {}", percent_with_ends(share))
    });
    let with_work = shares.by_ref().collect::<Vec<_>>().join(", ");
    let without = savings.without_work().filter(|step| step.saving.share.interval.is_some());
    let text = match without {
        Some(SavingStep { saving, over_ns, .. }) => {
            let then = if with_work.is_empty() { String::new() } else { format!("; {with_work}") };
            format!(
                "{place}without work in a {operation}, {kind} save {} of {of}, {} of {}{then}.",
                percent_with_ends(&saving.share),
                estimate(&saving.saved_ns, Quantity::Nanoseconds),
                duration(*over_ns)
            )
        }
        None if with_work.is_empty() => return None,
        None => format!("{place}{kind} save of {of}: {with_work}."),
    };
    let why = savings.why.as_ref().map_or(String::new(), |why| {
        let counts = [why.first, why.own].map(three_digits);
        let text =
            counts.iter().fold(why.text.clone(), |text, count| text.replacen("{}", count, 1));
        format!(" {text}")
    });
    Some(capitalized(&text) + &why)
}

/// A share of 0 to 1 with its interval, such as `3 % [-3, 11]`.
pub fn percent_with_ends(share: &Estimate) -> String {
    let end = |end: f64| format!("{:.0}", (end * 100.0).round() + 0.0);
    with_ends(&percent(share.value), share, end)
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Which share of the part beyond a server without waits hops predict, by kind.
fn predicted(predictions: &[Prediction]) -> Option<String> {
    let kind = |prediction: &Prediction| (prediction.kind.clone(), prediction.share);
    let kinds = shares_by_name(predictions.iter().map(kind))?;
    Some(format!("Hops predict, of what a request costs beyond a server without waits: {kinds}."))
}

/// Which share of the differences between kinds hops predict.
fn explained(differences: &[Difference]) -> Option<String> {
    let kinds = |difference: &Difference| (difference.kinds.join(" − "), difference.share);
    let kinds = shares_by_name(differences.iter().map(kinds))?;
    Some(format!("Of the differences between kinds: {kinds}."))
}

/// The least and the largest share under each name; `None` without any. Costs that are not clearly
/// above 0 have none.
fn shares_by_name(shares: impl Iterator<Item = (String, Option<f64>)>) -> Option<String> {
    let mut names: Vec<(String, Vec<Option<f64>>)> = Vec::new();
    for (name, share) in shares {
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, shares)) => shares.push(share),
            None => names.push((name, vec![share])),
        }
    }
    let shown = names.iter().map(|(name, all)| {
        let mut shares: Vec<f64> = all.iter().copied().flatten().collect();
        shares.sort_by(f64::total_cmp);
        let range = match &shares[..] {
            [] => return format!("{name}: nothing to predict is clear"),
            [only] => percent(*only),
            [least, .., most] => format!("{:.0} to {}", least * 100.0, percent(*most)),
        };
        format!("{name} {range} ({} of {} loads)", shares.len(), all.len())
    });
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// Which line of a table to choose.
fn advised(LoadAdvice { usual, better, load, ratio, depends }: &LoadAdvice) -> String {
    let Some((better, ratio)) = better.as_ref().zip(ratio.as_ref()) else {
        return format!("Keep {usual}: no other is clearly cheaper under any load.");
    };
    let by = times(ratio.value);
    if *depends {
        format!(
            "It depends on the load: with {load}, {usual} takes {by} as long as {better}; with another \
             load {better} is slower."
        )
    } else {
        format!(
            "Use {better}: with {load}, {usual} takes {by} as long, and it is never clearly cheaper."
        )
    }
}

/// Figures by load, sorted by the last load and then by the first: with factors to the cheapest, or
/// with CPU time.
pub fn loads_table(loads: &Loads) -> Table {
    let has_cpu = loads.lines.iter().any(|line| !line.cpu_ns.is_empty());
    let what = if has_cpu { ": time/CPU" } else { "" };
    let mut headings = vec![left(""), left(&format!("one {}{what}", loads.operation))];
    for load in &loads.loads {
        headings.push(right(load));
        if !has_cpu {
            headings.push(right("×"));
        }
    }
    let mut table = Table::new(headings);
    let value = |line: &LoadLine, at: usize| {
        line.figures.get(at).copied().flatten().map_or(f64::INFINITY, |figure| figure.value)
    };
    let by = |line: &LoadLine, at: usize| {
        let ratio = line.factors.get(at).copied().flatten();
        ratio.map_or(String::new(), |ratio| factor(ratio.value))
    };
    let last = loads.loads.len().saturating_sub(1);
    let mut lines: Vec<&LoadLine> = loads.lines.iter().collect();
    lines.sort_by(|one, other| {
        let by_last = value(one, last).total_cmp(&value(other, last));
        by_last.then(value(one, 0).total_cmp(&value(other, 0)))
    });
    for line in lines {
        let mut cells = vec![line.letter.to_string(), line.label.clone()];
        for at in 0..loads.loads.len() {
            let figure = value(line, at);
            let shown = if !figure.is_finite() {
                ABSENT.to_owned()
            } else if has_cpu {
                with_cpu(figure, line.cpu_ns.get(at).copied().flatten())
            } else {
                duration(figure)
            };
            cells.push(shown);
            if !has_cpu {
                cells.push(by(line, at));
            }
        }
        table.push(cells);
    }
    table
}

/// A time and the CPU time, in one unit: `95.0/181 ns`.
fn with_cpu(time_ns: f64, cpu_ns: Option<f64>) -> String {
    let unit = Unit::of(time_ns, Quantity::Nanoseconds);
    let cpu = cpu_ns.map_or(ABSENT.to_owned(), |ns| unit.show(ns));
    format!("{}/{cpu}{NO_BREAK_SPACE}{}", unit.show(time_ns), unit.symbol)
}

/// Where the time of each case goes, as far as it fits a terminal.
pub fn parts_on_screen(group: &Group) -> Table {
    let figures = ["elapsed", "user", "kernel", "error", "asleep", "waking", "cross"].map(right);
    let mut table = Table::new([left("where the time goes")].into_iter().chain(figures));
    for row in cases(&group.rows) {
        let Some(parts) = row.parts else { continue };
        let why = parts.waiting_for;
        let times = [Some(parts.user_ns), Some(parts.kernel_ns), parts.division_error_ns];
        let waits = [why.map(|why| why.idle_ns), why.map(|why| why.waking_ns)];
        let shares = times
            .into_iter()
            .chain(waits)
            .map(|ns| ns.map_or(ABSENT.to_owned(), |ns| percent(ns / parts.elapsed_ns)));
        let cross = parts.crossing_share.map_or(ABSENT.to_owned(), percent);
        let name = if row.flags().is_empty() { "free" } else { row.flags() };
        let cells = [name.to_owned(), duration(parts.elapsed_ns)].into_iter();
        table.push(cells.chain(shares).chain([cross]).collect());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::savings::MoreSwitches;
    use crate::judge::statistics::Interval;

    /// A share, with this distance to both ends.
    fn saving(work_ns: f64, share: f64, by: f64) -> Saving {
        let interval = Some(Interval { low: share - by, high: share + by });
        let share = Estimate { value: share, interval, count: 9 };
        Saving { work_ns, share, saved_ns: share.map(|share| share * 20_000.0) }
    }

    fn step(units: u64, saving: Saving) -> SavingStep {
        let (case, over) = (String::new(), String::new());
        let (over_ns, switches, over_switches) = (20_000.0, None, None);
        SavingStep { case, over, units, saving, over_ns, switches, over_switches }
    }

    fn savings() -> Savings {
        Savings {
            kind: "async tasks".to_owned(),
            of: "the time".to_owned(),
            place: None,
            operation: "request".to_owned(),
            steps: vec![step(0, saving(0.0, 0.3, 0.1)), step(10, saving(13_000.0, 0.05, 0.1))],
            at: vec![saving(10_000.0, 0.06, 0.1), saving(100_000.0, 0.012, 0.05)],
            why: None,
        }
    }

    #[test]
    fn a_sentence_states_savings_with_their_intervals() {
        let shown = |savings: Savings| saved(&[savings])[0].replace('\u{a0}', " ");
        assert_eq!(
            shown(savings()),
            "Without work in a request, async tasks save 30 % [20, 40] of the time, 6.00 µs \
             [4.00, 8.00] of 20.0 µs; with 10 µs of work 6 % [-4, 16], with 100 µs of work 1 % \
             [-4, 6]."
        );
        let text = "It switches {} times, not {}.".to_owned();
        let why = Some(MoreSwitches { text, first: 0.98, own: 0.02 });
        let elsewhere = Savings { place: Some("elsewhere".to_owned()), why, ..savings() };
        let shown = shown(elsewhere);
        assert!(shown.starts_with("Elsewhere, without work in a request, async tasks "), "{shown}");
        assert!(shown.ends_with("[-4, 6]. It switches 0.98 times, not 0.02."), "{shown}");
        // Too few rounds for an interval say nothing.
        let mut few = savings();
        few.steps.iter_mut().for_each(|step| step.saving.share.interval = None);
        few.at.iter_mut().for_each(|at| at.share.interval = None);
        assert_eq!(saved(&[few]), [""; 0]);
    }

    #[test]
    fn a_disturbed_run_answers_nothing() {
        for is_fit in [true, false] {
            let group = Group { is_fit, savings: vec![savings()], ..Group::default() };
            assert_eq!(group_answers(&group).len(), usize::from(is_fit));
        }
    }

    /// A line without the last load comes last.
    #[test]
    fn a_table_by_load_shows_cpu_time_where_it_counts() {
        let line = |letter, times: &[f64], cpu_ns: &[f64]| LoadLine {
            letter,
            label: letter.to_string(),
            cases: Vec::new(),
            figures: times.iter().map(|ns| Estimate::of(&[*ns])).collect(),
            factors: Vec::new(),
            cpu_ns: cpu_ns.iter().copied().map(Some).collect(),
        };
        let lines = vec![
            line('A', &[70.0], &[140.0]),
            line('B', &[95.0, 1230.0], &[181.0, 2450.0]),
            line('C', &[99.0, 1010.0], &[181.0]),
        ];
        let (loads, operation) = (["1→1", "4→1"].map(str::to_owned).to_vec(), "message".to_owned());
        let table = loads_table(&Loads { operation, loads, lines, advice: None });
        assert_eq!(table.headings, ["", "one message: time/CPU", "1→1", "4→1"]);
        let rows = table.rows.iter().map(|row| row.join(" ").replace('\u{a0}', " "));
        let expected =
            ["C C 99.0/181 ns 1.01/– µs", "B B 95.0/181 ns 1.23/2.45 µs", "A A 70.0/140 ns –"];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn shares_are_listed_by_name_with_those_that_are_unclear() {
        let prediction = |kind: &str, share| (kind.to_owned(), share);
        let shares = [
            prediction("threads", Some(0.54)),
            prediction("a loop", None),
            prediction("threads", Some(0.28)),
            prediction("threads", None),
            prediction("tasks", Some(1.02)),
        ];
        let shown = shares_by_name(shares.into_iter()).unwrap().replace('\u{a0}', " ");
        let expected = "threads 28 to 54 % (2 of 3 loads), a loop: nothing to predict is clear, \
                        tasks 102 % (1 of 1 loads)";
        assert_eq!(shown, expected);
        assert_eq!(shares_by_name([].into_iter()), None);
    }
}
