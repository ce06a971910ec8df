//! What answers a group's question: sentences, a table of figures by load, and where the time goes.

use super::page::{ABSENT, Table};
use super::quantity::{duration, factor, percent, times};
use crate::judge::loads::{LoadAdvice, LoadLine, Loads};
use crate::judge::prediction::{NEAR, Prediction, agreement};
use crate::judge::report::{Answer, Group};
use crate::judge::row::Row;

/// A sentence with its ratio.
pub fn answer(Answer { text, ratio, share, .. }: &Answer) -> String {
    let words = if *share { percent(1.0 - 1.0 / ratio.value) } else { times(ratio.value) };
    text.replacen("{}", &words, 1)
}

/// The figures of the cases, without those of single measurements.
pub fn cases(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let mut before = None;
    rows.iter().filter(move |row| before.replace(&row.case) != Some(&row.case))
}

/// The sentences that answer a group's question.
pub fn group_answers(group: &Group) -> Vec<String> {
    let advice = group.loads.as_ref().and_then(|loads| loads.advice.as_ref()).map(advised);
    let answers = advice.into_iter().chain(group.answers.iter().map(answer));
    answers.chain(predicted(&group.predictions)).collect()
}

/// How well hops predict requests.
fn predicted(predictions: &[Prediction]) -> Option<String> {
    let (near, worst) = agreement(predictions)?;
    Some(format!(
        "Hops predict {near} of {} requests within {}. The worst is off by {}: {}.",
        predictions.len(),
        percent(NEAR),
        percent(worst.off()),
        worst.case
    ))
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

/// Figures by load, with factors to the cheapest; sorted by the last load.
pub fn loads_table(loads: &Loads) -> Table {
    let columns = loads.loads.iter().map(|load| format!("|>{load}|>×")).collect::<String>();
    let mut table = Table::of(&format!("|one acquisition{columns}"));
    let value = |line: &LoadLine, at: usize| {
        line.figures.get(at).copied().flatten().map_or(f64::INFINITY, |figure| figure.value)
    };
    let by = |line: &LoadLine, at: usize| {
        let ratio = line.factors.get(at).copied().flatten();
        ratio.map_or(String::new(), |ratio| factor(ratio.value))
    };
    let last = loads.loads.len().saturating_sub(1);
    let mut lines: Vec<&LoadLine> = loads.lines.iter().collect();
    lines.sort_by(|one, other| value(one, last).total_cmp(&value(other, last)));
    for line in lines {
        let mut cells = vec![line.letter.to_string(), line.label.clone()];
        for at in 0..loads.loads.len() {
            let figure = value(line, at);
            if figure.is_finite() {
                cells.extend([duration(figure), by(line, at)]);
            } else {
                cells.extend([ABSENT.to_owned(), String::new()]);
            }
        }
        table.push(cells);
    }
    table
}

/// Where the time of each case goes, as far as it fits a terminal.
pub fn parts_on_screen(group: &Group) -> Table {
    let mut table = Table::of("where the time goes|>elapsed|>user|>kernel|>asleep|>waking|>cross");
    for row in cases(&group.rows) {
        let Some(parts) = row.parts else { continue };
        let why = parts.waiting_for;
        let times = [parts.user_ns, parts.kernel_ns].map(Some);
        let waits = [why.map(|why| why.idle_ns), why.map(|why| why.waking_ns)];
        let shares = times
            .into_iter()
            .chain(waits)
            .map(|ns| ns.map_or(ABSENT.to_owned(), |ns| percent(ns / parts.elapsed_ns)));
        let cross = parts.crossing_share.map_or(ABSENT.to_owned(), percent);
        let name = row.label.strip_prefix(&row.program).map(str::trim).unwrap_or(&row.label);
        let name = if name.is_empty() { "free" } else { name };
        let cells = [name.to_owned(), duration(parts.elapsed_ns)].into_iter();
        table.push(cells.chain(shares).chain([cross]).collect());
    }
    table
}
