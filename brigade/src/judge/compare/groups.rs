//! Two groups of hosts, or of boots, the second compared with the first: the sample is
//! the host or the boot, by the median of its processes.

use std::collections::{BTreeMap, BTreeSet};

use super::comparison::{
    CaseComparison, Comparison, Described, Design, RatioRecord, SCHEMA_VERSION,
};
use super::interim::{CONFIDENCE, MOST_ROUNDS, step_down};
use super::verdict::{Pair, Ratio, Verdict};
use crate::judge::environment::difference::Difference;
use crate::judge::hosts::reduced::{CaseSample, Host};
use crate::judge::statistics::{ByRound, median};
use crate::store::results::Skipped;

/// Compares two groups. `margin` is the difference that does not matter, as a share.
pub fn compare(design: Design, groups: Pair<&[Host]>, margin: f64) -> Comparison {
    let (pairs, not_compared) = pairs(groups);
    let differs = |case: usize, confidence: f64| {
        let ratio = pairs[case].ratio(confidence);
        ratio.is_some_and(|ratio| RatioRecord::from(ratio).excludes_one())
    };
    let confidences = step_down(pairs.len(), differs);
    let each = pairs.iter().zip(confidences);
    let cases = each.filter_map(|(pair, confidence)| pair.compared(confidence, margin)).collect();
    let unit = if design == Design::Boots { "boot" } else { "host" };
    let described = |group: &[Host]| Described {
        records: format!("{} {unit}{}", group.len(), if group.len() == 1 { "" } else { "s" }),
        ..Described::default()
    };
    Comparison {
        schema_version: SCHEMA_VERSION.to_owned(),
        design,
        baseline: described(groups[0]),
        candidate: described(groups[1]),
        confidence: CONFIDENCE,
        margin,
        drift: None,
        machine: None,
        environment_differences: differences(groups),
        cases,
        not_compared,
    }
}

/// A case in both groups.
struct CasePair<'a> {
    samples: Pair<Vec<&'a CaseSample>>,
    /// The median of each host by its number: both groups have the same hosts, so that
    /// each is compared with itself. Otherwise numbers mean nothing.
    ns: Pair<ByRound>,
    is_paired: bool,
}

/// The cases of both groups, and those of one alone.
fn pairs<'a>(groups: Pair<&'a [Host]>) -> (Vec<CasePair<'a>>, Vec<Skipped>) {
    let of_group = |group: &'a [Host]| -> BTreeMap<&'a str, &'a str> {
        let cases = group.iter().flat_map(|host| &host.cases);
        cases.map(|(key, case)| (key.as_str(), case.name.as_str())).collect()
    };
    let [first, second] = groups.map(of_group);
    let (mut pairs, mut others) = (Vec::new(), Vec::new());
    let mut skip = |case: &str, reason: String| {
        others.push(Skipped { case: case.to_owned(), reason });
    };
    for (key, name) in &first {
        if !second.contains_key(key) {
            skip(name, "the candidate's runs do not have it".to_owned());
        } else if groups.iter().any(|group| group.len() > MOST_ROUNDS) {
            skip(name, format!("at most {MOST_ROUNDS} of a group are compared"));
        } else {
            pairs.push(CasePair::of(key, groups));
        }
    }
    for (_, name) in second.iter().filter(|(key, _)| !first.contains_key(*key)) {
        skip(name, "the baseline's runs do not have it".to_owned());
    }
    pairs.sort_by(|a, b| a.name().cmp(b.name()));
    (pairs, others)
}

impl<'a> CasePair<'a> {
    fn of(key: &str, groups: Pair<&'a [Host]>) -> Self {
        let having = |group: &'a [Host]| -> Vec<(&'a str, &'a CaseSample)> {
            let of = |host: &'a Host| Some((host.name.as_str(), host.cases.get(key)?));
            group.iter().filter_map(of).collect()
        };
        let sides = groups.map(having);
        // Hosts are in the order of their names.
        let names = |side: usize| sides[side].iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let is_paired = names(0) == names(1);
        let by_number = |side: &Vec<(&str, &CaseSample)>| {
            let values = side.iter().map(|(_, case)| median(&case.values));
            (1..).zip(values).filter_map(|(number, ns)| Some((number, ns?))).collect::<ByRound>()
        };
        let ns = sides.each_ref().map(by_number);
        let samples = sides.map(|side| side.into_iter().map(|(_, case)| case).collect());
        Self { samples, ns, is_paired }
    }

    fn name(&self) -> &str {
        self.samples[0].first().map_or("", |case| &case.name)
    }

    fn values(&self) -> Pair<Vec<f64>> {
        self.ns.each_ref().map(|side| side.values().copied().collect())
    }

    fn ratio(&self, confidence: f64) -> Option<Ratio> {
        let [first, second] = &self.ns;
        if self.is_paired {
            return Ratio::of_rounds([first, second], confidence);
        }
        let [first, second] = self.values();
        Ratio::of_runs([&first, &second], confidence, 1.0)
    }

    fn compared(&self, of_difference: f64, margin: f64) -> Option<CaseComparison> {
        let ratio = self.ratio(CONFIDENCE)?;
        let [first, second] = self.values();
        let sum = |of: fn(&CaseSample) -> usize| {
            self.samples.each_ref().map(|side| side.iter().map(|case| of(case)).sum())
        };
        let case = self.samples[0].first()?;
        Some(CaseComparison {
            case: case.name.clone(),
            placement: None,
            measurement: case.measurement.clone(),
            operation: case.operation.clone(),
            rounds: [first.len(), second.len()],
            ns_per_operation: [median(&first)?, median(&second)?],
            confidence: CONFIDENCE,
            confidence_of_difference: of_difference,
            ratio: ratio.into(),
            verdict: Verdict::if_sure(&ratio, margin, || self.ratio(of_difference)),
            percentiles: BTreeMap::new(),
            second_place: None,
            modes: None,
            crossing_share: [None, None],
            disturbed: sum(|case| case.disturbed),
            unusable: sum(|case| case.unusable),
            failed: sum(|case| case.failed),
        })
    }
}

/// The facts that are one thing in all of the first group and another in all of the
/// second.
fn differences(groups: Pair<&[Host]>) -> Vec<Difference> {
    let facts = groups.iter().flat_map(|group| group.iter().flat_map(|host| host.facts.keys()));
    let names: BTreeSet<&String> = facts.collect();
    let content = |group: &[Host], name: &String| {
        let first = group.first()?.facts.get(name);
        let is_shared = group.iter().all(|host| host.facts.get(name) == first);
        is_shared.then(|| first.cloned())
    };
    let difference = |name: &String| {
        let values = [content(groups[0], name)?, content(groups[1], name)?];
        (values[0] != values[1]).then(|| Difference { name: name.clone(), values })
    };
    names.into_iter().filter_map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::hosts::reduced::tests::host;

    const SCATTER: [f64; 8] = [1.0, 1.01, 0.99, 1.02, 0.98, 1.005, 0.995, 1.015];

    /// Eight hosts, each after this name and with one case of this time, on a kernel.
    fn group(name: &str, ns: f64, scatter: f64, kernel: &str) -> Vec<Host> {
        let of = |(number, by): (usize, f64)| Host {
            facts: [("kernel.release".to_owned(), kernel.to_owned())].into(),
            ..host(&format!("{name}{number}"), &[("ring", &[ns * by.powf(scatter)])])
        };
        SCATTER.into_iter().enumerate().map(of).collect()
    }

    fn compared(groups: [Vec<Host>; 2]) -> Comparison {
        compare(Design::Hosts, groups.each_ref().map(Vec::as_slice), 0.03)
    }

    #[test]
    fn a_group_that_takes_longer_is_slower_and_what_all_of_it_has_is_named() {
        let found = compared([group("a", 100.0, 1.0, "6.1"), group("b", 110.0, 1.0, "6.12")]);
        let case = &found.cases[0];
        assert_eq!((case.verdict, case.rounds), (Verdict::Slower, [8, 8]));
        assert!((case.ratio.estimate - 1.1).abs() < 1e-9);
        let values = ["6.1", "6.12"].map(|of| Some(of.to_owned()));
        let expected = Difference { name: "kernel.release".to_owned(), values };
        assert_eq!(found.environment_differences, [expected]);
        assert_eq!(found.baseline.records, "8 hosts");
    }

    // What hosts scatter by hides two percent, unless each is compared with itself.
    #[test]
    fn the_same_hosts_are_compared_each_with_itself() {
        let wide = |name: &str, ns: f64| group(name, ns, 10.0, "6.1");
        let paired = compared([wide("a", 100.0), wide("a", 105.0)]);
        assert_eq!(paired.cases[0].verdict, Verdict::Slower);
        let unpaired = compared([wide("a", 100.0), wide("b", 105.0)]);
        assert_eq!(unpaired.cases[0].verdict, Verdict::Unresolved);
    }

    #[test]
    fn a_case_that_one_group_lacks_is_not_compared() {
        let other = vec![host("x", &[("line", &[1.0])])];
        let found = compared([group("a", 100.0, 1.0, "6.1"), other]);
        assert!(found.cases.is_empty());
        let names: Vec<&str> = found.not_compared.iter().map(|of| of.case.as_str()).collect();
        assert_eq!(names, ["ring", "line"]);
    }
}
