//! How many times as long as a read-write lock the mutex of its crate takes, by the share of reads, and
//! how long the lock's writers wait for it.

use serde::Serialize;

use super::loads::quotient;
use super::row::{Row, named, row_of, rows_of_lines};
use super::statistics::Estimate;
use crate::manifest::{GroupSpec, Manifest, ReadSharesSpec};

/// The measurement of how long writers wait.
pub const WRITE_TURN: &str = "write_turn";

/// The shares of reads that sentences are about, in percent.
const SHOWN: [u64; 2] = [90, 99];

/// A read-write lock next to a mutex, by the share of reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct ReadShares {
    /// The read-write lock.
    pub lock: String,
    /// The mutex.
    pub mutex: String,
    /// The work with the lock held, in nanoseconds.
    pub work_ns: f64,
    /// The measured shares of reads, the least first.
    pub steps: Vec<ReadShare>,
}

/// One share of reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct ReadShare {
    /// The share, in percent.
    pub percent: u64,
    /// The case of the read-write lock.
    pub case: String,
    /// The case of the mutex.
    pub over: String,
    /// How many times as long an acquisition of the mutex takes.
    pub ratio: Estimate,
    /// How long writers wait for the read-write lock; `null` if none was timed.
    pub wait: Option<Wait>,
    /// How long writers wait for the mutex; `null` if none was timed.
    pub mutex_wait: Option<Wait>,
}

/// How long writers wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Wait {
    /// The median over processes of the mean, in nanoseconds.
    pub mean_ns: f64,
    /// The median over processes of the 99th percentile, in nanoseconds; `null` of too few.
    pub p99_ns: Option<f64>,
}

impl ReadShares {
    /// What a group's read-write locks and mutexes take in the run with these rows.
    pub fn all(manifest: &Manifest, group: &GroupSpec, rows: &[&[Row]]) -> Vec<Self> {
        let specs = group.read_shares.iter();
        specs.filter_map(|spec| Self::new(manifest, spec, rows)).collect()
    }

    fn new(manifest: &Manifest, spec: &ReadSharesSpec, rows: &[&[Row]]) -> Option<Self> {
        let pairs = rows_of_lines(manifest, rows, [&spec.case, &spec.over]).into_iter();
        let found = pairs.filter_map(|[case, mutex]| ReadShare::new(rows, case, mutex));
        let mut steps: Vec<ReadShare> = found.collect();
        steps.sort_by_key(|step| step.percent);
        let work_ns = row_of(rows, &steps.first()?.case)?.work_ns.unwrap_or(0.0);
        Some(Self { lock: spec.lock.clone(), mutex: spec.mutex.clone(), work_ns, steps })
    }

    /// The shares of reads that sentences are about: the same in every run, however noisy it was. A run
    /// that lacks them has its largest.
    pub fn shown(&self) -> Vec<&ReadShare> {
        let shown: Vec<&ReadShare> =
            self.steps.iter().filter(|step| SHOWN.contains(&step.percent)).collect();
        if shown.is_empty() { self.steps.iter().next_back().into_iter().collect() } else { shown }
    }

    /// The step whose writers a sentence is about: the one with the largest share of reads next to
    /// writers.
    pub fn with_writers(&self) -> Option<(&ReadShare, Wait)> {
        self.steps.iter().rev().find_map(|step| Some((step, step.wait?)))
    }
}

impl ReadShare {
    /// `None` if there are too few rounds to compare the two.
    fn new(rows: &[&[Row]], case: &Row, mutex: &Row) -> Option<Self> {
        Some(Self {
            percent: case.number("read")?,
            case: case.case.clone(),
            over: mutex.case.clone(),
            ratio: quotient(mutex, case)?.known()?,
            wait: Wait::new(rows, case),
            mutex_wait: Wait::new(rows, mutex),
        })
    }
}

impl Wait {
    fn new(rows: &[&[Row]], case: &Row) -> Option<Self> {
        let row = named(rows, &case.case, Some(WRITE_TURN))?;
        Some(Self { mean_ns: row.figure?.value, p99_ns: row.percentiles.p99 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::Percentiles;
    use super::*;

    const GROUP: &str = "
        [programs]
        s = {}
        [[group]]
        name = 'g'
        question = 'Which lock?'
        [[group.read_shares]]
        lock = 'RwLock'
        mutex = 'Mutex'
        case = 's --lock rw --read {1,90,99,100}'
        over = 's --read {90,90,90,90}'";

    /// A case whose acquisitions take so long in these rounds, give or take a hundredth, and whose
    /// writers wait ten times as long, if there are any.
    fn rows(case: &str, read: u64, ns: f64, rounds: u32) -> Vec<Row> {
        let figures =
            |ns: f64| (1..=rounds).map(move |round| ns * (1.0 + 0.01 * f64::from(round % 3)));
        let row = |measurement: &str, ns: f64| Row {
            case: case.to_owned(),
            measurement: measurement.to_owned(),
            parameters: [("read".to_owned(), read.into())].into(),
            figure: Estimate::of(&[ns]),
            percentiles: Percentiles { p99: Some(5.0 * ns), ..Percentiles::default() },
            work_ns: Some(130.0),
            ..Row::of_figures(figures(ns))
        };
        let mut rows = vec![row("iteration", ns)];
        if read < 100 {
            rows.push(row(WRITE_TURN, 10.0 * ns));
        }
        rows
    }

    fn found(times: [f64; 4], rounds: u32) -> Vec<ReadShares> {
        let manifest = Manifest::parse(GROUP).unwrap();
        let shares = [1, 90, 99, 100].into_iter().zip(times);
        let mut all: Vec<Vec<Row>> = shares
            .map(|(read, ns)| rows(&format!("s --lock rw --read {read}"), read, ns, rounds))
            .collect();
        all.push(rows("s --read 90", 90, 100.0, rounds));
        let all: Vec<&[Row]> = all.iter().map(Vec::as_slice).collect();
        ReadShares::all(&manifest, &manifest.groups[0], &all)
    }

    /// Whatever is clear, so that a noisier run prints the same shares.
    #[test]
    fn sentences_are_about_fixed_shares() {
        for times in [[200.0, 80.0, 60.0, 50.0], [200.0, 150.0, 110.0, 90.0]] {
            for rounds in [6, 20] {
                let found = found(times, rounds).remove(0);
                let shown: Vec<u64> = found.shown().iter().map(|step| step.percent).collect();
                assert_eq!(shown, [90, 99]);
                let (step, wait) = found.with_writers().unwrap();
                assert_eq!(step.percent, 99);
                assert_eq!(wait, Wait { mean_ns: 10.0 * times[2], p99_ns: Some(50.0 * times[2]) });
                let of_mutex = Wait { mean_ns: 1000.0, p99_ns: Some(5000.0) };
                assert_eq!(step.mutex_wait, Some(of_mutex));
            }
        }
        let mut others = found([200.0, 80.0, 60.0, 50.0], 20).remove(0);
        others.steps.retain(|step| step.percent == 1 || step.percent == 100);
        let shown: Vec<u64> = others.shown().iter().map(|step| step.percent).collect();
        assert_eq!(shown, [100]);
    }

    #[test]
    fn the_ratio_is_that_of_the_mutex_and_nobody_waits_to_write_if_all_read() {
        assert!(found([200.0, 80.0, 60.0, 50.0], 4).is_empty(), "a few rounds show nothing");
        let found = found([200.0, 80.0, 60.0, 50.0], 20).remove(0);
        let ratios = found.steps.iter().map(|step| (step.ratio.value * 100.0).round());
        assert_eq!(ratios.collect::<Vec<_>>(), [50.0, 125.0, 167.0, 200.0]);
        assert!((found.work_ns - 130.0).abs() < f64::EPSILON);
        assert!(found.steps[3].wait.is_none());
    }
}
