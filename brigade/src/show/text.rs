//! The answer of `brigade impact` as plain text for a terminal of 80 columns.

use harness::flags::description;

use super::page::{self, Block, NO_BREAK_SPACE};
use super::quantity::{self, brief, duration, small_share};
use super::verdict::{Verdict, of_state};
use crate::judge::impact::{Impact, Matters, Prices, SwitchKind, Used};
use crate::judge::row::Quantity;
use crate::judge::statistics::Interval;

/// How much switches cost a program, in sentences.
pub fn impact(impact: &Impact) -> String {
    let Impact { used, prices: Prices { run, state, costs }, kinds, share, matters } = impact;
    let Verdict { word, text, .. } = of_state(state);
    let range = |share: &Interval| match [share.low, share.high].map(small_share) {
        [low, high] if low == high => high,
        _ if share.high < 0.001 => format!("less than 0.1{NO_BREAK_SPACE}%"),
        [low, high] => format!("{low} to {high}"),
    };
    let takes = format!("its switches take {} of its time.", range(share));
    let answer = match matters {
        Matters::Idle => "No answer: it did nothing.".to_owned(),
        Matters::No => format!("No: {takes}"),
        Matters::Yes => format!("Yes: {takes}"),
        Matters::Undecided if !state.is_fit => format!(
            "Undecided: {takes} The run that shows what a switch costs was disturbed: repeat it on a \
             quiet machine."
        ),
        Matters::Undecided => format!(
            "Undecided: {takes} The CPUs' counters do not show where its switches went. Stop other \
             programs, or trace it: perf sched record -- COMMAND, then perf sched timehist."
        ),
    };
    let leaves = kinds[&SwitchKind::OtherCpu].low + kinds[&SwitchKind::Asleep].low;
    let advice = if *matters == Matters::Yes && leaves > 0.5 {
        " If its threads take turns, keep them on one CPU: taskset -c 0 COMMAND."
    } else {
        ""
    };
    // The most expensive first.
    let shares = kinds.iter().rev().filter(|(_, share)| share.high >= 0.001);
    let share = |(kind, share): (&SwitchKind, &Interval)| {
        let cost = quantity::range(costs[kind].wall_ns, Quantity::Nanoseconds);
        format!("{} of its switches {}: {cost} each", range(share), description(kind))
    };
    page::text(&[
        Block::Paragraph(answer + advice),
        Block::Paragraph(activity(used)),
        Block::Items(shares.map(share).collect()),
        Block::Paragraph(format!("The costs are from {run}. {word}: {text}")),
    ])
}

/// The program's activity.
fn activity(used: &Used) -> String {
    let Used { wall_ns, cpu_ns, voluntary, involuntary, at_least, processes, at_once, .. } = used;
    let switches = brief((voluntary + involuntary) as f64 * 1e9 / *wall_ns as f64);
    let threads = if *at_once == 1 { "one thread" } else { &format!("{at_once} threads") };
    let at_least = if *at_least { "at least " } else { "" };
    let [wall, cpu] = [wall_ns, cpu_ns].map(|ns| duration(*ns as f64));
    let who = match processes {
        None | Some(..=1) => "it".to_owned(),
        Some(2) => "it and its child".to_owned(),
        Some(all) => format!("it and its {} descendants", all - 1),
    };
    format!(
        "In {wall} {who} used {cpu} of CPU time and made {at_least}{switches} switches per second, with \
         at most {threads} at once."
    )
}
