//! What the hosts that differ share, and the others do not.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{HostEstimate, SharedFact, Standing};
use super::reduced::Host;
use crate::judge::statistics::Counts;

/// The least difference of shares that is worth showing.
const LEAST_PARTING: f64 = 0.5;

/// The greatest probability of chance that is: one of five hosts alone has 20 %.
const MOST_CHANCE: f64 = 0.25;

/// The facts that part the slower hosts, and the faster ones, from the others, those
/// first that part them best: by the difference of shares (Youden's J), then by how
/// unlikely chance is. Where no host differs in all cases together, those count that
/// differ in one. What has nearly as many contents as there are hosts names a host, and
/// no reason.
pub fn shared(hosts: &[Host], estimates: &[HostEstimate]) -> Vec<SharedFact> {
    let compared: Vec<(&Host, &HostEstimate)> =
        hosts.iter().zip(estimates).filter(|(_, of)| of.standing != Standing::SetAside).collect();
    let by_cases = !compared.iter().any(|(_, of)| of.standing.differs());
    let facts = facts(&compared);
    let mut found: Vec<SharedFact> = [Standing::Slower, Standing::Faster]
        .into_iter()
        .flat_map(|standing| {
            let differs = |of: &HostEstimate| match by_cases {
                true => of.cases.iter().any(|case| case.standing == standing),
                false => of.standing == standing,
            };
            let differing: BTreeSet<&str> = compared
                .iter()
                .filter(|(_, of)| differs(of))
                .map(|(host, _)| host.name.as_str())
                .collect();
            parting(standing, &differing, compared.len(), &facts)
        })
        .collect();
    found.sort_by(|a, b| {
        let by_parting = b.parting.total_cmp(&a.parting);
        by_parting
            .then(a.probability.total_cmp(&b.probability))
            .then_with(|| (&a.fact, &a.content).cmp(&(&b.fact, &b.content)))
    });
    found
}

/// The hosts that have each content of each fact.
type Facts<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a str>>>;

fn facts<'a>(compared: &[(&'a Host, &HostEstimate)]) -> Facts<'a> {
    let mut facts = Facts::new();
    for (host, _) in compared {
        for (fact, content) in &host.facts {
            facts.entry(fact).or_default().entry(content).or_default().push(&host.name);
        }
    }
    // More than every second host has one of its own.
    facts.retain(|_, contents| contents.len() * 2 <= compared.len().max(2));
    facts
}

fn parting(
    of: Standing,
    differing: &BTreeSet<&str>,
    hosts: usize,
    facts: &Facts,
) -> Vec<SharedFact> {
    let (all, others) = (differing.len() as u64, (hosts - differing.len()) as u64);
    let mut found = Vec::new();
    for (fact, contents) in facts {
        for (content, having) in contents {
            let hits = having.iter().filter(|host| differing.contains(*host)).count() as u64;
            let counts =
                Counts { first: [hits, all], second: [having.len() as u64 - hits, others] };
            let Some(parting) = counts.parting().filter(|of| *of >= LEAST_PARTING) else {
                continue;
            };
            let probability = counts.by_chance();
            if probability > MOST_CHANCE {
                continue;
            }
            found.push(SharedFact {
                of,
                fact: (*fact).to_owned(),
                content: (*content).to_owned(),
                having: counts.first,
                others: counts.second,
                parting,
                probability,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::reduced::tests::host;
    use super::*;

    /// Hosts with these facts, of which the first `slow` are slower.
    fn found(slow: usize, facts: &[&[(&str, &str)]]) -> Vec<SharedFact> {
        let hosts: Vec<Host> = (0..)
            .zip(facts)
            .map(|(number, facts)| {
                let facts = facts.iter().map(|(name, of)| ((*name).to_owned(), (*of).to_owned()));
                Host { facts: facts.collect(), ..host(&format!("node{number}"), &[]) }
            })
            .collect();
        let estimate = |(number, host): (usize, &Host)| HostEstimate {
            standing: if number < slow { Standing::Slower } else { Standing::Alike },
            ..super::super::estimate(host, &[])
        };
        let estimates: Vec<HostEstimate> = hosts.iter().enumerate().map(estimate).collect();
        shared(&hosts, &estimates)
    }

    #[test]
    fn the_fact_that_parts_best_is_first() {
        let slow: &[_] = &[("governor", "powersave"), ("kernel", "6.1"), ("boot", "a")];
        let other: &[_] = &[("governor", "performance"), ("kernel", "6.1"), ("boot", "b")];
        let odd: &[_] = &[("governor", "performance"), ("kernel", "6.2"), ("smt", "off")];
        let found = found(2, &[slow, slow, other, odd, odd, odd]);
        let names: Vec<(&str, &str, f64)> = found
            .iter()
            .map(|fact| (fact.fact.as_str(), fact.content.as_str(), fact.parting))
            .collect();
        let expected =
            [("boot", "a", 1.0), ("governor", "powersave", 1.0), ("kernel", "6.1", 0.75)];
        assert_eq!(names, expected);
        assert_eq!((found[2].having, found[2].others), ([2, 2], [1, 4]));
        assert!((found[1].probability - 1.0 / 15.0).abs() < 1e-12);
    }

    #[test]
    fn what_nearly_every_host_has_of_its_own_is_no_reason() {
        let boots = ["a", "b", "c", "d"].map(|boot| [("boot", boot)]);
        let facts: Vec<&[(&str, &str)]> = boots.iter().map(<[_; 1]>::as_slice).collect();
        assert_eq!(found(1, &facts), []);
    }

    #[test]
    fn like_hosts_share_nothing_that_parts_them() {
        assert_eq!(found(0, &[&[("governor", "x")], &[("governor", "y")]]), []);
    }
}
