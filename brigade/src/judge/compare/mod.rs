//! The result of a comparison, as `--format json` prints it and the table shows it. The committed
//! schema, `brigade/comparison.schema.json`, is generated from these types; a test compares the
//! two. Unknown figures are `null`.

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

/// A baseline and a candidate, case by case. In every pair of values the baseline's comes first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Schema version of this object, `major.minor`.
    pub schema_version: String,
    /// How they were measured.
    pub design: Design,
    /// The baseline.
    pub baseline: Described,
    /// The candidate.
    pub candidate: Described,
    /// The joint confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// The confidence of each interval, 0 to 1.
    pub confidence_of_each: f64,
    /// The largest difference that does not matter, as a share: 0.03 for ratios of 1/1.03 to 1.03.
    pub margin: f64,
    /// How much the two runs differ for other reasons; `null` unless two runs are compared.
    pub between: Option<BetweenRuns>,
    /// How the environments of the runs differ.
    pub environment_differences: Vec<Difference>,
    /// The compared cases.
    pub cases: Vec<CaseComparison>,
    /// The other cases, with reasons.
    pub not_compared: Vec<Skipped>,
}

/// How much two runs differ for other reasons than what is compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BetweenRuns {
    /// The state of the machine in each; `null` for a run without references.
    pub states: Pair<Option<State>>,
    /// How much runs of one build differ on this machine; `null` if unknown: then there is no
    /// verdict.
    pub spread: Option<Spread>,
    /// The figures, corrected to the speed of the reference.
    #[serde(skip)]
    pub levels: Pair<Levels>,
}

/// How baseline and candidate were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// In the same rounds, in balanced order: each round is one sample.
    SideBySide,
    /// In two runs, one after the other: each process is one sample.
    TwoRuns,
    /// In two groups of runs: each run is one sample.
    Groups,
}

/// Describes the baseline or the candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Described {
    /// The folder with its records, or the number of folders.
    pub records: String,
    /// The commit from which its programs were built, with `+` if files differed from it; `null` if
    /// unknown.
    pub revision: Option<String>,
    /// The command around its programs, word by word; paths are cut to their last part.
    pub under: Vec<String>,
    /// Flags of its programs, added to those of the case.
    pub with: Vec<String>,
    /// Its machine setting, in words; `null` if none was changed.
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
    /// The number of rounds, processes or runs compared.
    pub samples: Pair<usize>,
    /// The unit of the figures: time per operation, or bytes per task.
    pub unit: Quantity,
    /// Their medians.
    pub figures: Pair<f64>,
    /// The candidate's figure divided by the baseline's.
    pub ratio: Estimate,
    /// The verdict on that ratio.
    pub verdict: Verdict,
    /// The ratios of percentiles within a process: `p50`, `p90` and `p99`. Samples of many
    /// operations average over them.
    pub percentiles: BTreeMap<String, Estimate>,
    /// Two modes, if a side has them.
    pub modes: Option<ModesOfSides>,
    /// Disturbed invocations.
    pub disturbed: Pair<usize>,
    /// Unusable invocations; they count only if there are no others.
    pub unusable: Pair<usize>,
    /// Failed invocations.
    pub failed: Pair<usize>,
}

/// Two modes of a case, found in either side alone: modes of both together could be the difference
/// between them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModesOfSides {
    /// The median of the fast mode, per operation, in nanoseconds.
    pub fast_ns: f64,
    /// The median of the slow mode, per operation, in nanoseconds.
    pub slow_ns: f64,
    /// The share of invocations in the slow mode, 0 to 1.
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
    /// Bonferroni's inequality; `between` describes how two runs differ for other reasons.
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

    /// Sets the titles of the cases, from their names.
    pub fn titled(mut self, title: impl Fn(&str) -> String) -> Self {
        self.cases.iter_mut().for_each(|case| case.title = title(&case.case));
        self
    }

    /// Compares a case that both sides measured.
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

    /// The ratio of one figure, candidate to baseline: paired by round, or of two samples.
    fn ratio(&self, [first, second]: &Pair<ByRound>) -> Option<Estimate> {
        if self.design == Design::SideBySide {
            return ratio_at(self.confidence_of_each, second, first);
        }
        let [first, second] = [first, second].map(|side| Estimate::of(&values(side)));
        second?.over(first?, 0.0, self.confidence_of_each)
    }

    /// The ratio of a case in two runs, corrected to the speed of the reference, with an interval
    /// that allows for differences between runs of one build. `None` unless both runs have
    /// references.
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

/// The reason why a case cannot be compared, without a full stop, if any. The sides of a
/// side-by-side comparison may have different flags.
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

/// The candidate compared with the baseline.
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
    /// The verdict on a ratio. `margin` is the largest difference that does not matter, as a share:
    /// 0.03 for ratios of 1/1.03 to 1.03.
    ///
    /// An interval inside the margin is *same*, even if it excludes 1: the difference is certain
    /// but does not matter. Any other that excludes 1 is *faster* or *slower*. Without an interval
    /// the case is unresolved.
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

    /// The verdict as one word.
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
    fn modes_are_searched_in_each_side_and_counted_in_both() {
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
    fn the_verdict_depends_on_where_the_interval_lies() {
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

    /// The share of comparisons of `cases` identical cases that call one of them faster or slower.
    /// `ratio` simulates one case of the next comparison.
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

    // Three standard errors of this many comparisons are 2 %.
    const MOST_FALSE: f64 = 0.05 + 0.02;

    #[test]
    fn at_most_one_of_twenty_comparisons_of_identical_cases_has_a_false_verdict() {
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
