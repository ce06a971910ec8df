//! Cases that differ in one parameter: in their two CPUs, by pair and by distance, or in a number,
//! such as the number of tasks.

use std::collections::{BTreeMap, BTreeSet};

use harness::record::Distance;
use serde_json::Value;

use super::RunData;
use super::estimate::shown;
use super::model::{Case, CaseEstimate, CpuPlace, DistanceTime, Group, PairMap, PairTime, by_key};
use crate::judge::statistics::{ByRound, Estimate, median};
use crate::store::environment::Environment;

/// A pair of a run, with its estimate.
struct Pair<'a> {
    time: PairTime,
    estimate: &'a CaseEstimate,
}

/// Combines the cases of CPU pairs in these groups: one map per run and way of handing over.
pub fn maps(runs: &[RunData], groups: &[Group]) -> Vec<PairMap> {
    let of_group = |group: &Group| -> Vec<PairMap> {
        let of_run = |(index, run): (usize, &RunData)| of_run(group, index, &run.saved.environment);
        runs.iter().enumerate().flat_map(of_run).collect()
    };
    groups.iter().flat_map(of_group).collect()
}

fn of_run(group: &Group, run: usize, environment: &Environment) -> Vec<PairMap> {
    let cases = group.cases.iter().filter_map(|case| Some((case, case.key.pair()?)));
    let ways = by_key(cases.map(|(case, cpus)| (without("cpus", case), (case, cpus))));
    ways.iter().filter_map(|(_, cases)| map(group, cases, run, environment)).collect()
}

fn map(
    group: &Group,
    cases: &[(&Case, [usize; 2])],
    run: usize,
    environment: &Environment,
) -> Option<PairMap> {
    let places = places(cases.iter().flat_map(|(_, cpus)| *cpus).collect(), environment);
    let of_cpu: BTreeMap<usize, CpuPlace> = places.iter().map(|of| (of.cpu, *of)).collect();
    let mut pairs = Vec::new();
    for (case, cpus) in cases {
        let Some(estimate) = case.estimates[run].as_ref() else { continue };
        let Some(measurement) = estimate.measurement(None) else { continue };
        let distance = of_cpu[&cpus[0]].distance(&of_cpu[&cpus[1]]);
        let (case, time_ns) = (case.name.clone(), measurement.time_ns);
        pairs.push(Pair { time: PairTime { case, cpus: *cpus, distance, time_ns }, estimate });
    }
    let first = pairs.first()?;
    let distances: BTreeSet<Option<Distance>> = pairs.iter().map(|of| of.time.distance).collect();
    // Unknown distances come last.
    let (unknown, known): (Vec<_>, Vec<_>) = distances.into_iter().partition(Option::is_none);
    let distances = known.into_iter().chain(unknown);
    Some(PairMap {
        group: group.name.clone(),
        run,
        name: shown(&name(cases[0])),
        operation: first.estimate.measurement(None)?.short_name().to_owned(),
        kind: cases[0].0.kind,
        distances: distances.filter_map(|distance| of_distance(distance, &pairs)).collect(),
        pairs: pairs.into_iter().map(|pair| pair.time).collect(),
        cpus: places,
    })
}

/// The name of a case without its CPUs.
fn name((case, [first, second]): (&Case, [usize; 2])) -> String {
    let cpus = format!("{first},{second}");
    let name = case.title.replace(&format!("CPUs {cpus}"), "").replace(&cpus, "");
    match name.trim_end_matches(['/', ',', ' ']) {
        "" => case.key.program.clone(),
        name => name.to_owned(),
    }
}

/// The places of these CPUs; unknown ones are at the end.
fn places(cpus: BTreeSet<usize>, environment: &Environment) -> Vec<CpuPlace> {
    let mut places = environment.places();
    places.retain(|place| cpus.contains(&place.cpu));
    let known: BTreeSet<usize> = places.iter().map(|place| place.cpu).collect();
    let unknown = cpus.difference(&known);
    places.extend(unknown.map(|cpu| CpuPlace { cpu: *cpu, node: None, cache: None, core: None }));
    places
}

/// The pairs of one distance: their median in every round, estimated over rounds.
fn of_distance(distance: Option<Distance>, pairs: &[Pair]) -> Option<DistanceTime> {
    let pairs: Vec<&Pair> = pairs.iter().filter(|pair| pair.time.distance == distance).collect();
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for pair in &pairs {
        let values: ByRound = pair.estimate.by_round(pair.estimate.measurement(None)?);
        values.into_iter().for_each(|(round, ns)| rounds.entry(round).or_default().push(ns));
    }
    let medians: Vec<f64> = rounds.values().filter_map(|of_round| median(of_round)).collect();
    let times = || pairs.iter().map(|pair| pair.time.time_ns.value);
    Some(DistanceTime {
        distance,
        pairs: pairs.len(),
        time_ns: Estimate::of(&medians)?,
        range_ns: [times().reduce(f64::min)?, times().reduce(f64::max)?],
    })
}

/// The cases that differ only in one number, in ascending order of it.
pub type Series<'a> = Vec<(f64, &'a Case)>;

/// The series of a parameter among `cases`, in the order of their first cases. For a case without
/// the parameter it is 0.
pub fn series<'a>(parameter: &str, cases: impl IntoIterator<Item = &'a Case>) -> Vec<Series<'a>> {
    let cases = cases.into_iter().filter_map(|case| Some((number(parameter, case)?, case)));
    let found = by_key(cases.map(|of: (f64, &Case)| (without(parameter, of.1), of)));
    let sorted = found.into_iter().map(|(_, mut series)| {
        series.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        series
    });
    sorted.collect()
}

/// `None` for a parameter that is not a number.
fn number(parameter: &str, case: &Case) -> Option<f64> {
    case.key.parameters.get(parameter).map_or(Some(0.0), Value::as_f64)
}

/// What identifies a case except for one of its parameters.
fn without(parameter: &str, case: &Case) -> String {
    let mut others: BTreeMap<String, Value> = case.key.parameters.clone();
    others.remove(parameter);
    format!("{} {}", case.key.program, Value::from_iter(others))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::fixtures::{paired, topology};
    use crate::store::invocation::RecordedCase;

    /// Three CPUs: two share a cache, the third does not.
    fn three() -> Environment {
        topology("0-2", "0;1;2", "0-1;2", "0-2")
    }

    fn maps_of(environment: &Environment, times: &[([usize; 2], [f64; 3])]) -> Vec<PairMap> {
        let case = |(cpus, times): &([usize; 2], [f64; 3])| {
            let name = format!("spin/{},{}", cpus[0], cpus[1]);
            let mut invocations = paired(&name, *cpus, *times);
            for record in invocations.iter_mut().filter_map(|of| of.record.as_mut()) {
                record.program = "fake".to_owned();
            }
            let record = invocations[0].record.as_ref().unwrap();
            let key = RecordedCase::of(record);
            let invocations: Vec<_> = invocations.iter().collect();
            let estimate = super::super::estimate::estimate(&invocations);
            Case { key, title: name.clone(), name, kind: None, estimates: vec![Some(estimate)] }
        };
        let cases = times.iter().map(case).collect();
        let group = Group { name: "cores".to_owned(), cases, ..Group::default() };
        of_run(&group, 0, environment)
    }

    #[test]
    fn pairs_of_one_distance_are_one_figure() {
        let times = [
            ([0, 1], [10.0, 11.0, 12.0]),
            ([0, 2], [100.0, 110.0, 120.0]),
            ([1, 2], [300.0, 310.0, 320.0]),
        ];
        let [map] = &maps_of(&three(), &times)[..] else { panic!("one map") };
        assert_eq!(
            (map.name.as_str(), map.operation.as_str(), map.pairs.len()),
            ("spin", "hop", 3)
        );
        let found: Vec<_> = map
            .distances
            .iter()
            .map(|of| (of.distance.unwrap(), of.pairs, of.time_ns.value, of.time_ns.count))
            .collect();
        // In each round the median of two is their mean: 200, 210 and 220.
        let expected = [(Distance::SharedCache, 1, 11.0, 3), (Distance::SameNode, 2, 210.0, 3)];
        assert_eq!(found, expected);
        assert_eq!(map.distances[1].range_ns, [105.0, 305.0]);
    }

    #[test]
    fn without_a_topology_the_distance_is_unknown() {
        let maps = maps_of(&Environment::default(), &[([7, 3], [10.0, 11.0, 12.0])]);
        assert_eq!(maps[0].distances[0].distance, None);
        let cpus: Vec<usize> = maps[0].cpus.iter().map(|place| place.cpu).collect();
        assert_eq!(cpus, [3, 7]);
        assert!(maps_of(&Environment::default(), &[]).is_empty());
    }

    fn with_parameters(name: &str, parameters: Value) -> Case {
        let key = RecordedCase {
            program: "ring".to_owned(),
            parameters: serde_json::from_value(parameters).unwrap(),
        };
        let (name, title) = (name.to_owned(), name.to_owned());
        Case { key, name, title, kind: None, estimates: Vec::new() }
    }

    #[test]
    fn cases_that_differ_in_one_number_are_a_series() {
        let cases = [
            with_parameters("b", json!({ "tasks": 20, "via": "pipe" })),
            with_parameters("c", json!({ "tasks": 2, "via": "futex" })),
            with_parameters("a", json!({ "tasks": 5, "via": "pipe" })),
            with_parameters("d", json!({ "tasks": "many", "via": "pipe" })),
            with_parameters("e", json!({ "via": "pipe" })),
        ];
        let series = series("tasks", &cases);
        let names = |series: &Series| -> String {
            series.iter().map(|(number, case)| format!("{}{number} ", case.name)).collect()
        };
        assert_eq!(series.iter().map(names).collect::<Vec<_>>(), ["e0 a5 b20 ", "c2 "]);
    }
}
