//! Estimates whether switches matter to a program: their number times the cost of one on this
//! machine, as a share of the program's time.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::judge::report::Report;
use crate::judge::statistics::Interval;

/// Version of [`Impact`]'s schema.
pub const SCHEMA_VERSION: &str = "1.0";

/// Switching is negligible below the first share of a program's time, and matters from the second
/// on.
const NEGLIGIBLE: f64 = 0.02;
const MATTERS: f64 = 0.1;

/// What a program used in a span of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Used {
    /// Length of the span, in nanoseconds.
    pub wall_ns: u64,
    /// CPU time of all its threads, in nanoseconds.
    pub cpu_ns: u64,
    /// Switches because a thread blocked.
    pub voluntary: u64,
    /// Switches because a thread was preempted.
    pub involuntary: u64,
    /// Moves of a thread to another CPU; `null` if the kernel does not count them or threads ended
    /// meanwhile.
    pub migrations: Option<u64>,
    /// Time that threads waited for a CPU, summed over them, in nanoseconds; likewise.
    pub run_delay_ns: Option<u64>,
    /// How many of its threads can run at once: the minimum of threads and CPUs.
    pub at_once: u64,
    /// Upper bound on the share of its switches that crossed CPUs, 0 to 1; `null` if its threads
    /// ended before they were seen.
    pub crossing: Option<f64>,
}

/// The cost of a switch in one case of a run, in nanoseconds: 95 % intervals over its processes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SwitchCost {
    /// The case.
    pub case: String,
    /// CPU time of a switch with the work around it.
    pub cpu_ns: Interval,
    /// Wall time.
    pub wall_ns: Interval,
}

/// Costs of a switch from one run: `lowest` and `highest` and, if the manifest has them, the
/// highest with CPUs kept `awake`, and `pinned` to one CPU.
pub type Costs = BTreeMap<&'static str, SwitchCost>;

/// Whether switching matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Impact {
    /// Schema version.
    pub schema_version: String,
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
    /// The cost of a program's switches. `costs` must contain `lowest` and `highest`; a switch that
    /// stays on its CPU costs at most `pinned`, if that is known.
    pub fn of(used: Used, run: String, costs: Costs, disturbed: Option<String>) -> Self {
        let switches = (used.voluntary + used.involuntary) as f64;
        let share = |ns: f64, of_ns: u64| {
            if of_ns == 0 { 0.0 } else { (switches * ns / of_ns as f64).min(1.0) }
        };
        let lowest = &costs["lowest"];
        let crossing = used.crossing.unwrap_or(1.0);
        let greatest = |cost: &SwitchCost, of: fn(&SwitchCost) -> Interval| {
            let high = of(cost).high;
            let staying = costs.get("pinned").map_or(high, |pinned| of(pinned).high.min(high));
            crossing * high + (1.0 - crossing) * staying
        };
        let cpu_ns = greatest(&costs["highest"], |cost| cost.cpu_ns);
        let cpu_share = Interval {
            low: share(lowest.cpu_ns.low, used.cpu_ns),
            high: share(cpu_ns, used.cpu_ns),
        };
        let wall = |cost: &SwitchCost| {
            let least = lowest.wall_ns.low.min(cost.wall_ns.low) / used.at_once.max(1) as f64;
            let most = greatest(cost, |cost| cost.wall_ns);
            Interval { low: share(least, used.wall_ns), high: share(most, used.wall_ns) }
        };
        let others = costs.iter().filter(|(key, _)| **key != "lowest");
        let wall_share: BTreeMap<_, _> = others.map(|(key, cost)| (*key, wall(cost))).collect();
        let of_wall = wall_share["highest"];
        // A program that hardly uses the CPU need not be changed.
        let of_a_cpu = |cpu_ns: f64| share(cpu_ns, used.wall_ns);
        let matters = if of_a_cpu(cpu_ns).max(of_wall.high) < NEGLIGIBLE {
            Matters::No
        } else if of_a_cpu(lowest.cpu_ns.low).min(cpu_share.low).max(of_wall.low) >= MATTERS {
            Matters::Yes
        } else {
            Matters::Perhaps
        };
        let schema_version = SCHEMA_VERSION.to_owned();
        Self { schema_version, used, run, disturbed, costs, cpu_share, wall_share, matters }
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
        let cpu_ns = row.cpu_ns? / switches;
        Some(Self {
            case: case.to_owned(),
            cpu_ns: Interval { low: cpu_ns, high: cpu_ns },
            wall_ns: Interval { low: wall.low / switches, high: wall.high / switches },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(low: f64, high: f64) -> SwitchCost {
        let cpu_ns = Interval { low: low / 2.0, high: high / 2.0 };
        SwitchCost { case: "a".to_owned(), cpu_ns, wall_ns: Interval { low, high } }
    }

    /// This many switches in one second by two threads, each with half a second of CPU time.
    fn used(switches: u64) -> Used {
        Used {
            wall_ns: 1_000_000_000,
            cpu_ns: 1_000_000_000,
            voluntary: switches,
            involuntary: 0,
            migrations: None,
            run_delay_ns: None,
            at_once: 2,
            crossing: None,
        }
    }

    fn of(used: Used) -> Impact {
        let costs = [
            ("lowest", cost(1000.0, 1200.0)),
            ("pinned", cost(1500.0, 2000.0)),
            ("highest", cost(30_000.0, 40_000.0)),
        ];
        Impact::of(used, "run".to_owned(), Costs::from(costs), None)
    }

    fn impact(switches: u64) -> Impact {
        of(used(switches))
    }

    #[test]
    fn no_share_is_above_one_and_few_switches_do_not_matter() {
        assert_eq!(impact(1_000_000).cpu_share, Interval { low: 0.5, high: 1.0 });
        assert_eq!(impact(1_000_000).matters, Matters::Yes);
        assert_eq!(impact(10_000).matters, Matters::Perhaps);
        assert_eq!(impact(100).matters, Matters::No);
        assert_eq!(impact(0).wall_share["highest"], Interval { low: 0.0, high: 0.0 });
    }

    #[test]
    fn switches_that_stay_on_a_cpu_are_cheaper_and_those_of_a_sleeper_do_not_matter() {
        let staying = of(Used { crossing: Some(0.0), ..used(10_000) });
        assert_eq!(staying.wall_share["highest"].high, 10_000.0 * 2e3 / 1e9);
        let half = of(Used { crossing: Some(0.5), ..used(10_000) });
        assert_eq!(half.wall_share["highest"].high, 10_000.0 * 21e3 / 1e9);
        // Half of its CPU time, but almost none of the second.
        let sleeper = of(Used { cpu_ns: 80_000, ..used(4) });
        assert_eq!((sleeper.cpu_share.high, sleeper.matters), (1.0, Matters::No));
    }
}
