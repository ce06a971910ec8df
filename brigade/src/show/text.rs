//! The answer of `brigade impact` as plain text for a terminal of 80 columns.

use harness::flags::description;

use super::page::{self, Block, NO_BREAK_SPACE, unbroken};
use super::quantity::{self, brief, duration, small_share};
use super::verdict::{no_answer, of_state};
use crate::judge::impact::{Impact, Matters, Prices, SwitchKind, Used};
use crate::judge::row::Quantity;
use crate::judge::statistics::Interval;

/// How much switches cost a program, in sentences.
pub fn impact(impact: &Impact) -> String {
    let Impact { used, prices: Prices { run, state, costs }, kinds, .. } = impact;
    // The most expensive first.
    let shares = kinds.iter().rev().filter(|(_, share)| share.high >= 0.001);
    let share = |(kind, share): (&SwitchKind, &Interval)| {
        let cost = quantity::range(costs[kind].wall_ns, Quantity::Nanoseconds);
        format!("{} of its switches {}: {cost} each", range(share), description(kind))
    };
    page::text(&[
        Block::Paragraph(answer(impact)),
        Block::Paragraph(activity(used)),
        Block::Items(shares.map(share).collect()),
        Block::Paragraph(format!("The costs are from {run}. {}", of_state(state).line())),
    ])
}

/// Whether switches matter to a program, and what to do; or why nobody can tell, and what would.
fn answer(Impact { used, prices, kinds, share, matters }: &Impact) -> String {
    let state = &prices.state;
    match matters {
        Matters::Idle => "NO ANSWER: it did nothing.".to_owned(),
        Matters::No => format!("NO: its switches take {} of its time.", range(share)),
        Matters::Yes => {
            let middle = small_share((share.low * share.high).sqrt());
            let leaves = kinds[&SwitchKind::OtherCpu].low + kinds[&SwitchKind::Asleep].low;
            let advice = if leaves > 0.5 {
                let command = unbroken("taskset -c 0 COMMAND");
                format!(" If its threads take turns, keep them on one CPU: {command}")
            } else {
                String::new()
            };
            format!("YES: its switches take {middle} of its time ({}).{advice}", range(share))
        }
        Matters::Undecided if !state.is_fit => format!(
            "CANNOT TELL: its switches take {} of its time. The run that shows what a switch costs was {}",
            range(share),
            no_answer(state, Some("brigade run")).line()
        ),
        Matters::Undecided => format!(
            "CANNOT TELL: its switches take {} of its time, {}. A trace shows where they go: {}, then {}",
            range(share),
            why_unknown(used),
            unbroken("perf sched record -- COMMAND"),
            unbroken("perf sched timehist")
        ),
    }
}

/// Why the answer is unknown.
fn why_unknown(used: &Used) -> &'static str {
    if used.at_least {
        "since threads or processes ended whose switches were not counted"
    } else if used.idle_entries.is_none() {
        "since this kernel does not count how many switches wake a sleeping CPU"
    } else if used.interrupts.is_none() {
        "since this kernel does not count how many switches go to another CPU"
    } else {
        "since other programs switched as well, and the CPUs' counters do not tell them apart"
    }
}

/// A percentage with as many digits as those of small shares.
fn rounded(percent: f64) -> f64 {
    if percent >= 9.95 { percent.round() } else { (percent * 10.0).round() / 10.0 }
}

/// A range of shares, such as `4 to 12 %`.
fn range(share: &Interval) -> String {
    match [share.low, share.high].map(small_share) {
        [low, high] if low == high => high,
        _ if share.high < 0.001 => format!("less than 0.1{NO_BREAK_SPACE}%"),
        [_, high] => format!("{} to {high}", brief(rounded(100.0 * share.low))),
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::page::with_spaces;
    use super::*;
    use crate::judge::state::{Cause, State, Word};

    #[test]
    fn the_first_words_answer_and_a_wide_range_says_what_would() {
        let quiet = State { is_fit: true, ..State::default() };
        let busy = State {
            word: Word::Busy,
            causes: vec![Cause { word: Word::Busy, share: 0.3, is_bound: false }],
            ..State::default()
        };
        let kinds = [SwitchKind::SameCpu, SwitchKind::OtherCpu, SwitchKind::Asleep];
        for (matters, state, expected) in [
            (Matters::No, &quiet, "NO: its switches take 0.2 to 0.8 % of its time."),
            (
                Matters::Yes,
                &quiet,
                "YES: its switches take 0.4 % of its time (0.2 to 0.8 %). If its threads take turns, \
                 keep them on one CPU: taskset -c 0 COMMAND",
            ),
            (
                Matters::Undecided,
                &quiet,
                "CANNOT TELL: its switches take 0.2 to 0.8 % of its time, since this kernel does not \
                 count how many switches wake a sleeping CPU. A trace shows where they go: perf sched \
                 record -- COMMAND, then perf sched timehist",
            ),
            (
                Matters::Undecided,
                &busy,
                "CANNOT TELL: its switches take 0.2 to 0.8 % of its time. The run that shows what a \
                 switch costs was BUSY: other programs took 30 % of the CPUs. No answer; repeat it \
                 when they have ended: brigade run",
            ),
            (Matters::Idle, &quiet, "NO ANSWER: it did nothing."),
        ] {
            let impact = Impact {
                used: Used { wall_ns: 1, ..Used::default() },
                prices: Prices {
                    run: "run".to_owned(),
                    state: state.clone(),
                    costs: BTreeMap::new(),
                },
                kinds: BTreeMap::from(kinds.map(|kind| (kind, Interval { low: 0.3, high: 0.4 }))),
                share: Interval { low: 0.002, high: 0.008 },
                matters,
            };
            assert_eq!(with_spaces(&answer(&impact)), expected);
        }
    }
}
