//! The text of `brigade impact`, 80 columns wide.

use super::page::lines;
use super::quantity::{duration, percent, three_digits};
use crate::judge::impact::{Impact, Matters, Used};
use crate::judge::statistics::Interval;

/// What switches mean to a program, in sentences.
pub fn text(impact: &Impact) -> String {
    let share = |of: &Interval| format!("{} to {}", percent(of.low), percent(of.high));
    let Impact { used, run, costs, cpu_share, wall_share, matters, .. } = impact;
    let verdict = match matters {
        Matters::No => "No: it hardly matters to this program what a switch costs.",
        Matters::Perhaps => "It depends on which switches they are.",
        Matters::Yes => "Yes: this program spends much of its time switching.",
    };
    let (cpu, wall) = (share(cpu_share), share(&wall_share["highest"]));
    let mut text = lines(&format!(
        "{verdict} Switching can explain {cpu} of its CPU time and {wall} of the wall time."
    ));
    let others = [("with the CPUs kept awake", "awake"), ("on one CPU", "pinned")];
    let others = others
        .iter()
        .filter_map(|(how, key)| Some(format!("{how} {}", share(wall_share.get(key)?))));
    let others: Vec<String> = others.collect();
    if !others.is_empty() && *matters != Matters::No {
        text += &lines(&format!("Of the wall time it would be {}.", others.join(", ")));
    }
    let cost = |key: &str| {
        let of = &costs[key];
        let range = |of: &Interval| format!("[{}, {}]", duration(of.low), duration(of.high));
        let (cpu, wall) = (range(&of.cpu_ns), range(&of.wall_ns));
        format!("{} {cpu} of CPU time, {wall} of wall time", of.case)
    };
    let (low, high) = (cost("lowest"), cost("highest"));
    text + "\n" + &did(used) + &lines(&format!("A switch costs, by {run}: {low} to {high}."))
}

/// What the program did.
fn did(used: &Used) -> String {
    let Used { wall_ns, cpu_ns, voluntary, involuntary, migrations, run_delay_ns, at_once } = used;
    let each_second = |count: u64| match count as f64 * 1e9 / *wall_ns as f64 {
        rate if rate >= 1000.0 => format!("{rate:.0}"),
        rate => three_digits(rate),
    };
    let mut parts = vec![
        format!("in {} {} of CPU time", duration(*wall_ns as f64), duration(*cpu_ns as f64)),
        format!("{} voluntary switches a second", each_second(*voluntary)),
        format!("{} involuntary ones", each_second(*involuntary)),
    ];
    parts.extend(migrations.map(|count| format!("{} moves to another CPU", each_second(count))));
    let waited = run_delay_ns.map(|ns| format!("{} waiting for a CPU", duration(ns as f64)));
    parts.extend(waited);
    lines(&format!("It had {}; at most {at_once} threads at once.", parts.join(", ")))
}
