//! Whether switches matter to a program: how many it makes, times what one costs on
//! this machine, as a share of its time.

use serde::{Deserialize, Serialize};

use crate::judge::report::model::{CaseEstimate, Report};
use crate::judge::statistics::{Estimate, Interval};

/// Version of [`Impact`]'s schema, `major.minor`.
pub const SCHEMA_VERSION: &str = "1.0";

/// The share of its time below which switching does not matter to a program.
const NOT_WORTH_A_WORD: f64 = 0.02;
/// The share from which it does.
const MATTERS: f64 = 0.1;

/// What a program did in a span of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Moves of a thread to another CPU; `null` where the kernel does not tell or
    /// threads ended meanwhile.
    pub migrations: Option<u64>,
    /// Time that threads waited for a CPU, summed over them, in nanoseconds; likewise.
    pub run_delay_ns: Option<u64>,
    /// How many of its threads may run at once: threads or CPUs, whichever are fewer.
    pub at_once: u64,
}

/// What a switch costs by one case of a run, in nanoseconds: intervals of 95 % over its
/// processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SwitchCost {
    /// The case.
    pub case: String,
    /// CPU time of a switch and what comes with it.
    pub cpu_ns: Interval,
    /// Wall time.
    pub wall_ns: Interval,
}

/// The costs that a manifest asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Costs {
    /// The name of the run's folder.
    pub run: String,
    /// Of the cheapest switch.
    pub lowest: SwitchCost,
    /// Of the dearest.
    pub highest: SwitchCost,
    /// Of the dearest, with the CPUs kept awake.
    pub awake: Option<SwitchCost>,
    /// On one CPU.
    pub pinned: Option<SwitchCost>,
}

/// Whether switching matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Matters {
    /// Even the dearest switches would not be worth a word.
    No,
    /// It depends on which switches they are.
    Perhaps,
    /// Even the cheapest ones would.
    Yes,
}

/// What switches can explain of a program's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Impact {
    /// Schema version, `major.minor`.
    pub schema_version: String,
    /// What the program did.
    pub used: Used,
    /// What a switch costs here.
    pub costs: Costs,
    /// The share of its CPU time, 0 to 1, from the cheapest switches to the dearest.
    pub cpu_share: Interval,
    /// The share of the wall time: from the cheapest switches, which as many threads as
    /// can make at once, to the dearest one after the other.
    pub wall_share: Interval,
    /// The same with the CPUs kept awake.
    pub wall_share_awake: Option<Interval>,
    /// The same on one CPU.
    pub wall_share_pinned: Option<Interval>,
    /// Whether that matters.
    pub matters: Matters,
}

impl Impact {
    /// What the switches of a program cost it, by these costs.
    pub fn of(used: Used, costs: Costs) -> Self {
        let switches = (used.voluntary + used.involuntary) as f64;
        let share = |low_ns: f64, high_ns: f64, of_ns: u64, at_once: u64| {
            let of =
                |ns: f64| if of_ns == 0 { 0.0 } else { (switches * ns / of_ns as f64).min(1.0) };
            Interval { low: of(low_ns / at_once.max(1) as f64), high: of(high_ns) }
        };
        let Costs { lowest, highest, awake, pinned, .. } = &costs;
        let cpu_share = share(lowest.cpu_ns.low, highest.cpu_ns.high, used.cpu_ns, 1);
        let wall = |cost: &SwitchCost| {
            share(
                lowest.wall_ns.low.min(cost.wall_ns.low),
                cost.wall_ns.high,
                used.wall_ns,
                used.at_once,
            )
        };
        let wall_share = wall(highest);
        let most = cpu_share.high.max(wall_share.high);
        let least = cpu_share.low.max(wall_share.low);
        let matters = match () {
            () if most < NOT_WORTH_A_WORD => Matters::No,
            () if least >= MATTERS => Matters::Yes,
            () => Matters::Perhaps,
        };
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            cpu_share,
            wall_share,
            wall_share_awake: awake.as_ref().map(wall),
            wall_share_pinned: pinned.as_ref().map(wall),
            matters,
            used,
            costs,
        }
    }
}

impl SwitchCost {
    /// That of a case of the first run of a report, for each of the switches that the
    /// kernel counted; `None` where it was not measured.
    pub fn of(report: &Report, case: &str) -> Option<Self> {
        let mut cases = report.groups.iter().flat_map(|group| &group.cases);
        let estimate = cases.find(|found| found.name == case)?.estimates.first()?.as_ref()?;
        let principal = estimate.measurement(None)?;
        let switches = principal.switches.filter(|switches| *switches > 0.0)?;
        let each =
            |ends: Interval| Interval { low: ends.low / switches, high: ends.high / switches };
        Some(Self {
            case: case.to_owned(),
            cpu_ns: each(cpu_ns(estimate)?),
            wall_ns: each(ends(&principal.time_ns)),
        })
    }
}

/// An estimate's interval, or its value where there is none.
fn ends(estimate: &Estimate) -> Interval {
    estimate.interval.unwrap_or(Interval { low: estimate.value, high: estimate.value })
}

/// CPU time of an operation, user and kernel together.
fn cpu_ns(estimate: &CaseEstimate) -> Option<Interval> {
    let parts = estimate.attribution.as_ref()?;
    let (user, kernel) = (ends(&parts.user_ns), ends(&parts.kernel_ns));
    Some(Interval { low: user.low + kernel.low, high: user.high + kernel.high })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(low: f64, high: f64) -> SwitchCost {
        let case = "a".to_owned();
        let wall_ns = Interval { low, high };
        SwitchCost { case, cpu_ns: Interval { low: low / 2.0, high: high / 2.0 }, wall_ns }
    }

    /// What so many switches in a second of two threads, of which each had half a
    /// second of CPU time, come to.
    fn impact(switches: u64) -> Impact {
        let used = Used {
            wall_ns: 1_000_000_000,
            cpu_ns: 1_000_000_000,
            voluntary: switches,
            involuntary: 0,
            migrations: None,
            run_delay_ns: None,
            at_once: 2,
        };
        let costs = Costs {
            run: "run".to_owned(),
            lowest: cost(1000.0, 1200.0),
            highest: cost(30_000.0, 40_000.0),
            awake: Some(cost(18_000.0, 20_000.0)),
            pinned: None,
        };
        Impact::of(used, costs)
    }

    #[test]
    fn shares_go_from_the_cheapest_switches_to_the_dearest() {
        let found = impact(10_000);
        assert_eq!(found.cpu_share, Interval { low: 0.005, high: 0.2 });
        assert_eq!(found.wall_share, Interval { low: 0.005, high: 0.4 });
        assert_eq!(found.wall_share_awake, Some(Interval { low: 0.005, high: 0.2 }));
        assert_eq!((found.wall_share_pinned, found.matters), (None, Matters::Perhaps));
    }

    #[test]
    fn no_share_is_above_one_and_few_switches_do_not_matter() {
        assert_eq!(impact(1_000_000).cpu_share, Interval { low: 0.5, high: 1.0 });
        assert_eq!(impact(1_000_000).matters, Matters::Yes);
        assert_eq!(impact(100).matters, Matters::No);
        assert_eq!(impact(0).wall_share, Interval { low: 0.0, high: 0.0 });
    }
}
