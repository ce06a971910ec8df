//! The figures of one case on one side of a comparison.

use std::collections::BTreeMap;

use harness::record::{Measurement, Record};
use serde_json::Value;

use super::Pair;
use crate::judge::interference::{Trust, assess, sample_of};
use crate::judge::ledger::{Quantity, principal_figure};
use crate::judge::statistics::{ByRound, median};
use crate::store::invocation::{Invocation, Outcome, given_parameters};

/// Parameters that affect how an invocation reports, not what it measures; and the CPU, which
/// changes every round.
const NOT_MEASURED: [&str; 4] = ["cpus", "histogram", "json", "quiet"];

/// One case of the baseline or the candidate: its principal measurement. With one folder the
/// samples are rounds, with several they are folders.
#[derive(Debug)]
pub struct Sample<'a> {
    /// The round and record of each usable invocation, folder by folder.
    folders: Vec<Vec<(u32, &'a Record)>>,
    /// Disturbed invocations.
    pub disturbed: usize,
    /// Unusable invocations; they count only if a folder has no others.
    pub unusable: usize,
    /// Failed invocations.
    pub failed: usize,
    /// Whether an invocation hit a limit; later ones would, too.
    pub refused: bool,
    /// The first error.
    pub first_error: Option<&'a str>,
}

impl<'a> Sample<'a> {
    /// Collects the figures of `case` from each folder's invocations.
    pub fn of(case: &str, folders: impl IntoIterator<Item = &'a [Invocation]>) -> Self {
        let mut sample = Self {
            folders: Vec::new(),
            disturbed: 0,
            unusable: 0,
            failed: 0,
            refused: false,
            first_error: None,
        };
        for folder in folders {
            let invocations: Vec<&Invocation> =
                folder.iter().filter(|invocation| invocation.case == case).collect();
            let records = sample_of(&invocations).into_iter().map(|run| (run.round, run.record));
            let records: Vec<_> =
                records.filter(|(_, record)| record.principal().is_some()).collect();
            if !records.is_empty() {
                sample.folders.push(records);
            }
            invocations.into_iter().for_each(|invocation| sample.count(invocation));
        }
        sample
    }

    fn count(&mut self, invocation: &'a Invocation) {
        if invocation.outcome == Outcome::Measured {
            match assess(invocation).trust {
                Trust::Clean => {}
                Trust::Disturbed => self.disturbed += 1,
                Trust::Unusable => self.unusable += 1,
            }
        } else if !invocation.interrupted {
            self.failed += 1;
            self.refused |= invocation.outcome == Outcome::Refused;
            self.first_error = self.first_error.or(invocation.error.as_deref());
        }
    }

    fn first(&self) -> Option<&'a Record> {
        self.folders.first()?.first().map(|(_, record)| *record)
    }

    /// The principal measurement of the first record: all records of a case
    /// have it.
    pub fn principal(&self) -> Option<&'a Measurement> {
        self.first()?.principal()
    }

    /// The placement that the program recorded.
    pub fn placement(&self) -> Option<&'a str> {
        self.first()?.parameters.get("placement")?.as_str()
    }

    /// The unit of its figures.
    pub fn unit(&self) -> Quantity {
        self.first().and_then(principal_figure).map_or(Quantity::Nanoseconds, |(_, unit)| unit)
    }

    /// The principal figure: by round, or the median over rounds by the folder's number.
    pub fn principal_figures(&self) -> ByRound {
        self.figures(|record| Some(principal_figure(record)?.0))
    }

    /// Any other figure, likewise.
    pub fn figures(&self, figure: impl Fn(&Record) -> Option<f64>) -> ByRound {
        let of_folder = |folder: &Vec<(u32, &Record)>| -> ByRound {
            folder.iter().filter_map(|(round, of)| Some((*round, figure(of)?))).collect()
        };
        if let [folder] = &self.folders[..] {
            return of_folder(folder);
        }
        let medians = self.folders.iter().map(|folder| median(&values(&of_folder(folder))));
        (1..).zip(medians).filter_map(|(number, value)| Some((number, value?))).collect()
    }

    /// Which side did not measure the case, and why; `None` if both did.
    pub fn missing(sides: Pair<&Self>) -> Option<String> {
        let missing = sides.iter().position(|side| side.principal().is_none())?;
        let name = ["baseline", "candidate"][missing];
        let error = sides[missing].first_error.map(|error| format!(": {error}"));
        Some(format!("the {name} has not measured it{}", error.unwrap_or_default()))
    }

    /// The first parameter in which folders differ, with its two values. A flag unknown to an older
    /// program counts as not given.
    pub fn differing_parameter(sides: Pair<&Self>) -> Option<(String, Pair<Value>)> {
        let folders = sides.into_iter().flat_map(|side| &side.folders);
        let mut folders = folders.filter_map(|folder| Some(parameters(folder.first()?.1)));
        let first = folders.next()?;
        folders.find_map(|other| {
            let mut names: Vec<&String> = first.keys().chain(other.keys()).collect();
            names.sort();
            let name = names.into_iter().find(|name| first.get(*name) != other.get(*name))?;
            let values = [&first, &other].map(|of| of.get(name).cloned().unwrap_or_default());
            Some((name.clone(), values))
        })
    }
}

/// The figures, in order.
pub fn values(figures: &ByRound) -> Vec<f64> {
    figures.values().copied().collect()
}

/// The flags that affect what an invocation measures.
fn parameters(record: &Record) -> BTreeMap<String, Value> {
    let mut parameters = given_parameters(record, &NOT_MEASURED);
    parameters.insert("program".to_owned(), record.program.as_str().into());
    parameters.insert("tasks".to_owned(), record.tasks.into());
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures as sample;

    #[test]
    fn the_figures_are_those_of_the_case_by_round_or_by_folder() {
        let mut run = sample::case("ring", [10.0, 30.0, 20.0]);
        run.extend(sample::case("other", [1.0]));
        let failed = sample::without_record("ring", 4, Outcome::TimedOut);
        run.push(Invocation { error: Some("too slow".to_owned()), ..failed });
        let ring = Sample::of("ring", [&run[..]]);
        assert_eq!(ring.principal_figures(), ByRound::from([(1, 10.0), (2, 30.0), (3, 20.0)]));
        assert_eq!((ring.failed, ring.first_error), (1, Some("too slow")));
        assert_eq!(ring.placement(), Some("free"));
        let again = sample::case("ring", [5.0, 7.0]);
        let twice = Sample::of("ring", [&run[..], &again]);
        assert_eq!(twice.principal_figures(), ByRound::from([(1, 20.0), (2, 6.0)]));
        assert_eq!(Sample::of("none", [&run[..]]).principal(), None);
    }

    #[test]
    fn parameters_that_differ_are_found_and_flags_of_the_output_are_not() {
        let plain = sample::case("ring", [10.0]);
        let with = |name: &str, value: Value| {
            let mut run = plain.clone();
            let record = run[0].record.as_mut().unwrap();
            record.parameters.insert(name.to_owned(), value);
            run
        };
        let mut more = plain.clone();
        more[0].record.as_mut().unwrap().tasks = 500;
        for (other, expected) in [
            (plain.clone(), None),
            (with("max_time", 0.1.into()), Some("max_time")),
            (with("quiet", true.into()), None),
            (with("work", Value::Null), None),
            (with("work", false.into()), None),
            (with("work", 5.into()), Some("work")),
            (more, Some("tasks")),
        ] {
            let sides = [&plain, &other].map(|side| Sample::of("ring", [&side[..]]));
            let found = Sample::differing_parameter([&sides[0], &sides[1]]);
            assert_eq!(found.as_ref().map(|(name, _)| name.as_str()), expected);
            let both = Sample::of("ring", [&plain[..], &other[..]]);
            let found = Sample::differing_parameter([&sides[0], &both]);
            assert_eq!(found.is_some(), expected.is_some(), "between folders of a side");
        }
    }
}
