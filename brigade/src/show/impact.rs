//! The text of `brigade impact`, 80 columns wide.

use super::page::lines;
use super::quantity::{duration, percent, three_digits};
use crate::judge::impact::{Costs, Impact, Matters, SwitchCost, Used};
use crate::judge::statistics::Interval;

/// What switches mean to a program, in sentences.
pub fn text(impact: &Impact) -> String {
    let Impact { used, costs, matters, .. } = impact;
    let verdict = match matters {
        Matters::No => "No: it hardly matters to this program what a switch costs.",
        Matters::Perhaps => "It depends on which switches they are.",
        Matters::Yes => "Yes: this program spends much of its time switching.",
    };
    let shares = format!(
        "{verdict} Switching can explain {} of its CPU time and {} of the wall time.",
        share(&impact.cpu_share),
        share(&impact.wall_share)
    );
    let if_only = [
        ("with the CPUs kept awake", &impact.wall_share_awake),
        ("on one CPU", &impact.wall_share_pinned),
    ];
    let if_only: Vec<String> = if_only
        .into_iter()
        .filter_map(|(how, wall)| Some(format!("{how} {}", share(wall.as_ref()?))))
        .collect();
    let mut text = lines(&shares);
    if !if_only.is_empty() && *matters != Matters::No {
        text += &lines(&format!("Of the wall time it would be {}.", if_only.join(", ")));
    }
    text.push('\n');
    text += &lines(&did(used));
    text += &lines(&by(costs));
    text
}

/// What the program did.
fn did(used: &Used) -> String {
    let Used { wall_ns, cpu_ns, voluntary, involuntary, migrations, run_delay_ns, at_once } = used;
    let seconds = *wall_ns as f64 / 1e9;
    let each_second = |count: u64| match count as f64 / seconds {
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
    format!("It had {}; at most {at_once} threads at once.", parts.join(", "))
}

/// What the switches were multiplied with.
fn by(costs: &Costs) -> String {
    let cost = |of: &SwitchCost| {
        let SwitchCost { case, cpu_ns, wall_ns } = of;
        format!("{case} {} of CPU time, {} of wall time", range(cpu_ns), range(wall_ns))
    };
    let Costs { run, lowest, highest, .. } = costs;
    format!("A switch costs, by {run}: {} to {}.", cost(lowest), cost(highest))
}

fn share(share: &Interval) -> String {
    format!("{} to {}", percent(share.low), percent(share.high))
}

fn range(ends: &Interval) -> String {
    format!("[{}, {}]", duration(ends.low), duration(ends.high))
}
