//! The ladder: every case on one logarithmic axis of time, the cheapest first.

use crate::judge::report::model::{Case, PairMap, Report, TaskKind};
use crate::judge::statistics::Estimate;

use super::bars::{Bar, Bars};
use super::pairs::words;
use super::quantity::{duration, tick};
use super::scale::Scale;

/// A case on the ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// The case's name.
    pub name: String,
    /// What one operation is.
    pub operation: String,
    /// What its tasks are.
    pub kind: Option<TaskKind>,
    /// The time of an operation in each run, in nanoseconds.
    pub times: Vec<Option<Estimate>>,
}

impl Rung {
    /// The principal measurement of a case that is not one of a pair of CPUs.
    pub fn of(case: &Case) -> Option<Self> {
        let estimates = case.estimates.iter().filter(|_| case.key.pair().is_none());
        let measurements: Vec<_> = estimates.map(|of| of.as_ref()?.measurement(None)).collect();
        Some(Self {
            name: case.name.clone(),
            operation: measurements.iter().flatten().next()?.short_name().to_owned(),
            kind: case.kind,
            times: measurements.iter().map(|of| of.map(|of| of.time_ns)).collect(),
        })
    }

    /// Its time in the first run that has it.
    fn first(&self) -> Option<f64> {
        self.times.iter().flatten().map(|time| time.value).next()
    }
}

/// The principal measurement of every case, the shortest first.
pub fn rungs(report: &Report) -> Vec<Rung> {
    let cases = report.groups.iter().flat_map(|group| &group.cases);
    let mut rungs: Vec<Rung> = cases.filter_map(Rung::of).collect();
    for map in &report.pairs {
        distances(report, map, &mut rungs);
    }
    rungs.sort_by(|a, b| a.first().unwrap_or(0.0).total_cmp(&b.first().unwrap_or(0.0)));
    rungs
}

/// Adds the pairs of CPUs of a run, those of each distance together.
fn distances(report: &Report, map: &PairMap, rungs: &mut Vec<Rung>) {
    for of in &map.distances {
        let name = format!("{}, {}", map.name, words(of.distance));
        let at = rungs.iter().position(|rung| rung.name == name).unwrap_or_else(|| {
            let (operation, kind) = (map.operation.clone(), map.kind);
            let times = vec![None; report.runs.len()];
            rungs.push(Rung { name: name.clone(), operation, kind, times });
            rungs.len() - 1
        });
        rungs[at].times[map.run] = Some(of.time_ns);
    }
}

/// The axis of these rungs.
pub fn scale(rungs: &[Rung]) -> Option<Scale> {
    Scale::of(rungs.iter().flat_map(|rung| &rung.times).flatten().map(|time| time.value))
}

/// The ladder as bars of text; `None` without a positive time.
pub fn bars(report: &Report, run_names: &[String]) -> Option<Bars> {
    let rungs = rungs(report);
    let scale = scale(&rungs)?;
    let rows = rungs.iter().flat_map(|rung| {
        let times = rung.times.iter().enumerate();
        let times = times.filter_map(|(run, time)| Some((run, (*time)?)));
        times.enumerate().map(|(index, (run, time))| Bar {
            name: if index == 0 { rung.name.clone() } else { String::new() },
            note: match run_names {
                [_] => rung.operation.clone(),
                names => names[run].clone(),
            },
            figure: duration(time.value),
            share: scale.share(time.value),
        })
    });
    Some(Bars {
        headings: ["case", if run_names.len() == 1 { "op" } else { "run" }, "time"],
        rows: rows.collect(),
        ticks: scale.ticks().iter().map(|ns| (scale.share(*ns), tick(*ns))).collect(),
    })
}
