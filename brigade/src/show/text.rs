//! The answer of `brigade impact` as plain text for a terminal of 80 columns.

use super::page::lines;
use super::quantity::{duration, percent, three_digits};
use crate::judge::impact::{Impact, Matters, Used};
use crate::judge::statistics::Interval;

/// How much switches cost a program, in sentences.
pub fn impact(impact: &Impact) -> String {
    let share = |of: &Interval| format!("{} to {}", percent(of.low), percent(of.high));
    let Impact { used, run, disturbed, costs, cpu_share, wall_share, matters, .. } = impact;
    let of_wall = wall_share["highest"];
    let mut text = lines(&match matters {
        Matters::No if of_wall.high < 0.001 => {
            "No: switching is less than 0.1 % of its time.".to_owned()
        }
        Matters::No => {
            format!("No: switching is at most {} of its time.", percent(of_wall.high))
        }
        Matters::Perhaps => format!(
            "Maybe: switching is {} of its time, and {} of its CPU time.",
            share(&of_wall),
            share(cpu_share)
        ),
        Matters::Yes => format!(
            "Yes: switching is {} of its time, and {} of its CPU time.",
            share(&of_wall),
            share(cpu_share)
        ),
    });
    if *matters != Matters::No {
        let others = [("With the CPUs kept awake", "awake"), ("On one CPU", "pinned")];
        let others = others
            .iter()
            .filter_map(|(how, key)| Some(format!("{how}: {}.", share(wall_share.get(key)?))));
        let others: Vec<String> = others.collect();
        text += &lines(&others.join(" "));
    }
    let cost = |key: &str| {
        let of = &costs[key];
        let range = |of: &Interval| format!("[{}, {}]", duration(of.low), duration(of.high));
        let (cpu, wall) = (duration(of.cpu_ns), range(&of.wall_ns));
        format!("{cpu} of CPU time and {wall} of wall time ({})", of.case)
    };
    let (low, high) = (cost("lowest"), cost("highest"));
    text += "\n";
    text += &did(used);
    text += &lines(&format!("A switch costs from {low} to {high}, as measured in {run}."));
    text += &disturbed
        .as_ref()
        .map_or(String::new(), |why| lines(&format!("That run was disturbed. {why}")));
    text
}

/// The program's activity.
fn did(used: &Used) -> String {
    let Used { wall_ns, cpu_ns, voluntary, involuntary, at_least, at_once } = used;
    let each_second = |count: u64| match count as f64 * 1e9 / *wall_ns as f64 {
        rate if rate >= 1000.0 => format!("{rate:.0}"),
        rate => three_digits(rate),
    };
    let threads = if *at_once == 1 { "one thread" } else { &format!("{at_once} threads") };
    let at_least = if *at_least { "at least " } else { "" };
    let (wall, cpu) = (duration(*wall_ns as f64), duration(*cpu_ns as f64));
    let (voluntary, involuntary) = (each_second(*voluntary), each_second(*involuntary));
    lines(&format!(
        "In {wall} it used {cpu} of CPU time, {at_least}{voluntary} voluntary switches per second, \
         {at_least}{involuntary} involuntary ones; at most {threads} at once."
    ))
}
