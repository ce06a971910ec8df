//! Properties of Brigade that its figures depend on, each judged by experiments
//! with known outcomes.

mod outside;
mod properties;
mod work;

use harness::record::Record;
use serde::{Deserialize, Serialize};

use crate::judge::statistics::{ByRound, Interval};
use crate::manifest::Case;
use crate::store::invocation::{Invocation, Outcome};

pub use outside::{
    MORE_BYTES, Traced, known_memory, second_clock, switches_outside, system_calls, traced_hops,
};
pub use properties::{
    MORE_WORK, accounting, clock, clock_across, crossings, differences, disturbance, empty_lap,
    in_time_order, independence, same, switches, verify_switches,
};
pub use work::{known_work, linearity, opponents};

/// Version of [`Proof`]'s schema.
pub const SCHEMA_VERSION: &str = "1.0";

/// The result of `brigade prove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Proof {
    /// Schema version of this proof.
    pub schema_version: String,
    /// Version of the runner.
    pub brigade_version: String,
    /// When the proof began: UTC, RFC 3339.
    pub started_at: String,
    /// Seed for the order of the invocations.
    pub seed: u64,
    /// The properties.
    pub properties: Vec<Property>,
}

/// A property that must hold for Brigade's figures to mean anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Property {
    /// Its name.
    pub name: String,
    /// The worst status of its figures: fails, not shown, holds, or unjudged.
    pub status: Status,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// Whether a figure or a property is within its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It cannot be measured here, or is only reported.
    Unjudged,
    /// Within its bounds.
    Holds,
    /// The machine was too busy to decide.
    NotShown,
    /// Outside its bounds.
    Fails,
}

impl Status {
    /// [`Status::Holds`] or [`Status::Fails`].
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// For a ratio that must be 1: fails if its whole interval is more than `fails` away, and holds
    /// if all of it is within `holds`, both as shares.
    fn near_one(ends: Interval, fails: f64, holds: f64) -> Self {
        let band = |share: f64| [1.0 / (1.0 + share), 1.0 + share];
        match Self::within(ends, band(fails)) {
            Self::Fails => Self::Fails,
            _ => Self::within(ends, band(holds)),
        }
    }

    /// For a figure between two bounds: holds if its whole interval is, fails if none of it is.
    fn within(ends: Interval, [least, most]: [f64; 2]) -> Self {
        if ends.low > most || ends.high < least {
            Self::Fails
        } else if ends.low >= least && ends.high <= most {
            Self::Holds
        } else {
            Self::NotShown
        }
    }

    /// A busy machine may cause a failure; then the status is not shown.
    fn unless_busy(self, is_busy: bool) -> Self {
        if is_busy { self.min(Self::NotShown) } else { self }
    }
}

/// A figure and its bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figure {
    /// What it measures.
    pub what: String,
    /// The figure, in `unit`; `null` if there is none.
    pub value: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Its unit; empty for a ratio or a count.
    pub unit: String,
    /// Its bounds, or why there is no figure, in words.
    pub must: String,
    /// Whether it is within its bounds.
    pub status: Status,
}

impl Proof {
    /// The worst status of a property.
    pub fn status(&self) -> Status {
        let worst = self.properties.iter().map(|property| property.status).max();
        worst.unwrap_or(Status::Unjudged)
    }

    /// The names of the properties with this status.
    pub fn names_of(&self, status: Status) -> Vec<&str> {
        let such = self.properties.iter().filter(|property| property.status == status);
        such.map(|property| property.name.as_str()).collect()
    }
}

impl Property {
    /// A property with these figures.
    pub fn of(name: &str, figures: Vec<Figure>) -> Self {
        let worst = figures.iter().map(|figure| figure.status).max();
        Self { name: name.to_owned(), status: worst.unwrap_or(Status::Unjudged), figures }
    }
}

impl Figure {
    /// A figure without an interval, not judged.
    pub fn new(what: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { value: Some(value), unit: unit.to_owned(), ..Self::missing(what, "") }
    }

    /// A missing figure, with the reason.
    pub fn missing(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            value: None,
            interval: None,
            unit: String::new(),
            must: why.into(),
            status: Status::Unjudged,
        }
    }

    /// A missing figure, which counts as a failure.
    pub fn failed(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::missing(what, "").judged(why, Status::Fails)
    }

    /// Sets its interval.
    fn between(self, interval: Interval) -> Self {
        Self { interval: Some(interval), ..self }
    }

    /// Sets its bounds and its status.
    fn judged(self, must: impl Into<String>, status: Status) -> Self {
        Self { must: must.into(), status, ..self }
    }
}

/// An experiment: processes of one case in a few variants, the arms. Each arm runs once per round.
#[derive(Debug)]
pub struct Experiment<'a> {
    /// The case.
    pub case: &'a Case,
    /// The processes of each arm, in the order in which they ran.
    pub arms: Vec<Vec<Probe>>,
}

/// One process of an experiment.
#[derive(Debug)]
pub struct Probe {
    /// The round, counted from 1.
    pub round: u32,
    /// Mean time per operation, in nanoseconds.
    pub time_ns: Option<f64>,
    /// The invocation, if a case ran.
    pub invocation: Option<Invocation>,
    /// The measurement from outside: its life by a second clock or the cost of a system call, in
    /// nanoseconds, or its number of context switches.
    pub outside: Option<f64>,
    /// What it traced.
    pub traced: Option<Traced>,
    /// Why it failed.
    pub trouble: Option<Figure>,
}

impl Probe {
    /// A process without measurements.
    pub fn nothing(round: u32) -> Self {
        Self { round, time_ns: None, invocation: None, outside: None, traced: None, trouble: None }
    }

    /// A failed process, with the reason.
    pub fn failed(round: u32, trouble: Figure) -> Self {
        Self { trouble: Some(trouble), ..Self::nothing(round) }
    }

    /// A refusal because of a limit is not Brigade's failure; anything else is.
    pub fn of(invocation: Invocation) -> Self {
        let reason = || invocation.error.clone().unwrap_or_default();
        let trouble = match invocation.outcome {
            Outcome::Measured => None,
            Outcome::Refused => Some(Figure::missing(&invocation.case, reason())),
            Outcome::Failed | Outcome::TimedOut => Some(Figure::failed(&invocation.case, reason())),
        };
        let (round, time_ns) = (invocation.round, time_ns(&invocation));
        Self { time_ns, invocation: Some(invocation), trouble, ..Self::nothing(round) }
    }

    fn record(&self) -> Option<&Record> {
        self.invocation.as_ref()?.record.as_ref()
    }
}

/// Mean time per operation of an invocation, in nanoseconds, if it measured.
fn time_ns(invocation: &Invocation) -> Option<f64> {
    let measured = invocation.outcome == Outcome::Measured;
    Some(invocation.record.as_ref().filter(|_| measured)?.principal()?.ns_per_operation)
}

impl Experiment<'_> {
    /// The first process that failed.
    pub fn trouble(&self) -> Option<Figure> {
        self.probes().find_map(|probe| probe.trouble.clone())
    }

    fn probes(&self) -> impl Iterator<Item = &Probe> {
        self.arms.iter().flatten()
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.probes().filter_map(Probe::record)
    }

    /// Times of the arm at `index`, by round.
    fn times(&self, index: usize) -> ByRound {
        self.arms[index].iter().filter_map(|probe| Some((probe.round, probe.time_ns?))).collect()
    }

    /// Applies `of` to the processes of an arm, by round.
    fn by_round(&self, index: usize, of: impl Fn(&Record) -> Option<f64>) -> ByRound {
        let figure = |probe: &Probe| Some((probe.round, of(probe.record()?)?));
        self.arms[index].iter().filter_map(figure).collect()
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use harness::instrument::{Crossings, EmptyLap};
    use harness::record::WorkRecord;
    use harness::trace::Trace;

    use super::*;
    use crate::manifest::Manifest;
    use crate::store::fixtures::{self as sample, Sample};

    /// A case on one CPU.
    fn case() -> &'static Case {
        let text = "[profiles]\n[programs.p]\npath = 'p'\ncheck = { iters = 2, warmups = 0 }\n[[group]]\n\
                    name = 'g'\nquestion = 'What?'\n[[group.case]]\nname = 'x'\nprogram = 'p'\n\
                    placement = 'same-cpu'\n";
        &Box::leak(Box::new(Manifest::parse(text).unwrap())).cases[0]
    }

    /// An experiment with this many rounds, whose arms have these records.
    fn experiment(
        arms: usize,
        rounds: u32,
        of: impl Fn(usize, u32) -> Record,
    ) -> Experiment<'static> {
        let probe = |arm, round| {
            let invocation = Sample::hop(1.0).in_round("x", round);
            Probe::of(Invocation { record: Some(of(arm, round)), ..invocation })
        };
        let arm = |arm| (1..=rounds).map(|round| probe(arm, round)).collect();
        Experiment { case: case(), arms: (0..arms).map(arm).collect() }
    }

    fn hop(ns: f64) -> Record {
        Sample::hop(ns).in_round("x", 1).record.unwrap()
    }

    /// The statuses of figures, except those that only name a failed process.
    fn statuses(figures: &[Figure]) -> Vec<Status> {
        let is_judged = |figure: &&Figure| figure.value.is_some() || !figure.what.contains(": x");
        figures.iter().filter(is_judged).map(|figure| figure.status).collect()
    }

    const HOLDS: Status = Status::Holds;
    const FAILS: Status = Status::Fails;
    const NOT_SHOWN: Status = Status::NotShown;
    const UNJUDGED: Status = Status::Unjudged;

    #[test]
    fn a_ratio_six_percent_off_never_holds() {
        for (low, high, expected) in [
            (0.99, 1.01, HOLDS),
            (1.03, 1.04, HOLDS),
            (1.01, 1.06, NOT_SHOWN),
            (0.9, 1.1, NOT_SHOWN),
            (1.06, 1.06, FAILS),
            (0.8, 0.94, FAILS),
        ] {
            let status = Status::near_one(Interval { low, high }, 0.05, 0.05);
            assert_eq!(status, expected, "{low} to {high}");
        }
        let status = |low, high| Status::near_one(Interval { low, high }, 0.02, 0.05);
        assert_eq!([status(1.03, 1.04), status(1.01, 1.04)], [FAILS, HOLDS]);
    }

    #[test]
    fn in_time_order_some_cases_must_not_change_while_others_do_not() {
        for (changing, expected) in [(0, HOLDS), (7, FAILS), (20, NOT_SHOWN)] {
            let mut rng = Rng::with_seed(9);
            let invocations = (0..20).flat_map(|case| {
                let times: [f64; 16] = std::array::from_fn(|round| {
                    let late = if case < changing && round >= 8 { 1.1 } else { 1.0 };
                    100.0 * late * (1.0 + 0.01 * (rng.f64() - 0.5))
                });
                sample::case(&format!("case-{case}"), times)
            });
            let invocations: Vec<Invocation> = invocations.collect();
            assert_eq!(in_time_order(invocations.iter()).status, expected, "{changing} cases");
        }
    }

    /// A hop of 100 ns and its work; a unit of 2 ns takes `longer` times as long in laps and
    /// `slower` times as long between them. The fastest laps contain only their work.
    fn worked(units: u64, longer: f64, slower: f64) -> Record {
        let mut record = hop(slower * (100.0 + longer * 2.0 * units as f64));
        let quickest = (100.0 + 2.0 * units as f64) * record.measurements[0].operations as f64;
        record.measurements[0].min_ns = quickest as u64;
        let mean_ns_per_unit = Some(2.0 * slower);
        record.work = Some(WorkRecord { units, ns_per_unit: Some(2.0), mean_ns_per_unit });
        record
    }

    #[test]
    fn without_units_between_laps_the_fastest_laps_are_judged() {
        let of = |quickest: f64| {
            let record = |arm, round: u32| {
                let units = [250, 500, 1000][arm];
                let mut record = worked(units, 1.5 + f64::from(round) / 10.0, 1.0);
                record.work.as_mut().unwrap().mean_ns_per_unit = None;
                let laps = &mut record.measurements[0];
                laps.min_ns = (laps.min_ns as f64 * quickest) as u64;
                record
            };
            statuses(&known_work(&[experiment(3, 12, record)]))
        };
        assert_eq!([of(1.0), of(1.1)], [[HOLDS, UNJUDGED], [FAILS, UNJUDGED]]);
    }

    #[test]
    fn a_unit_that_takes_longer_in_some_programs_fails() {
        let of = |units: [f64; 3]| {
            let experiments = units.map(|unit| {
                experiment(1, 12, |_, _| {
                    let mut record = worked(500, 1.0, 1.0);
                    let work = record.work.as_mut().unwrap();
                    (work.ns_per_unit, work.mean_ns_per_unit) = (Some(unit), Some(unit));
                    record
                })
            });
            known_work(&experiments)[3].status
        };
        assert_eq!(of([1.06, 1.07, 1.06]), HOLDS);
        assert_eq!(of([1.06, 1.15, 1.06]), NOT_SHOWN);
        // As measured in three programs when the harness was not optimized.
        assert_eq!(of([1.5, 1.9, 2.0]), FAILS);
    }

    #[test]
    fn a_case_must_take_as_long_as_its_opponent() {
        let plan = r"profile = 'p'
seconds = 1
pairs = 8
rounds = 8
units = [1, 2]
work = []
tasks = 4
opponents = [{ case = 'x', words = 'ring 20', ratio = [0.95, 1.1] }]";
        let plan = toml::from_str(plan).unwrap();
        let of = |ratio: f64, scatter: f64| {
            let times = |arm, round| {
                let off = scatter * (f64::from(round) - 12.5);
                hop(if arm == 0 { 100.0 * (1.0 + off) } else { 100.0 * ratio * (1.0 - off) })
            };
            opponents(&[experiment(2, 24, times)], &plan)[0].status
        };
        assert_eq!([of(1.0, 0.001), of(1.2, 0.001), of(0.9, 0.001)], [HOLDS, FAILS, FAILS]);
        assert_eq!([of(1.08, 0.001), of(1.0, 0.02)], [HOLDS, NOT_SHOWN]);
    }

    #[test]
    fn an_undetected_disturbance_fails() {
        let of = |share: f64, alone: f64| {
            let record = |arm, round: u32| {
                let others_share = if arm == 0 { share } else { alone };
                let sample = Sample { others_share, ..Sample::hop(1000.0) };
                sample.in_round("x", round).record.unwrap()
            };
            statuses(&disturbance(&[experiment(2, 12, record)]))
        };
        assert_eq!(of(0.1, 0.0), [HOLDS, HOLDS]);
        assert_eq!(of(0.0, 0.0), [FAILS, HOLDS]);
        assert_eq!(of(0.1, 0.1), [HOLDS, NOT_SHOWN]);
        let nothing = disturbance(&[experiment(2, 0, |_, _| hop(1.0))]);
        assert_eq!(statuses(&nothing), [UNJUDGED, UNJUDGED]);
    }

    #[test]
    fn processes_that_repeat_others_or_scatter_too_little_fail() {
        let of = |record: fn(u32) -> Record| {
            let of = [experiment(1, 12, |_, round| record(round))];
            statuses(&independence(of.iter(), &of))
        };
        /// A hundred laps that scatter by a tenth, so processes scatter by a hundredth.
        fn lapping(ns: f64) -> Record {
            let mut record = hop(ns);
            let laps = &mut record.measurements[0];
            (laps.count, laps.stddev_ns) = (100, Some(laps.mean_ns / 10.0));
            record
        }
        assert_eq!(of(|round| lapping(100.0 + 0.3 * f64::from(round))), [HOLDS, HOLDS]);
        assert_eq!(of(|round| lapping(100.0 + 0.01 * f64::from(round))), [HOLDS, FAILS]);
        assert_eq!(of(|round| lapping(100.0 + f64::from(round / 2))), [FAILS, HOLDS]);
    }

    #[test]
    fn times_must_fit_into_the_span() {
        let of = |change: fn(&mut Record)| {
            let record = |_, _| {
                let mut record = hop(1000.0);
                change(&mut record);
                record
            };
            statuses(&accounting(&[experiment(1, 4, record)]))
        };
        assert_eq!(of(|_| ()), [HOLDS, HOLDS]);
        assert_eq!(of(|record| record.measurements[0].mean_ns *= 1.06), [FAILS, HOLDS]);
        assert_eq!(
            of(|of| of.cpu.as_mut().unwrap().user_ns_per_operation += 1500.0),
            [HOLDS, FAILS]
        );
        let one_cpu = |record: &mut Record| {
            record.affinity = vec![0];
            record.cpu.as_mut().unwrap().user_ns_per_operation += 400.0;
        };
        assert_eq!(of(one_cpu), [HOLDS, FAILS]);
        let nothing = |of: &mut Record| (of.cpu, of.interference.wall_ns) = (None, None);
        assert_eq!(of(nothing), [UNJUDGED, UNJUDGED]);
        // A span with one lap excludes the very first lap.
        let single = |record: &mut Record| {
            let mean_ns = record.interference.wall_ns.unwrap() as f64;
            (record.measurements[0].count, record.measurements[0].mean_ns) = (1, mean_ns);
            let mut cold = record.measurements[0].clone();
            cold.name = "create_cold".to_owned();
            record.measurements.push(cold);
        };
        assert_eq!(of(single)[0], HOLDS);
    }

    /// Twelve rounds of two arms with these records and measurements from outside.
    fn seen(of: impl Fn(usize, u32) -> (Record, Option<f64>)) -> [Experiment<'static>; 1] {
        let mut all = experiment(2, 12, |arm, round| of(arm, round).0);
        for (arm, probes) in all.arms.iter_mut().enumerate() {
            probes.iter_mut().for_each(|probe| probe.outside = of(arm, probe.round).1);
        }
        [all]
    }

    #[test]
    fn a_clock_of_another_speed_fails() {
        let of = |speed: f64, is_known: bool| {
            let record = |arm, round| {
                let lived_ns = [40e6, 340e6][arm];
                let mut record = hop(1000.0);
                record.interference.wall_ns = Some((speed * lived_ns) as u64);
                let starting_ns = 2e6 + 1e4 * f64::from(round);
                (record, is_known.then_some(lived_ns + starting_ns))
            };
            second_clock(&seen(record))[0].status
        };
        assert_eq!([of(1.0, true), of(2.0, true), of(0.97, true)], [HOLDS, FAILS, FAILS]);
        assert_eq!(of(1.0, false), UNJUDGED);
    }

    #[test]
    fn one_system_call_too_many_fails() {
        let plan = std::collections::BTreeMap::from([("x".to_owned(), 2)]);
        let of = |calls: f64, is_known: bool| {
            let record = |arm, round| {
                let filter_ns = 2000.0 + f64::from(round);
                let time_ns = 1000.0 + f64::from(round) + arm as f64 * calls * filter_ns;
                (hop(time_ns), is_known.then_some(filter_ns))
            };
            system_calls(&seen(record), &plan)[0].status
        };
        assert_eq!([of(2.0, true), of(3.0, true), of(1.0, true)], [HOLDS, FAILS, FAILS]);
        assert_eq!(of(2.0, false), UNJUDGED);
    }

    #[test]
    fn unreported_switches_fail() {
        let of = |more: f64, is_known: bool| {
            let record = |arm, _| {
                let mut record = hop(1000.0);
                record.iterations *= [1, 6][arm];
                let reported = record.switches.unwrap();
                let per_hop = reported.voluntary_per_operation + reported.involuntary_per_operation;
                let hops = record.iterations + record.warmups;
                let hops = hops as f64 * record.measurements[0].operations as f64;
                (record, is_known.then_some(100.0 + (per_hop + more) * hops))
            };
            switches_outside(&seen(record))[0].status
        };
        assert_eq!([of(0.0, true), of(0.1, true), of(-0.1, true)], [HOLDS, FAILS, FAILS]);
        assert_eq!(of(0.0, false), UNJUDGED);
    }

    /// Of a lap of 200 ns, another program runs for 20, and threads of this one for the rest, of
    /// which one is neither sender nor receiver.
    #[test]
    fn a_trace_without_a_switch_or_with_other_cpu_time_fails() {
        let of = |counted: u64, cpu_ns: u64| {
            let trace = || -> Trace {
                let json = format!(
                    r#"{{"schema_version":"1.0","pid":1,"whole_machine":true,"names":{{}},
                    "laps":[{{"stops":[{}]}}],"switches":[{}],"spans":[{{"begun_ns":0,
                    "ended_ns":2000,"counted":{counted},"cpu_ns":{cpu_ns},"throttled":null}}]}}"#,
                    [("null", 1, 1000), ("0", 2, 1100), ("null", 1, 1200)]
                        .map(|(task, tid, at_ns)| format!(
                            r#"{{"task":{task},"tid":{tid},"cpu":0,"at_ns":{at_ns}}}"#
                        ))
                        .join(","),
                    [
                        (1040, 1, "out"),
                        (1040, 77, "in"),
                        (1060, 77, "preempted"),
                        (1060, 2, "in"),
                        (1140, 2, "out"),
                        (1140, 3, "in"),
                        (1150, 3, "out"),
                        (1150, 1, "in"),
                    ]
                    .map(|(at_ns, tid, way)| format!(
                        r#"{{"at_ns":{at_ns},"cpu":0,"tid":{tid},"own":{},"way":"{way}"}}"#,
                        tid < 50
                    ))
                    .join(","),
                );
                serde_json::from_str(&json).unwrap()
            };
            let mut all = experiment(3, 12, |_, _| hop(50.0));
            for probe in all.arms[1..].iter_mut().flatten() {
                probe.traced = Some(Traced::of(&trace()).unwrap());
            }
            traced_hops(&[all])
        };
        assert_eq!(statuses(&of(3, 180)), [HOLDS, HOLDS, HOLDS, UNJUDGED]);
        assert_eq!(of(3, 180)[3].value, Some(2.0), "a hop takes 100 ns instead of 50");
        assert_eq!(statuses(&of(3, 160)), [HOLDS, FAILS, FAILS, UNJUDGED]);
        assert_eq!(statuses(&of(4, 180)), [FAILS, HOLDS, HOLDS, UNJUDGED]);
        let none = experiment(3, 12, |_, _| hop(50.0));
        assert_eq!(statuses(&traced_hops(&[none])), [UNJUDGED; 3]);
    }

    #[test]
    fn undetected_memory_fails() {
        let of = |found: u64| {
            let record = |arm, _| {
                let mut record = hop(1000.0);
                let each = 8192 + found * arm as u64;
                let point = |tasks: u64| harness::record::LedgerPoint {
                    tasks,
                    proportional_bytes: Some(1_000_000 + each * tasks),
                    ..Default::default()
                };
                record.ledger = Some([100, 200, 300].map(point).into());
                (record, None)
            };
            known_memory(&seen(record))[0].status
        };
        assert_eq!([of(MORE_BYTES), of(2 * MORE_BYTES), of(0)], [HOLDS, FAILS, FAILS]);
    }

    #[test]
    fn the_clock_distinguishes_hops_and_never_goes_backwards() {
        assert_eq!([1, 999, 1000].map(|ns| clock(ns).status), [HOLDS, HOLDS, FAILS]);
        let across = |cpus, hand_overs, backwards| {
            clock_across(cpus, Crossings { hand_overs, backwards, least_ns: None }).status
        };
        assert_eq!([across(2, 1000, 0), across(2, 1000, 1)], [HOLDS, FAILS]);
        assert_eq!([across(2, 99, 0), across(2, 99, 1)], [NOT_SHOWN, FAILS]);
        assert_eq!(across(1, 0, 0), UNJUDGED);
        let lap =
            |timed_ns| empty_lap(EmptyLap { read_ns: 20.0, timed_ns, whole_ns: 60.0 })[2].status;
        assert_eq!([lap(40.0), lap(41.0)], [HOLDS, FAILS]);
    }
}
