//! The result of a comparison, as `--format json` prints it and the table shows it.
//!
//! The committed schema, `brigade/comparison.schema.json`, is generated from these types and
//! a test compares the two. A figure that is not known is `null`.

pub mod sample;

use std::collections::BTreeMap;

use harness::record::{Measurement, Record};
use serde::{Deserialize, Serialize};

use crate::judge::environment::Difference;
use crate::judge::ledger::Quantity;
use crate::judge::repeat::{Levels, Spread, State};
use crate::judge::statistics::{ByRound, CONFIDENCE, Estimate, Modes, median, ratio_at};
use crate::store::results::Skipped;
use sample::{Sample, values};

/// Version of [`Comparison`]'s schema, `major.minor`.
pub const SCHEMA_VERSION: &str = "1.0";

/// A percentile of a measurement, in nanoseconds.
type Percentile = fn(&Measurement) -> u64;

/// The percentiles that are compared.
const PERCENTILES: [(&str, Percentile); 3] = [
    ("p50", |principal| principal.p50_ns),
    ("p90", |principal| principal.p90_ns),
    ("p99", |principal| principal.p99_ns),
];

/// A baseline and a candidate, case by case. Of every pair of values the first is the
/// baseline's and the second the candidate's.
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
    /// The joint confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// The confidence of each, 0 to 1.
    pub confidence_of_each: f64,
    /// The difference that does not matter, as a share: 0.03 for ratios of 1/1.03 to 1.03.
    pub margin: f64,
    /// What separates two runs besides what is compared; `null` unless two runs are
    /// compared.
    pub between: Option<BetweenRuns>,
    /// How the environments of the runs differ.
    pub environment_differences: Vec<Difference>,
    /// The cases that were compared.
    pub cases: Vec<CaseComparison>,
    /// The cases that were not.
    pub not_compared: Vec<Skipped>,
}

/// What separates two runs besides what is compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BetweenRuns {
    /// The state of the machine in each; `null` where a run has no references.
    pub states: Pair<Option<State>>,
    /// How much runs of one build on this machine differ; `null` where that is not known:
    /// then there is no verdict.
    pub spread: Option<Spread>,
    /// The figures at the speed of the reference.
    #[serde(skip)]
    pub levels: Pair<Levels>,
}

/// How baseline and candidate were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// In the same rounds, in balanced order: the round is the sample.
    SideBySide,
    /// In two runs, one after the other: the process is the sample.
    TwoRuns,
    /// In two groups of runs: the run is the sample.
    Groups,
}

/// What the baseline or the candidate is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Described {
    /// The name of the folder that contains its records, or the number of folders.
    pub records: String,
    /// The commit of the workspace that its programs were built in, with `+` where files
    /// differed from it; `null` where it is not known.
    pub revision: Option<String>,
    /// The command that its programs ran under, word by word; of a path only the last part.
    pub under: Vec<String>,
    /// Flags of its programs in addition to those of the case.
    pub with: Vec<String>,
    /// The setting of the machine that it ran with, in words; `null` where none was changed.
    pub setting: Option<String>,
}

/// One case: its principal measurement, per operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseComparison {
    /// The case's name.
    pub case: String,
    /// Its title.
    pub title: String,
    /// The placement that the programs recorded.
    pub placement: Option<String>,
    /// The measurement's name, such as `iteration`.
    pub measurement: String,
    /// What one operation is, such as `hop`.
    pub operation: String,
    /// Rounds, processes or runs that are compared.
    pub samples: Pair<usize>,
    /// What the figures count: time per operation, or bytes per task.
    pub unit: Quantity,
    /// Their medians.
    pub figures: Pair<f64>,
    /// The candidate's time divided by the baseline's.
    pub ratio: Estimate,
    /// The verdict on that ratio.
    pub verdict: Verdict,
    /// The same ratio of percentiles within a process, by name: `p50`, `p90` and `p99`. A
    /// sample of many operations averages over them.
    pub percentiles: BTreeMap<String, Estimate>,
    /// Two modes, where a side has them.
    pub modes: Option<ModesOfSides>,
    /// Invocations that were disturbed.
    pub disturbed: Pair<usize>,
    /// Invocations that were unusable; they count only if there are no others.
    pub unusable: Pair<usize>,
    /// Invocations that did not measure.
    pub failed: Pair<usize>,
}

/// Two modes of a case: those of either side, since those of both together could be the
/// difference between the sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModesOfSides {
    /// The median of the fast one, per operation, in nanoseconds.
    pub fast_ns: f64,
    /// The median of the slow one, per operation, in nanoseconds.
    pub slow_ns: f64,
    /// The share of invocations in the slow one, 0 to 1.
    pub slow_share: Pair<f64>,
}

impl ModesOfSides {
    fn of(times: Pair<&[f64]>) -> Option<Self> {
        let Modes { fast, slow, .. } = times.into_iter().find_map(Modes::of)?;
        let between = (fast.median * slow.median).sqrt();
        let slow_share = times.map(|times| {
            times.iter().filter(|time| **time > between).count() as f64 / times.len() as f64
        });
        Some(Self { fast_ns: fast.median, slow_ns: slow.median, slow_share })
    }
}

impl Comparison {
    /// Compares each case. All intervals together have the confidence [`CONFIDENCE`], by
    /// Bonferroni's inequality; `between` is what separates two runs.
    pub fn of(
        design: Design,
        [baseline, candidate]: Pair<Described>,
        cases: Vec<(&str, Pair<Sample>)>,
        margin: f64,
        between: Option<BetweenRuns>,
    ) -> Self {
        let (mut compared, mut not_compared) = (Vec::new(), Vec::new());
        for (case, sides) in cases {
            match reason_against(design, sides.each_ref()) {
                None => compared.push((case, sides)),
                Some(reason) => not_compared.push(Skipped { case: case.to_owned(), reason }),
            }
        }
        let mut comparison = Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            design,
            baseline,
            candidate,
            confidence: CONFIDENCE,
            confidence_of_each: 1.0 - (1.0 - CONFIDENCE) / compared.len().max(1) as f64,
            margin,
            between,
            environment_differences: Vec::new(),
            cases: Vec::new(),
            not_compared,
        };
        for (case, sides) in compared {
            match comparison.case(case, sides.each_ref()) {
                Some(case) => comparison.cases.push(case),
                None => comparison.not_compared.push(Skipped {
                    case: case.to_owned(),
                    reason: "baseline and candidate have no measured round in common".to_owned(),
                }),
            }
        }
        comparison
    }

    /// With the titles of the cases, by name.
    pub fn titled(mut self, title: impl Fn(&str) -> String) -> Self {
        self.cases.iter_mut().for_each(|case| case.title = title(&case.case));
        self
    }

    /// Compares a case that both sides have measured.
    fn case(&self, case: &str, sides: Pair<&Sample>) -> Option<CaseComparison> {
        let principal = sides[0].principal()?;
        let times = sides.map(Sample::principal_figures);
        let ratio = self.between_runs(case).or_else(|| self.ratio(&times))?;
        let is_known = self.between.as_ref().is_none_or(|of| of.spread.is_some());
        let [first, second] = times.each_ref().map(values);
        let percentile = |(name, of): &(&str, Percentile)| {
            let per_operation = |record: &Record| {
                let sample = record.principal()?;
                Some(of(sample) as f64 / sample.operations as f64)
            };
            let figures = sides.map(|side| side.figures(per_operation));
            Some(((*name).to_owned(), self.ratio(&figures)?))
        };
        Some(CaseComparison {
            case: case.to_owned(),
            title: case.to_owned(),
            placement: sides[0].placement().map(str::to_owned),
            measurement: principal.name.clone(),
            operation: principal.operation.clone(),
            samples: [first.len(), second.len()],
            unit: sides[0].unit(),
            figures: [median(&first)?, median(&second)?],
            ratio,
            verdict: if is_known { Verdict::of(&ratio, self.margin) } else { Verdict::Unresolved },
            percentiles: PERCENTILES.iter().filter_map(percentile).collect(),
            modes: ModesOfSides::of([&first, &second]),
            disturbed: sides.map(|side| side.disturbed),
            unusable: sides.map(|side| side.unusable),
            failed: sides.map(|side| side.failed),
        })
    }

    /// The ratio of one figure, candidate to baseline: by round, or of two samples.
    fn ratio(&self, [first, second]: &Pair<ByRound>) -> Option<Estimate> {
        if self.design == Design::SideBySide {
            return ratio_at(self.confidence_of_each, second, first);
        }
        let [first, second] = [first, second].map(|side| Estimate::of(&values(side)));
        second?.over(first?, 0.0, self.confidence_of_each)
    }

    /// The ratio of a case in two runs at the speed of the reference, with an interval that
    /// allows for what runs of one build differ by. `None` unless both runs have references.
    fn between_runs(&self, case: &str) -> Option<Estimate> {
        let BetweenRuns { spread, levels: [first, second], .. } = self.between.as_ref()?;
        let ratio = second.get(case)?.over(*first.get(case)?, 0.0, self.confidence_of_each)?;
        Some(spread.map_or(ratio, |spread| ratio.allowing(spread.distance())))
    }

    /// How many cases have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }
}

/// Why a case cannot be compared, without a full stop, if it cannot. The sides of a
/// comparison side by side may have other flags.
fn reason_against(design: Design, sides: Pair<&Sample>) -> Option<String> {
    let [Some(principal), Some(other)] = sides.map(Sample::principal) else {
        return Sample::missing(sides);
    };
    if (&principal.name, &principal.operation) != (&other.name, &other.operation) {
        let [baseline, candidate] =
            [principal, other].map(|of| format!("{} of {}", of.name, of.operation));
        return Some(format!("the baseline measures {baseline}, the candidate {candidate}"));
    }
    let differing = (design != Design::SideBySide).then(|| Sample::differing_parameter(sides));
    let (name, [first, second]) = differing.flatten()?;
    Some(format!("--{} is {first} in one run and {second} in another", name.replace('_', "-")))
}

/// The two sides of a comparison: the baseline, then the candidate.
pub type Pair<T> = [T; 2];

/// The candidate against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// The difference is smaller than the margin.
    Same,
    /// The sample is too small or too noisy to decide.
    Unresolved,
}

impl Verdict {
    /// The verdict on a ratio. `margin` is the difference that does not matter, as a share:
    /// 0.03 for ratios of 1/1.03 to 1.03.
    ///
    /// An interval inside the margin is *same*, even if it excludes 1: the difference is
    /// certain and does not matter. Any other that excludes 1 is *faster* or *slower*.
    /// Without an interval the case is unresolved.
    pub fn of(ratio: &Estimate, margin: f64) -> Self {
        let Some(interval) = ratio.interval else { return Self::Unresolved };
        let most = 1.0 + margin;
        if 1.0 / most <= interval.low && interval.high <= most {
            Self::Same
        } else if interval.high < 1.0 {
            Self::Faster
        } else if interval.low > 1.0 {
            Self::Slower
        } else {
            Self::Unresolved
        }
    }

    /// The verdict in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Unresolved => "unresolved",
        }
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::judge::statistics::ByRound;
    use crate::judge::statistics::tests::{Draw, SHAPES};
    use crate::judge::statistics::{CONFIDENCE, Interval, ratio_at};

    #[test]
    fn modes_are_looked_for_in_each_side_and_counted_in_both() {
        let mixed = [2.0, 2.1, 20.0, 21.0, 2.2];
        let fast = [2.0, 2.1, 2.0, 2.1];
        let found = ModesOfSides::of([&fast, &mixed]).unwrap();
        assert_eq!(found.slow_share, [0.0, 0.4]);
        let slow = fast.map(|time| time * 10.0);
        assert_eq!(ModesOfSides::of([&fast, &slow]), None, "the sides differ, not the modes");
    }

    fn ratio(low: f64, high: f64) -> Estimate {
        let interval = Some(Interval { low, high });
        Estimate { value: f64::midpoint(low, high), interval, count: 9 }
    }

    #[test]
    fn the_verdict_is_where_the_interval_lies() {
        for (low, high, expected) in [
            (0.98, 1.02, Verdict::Same),
            (1.01, 1.03, Verdict::Same),
            (1.0 / 1.03, 0.99, Verdict::Same),
            (1.01, 1.031, Verdict::Slower),
            (1.5, 1.6, Verdict::Slower),
            (0.97, 0.99, Verdict::Faster),
            (1.0, 1.5, Verdict::Unresolved),
            (0.5, 1.0, Verdict::Unresolved),
            (0.98, 1.04, Verdict::Unresolved),
        ] {
            assert_eq!(Verdict::of(&ratio(low, high), 0.03), expected, "[{low}, {high}]");
        }
        let none = Estimate { value: 9.0, interval: None, count: 4 };
        assert_eq!(Verdict::of(&none, 0.03), Verdict::Unresolved);
    }

    /// The share of comparisons of `cases` identical cases in which one is called faster or
    /// slower. `ratio` makes the ratio of one case of the next comparison.
    fn false_share(cases: usize, mut ratio: impl FnMut(f64) -> Estimate) -> f64 {
        const COMPARISONS: usize = 1_000;
        let confidence = 1.0 - (1.0 - CONFIDENCE) / cases as f64;
        let mut is_false = || {
            let verdicts: Vec<Verdict> =
                (0..cases).map(|_| Verdict::of(&ratio(confidence), 0.0)).collect();
            verdicts.iter().any(|of| matches!(of, Verdict::Faster | Verdict::Slower))
        };
        (0..COMPARISONS).filter(|_| is_false()).count() as f64 / COMPARISONS as f64
    }

    // Three standard errors of so many comparisons are 2 %.
    const MOST_FALSE: f64 = 0.05 + 0.02;

    #[test]
    fn twenty_identical_cases_have_a_false_verdict_in_no_more_than_one_comparison_of_twenty() {
        let side = |count: u32, draw: Draw, rng: &mut Rng| -> ByRound {
            (1..=count).map(|round| (round, draw(rng))).collect()
        };
        for (index, (shape, draw)) in (0_u64..).zip(SHAPES) {
            for count in [5, 6, 8, 12, 20, 40] {
                let mut rng = Rng::with_seed(index);
                let paired = false_share(20, |confidence| {
                    let sides = [(); 2].map(|()| side(count, draw, &mut rng));
                    ratio_at(confidence, &sides[1], &sides[0]).unwrap()
                });
                let unpaired = false_share(20, |confidence| {
                    let [first, second] = [(); 2].map(|()| {
                        let side = side(count, draw, &mut rng).into_values().collect::<Vec<_>>();
                        Estimate::of(&side).unwrap()
                    });
                    second.over(first, 0.0, confidence).unwrap()
                });
                println!("{shape:<18} n = {count:<3} paired {paired:.3}, unpaired {unpaired:.3}");
                assert!(paired <= MOST_FALSE, "{shape}, {count} rounds: {paired}");
                assert!(unpaired <= MOST_FALSE, "{shape}, {count} rounds: {unpaired}");
            }
        }
    }
}
