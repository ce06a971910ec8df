//! The answer of `brigade impact` as plain text for a terminal of 80 columns.

use harness::terminal;

use super::page::{NO_BREAK_SPACE, item, lines};
use super::quantity::{self, brief, duration, small_share};
use crate::judge::impact::{Impact, Matters, Prices, SwitchKind, Used};
use crate::judge::row::Quantity;
use crate::judge::statistics::Interval;

/// How much switches cost a program, in sentences.
pub fn impact(impact: &Impact) -> String {
    let Impact { used, prices: Prices { run, disturbed, costs }, kinds, share, matters } = impact;
    let range = |ends: &Interval| match [ends.low, ends.high].map(small_share) {
        [low, high] if low == high => high,
        _ if ends.high < 0.001 => format!("less than 0.1{NO_BREAK_SPACE}%"),
        [low, high] => format!("{low} to {high}"),
    };
    let takes = format!("its switches take {} of its time.", range(share));
    let mut text = lines(&match matters {
        Matters::No => format!("No: {takes}"),
        Matters::Yes => format!("Yes: {takes}"),
        Matters::Undecided => format!(
            "Undecided: {takes} The CPUs' counters do not show where its switches went. Stop other \
             programs, or trace it: perf sched record -- COMMAND, then perf sched timehist."
        ),
    });
    let kind = |kind| &kinds[&kind];
    let leaves = kind(SwitchKind::OtherCpu).low + kind(SwitchKind::Asleep).low;
    if *matters == Matters::Yes && leaves > 0.5 {
        text += &lines("If its threads take turns, keep them on one CPU: taskset -c 0 COMMAND.");
    }
    text += "\n";
    text += &activity(used);
    let words = [
        (SwitchKind::Asleep, "wake a sleeping CPU"),
        (SwitchKind::OtherCpu, "go to another CPU"),
        (SwitchKind::SameCpu, "stay on one CPU"),
    ];
    for (kind, words) in words {
        let Interval { low, high } = kinds[&kind];
        if low.max(high) >= 0.001 {
            let share = range(&Interval { low: low.min(high), high: low.max(high) });
            let cost = quantity::range(costs[&kind].wall_ns, Quantity::Nanoseconds);
            text += &item(&format!("{share} of its switches {words}: {cost} each"));
        }
    }
    text += &lines(&format!("The costs are from {run}."));
    text += &disturbed
        .as_ref()
        .map_or(String::new(), |why| lines(&format!("That run was disturbed: {why}")));
    terminal::text(&text.replace(NO_BREAK_SPACE, " ")).into_owned()
}

/// The program's activity.
fn activity(used: &Used) -> String {
    let Used { wall_ns, cpu_ns, voluntary, involuntary, at_least, at_once } = used;
    let switches = (voluntary + involuntary) as f64 * 1e9 / *wall_ns as f64;
    let switches = if switches >= 1000.0 { format!("{switches:.0}") } else { brief(switches) };
    let threads = if *at_once == 1 { "one thread" } else { &format!("{at_once} threads") };
    let at_least = if *at_least { "at least " } else { "" };
    let (wall, cpu) = (duration(*wall_ns as f64), duration(*cpu_ns as f64));
    lines(&format!(
        "In {wall} it used {cpu} of CPU time and made {at_least}{switches} switches per second, with \
         at most {threads} at once."
    ))
}
