//! Estimates whether switches matter to a program: their number times the cost of one on this
//! machine, as a share of the program's time.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::judge::report::Report;
use crate::judge::statistics::Interval;

/// Switching is negligible below the first share of a program's time, and matters from the second
/// on.
const NEGLIGIBLE: f64 = 0.02;
const MATTERS: f64 = 0.1;

/// What a program used in a span of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Used {
    /// Length of the span, in nanoseconds.
    pub wall_ns: u64,
    /// CPU time of all its threads, in nanoseconds.
    pub cpu_ns: u64,
    /// Switches because a thread blocked.
    pub voluntary: u64,
    /// Switches because a thread was preempted.
    pub involuntary: u64,
    /// Whether threads ended meanwhile, whose use is missing.
    pub at_least: bool,
    /// How many of its threads can run at once: the minimum of threads and CPUs.
    pub at_once: u64,
}

/// The cost of a switch in one case of a run, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchCost {
    /// The case.
    pub case: String,
    /// CPU time of a switch with the work around it.
    pub cpu_ns: f64,
    /// Wall time: the interval of the case.
    pub wall_ns: Interval,
}

/// Costs of a switch from one run: `lowest` and `highest` and, if the manifest has them, the
/// highest with CPUs kept `awake`, and `pinned` to one CPU.
pub type Costs = BTreeMap<&'static str, SwitchCost>;

/// Whether switching matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matters {
    /// Even the most expensive switches would not.
    No,
    /// It depends on the kind of switches.
    Perhaps,
    /// Even the cheapest ones would.
    Yes,
}

/// How much of a program's time switches can explain. Shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Impact {
    /// What the program used.
    pub used: Used,
    /// The run's folder.
    pub run: String,
    /// What disturbed that run; `null` if nothing did.
    pub disturbed: Option<String>,
    /// The cost of a switch here.
    pub costs: Costs,
    /// The share of its CPU time, for the cheapest switches and for the most expensive.
    pub cpu_share: Interval,
    /// The share of wall time: for the cheapest switches, by as many threads at once as possible,
    /// and for the most expensive, one after another. By key of the cost.
    pub wall_share: BTreeMap<&'static str, Interval>,
    /// Whether switching matters.
    pub matters: Matters,
}

impl Impact {
    /// The cost of a program's switches. `costs` must contain `lowest` and `highest`.
    pub fn of(used: Used, run: String, costs: Costs, disturbed: Option<String>) -> Self {
        let switches = (used.voluntary + used.involuntary) as f64;
        let share = |ns: f64, of_ns: u64| (switches * ns / of_ns.max(1) as f64).min(1.0);
        let (lowest, highest) = (&costs["lowest"], &costs["highest"]);
        let cpu_share = Interval {
            low: share(lowest.cpu_ns, used.cpu_ns),
            high: share(highest.cpu_ns, used.cpu_ns),
        };
        let wall = |cost: &SwitchCost| {
            let least = lowest.wall_ns.low.min(cost.wall_ns.low) / used.at_once.max(1) as f64;
            Interval {
                low: share(least, used.wall_ns),
                high: share(cost.wall_ns.high, used.wall_ns),
            }
        };
        let others = costs.iter().filter(|(key, _)| **key != "lowest");
        let wall_share: BTreeMap<_, _> = others.map(|(key, cost)| (*key, wall(cost))).collect();
        let of_wall = wall_share["highest"];
        // A program that hardly uses the CPU need not be changed.
        let of_a_cpu = |cost: &SwitchCost| share(cost.cpu_ns, used.wall_ns);
        let matters = if of_a_cpu(highest).max(of_wall.high) < NEGLIGIBLE {
            Matters::No
        } else if of_a_cpu(lowest).min(cpu_share.low).max(of_wall.low) >= MATTERS {
            Matters::Yes
        } else {
            Matters::Perhaps
        };
        Self { used, run, disturbed, costs, cpu_share, wall_share, matters }
    }
}

impl SwitchCost {
    /// The cost in a case of a report's first run, per switch that the kernel counted; `None` if
    /// not measured.
    pub fn of(report: &Report, case: &str) -> Option<Self> {
        let mut rows = report.groups.iter().flat_map(|group| &group.rows);
        let row = rows.find(|row| row.case == case)?;
        let switches = row.switches.filter(|switches| *switches > 0.0)?;
        let figure = row.figure?;
        let wall = figure.interval.unwrap_or(Interval { low: figure.value, high: figure.value });
        Some(Self {
            case: case.to_owned(),
            cpu_ns: row.cpu_ns? / switches,
            wall_ns: Interval { low: wall.low / switches, high: wall.high / switches },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This many switches in one second by two threads, and this much CPU time.
    fn of(switches: u64, cpu_ns: u64) -> Impact {
        let cost = |low: f64, high: f64| SwitchCost {
            case: "a".to_owned(),
            cpu_ns: low / 2.0,
            wall_ns: Interval { low, high },
        };
        let costs = [("lowest", cost(1000.0, 1200.0)), ("highest", cost(30_000.0, 40_000.0))];
        let (wall_ns, voluntary, involuntary) = (1_000_000_000, switches, 0);
        let used = Used { wall_ns, cpu_ns, voluntary, involuntary, at_least: false, at_once: 2 };
        Impact::of(used, "run".to_owned(), Costs::from(costs), None)
    }

    #[test]
    fn no_share_is_above_one_and_few_switches_do_not_matter() {
        let all = 1_000_000_000;
        for (switches, cpu_ns, matters, [low, high]) in [
            (1_000_000, all, Matters::Yes, [0.5, 1.0]),
            (10_000, all, Matters::Perhaps, [0.005, 0.4]),
            (100, all, Matters::No, [5e-5, 0.004]),
            (0, all, Matters::No, [0.0, 0.0]),
            // Half of its CPU time, but almost none of the second.
            (4, 60_000, Matters::No, [2e-6, 1.6e-4]),
        ] {
            let impact = of(switches, cpu_ns);
            assert_eq!(impact.matters, matters, "{switches}");
            let Interval { low: least, high: most } = impact.wall_share["highest"];
            assert!((least - low).abs() + (most - high).abs() < 1e-9, "{impact:?}");
        }
        assert_eq!(of(0, 0).cpu_share, Interval { low: 0.0, high: 0.0 });
    }
}
