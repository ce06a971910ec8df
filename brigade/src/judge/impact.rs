//! Estimates whether switches matter to a program: each switch that the kernel counted, times the
//! cost of a switch of its kind on this machine, as a share of the program's time.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::judge::report::Report;
use crate::judge::state::State;
use crate::judge::statistics::Interval;
pub use crate::manifest::SwitchKind;

/// Switching matters from this share of a program's time on.
const MATTERS: f64 = 0.05;

/// The widest range, as a factor, that decides by itself.
const WIDEST: f64 = 3.0;

/// What a program used in a span of time, and what the kernel counted on all CPUs meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    /// Whether threads or processes ended meanwhile, whose use is missing.
    pub at_least: bool,
    /// How many processes were watched: a process and its descendants; `null` for a command, with
    /// all that it waited for.
    pub processes: Option<usize>,
    /// How many of its threads can run at once: the minimum of threads and CPUs.
    pub at_once: u64,
    /// How often a CPU entered an idle state; `null` if the kernel does not report it.
    pub idle_entries: Option<f64>,
    /// How often a CPU interrupted another; `null` if the kernel does not report it.
    pub interrupts: Option<f64>,
    /// Switches of all programs, to and from idle too.
    pub switches_of_all: f64,
}

impl Used {
    /// What two processes used together in one span of time.
    pub fn plus(self, other: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns + other.cpu_ns,
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
            at_least: self.at_least || other.at_least,
            processes: self.processes.zip(other.processes).map(|(one, other)| one + other),
            at_once: self.at_once.saturating_add(other.at_once),
            ..self
        }
    }
}

/// The cost of a switch in one or several cases of a run: each range contains all cases.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SwitchCost {
    /// The cases.
    pub cases: Vec<String>,
    /// CPU time of a switch with the work around it, in nanoseconds: medians.
    pub cpu_ns: Interval,
    /// Wall time, in nanoseconds: the range of 80 % of processes.
    pub wall_ns: Interval,
    /// How often a CPU entered an idle state, for each switch: medians.
    pub idle_entries: Interval,
    /// How often a CPU interrupted another, for each switch: medians.
    pub interrupts: Interval,
}

/// The cost of each kind.
type Costs = BTreeMap<SwitchKind, SwitchCost>;

/// Whether switching matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Matters {
    /// The program did nothing, so nothing takes a share of its time.
    Idle,
    /// Switching takes less than a twentieth of the program's time.
    No,
    /// The counters do not show which switches the program made, so that the range is wide, or the
    /// run of the costs was disturbed.
    Undecided,
    /// Switching takes more of the program's time.
    Yes,
}

/// The cost of a switch in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Prices {
    /// The run's folder.
    pub run: String,
    /// The state of that run: one that was disturbed shows no costs that decide.
    pub state: State,
    /// The cost of each kind of switch.
    pub costs: Costs,
}

/// How much of a program's time its switches take. Shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Impact {
    /// What the program used.
    pub used: Used,
    /// The cost of a switch here.
    #[serde(flatten)]
    pub prices: Prices,
    /// The share of the program's switches of each kind.
    pub kinds: BTreeMap<SwitchKind, Interval>,
    /// The share of its time that switching takes.
    pub share: Interval,
    /// Whether switching matters.
    pub matters: Matters,
}

impl Impact {
    /// The cost of a program's switches. `prices` must have every kind.
    pub fn new(used: Used, prices: Prices) -> Self {
        let mixtures = mixtures(&used, &prices.costs);
        let switches = (used.voluntary + used.involuntary) as f64;
        // At one end of all ranges: of the wall time, or, if several threads were active at once,
        // of theirs.
        let share = |end: fn([f64; 2]) -> f64| {
            let mut wall_ns = 0.0;
            let mut cpu_ns = 0.0;
            for (kind, cost) in &prices.costs {
                let count = switches * end(mixtures[kind]);
                let wall_of_one = end([cost.wall_ns.low, cost.wall_ns.high]);
                let cpu_of_one = end([cost.cpu_ns.low, cost.cpu_ns.high]);
                wall_ns += count * wall_of_one;
                cpu_ns += count * cpu_of_one.min(wall_of_one);
            }
            let active_ns = used.cpu_ns as f64 + (wall_ns - cpu_ns);
            let span_ns = used.wall_ns.max(1) as f64;
            let threads = (active_ns / span_ns).clamp(1.0, used.at_once.max(1) as f64);
            (wall_ns / span_ns / threads).min(1.0)
        };
        let low = share(|[cheapest, _]| cheapest);
        let high = share(|[_, dearest]| dearest);
        let Interval { low, high } = interval([low, high]);
        // The middle of a narrow range decides; a wide one only if all of it is little.
        let is_narrow = high <= WIDEST * low;
        let middle = (low * high).sqrt();
        let most = if is_narrow { middle } else { high };
        let matters = if used.cpu_ns == 0 {
            Matters::Idle
        } else if !prices.state.is_fit {
            Matters::Undecided
        } else if is_narrow && middle >= MATTERS {
            Matters::Yes
        } else if most < MATTERS && !used.at_least {
            Matters::No
        } else {
            Matters::Undecided
        };
        let kinds = mixtures.into_iter().map(|(kind, ends)| (kind, interval(ends))).collect();
        Self { used, prices, kinds, share: Interval { low, high }, matters }
    }
}

/// The interval between two ends in any order.
fn interval([one, other]: [f64; 2]) -> Interval {
    Interval { low: one.min(other), high: one.max(other) }
}

/// The share of the switches of each kind in the cheapest mixture and in the most expensive one, which
/// has fewer of the cheap kind. The CPUs' counters include those of other programs, so
/// at least what these cannot explain is the program's, and at most all.
fn mixtures(used: &Used, costs: &Costs) -> BTreeMap<SwitchKind, [f64; 2]> {
    let all = (used.voluntary + used.involuntary).max(1) as f64;
    let blocking = used.voluntary as f64 / all;
    // Going idle and leaving it is a switch of no program.
    let others = (used.switches_of_all - all - used.idle_entries.unwrap_or(0.0)).max(0.0);
    let share = |count: f64, each: f64| (count / each.max(0.5) / all).clamp(0.0, blocking);
    let range = |count: Option<f64>, each: Interval| match count {
        Some(count) => [share(count - others, each.high), share(count, each.low)],
        None => [0.0, blocking],
    };
    let asleep = range(used.idle_entries, costs[&SwitchKind::Asleep].idle_entries);
    let crossing = range(used.interrupts, costs[&SwitchKind::OtherCpu].interrupts);
    let awake = crossing.map(|share| (share - asleep[1]).max(0.0));
    // The cheapest mixture has the fewest expensive switches.
    let same = [0, 1].map(|end| (1.0 - asleep[end] - awake[end]).max(0.0));
    [(SwitchKind::SameCpu, same), (SwitchKind::OtherCpu, awake), (SwitchKind::Asleep, asleep)]
        .into()
}

impl SwitchCost {
    /// The cost of a switch in these cases of a report, per switch that the kernel counted; `None` if
    /// one was not measured.
    pub fn measured(report: &Report, cases: &[String]) -> Option<Self> {
        let cost = |case: &String| {
            let mut rows = report.groups.iter().flat_map(|group| &group.rows);
            let row = rows.find(|row| row.case == *case)?;
            let switches = row.switches.filter(|switches| *switches > 0.0)?;
            let Interval { low, high } = row.range?;
            let each = |count: Option<f64>| count.unwrap_or(0.0) / switches;
            Some(Self {
                cases: vec![case.to_owned()],
                cpu_ns: point(row.cpu_ns? / switches),
                wall_ns: Interval { low: low / switches, high: high / switches },
                idle_entries: point(each(row.parts.and_then(|parts| parts.idle_entries))),
                interrupts: point(each(row.parts.and_then(|parts| parts.interrupts))),
            })
        };
        let costs = cases.iter().map(cost).collect::<Option<Vec<_>>>()?;
        costs.into_iter().reduce(|one, other| Self {
            cases: [one.cases, other.cases].concat(),
            cpu_ns: joined(one.cpu_ns, other.cpu_ns),
            wall_ns: joined(one.wall_ns, other.wall_ns),
            idle_entries: joined(one.idle_entries, other.idle_entries),
            interrupts: joined(one.interrupts, other.interrupts),
        })
    }
}

/// The range of one figure.
fn point(value: f64) -> Interval {
    Interval { low: value, high: value }
}

/// The range that contains both.
fn joined(one: Interval, other: Interval) -> Interval {
    Interval { low: one.low.min(other.low), high: one.high.max(other.high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// What this many blocking switches cost a program of two threads in one second, in which the
    /// kernel counted entries into idle states, interrupts and switches of all.
    fn impact(
        switches: u64,
        cpu_ns: u64,
        counted: (Option<f64>, Option<f64>, f64),
        is_fit: bool,
    ) -> Impact {
        let cost = |low: f64, high: f64, idle_entries: f64, interrupts: f64| SwitchCost {
            cases: vec!["a".to_owned()],
            cpu_ns: point(low / 2.0),
            wall_ns: Interval { low, high },
            idle_entries: point(idle_entries),
            interrupts: point(interrupts),
        };
        let costs = BTreeMap::from([
            (SwitchKind::SameCpu, cost(1000.0, 2000.0, 0.0, 0.0)),
            (SwitchKind::OtherCpu, cost(10_000.0, 12_000.0, 0.0, 1.0)),
            (SwitchKind::Asleep, cost(20_000.0, 30_000.0, 1.0, 1.0)),
        ]);
        let (idle_entries, interrupts, switches_of_all) = counted;
        let used = Used {
            wall_ns: SECOND,
            cpu_ns,
            voluntary: switches,
            at_once: 2,
            idle_entries,
            interrupts,
            switches_of_all,
            ..Used::default()
        };
        let state = State { is_fit, ..State::default() };
        Impact::new(used, Prices { run: "run".to_owned(), state, costs })
    }

    #[test]
    fn switches_are_priced_by_where_they_went() {
        let none = Some(0.0);
        let all = Some(10_000.0);
        for (switches, cpu_ns, counted, matters, [low, high]) in [
            // On one CPU.
            (10_000, SECOND / 2, (none, none, 10_000.0), Matters::No, [0.01, 0.02]),
            // To another CPU, and to one that sleeps.
            (10_000, SECOND / 2, (none, all, 10_000.0), Matters::Yes, [0.1, 0.12]),
            (10_000, SECOND / 2, (all, all, 20_000.0), Matters::Yes, [0.2, 0.3]),
            // Two threads that never wait otherwise.
            (10_000, 2 * SECOND, (none, all, 10_000.0), Matters::Yes, [0.05, 0.06]),
            // Others may have made them, or nothing is known.
            (10_000, SECOND / 2, (all, all, 1e6), Matters::Undecided, [0.01, 0.3]),
            (10_000, SECOND / 2, (None, None, 0.0), Matters::Undecided, [0.01, 0.3]),
            // Much, or all of its time.
            (100_000, SECOND / 2, (None, None, 0.0), Matters::Undecided, [0.1, 1.0]),
            (100, SECOND / 2, (None, None, 0.0), Matters::No, [1e-4, 3e-3]),
            (0, SECOND / 2, (none, none, 0.0), Matters::No, [0.0, 0.0]),
            (0, 0, (none, none, 0.0), Matters::Idle, [0.0, 0.0]),
        ] {
            let disturbed = impact(switches, cpu_ns, counted, false);
            let undecided = if cpu_ns == 0 { Matters::Idle } else { Matters::Undecided };
            assert_eq!(disturbed.matters, undecided, "{disturbed:?}");
            let impact = impact(switches, cpu_ns, counted, true);
            let share = impact.share;
            let difference = (share.low - low).abs() + (share.high - high).abs();
            assert!(difference < 1e-9 || switches == 100_000 && share.low >= 0.1, "{impact:?}");
            assert_eq!(impact.matters, matters, "{impact:?}");
            let intervals = impact.kinds.values().chain([&impact.share]);
            assert!(intervals.into_iter().all(|ends| ends.low <= ends.high), "{impact:?}");
        }
    }
}
