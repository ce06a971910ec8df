//! The result of a comparison, as `--json` prints it and the table shows it.
//!
//! The committed schema, `brigade/comparison.schema.json`, is generated from these
//! types and a test compares the two. A figure that is not known is `null`.

use std::collections::BTreeMap;

use crate::judge::statistics::{ByRound, Interval, median};
use serde::{Deserialize, Serialize};

use crate::judge::environment::Difference;
pub use crate::store::results::Skipped;

use super::machine::Machine;
use super::sample::{ModesOfSides, Percentile, Sample};
use super::verdict::{Pair, Ratio, Verdict};

/// Version of [`Comparison`]'s schema, `major.minor`: the minor number rises
/// when a field is added, the major one when an old reader would misunderstand.
pub const SCHEMA_VERSION: &str = "3.4";

/// A baseline and a candidate, case by case. Of every pair of values the first is
/// the baseline's and the second the candidate's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Schema version of this object, `major.minor`.
    pub schema_version: String,
    /// How they were measured.
    pub design: Design,
    /// What is compared against.
    pub baseline: Described,
    /// What is compared with it.
    pub candidate: Described,
    /// The joint confidence of all cases that are faster or slower, 0 to 1.
    pub confidence: f64,
    /// The difference that does not matter, as a share: 0.03 for ratios of
    /// 1/1.03 to 1.03.
    pub margin: f64,
    /// The factor by which the intervals are widened for drift between the
    /// halves of each run; `null` for a comparison side by side.
    pub drift: Option<f64>,
    /// How the machine itself differed between two runs; `null` where a run has no
    /// reference, and for a comparison side by side. Since 3.2.
    pub machine: Option<Machine>,
    /// How the environments of two runs differ.
    pub environment_differences: Vec<Difference>,
    /// The cases that were compared.
    pub cases: Vec<CaseComparison>,
    /// The cases that were not.
    pub not_compared: Vec<Skipped>,
}

/// How baseline and candidate were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// In two runs, one after the other.
    SavedRuns,
    /// In the same rounds, in balanced order.
    SideBySide,
}

/// What the baseline or the candidate is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Described {
    /// The name of the folder that holds its records.
    pub records: String,
    /// The commit of the workspace that its programs were built in, with `+`
    /// where files differed from it; `null` where it is not known.
    pub revision: Option<String>,
    /// The command that its programs ran under, word by word; of a path only
    /// the last part.
    pub under: Vec<String>,
    /// Flags of its programs in addition to those of the case.
    pub with: Vec<String>,
    /// The setting of the machine that it ran with, in words; `null` where none was
    /// changed. Since 3.3.
    pub setting: Option<String>,
}

/// One case: its principal measurement, per operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseComparison {
    /// The case's name.
    pub case: String,
    /// The placement that the programs recorded.
    pub placement: Option<String>,
    /// The measurement's name, such as `iteration`.
    pub measurement: String,
    /// What one operation is, such as `hop`.
    pub operation: String,
    /// Rounds that are compared.
    pub rounds: Pair<usize>,
    /// The median time per operation over processes, in nanoseconds.
    pub ns_per_operation: Pair<f64>,
    /// The confidence of each of its intervals, 0 to 1.
    pub confidence: f64,
    /// The confidence that a difference must have for the verdict, 0 to 1: that of
    /// the intervals in a comparison side by side. Since 3.1.
    pub confidence_of_difference: f64,
    /// The candidate's time divided by the baseline's.
    pub ratio: RatioRecord,
    /// The verdict on that ratio.
    pub verdict: Verdict,
    /// The same ratio of percentiles within a process, by name: `p50`, `p90`
    /// and `p99`. A sample of many operations averages over them.
    pub percentiles: BTreeMap<String, RatioRecord>,
    /// The time of whichever side ran second in its round, divided by that of
    /// the one that ran first; `null` for saved runs.
    pub second_place: Option<RatioRecord>,
    /// Two modes, where a side has them.
    pub modes: Option<ModesRecord>,
    /// The share of hops between CPUs: median over processes, 0 to 1.
    pub crossing_share: Pair<Option<f64>>,
    /// Invocations that were disturbed.
    pub disturbed: Pair<usize>,
    /// Invocations that were unusable; they count only if there are no others.
    pub unusable: Pair<usize>,
    /// Invocations that did not measure.
    pub failed: Pair<usize>,
}

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RatioRecord {
    /// The estimate.
    pub estimate: f64,
    /// The interval's lower end; `null` where there are too few rounds.
    pub low: Option<f64>,
    /// The interval's upper end; `null` where there are too few rounds.
    pub high: Option<f64>,
}

impl RatioRecord {
    /// Whether the interval leaves out 1.
    pub fn excludes_one(&self) -> bool {
        self.low.is_some_and(|low| low > 1.0) || self.high.is_some_and(|high| high < 1.0)
    }
}

impl From<Ratio> for RatioRecord {
    fn from(Ratio { estimate, interval }: Ratio) -> Self {
        let end = |of: fn(Interval) -> f64| interval.map(of);
        Self { estimate, low: end(|ends| ends.low), high: end(|ends| ends.high) }
    }
}

/// Two modes of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModesRecord {
    /// The median of the fast one, per operation, in nanoseconds.
    pub fast_ns: f64,
    /// The median of the slow one, per operation, in nanoseconds.
    pub slow_ns: f64,
    /// The share of invocations in the slow one, 0 to 1.
    pub slow_share: Pair<f64>,
}

/// How a ratio is estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// By round, for a comparison side by side.
    Rounds,
    /// Over all pairs of processes, of two runs that differ in more than chance.
    Runs {
        /// See [`super::verdict::drift`].
        drift: f64,
        /// How the machine differed, if it is known.
        machine: Option<Machine>,
    },
}

impl Method {
    /// The ratio of one figure, candidate to baseline.
    pub fn ratio(self, sides: Pair<&ByRound>, confidence: f64) -> Option<Ratio> {
        match self {
            Self::Rounds => Ratio::of_rounds(sides, confidence),
            Self::Runs { drift, machine } => {
                let [baseline, candidate] = sides.map(values);
                let ratio = Ratio::of_runs([&baseline, &candidate], confidence, drift)?;
                Some(machine.map_or(ratio, |machine| machine.widened(ratio)))
            }
        }
    }
}

/// The figures, in the order of rounds.
pub fn values(by_round: &ByRound) -> Vec<f64> {
    by_round.values().copied().collect()
}

/// The percentiles that are compared.
const PERCENTILES: [(&str, Percentile); 3] = [
    ("p50", |principal| principal.p50_ns),
    ("p90", |principal| principal.p90_ns),
    ("p99", |principal| principal.p99_ns),
];

/// How a case is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// How ratios are estimated.
    pub method: Method,
    /// The confidence of each interval, 0 to 1.
    pub confidence: f64,
    /// The confidence that a difference must have, 0 to 1.
    pub of_difference: f64,
    /// The difference that does not matter, as a share.
    pub margin: f64,
}

impl Judgement {
    /// The ratio of a case's times; `None` if a side has none.
    pub fn ratio(&self, sides: Pair<&Sample>) -> Option<Ratio> {
        let [baseline, candidate] = sides.map(Sample::time_ns);
        self.method.ratio([&baseline, &candidate], self.confidence)
    }

    /// The verdict on a case whose ratio is `ratio`: a difference has to have the
    /// confidence of differences, and to be the same that of intervals.
    fn verdict(&self, ratio: &Ratio, sides: Pair<&Sample>) -> Verdict {
        let sure = Self { confidence: self.of_difference, ..*self };
        Verdict::if_sure(ratio, self.margin, || sure.ratio(sides))
    }

    /// Compares each case by its judgement; what cannot be compared is second.
    pub fn of_each<'a>(
        cases: impl IntoIterator<Item = (Self, &'a str, Pair<Sample<'a>>)>,
    ) -> (Vec<CaseComparison>, Vec<Skipped>) {
        let (mut compared, mut not_compared) = (Vec::new(), Vec::new());
        for (judgement, case, sides) in cases {
            match judgement.compare(case, sides.each_ref()) {
                Ok(case) => compared.push(case),
                Err(reason) => not_compared.push(Skipped { case: case.to_owned(), reason }),
            }
        }
        (compared, not_compared)
    }

    /// Compares a case.
    ///
    /// # Errors
    /// Why the case cannot be compared, without a full stop.
    pub fn compare(&self, case: &str, sides: Pair<&Sample>) -> Result<CaseComparison, String> {
        let [Some(principal), Some(other)] = sides.map(Sample::principal) else {
            return Err(Sample::missing(sides).unwrap_or_default());
        };
        if (&principal.name, &principal.operation) != (&other.name, &other.operation) {
            let [baseline, candidate] =
                [principal, other].map(|of| format!("{} of {}", of.name, of.operation));
            return Err(format!("the baseline measures {baseline}, the candidate {candidate}"));
        }
        let ratio =
            self.ratio(sides).ok_or("baseline and candidate have no measured round in common")?;
        let times = sides.map(Sample::time_ns);
        let [first_ns, second_ns] = [&times[0], &times[1]].map(values);
        Ok(CaseComparison {
            case: case.to_owned(),
            placement: sides[0].placement().map(str::to_owned),
            measurement: principal.name.clone(),
            operation: principal.operation.clone(),
            rounds: [first_ns.len(), second_ns.len()],
            ns_per_operation: [&first_ns, &second_ns]
                .map(|times| median(times).unwrap_or(f64::NAN)),
            confidence: self.confidence,
            confidence_of_difference: self.of_difference,
            ratio: ratio.into(),
            verdict: self.verdict(&ratio, sides),
            percentiles: self.percentiles(sides),
            second_place: self.second_place(sides),
            modes: ModesOfSides::of([&first_ns, &second_ns]).map(ModesRecord::from),
            crossing_share: sides.map(Sample::crossing_share),
            disturbed: sides.map(|side| side.disturbed),
            unusable: sides.map(|side| side.unusable),
            failed: sides.map(|side| side.failed),
        })
    }

    fn percentiles(&self, sides: Pair<&Sample>) -> BTreeMap<String, RatioRecord> {
        let ratio = |percentile| {
            let [first, second] = sides.map(|side| side.percentile_ns(percentile));
            self.method.ratio([&first, &second], self.confidence).map(RatioRecord::from)
        };
        PERCENTILES
            .iter()
            .filter_map(|(name, percentile)| Some(((*name).to_owned(), ratio(*percentile)?)))
            .collect()
    }

    fn second_place(&self, sides: Pair<&Sample>) -> Option<RatioRecord> {
        let Method::Rounds = self.method else { return None };
        let [early, late] = Sample::by_place(sides);
        Ratio::of_rounds([&early, &late], self.confidence).map(RatioRecord::from)
    }
}

impl From<ModesOfSides> for ModesRecord {
    fn from(ModesOfSides { modes, slow_share }: ModesOfSides) -> Self {
        Self { fast_ns: modes.fast.median, slow_ns: modes.slow.median, slow_share }
    }
}

impl Comparison {
    /// The lowest and the highest confidence of an interval, 0 to 1; `None`
    /// without a case.
    pub fn confidence_of_each(&self) -> Option<(f64, f64)> {
        let each = || self.cases.iter().map(|case| case.confidence);
        Some((each().reduce(f64::min)?, each().reduce(f64::max)?))
    }

    /// How many cases have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }
}
