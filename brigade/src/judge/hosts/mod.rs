//! Many machines of one type: which hosts are slow, and what do those share?
//!
//! The sample is the hosts: what a host's own processes scatter by tells how well its
//! figure is known, and what hosts scatter by tells whether one stands out.

mod judged;
pub mod model;
mod name;
pub mod reduced;
mod shared;
#[cfg(test)]
mod simulation;

use std::collections::BTreeMap;

use crate::judge::statistics::{Estimate, median, quartiles, spread};
use judged::{judge, overall};
use model::{
    CaseOverHosts, HostCase, HostEstimate, HostsReport, LeftOut, SCHEMA_VERSION, Standing,
};
use reduced::{CaseSample, Host, ReducedRun};

/// The share of hosts and cases that are found different and are not, on average, 0 to 1.
pub const FALSE_DISCOVERIES: f64 = 0.05;

/// The type of machine that most of these runs are of, the first in the alphabet of
/// several; nothing for no runs.
pub fn machine_of<'a>(runs: impl IntoIterator<Item = &'a ReducedRun>) -> String {
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    for run in runs {
        *types.entry(&run.machine).or_default() += 1;
    }
    // Of several greatest the last is found.
    let most = types.into_iter().rev().max_by_key(|(_, count)| *count);
    most.map_or(String::new(), |(machine, _)| machine.to_owned())
}

/// The runs on this type of machine, and the others, each type with its folders.
pub fn of_machine(machine: &str, runs: Vec<ReducedRun>) -> (Vec<ReducedRun>, Vec<LeftOut>) {
    let (runs, others): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| run.machine == machine);
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for run in others {
        types.entry(run.machine).or_default().push(run.folder);
    }
    let other = |(machine, folders)| LeftOut {
        folders,
        reason: format!("of another type of machine: {machine}"),
    };
    (runs, types.into_iter().map(other).collect())
}

/// What these runs say of their hosts. `margin` is the difference that does not matter,
/// as a share; `left_out` is what could not be read.
pub fn report(runs: Vec<ReducedRun>, margin: f64, left_out: Vec<LeftOut>) -> HostsReport {
    let machine = machine_of(&runs);
    let (runs, others) = of_machine(&machine, runs);
    let folders = runs.len();
    let hosts = Host::joined(runs);
    let cases = cases(&hosts);
    let mut estimates: Vec<HostEstimate> =
        hosts.iter().map(|host| estimate(host, &cases)).collect();
    judge(&mut estimates, &cases, margin);
    let logs: Vec<f64> = compared(&estimates).map(|host| host.ratio.ln()).collect();
    let shared = shared::shared(&hosts, &estimates);
    estimates.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    HostsReport {
        schema_version: SCHEMA_VERSION.to_owned(),
        machine,
        margin,
        false_discoveries: FALSE_DISCOVERIES,
        folders,
        spread: spread(&logs),
        hosts: estimates,
        cases,
        shared,
        left_out: left_out.into_iter().chain(others).collect(),
    }
}

/// The hosts that are judged.
fn compared(hosts: &[HostEstimate]) -> impl Iterator<Item = &HostEstimate> {
    hosts.iter().filter(|host| host.standing != Standing::SetAside)
}

/// Every case that several hosts have, by its name.
fn cases(hosts: &[Host]) -> Vec<CaseOverHosts> {
    let mut by_key: BTreeMap<&str, Vec<&CaseSample>> = BTreeMap::new();
    for (key, case) in hosts.iter().flat_map(|host| &host.cases) {
        by_key.entry(key).or_default().push(case);
    }
    let several = by_key.into_iter().filter(|(_, samples)| samples.len() > 1);
    let mut cases: Vec<CaseOverHosts> =
        several.filter_map(|(key, samples)| over_hosts(key, &samples)).collect();
    name_apart(&mut cases);
    cases
}

/// Puts the cases in the order of their names. Cases of one name, such as those of two
/// versions of a program, get a number.
fn name_apart(cases: &mut [CaseOverHosts]) {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases.iter_mut() {
        let number = known.entry(case.case.clone()).or_default();
        *number += 1;
        if *number > 1 {
            case.case = format!("{} ({number})", case.case);
        }
    }
    cases.sort_by(|a, b| a.case.cmp(&b.case));
}

/// One case over the hosts that have it.
fn over_hosts(key: &str, samples: &[&CaseSample]) -> Option<CaseOverHosts> {
    let medians: Vec<f64> = samples.iter().filter_map(|case| median(&case.values)).collect();
    let logs: Vec<f64> = medians.iter().map(|ns| ns.ln()).collect();
    let first = samples.first()?;
    Some(CaseOverHosts {
        key: key.to_owned(),
        case: first.name.clone(),
        operation: first.operation.clone(),
        hosts: medians.len(),
        processes: samples.iter().map(|case| case.values.len()).sum(),
        ns: Estimate::of(&medians)?,
        quartiles_ns: quartiles(&medians)?,
        spread: spread(&logs),
    })
}

/// A host beside the middle one; it is not judged yet.
fn estimate(host: &Host, cases: &[CaseOverHosts]) -> HostEstimate {
    let of_case = |case: &CaseOverHosts| {
        let values = &host.cases.get(&case.key)?.values;
        let ns = Estimate::of(values)?;
        Some(HostCase {
            case: case.case.clone(),
            ratio: ns.value / case.ns.value,
            ns,
            probability: None,
            standing: Standing::Alike,
        })
    };
    let of_cases: Vec<HostCase> = cases.iter().filter_map(of_case).collect();
    let (ratio, standard_error) = overall(&of_cases);
    HostEstimate {
        host: host.name.clone(),
        runs: host.runs.clone(),
        ratio,
        standard_error,
        probability: None,
        standing: Standing::Alike,
        reason: None,
        processes: host.processes,
        disturbed: host.disturbed,
        cases: of_cases,
    }
}

#[cfg(test)]
mod tests {
    use super::reduced::tests::{host, run};
    use super::*;

    #[test]
    fn the_most_frequent_type_is_compared_and_the_others_are_named() {
        let of = |folder: &str, machine: &str| ReducedRun {
            machine: machine.to_owned(),
            ..run(folder, &[("ring", &[1.0])])
        };
        let runs = vec![of("a", "small"), of("b", "large"), of("c", "small"), of("d", "large")];
        assert_eq!(machine_of(&runs), "large", "the first in the alphabet of two");
        assert_eq!(machine_of(&runs[..3]), "small");
        assert_eq!(machine_of(&[]), "");
        let (runs, others) = of_machine("small", runs);
        let folders: Vec<&str> = runs.iter().map(|run| run.folder.as_str()).collect();
        assert_eq!(folders, ["a", "c"]);
        assert_eq!(others[0].folders, ["b", "d"]);
        assert_eq!(others[0].reason, "of another type of machine: large");
    }

    // Medians 10, 20 and 40: the middle is 20, the ratios are 0.5, 1 and 2.
    #[test]
    fn a_host_stands_beside_the_middle_one() {
        let runs = vec![
            run("2026-01-01-a", &[("ring", &[9.0, 10.0, 11.0])]),
            run("2026-01-01-b", &[("ring", &[20.0])]),
            run("2026-01-01-c", &[("ring", &[38.0, 42.0])]),
        ];
        let report = report(runs, 0.03, Vec::new());
        let ratios: Vec<(&str, f64)> =
            report.hosts.iter().map(|host| (host.host.as_str(), host.ratio)).collect();
        assert_eq!(ratios, [("c", 2.0), ("b", 1.0), ("a", 0.5)]);
        let case = &report.cases[0];
        assert_eq!((case.hosts, case.processes, case.ns.value), (3, 6, 20.0));
        assert_eq!(case.quartiles_ns, [15.0, 30.0]);
        // Three hosts are too few to judge one.
        assert!(report.hosts.iter().all(|host| host.probability.is_none()));
    }

    #[test]
    fn a_case_that_one_host_alone_has_is_not_compared() {
        let both = host("a", &[("ring", &[1.0]), ("line", &[1.0])]);
        let found = cases(&[both, host("b", &[("ring", &[1.0])])]);
        let names: Vec<&str> = found.iter().map(|case| case.case.as_str()).collect();
        assert_eq!(names, ["ring"]);
    }

    #[test]
    fn cases_of_one_name_are_told_apart() {
        let with_key = |folder: &str, key: &str| {
            let mut run = run(folder, &[("ring", &[1.0])]);
            run.cases = run.cases.into_values().map(|case| (key.to_owned(), case)).collect();
            run
        };
        let runs = vec![
            with_key("a", "tasks 1"),
            with_key("b", "tasks 1"),
            with_key("c", "tasks 2"),
            with_key("d", "tasks 2"),
        ];
        let report = report(runs, 0.03, Vec::new());
        let names: Vec<&str> = report.cases.iter().map(|case| case.case.as_str()).collect();
        assert_eq!(names, ["ring", "ring (2)"]);
        let of = |host: usize| report.hosts.iter().find(|of| of.host == ["a", "c"][host]).unwrap();
        assert!(of(0).case("ring").is_some() && of(0).case("ring (2)").is_none());
        assert!(of(1).case("ring").is_none() && of(1).case("ring (2)").is_some());
    }

    // Two hosts ran more than the others, which lack nothing for that.
    #[test]
    fn a_host_lacks_only_what_most_hosts_have() {
        let many = [("a", &[1.0][..]), ("b", &[1.0]), ("c", &[1.0]), ("d", &[1.0])];
        let mut runs = vec![run("most", &many), run("more", &many)];
        runs.extend((0..6).map(|number| run(&format!("few{number}x"), &many[..1])));
        runs.push(run("other", &many[1..2]));
        let report = report(runs, 0.03, Vec::new());
        let aside = report.hosts.iter().filter(|host| host.standing == Standing::SetAside);
        let aside: Vec<(&str, Option<&str>)> =
            aside.map(|host| (host.host.as_str(), host.reason.as_deref())).collect();
        assert_eq!(aside, [("other", Some("it has 0 of the 1 cases that most hosts have"))]);
    }

    #[test]
    fn nothing_has_a_report_of_nothing() {
        let report = report(Vec::new(), 0.03, Vec::new());
        assert!(report.hosts.is_empty() && report.cases.is_empty() && report.spread.is_none());
    }
}
