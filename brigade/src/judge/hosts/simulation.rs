//! What the report of hosts promises, seen by simulation: like hosts are not found
//! different, and hosts that are slower are, with what they share.
//!
//! Every fleet has its own seed, so a run of this test repeats itself exactly. `cargo
//! test -p brigade hosts::simulation -- --nocapture` prints the shares.

use std::collections::BTreeMap;

use fastrand::Rng;

use super::model::{HostsReport, Standing};
use super::reduced::ReducedRun;
use super::reduced::tests::run;
use super::report;

const CASES: usize = 8;
const PROCESSES: usize = 8;
/// The difference that does not matter: small, so that the test decides and not it.
const MARGIN: f64 = 0.001;

/// A fleet that is made up.
struct Fleet {
    hosts: usize,
    /// Slower hosts, and how many times as long they take.
    slow: (usize, f64),
    /// What hosts scatter by, and their processes, as standard deviations of logarithms.
    scatter: [f64; 2],
    /// Whether values far away are more frequent than normal ones are.
    has_tails: bool,
}

impl Fleet {
    fn report(&self, seed: u64, margin: f64) -> HostsReport {
        let mut rng = Rng::with_seed(seed);
        let runs = (0..self.hosts).map(|number| self.run(number, &mut rng)).collect();
        report(runs, margin, Vec::new())
    }

    fn run(&self, number: usize, rng: &mut Rng) -> ReducedRun {
        let [of_hosts, of_processes] = self.scatter;
        let slower = if number < self.slow.0 { self.slow.1 } else { 1.0 };
        let own = self.deviate(rng) * of_hosts;
        let values: Vec<Vec<f64>> = (0..CASES)
            .map(|case| {
                let log = own + self.deviate(rng) * of_hosts + slower.ln();
                let value =
                    |_| 100.0 * (case + 1) as f64 * (log + normal(rng) * of_processes).exp();
                (0..PROCESSES).map(value).collect()
            })
            .collect();
        let names: Vec<String> = (0..CASES).map(|case| format!("case{case}")).collect();
        let cases: Vec<(&str, &[f64])> =
            names.iter().map(String::as_str).zip(values.iter().map(Vec::as_slice)).collect();
        let governor = if number < self.slow.0 { "powersave" } else { "performance" };
        let facts = [("governor", governor), ("kernel", ["6.1", "6.12"][rng.usize(0..2)])];
        let facts = facts.map(|(name, content)| (name.to_owned(), content.to_owned()));
        let folder = format!("2026-01-01-node{number:04}");
        ReducedRun { facts: BTreeMap::from(facts), ..run(&folder, &cases) }
    }

    /// A deviate of hosts: normal, or of the logistic distribution.
    fn deviate(&self, rng: &mut Rng) -> f64 {
        if !self.has_tails {
            return normal(rng);
        }
        let share = rng.f64().clamp(1e-12, 1.0 - 1e-12);
        (share / (1.0 - share)).ln() * 3_f64.sqrt() / std::f64::consts::PI
    }
}

/// A normal value, by the method of Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * rng.f64()).cos()
}

/// The share of fleets of like hosts in which something is found.
fn false_alarms(hosts: usize, fleets: u64) -> f64 {
    let fleet = Fleet { hosts, slow: (0, 1.0), scatter: [0.02, 0.02], has_tails: false };
    let finds_any = |seed: &u64| {
        let report = fleet.report(*seed, MARGIN);
        report.hosts.iter().any(|host| host.standing.differs() || host.differing().next().is_some())
    };
    let share = (0..fleets).filter(finds_any).count() as f64 / fleets as f64;
    println!("{hosts} like hosts: something is found in {:.1} % of fleets", share * 100.0);
    share
}

// The standard error of a share of 5 % is 1.1 % of 400 fleets, and 2.8 % of 60.
#[test]
fn like_hosts_are_rarely_found_different() {
    let sizes = [(5, 400, 0.08), (7, 400, 0.08), (10, 400, 0.08), (30, 200, 0.10), (200, 60, 0.12)];
    for (hosts, fleets, most) in sizes {
        assert!(false_alarms(hosts, fleets) <= most, "{hosts} hosts");
    }
}

/// In how many of twenty fleets of like hosts no host is found different.
fn quiet_fleets(hosts: usize, has_tails: bool) -> usize {
    let fleet = Fleet { hosts, slow: (0, 1.0), scatter: [0.01, 0.02], has_tails };
    let is_quiet =
        |seed: &u64| fleet.report(*seed, 0.03).hosts.iter().all(|host| !host.standing.differs());
    (0..20).filter(is_quiet).count()
}

#[test]
fn of_a_thousand_like_hosts_none_is_found_different() {
    let quiet = quiet_fleets(1000, false);
    assert!(quiet >= 19, "{quiet} of 20 fleets");
}

// Values far away are more frequent among real hosts than among normal ones.
#[test]
fn of_like_hosts_with_longer_tails_few_are_found_different() {
    let quiet = quiet_fleets(200, true);
    println!("longer tails: no host is found different in {quiet} of 20 fleets");
    assert!(quiet >= 15, "{quiet} of 20 fleets");
}

#[test]
fn of_a_thousand_hosts_the_slow_ones_are_found_with_what_they_share() {
    let fleet = Fleet { hosts: 1000, slow: (20, 1.1), scatter: [0.01, 0.02], has_tails: false };
    for seed in 0..5 {
        let report = fleet.report(seed, 0.03);
        let found = report.hosts.iter().filter(|host| host.standing == Standing::Slower);
        let (slow, others): (Vec<&str>, Vec<&str>) =
            found.map(|host| host.host.as_str()).partition(|host| *host < "node0020");
        println!("{} of 20 slower hosts are found, and {} others", slow.len(), others.len());
        assert!(slow.len() >= 18 && others.len() <= 4, "{slow:?}, {others:?}");
        let first = &report.shared[0];
        assert_eq!((first.fact.as_str(), first.content.as_str()), ("governor", "powersave"));
    }
}

#[test]
fn a_small_fleet_finds_its_slow_host() {
    let fleet = Fleet { hosts: 8, slow: (1, 1.3), scatter: [0.01, 0.01], has_tails: false };
    let is_found = |seed: &u64| {
        let report = fleet.report(*seed, 0.03);
        report.hosts[0].host == "node0000" && report.hosts[0].standing == Standing::Slower
    };
    let found = (0..50).filter(is_found).count();
    println!("the slow one of 8 hosts is found in {found} of 50 fleets");
    assert!(found >= 40, "{found} of 50");
}
