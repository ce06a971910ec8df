//! A comparison: two lists of rows and a column of ratios, and how much runs of one build differ.
//! The committed schema, `brigade/comparison.schema.json`, is generated from these types; a test
//! compares the two.

use std::collections::BTreeMap;
use std::iter::repeat_n;

use clap::ValueEnum;
use serde::Serialize;

use super::environment::Difference;
use super::row::{Quantity, Row};
use super::run::FiguresByCase;
use super::state::State;
use super::statistics::{
    CONFIDENCE, Estimate, INDEPENDENT, Interval, fewest, median, quantile, ratio, sorted,
};
use crate::store::Spread;

/// Version of [`Comparison`]'s schema, `major.minor`.
pub const SCHEMA_VERSION: &str = "3.0";

/// The confidence of each interval between two saved runs, and of all intervals of a comparison
/// side by side: a verdict is repeated to others, and one in a hundred may be wrong.
const OF_VERDICTS: f64 = 0.99;

/// A difference between two saved runs must exceed the largest one between runs of one build this
/// many times (as logarithms): docs/STATISTICS.md has false verdicts and power on recorded runs.
const BEYOND_EARLIER: f64 = 1.5;

/// A correction by more than this factor is reported next to the verdict: the reference is one piece of
/// work, and others may not be slowed as much.
const MUCH_CORRECTED: f64 = 1.15;

/// The fewest earlier runs of one build that show how much they differ.
const FEWEST_EARLIER: usize = 2;

/// The two sides of a comparison: the baseline, then the candidate.
pub type Pair<T> = [T; 2];

/// A baseline and a candidate, case by case. In every pair of values the baseline's comes first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Comparison {
    /// Schema version of this object, `major.minor`.
    pub schema_version: String,
    /// How they were measured.
    pub design: Design,
    /// Baseline and candidate.
    pub sides: Pair<Side>,
    /// The confidence of each interval.
    pub confidence: f64,
    /// The largest difference that does not matter, as a share.
    pub margin: f64,
    /// By what the candidate's times are multiplied for the state of the machine; `null` unless both
    /// runs are of one machine.
    pub correction: Option<f64>,
    /// Earlier runs of either build that show how much runs differ, without the two.
    pub earlier_runs: usize,
    /// Whether both sides are saved runs of one build: their difference is not the program's.
    pub is_one_build: bool,
    /// How long the processes of both sides took, in seconds; `null` for saved runs.
    pub seconds: Option<f64>,
    /// Why no case has a verdict; `null` if cases may have one.
    pub no_verdict: Option<NoVerdict>,
    /// How the conditions differ.
    pub environment_differences: Vec<Difference>,
    /// The cases that both measured.
    pub cases: Vec<Compared>,
    /// The cases that could not be compared.
    pub not_compared: Vec<NotCompared>,
}

/// A case that could not be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct NotCompared {
    /// Its name.
    pub case: String,
    /// The reason.
    pub reason: NotComparedFor,
}

/// Why a case could not be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NotComparedFor {
    /// The case cannot run here: the reason.
    Skipped(String),
    /// A side has no figure of it.
    NotMeasured {
        /// The side.
        side: SideName,
        /// The first error, if its processes failed.
        error: Option<String>,
    },
    /// The two sides measure something else: the measurement and the operation of each.
    OtherOperation(Pair<[String; 2]>),
    /// A figure or the end of its interval is not above 0, so it has no ratio.
    NotPositive,
}

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SideName {
    /// What is compared with.
    Baseline,
    /// What is compared.
    Candidate,
}

/// How baseline and candidate were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// In the same rounds, in balanced order: each round is one sample.
    SideBySide,
    /// In two runs, one after the other: each process is one sample.
    TwoRuns,
    /// In two groups of runs: each run is one sample.
    Groups,
}

impl Design {
    /// The confidence of all verdicts together; of two saved runs that of each.
    pub fn confidence(self) -> f64 {
        if self == Self::Groups { CONFIDENCE } else { OF_VERDICTS }
    }
}

/// Why a comparison cannot decide anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoVerdict {
    /// A side was disturbed, or of two runs one machine changed its speed meanwhile.
    Disturbed,
    /// So many more earlier runs of one build are needed, to know how much they differ.
    FewEarlier(usize),
    /// A side has fewer runs that can be compared than this number, which this many cases need.
    FewRuns(usize),
}

/// Describes the baseline or the candidate.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Side {
    /// The folder with its records; `null` for several runs.
    pub records: Option<String>,
    /// The commit from which its programs were built, with `+` if files differed from it; `null` if
    /// unknown.
    pub revision: Option<String>,
    /// The command around its programs, word by word; paths are cut to their last part.
    pub wrap: Vec<String>,
    /// Flags of its programs, added to those of the case.
    pub args: Vec<String>,
    /// Whether the other side has another binary.
    pub other_binary: bool,
    /// Whether the other side's tasks could run on other CPUs, which others may have disturbed more
    /// or less.
    pub other_cpus: bool,
    /// The state of each of its runs.
    pub states: Vec<State>,
}

impl Side {
    /// Whether it is one whose disturbance decides nothing.
    fn is_usable(&self, design: Design) -> bool {
        self.states.iter().all(|state| match design {
            Design::TwoRuns => state.is_comparable,
            // What disturbs both sides of a round cancels, unless their CPUs differ; an emulator
            // makes some things slower than others.
            Design::SideBySide => state.is_fit || !self.other_cpus && !state.is_emulated(),
            Design::Groups => true,
        })
    }

    /// How many of its runs are samples of a group: times of the others cannot be compared with those
    /// of another run.
    pub fn samples(&self) -> usize {
        self.states.iter().filter(|state| state.is_comparable).count()
    }
}

/// What a comparison shows if it goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoreTime {
    /// How much longer it takes, in seconds.
    pub seconds: f64,
    /// Half the width that the median interval then has, as a share: an interval excludes 1 in about
    /// half of the comparisons with a true change of this size.
    pub share: f64,
}

/// How many times as long a comparison is suggested at least and at most.
const LEAST_TIMES: f64 = 1.5;
const MOST_TIMES: f64 = 4.0;

/// One case of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Compared {
    /// The case's rows.
    pub rows: Pair<Row>,
    /// The candidate's figure divided by the baseline's, times the correction.
    pub ratio: Estimate,
    /// The largest ratio between runs of one build; `null` if none is known.
    pub earlier: Option<f64>,
    /// The verdict on the ratio.
    pub verdict: Verdict,
}

/// The candidate compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The candidate takes less time.
    Faster,
    /// The candidate takes more time.
    Slower,
    /// The difference is smaller than the margin.
    Same,
    /// The sample is too small or too noisy to decide.
    Unresolved,
}

impl Comparison {
    /// Compares the cases that both sides measured. The candidate's times are multiplied by
    /// `correction`; each set of `earlier` runs is of one build, and contains neither side.
    pub fn new(
        design: Design,
        sides: Pair<Side>,
        rows: Pair<Vec<Row>>,
        margin: f64,
        correction: Option<f64>,
        earlier: &[Vec<FiguresByCase>],
    ) -> Self {
        let (pairs, not_compared) = paired(design, &rows);
        let largest = largest(earlier);
        let all = design.confidence();
        // So many intervals have `all` together, by Bonferroni's inequality.
        let intervals = if design == Design::TwoRuns { 1 } else { pairs.len().max(1) };
        let mut comparison = Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            design,
            sides,
            confidence: 1.0 - (1.0 - all) / intervals as f64,
            margin,
            correction,
            earlier_runs: earlier.iter().map(Vec::len).sum(),
            is_one_build: false,
            seconds: None,
            no_verdict: None,
            environment_differences: Vec::new(),
            cases: Vec::new(),
            not_compared,
        };
        comparison.no_verdict = comparison.why_no_verdict(earlier);
        for rows in pairs {
            if let Some(ratio) = comparison.ratio(&rows) {
                let earlier = largest.get(&*rows[0].key()).copied();
                let verdict = comparison.verdict(&rows[0], &ratio, earlier);
                comparison.cases.push(Compared { rows, ratio, earlier, verdict });
            } else {
                let case = rows[0].case.clone();
                let reason = NotComparedFor::NotPositive;
                comparison.not_compared.push(NotCompared { case, reason });
            }
        }
        comparison
    }

    /// The quotient of the figures of one case; `None` if one is not above 0.
    fn ratio(&self, [first, second]: &Pair<Row>) -> Option<Estimate> {
        let ratio = match self.design {
            Design::SideBySide => {
                let sides = [second, first].map(Row::by_round);
                ratio(&sides, self.confidence, INDEPENDENT)
            }
            design => {
                let depend = design == Design::TwoRuns;
                let estimate = if depend { Estimate::at } else { Estimate::of_independent };
                let first = estimate(self.confidence, &first.values());
                let second = estimate(self.confidence, &second.values());
                first.zip(second).and_then(|(first, second)| second.over(first))
            }
        };
        // Memory does not depend on the machine's speed.
        let correction = match self.correction {
            Some(correction) if first.unit == Quantity::Nanoseconds => correction,
            _ => 1.0,
        };
        Some(ratio?.map(|ratio| ratio * correction))
    }

    /// The correction, if it is so large that verdicts on times depend on it.
    pub fn large_correction(&self) -> Option<f64> {
        let corrects = |case: &Compared| case.rows[0].unit == Quantity::Nanoseconds;
        let is_large = |by: &f64| by.ln().abs() > MUCH_CORRECTED.ln();
        self.correction.filter(|by| is_large(by) && self.cases.iter().any(corrects))
    }

    /// Why it decides nothing, if so.
    fn why_no_verdict(&self, earlier: &[Vec<FiguresByCase>]) -> Option<NoVerdict> {
        if !self.sides.iter().all(|side| side.is_usable(self.design)) {
            return Some(NoVerdict::Disturbed);
        }
        match self.design {
            Design::SideBySide => None,
            Design::TwoRuns => {
                let most = earlier.iter().map(Vec::len).max().unwrap_or(0);
                let lacking = FEWEST_EARLIER.saturating_sub(most);
                (lacking > 0).then_some(NoVerdict::FewEarlier(lacking))
            }
            Design::Groups => {
                let needed = fewest(self.confidence);
                let has_few = self.sides.iter().any(|side| side.samples() < needed);
                has_few.then_some(NoVerdict::FewRuns(needed))
            }
        }
    }

    fn verdict(&self, row: &Row, ratio: &Estimate, earlier: Option<f64>) -> Verdict {
        let verdict = Verdict::of_ratio(ratio, self.margin);
        // Memory does not depend on when it was measured.
        let is_same_memory = verdict == Verdict::Same && row.unit == Quantity::Bytes;
        match self.no_verdict {
            Some(NoVerdict::FewEarlier(_)) if is_same_memory => return Verdict::Same,
            Some(_) => return Verdict::Unresolved,
            None if self.design != Design::TwoRuns => return verdict,
            None => {}
        }
        let Some(earlier) = earlier.or_else(|| is_same_memory.then_some(1.0)) else {
            return Verdict::Unresolved;
        };
        let is_beyond = ratio.value.ln().abs() > BEYOND_EARLIER * earlier.ln().abs();
        match verdict {
            Verdict::Slower | Verdict::Faster if !is_beyond => Verdict::Unresolved,
            verdict => verdict,
        }
    }

    /// The change, as a share, from which on half of the cases get a verdict; `None` if none has an
    /// interval.
    pub fn resolution(&self) -> Option<f64> {
        let of_case = |case: &Compared| {
            let Interval { low, high } = case.ratio.interval?;
            let earlier = case.earlier.map_or(0.0, |ratio| BEYOND_EARLIER * ratio.ln().abs());
            Some(((high / low).ln() / 2.0).max(earlier).max(self.margin.ln_1p()))
        };
        let logs: Vec<f64> = self.cases.iter().filter_map(of_case).collect();
        median(&logs).map(f64::exp_m1)
    }

    /// Whether a slowdown of the margin or more is excluded of a case. Of two saved runs the verdict
    /// decides, since runs of one build differ by more than an interval shows.
    pub fn excludes_slowdown(&self, case: &Compared) -> bool {
        match case.verdict {
            Verdict::Same | Verdict::Faster => true,
            Verdict::Slower => false,
            Verdict::Unresolved if self.no_verdict.is_some() => false,
            Verdict::Unresolved => {
                let is_below = |ends: Interval| as_printed(ends.high) <= 1.0 + self.margin;
                self.design != Design::TwoRuns && case.ratio.interval.is_some_and(is_below)
            }
        }
    }

    /// What more time would show of the undecided cases; `None` of saved runs, and without intervals.
    pub fn with_more_time(&self) -> Option<MoreTime> {
        let seconds = self.seconds?;
        let undecided = self.cases.iter().filter(|case| !self.excludes_slowdown(case));
        let half =
            |case: &Compared| case.ratio.interval.map(|ends| (ends.high / ends.low).ln() / 2.0);
        let half_widths: Vec<f64> = undecided.filter_map(half).collect();
        let half_width = median(&half_widths)?;
        // The width falls with the root of the number of rounds.
        let needed = (half_width / self.margin.ln_1p()).powi(2);
        let times = needed.clamp(LEAST_TIMES, MOST_TIMES);
        let share = (half_width / times.sqrt()).exp_m1().max(self.margin);
        Some(MoreTime { seconds: seconds * (times - 1.0), share })
    }

    /// A case that the baseline measured and the candidate did not.
    pub fn missing_in_candidate(&self) -> Option<&NotCompared> {
        self.not_compared.iter().find(|missing| {
            matches!(missing.reason, NotComparedFor::NotMeasured { side: SideName::Candidate, .. })
        })
    }

    /// How many cases have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }
}

/// Pairs the rows of both sides that measure the same in one case. Returns also the cases without a
/// pair.
fn paired(
    design: Design,
    [baseline, candidate]: &Pair<Vec<Row>>,
) -> (Vec<Pair<Row>>, Vec<NotCompared>) {
    let is_one_case = |row: &Row, other: &Row| match design {
        // Flags of a side change the parameters.
        Design::SideBySide => row.case == other.case,
        Design::TwoRuns | Design::Groups => row.is_same_case_as(other),
    };
    let is_one_figure =
        |row: &Row, other: &Row| is_one_case(row, other) && row.measures_same_as(other);
    let is_other_figure =
        |row: &Row, other: &Row| is_one_case(row, other) && !row.measures_same_as(other);
    let mut pairs = Vec::new();
    let mut not_compared = Vec::new();
    let mut rest: Vec<&Row> = candidate.iter().collect();
    for row in baseline {
        if let Some(place) = rest.iter().position(|other| is_one_figure(row, other)) {
            pairs.push([row.clone(), rest.remove(place).clone()]);
        } else {
            let other = candidate.iter().find(|other| is_other_figure(row, other));
            let reason = why_no_pair(Some(row), other);
            not_compared.push(NotCompared { case: row.case.clone(), reason });
        }
    }
    for row in rest {
        let is_reported = not_compared.iter().any(|missing| missing.case == row.case);
        if !is_reported {
            let other = baseline.iter().find(|other| is_other_figure(other, row));
            let reason = why_no_pair(other, Some(row));
            not_compared.push(NotCompared { case: row.case.clone(), reason });
        }
    }
    (pairs, not_compared)
}

/// Why the rows of a case have no ratio. A side that did not run the case has no row.
fn why_no_pair(baseline: Option<&Row>, candidate: Option<&Row>) -> NotComparedFor {
    let not_measured = |side, row: Option<&Row>| {
        let error = row.and_then(|row| row.error.clone());
        NotComparedFor::NotMeasured { side, error }
    };
    let measured = |row: Option<&Row>| {
        let row = row.filter(|row| row.figure.is_some())?;
        Some([row.measurement.clone(), row.operation.clone()])
    };
    match (measured(baseline), measured(candidate)) {
        (None, _) => not_measured(SideName::Baseline, baseline),
        (_, None) => not_measured(SideName::Candidate, candidate),
        (Some(first), Some(second)) => NotComparedFor::OtherOperation([first, second]),
    }
}

impl Verdict {
    /// The verdict on a ratio. `margin` is the largest difference that does not matter, as a share:
    /// 0.03 for ratios of 1/1.03 to 1.03.
    ///
    /// An interval inside the margin is *same*, even if it excludes 1: the difference is certain
    /// but does not matter. A ratio beyond the margin whose interval excludes 1 is *faster* or
    /// *slower*. Anything else is unresolved.
    pub fn of_ratio(ratio: &Estimate, margin: f64) -> Self {
        let Some(Interval { low, high }) = ratio.interval else { return Self::Unresolved };
        // No interval that is seen to contain 1 excludes it.
        let [low, high] = [low, high].map(as_printed);
        let most = 1.0 + margin;
        if 1.0 / most <= low && high <= most {
            Self::Same
        } else if high < 1.0 && ratio.value < 1.0 / most {
            Self::Faster
        } else if low > 1.0 && ratio.value > most {
            Self::Slower
        } else {
            Self::Unresolved
        }
    }
}

/// An end of a ratio's interval with the three decimals that are printed.
fn as_printed(end: f64) -> f64 {
    (end * 1e3).round() / 1e3
}

/// How far the figures of the next quiet run will be from those of this one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Repeat {
    /// The other quiet runs of this build on this machine that it is estimated from.
    pub runs: usize,
    /// The runs of recorded machines, which count as one run more.
    pub recorded_runs: usize,
    /// The recorded machines with several runs of one build.
    pub recorded_machines: usize,
    /// Half of the figures will differ by at most this share.
    pub half: f64,
    /// One in ten will differ by more than this share.
    pub tenth: f64,
    /// The largest difference, as a share: its median.
    pub worst: f64,
}

/// What recorded machines show of how far runs of one build differ.
#[derive(Debug, Default)]
pub struct Experience {
    /// The runs of each machine.
    pub runs: Vec<usize>,
    /// Percentiles 0 to 100 of the logarithms of ratios, divided by the standard error of one side.
    pub scaled: Vec<f64>,
    /// The least differences by a case's key, which a run with small errors does not undercut: a calm
    /// run does not promise a calm next one.
    pub floors: BTreeMap<String, Spread>,
}

/// The least standard error, of memory that is the same in every process.
const LEAST_ERROR: f64 = 5e-4;

impl Repeat {
    /// How far the next run will be from a run with the figures `own`: as far as the `others`, runs
    /// of this build, are, and, counted as one more, as far as experience says. `None` without
    /// intervals.
    pub fn forecast(
        own: &FiguresByCase,
        others: &[&FiguresByCase],
        experience: &Experience,
    ) -> Option<Self> {
        let mut errors = Vec::new();
        for (case, figure) in own {
            if let Some(error) = figure.log_error() {
                errors.push((error.max(LEAST_ERROR), experience.floors.get(case)));
            }
        }
        let scaled = &experience.scaled;
        let on_machines = errors.iter().flat_map(|(error, floor)| {
            scaled.iter().enumerate().map(move |(percent, by)| {
                let least = floor.map_or(0.0, |floor| floor.quantile(percent as f64 / 100.0));
                least.max(by * error)
            })
        });
        let of_build = others.iter().flat_map(|run| {
            let pair = own.iter().filter_map(|(case, own)| Some((own.value, run.get(case)?.value)));
            pair.map(|(own, other)| (own / other).ln().abs())
        });
        let of_build = of_build.flat_map(|size| repeat_n(size, scaled.len()));
        let sizes = sorted(&on_machines.chain(of_build).collect::<Vec<_>>());
        let share = |probability| Some(quantile(&sizes, probability)?.exp_m1());
        Some(Self {
            runs: others.len(),
            recorded_runs: experience.runs.iter().sum(),
            recorded_machines: experience.runs.len(),
            half: share(0.5)?,
            tenth: share(0.9)?,
            worst: share(0.5_f64.powf(1.0 / errors.len() as f64).max(0.95))?,
        })
    }
}

/// The largest ratio between figures of one case in two runs of one build, by case; each set of
/// runs is of one build.
fn largest(sets: &[Vec<FiguresByCase>]) -> BTreeMap<&str, f64> {
    let mut largest = BTreeMap::<&str, f64>::new();
    for runs in sets {
        for case in runs.iter().flat_map(FiguresByCase::keys) {
            let values = runs.iter().filter_map(|run| Some(run.get(case)?.value));
            if let [least, .., most] = sorted(&values.collect::<Vec<_>>())[..] {
                let known = largest.entry(case).or_insert(1.0);
                *known = known.max(most / least);
            }
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::run::figures_by_case;

    #[test]
    fn the_verdict_depends_on_where_the_interval_lies() {
        for (low, high, expected) in [
            (0.98, 1.02, Verdict::Same),
            (1.0 / 1.03, 0.99, Verdict::Same),
            (1.01, 1.08, Verdict::Slower),
            (0.93, 0.99, Verdict::Faster),
            // It excludes 1, but the ratio is a difference that does not matter.
            (1.01, 1.031, Verdict::Unresolved),
            (0.966, 0.999, Verdict::Unresolved),
            (1.0004, 1.5, Verdict::Unresolved),
            (0.98, 1.04, Verdict::Unresolved),
        ] {
            let interval = Some(Interval { low, high });
            let ratio = Estimate { value: f64::midpoint(low, high), interval, count: 9 };
            assert_eq!(Verdict::of_ratio(&ratio, 0.03), expected, "[{low}, {high}]");
        }
        let none = Estimate { value: 9.0, interval: None, count: 4 };
        assert_eq!(Verdict::of_ratio(&none, 0.03), Verdict::Unresolved);
    }

    /// A case of processes in rounds 1, 2 … with these figures.
    fn row(case: &str, values: impl IntoIterator<Item = f64>) -> Row {
        let row = Row::of_figures(values);
        let figure = Estimate::of(&row.values());
        Row { case: case.to_owned(), program: case.to_owned(), figure, ..row }
    }

    /// Compares two saved runs.
    fn compared(
        rows: [Vec<Row>; 2],
        correction: Option<f64>,
        earlier: &[Vec<FiguresByCase>],
    ) -> Comparison {
        compared_in([true; 2], rows, correction, earlier)
    }

    /// Compares two saved runs, each of which was undisturbed or not.
    fn compared_in(
        are_undisturbed: [bool; 2],
        rows: [Vec<Row>; 2],
        correction: Option<f64>,
        earlier: &[Vec<FiguresByCase>],
    ) -> Comparison {
        let sides = are_undisturbed.map(|is_comparable| Side {
            states: vec![State { is_comparable, ..State::default() }],
            ..Side::default()
        });
        Comparison::new(Design::TwoRuns, sides, rows, 0.03, correction, earlier)
    }

    const SCATTER: [f64; 12] =
        [1.0, 0.99, 1.01, 1.004, 0.996, 1.002, 0.998, 1.006, 0.994, 1.0, 1.001, 0.999];

    #[test]
    fn saved_runs_get_a_verdict_only_beyond_what_runs_of_one_build_differ() {
        let values = [SCATTER, SCATTER.map(|value| value * 1.2)];
        let verdict = |earlier: Option<f64>, correction: Option<f64>| {
            let run = |value| figures_by_case(&[row("ring", [value])]);
            let earlier = earlier.map(|ratio| [1.0, ratio].map(run).to_vec());
            let rows = values.map(|values| vec![row("ring", values)]);
            let found = compared(rows, correction, earlier.as_slice());
            (found.cases[0].verdict, found.cases[0].ratio.value)
        };
        assert_eq!(verdict(None, None).0, Verdict::Unresolved);
        assert_eq!(verdict(Some(1.02), None).0, Verdict::Slower);
        assert_eq!(verdict(Some(1.15), None).0, Verdict::Unresolved, "1.15 ^ 1.5 > 1.2");
        let (corrected, ratio) = verdict(Some(1.001), Some(1.0 / 1.2));
        assert_eq!(corrected, Verdict::Same);
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    }

    /// Side by side, for a minute: a margin of 3 % and these intervals.
    fn side_by_side(intervals: &[[f64; 2]]) -> Comparison {
        let rows = || intervals.iter().map(|_| row("ring", SCATTER)).collect::<Vec<_>>();
        let sides = [Side::default(), Side::default()];
        let both = [rows(), rows()];
        let mut found = Comparison::new(Design::SideBySide, sides, both, 0.03, None, &[]);
        found.seconds = Some(60.0);
        let case = found.cases[0].clone();
        let with = |[low, high]: &[f64; 2]| {
            let interval = Some(Interval { low: *low, high: *high });
            let ratio = Estimate { value: (low * high).sqrt(), interval, count: 9 };
            Compared { verdict: Verdict::of_ratio(&ratio, 0.03), ratio, ..case.clone() }
        };
        found.cases = intervals.iter().map(with).collect();
        found
    }

    #[test]
    fn a_slowdown_is_excluded_by_the_upper_end_of_an_interval() {
        let intervals = [[0.98, 1.02], [0.8, 0.9], [0.9, 1.03], [0.9, 1.031], [1.1, 1.2]];
        let found = side_by_side(&intervals);
        let excluded = found.cases.iter().map(|case| found.excludes_slowdown(case));
        assert_eq!(excluded.collect::<Vec<_>>(), [true, true, true, false, false]);
        let saved = Comparison { design: Design::TwoRuns, ..found };
        assert!(!saved.excludes_slowdown(&saved.cases[2]), "runs of one build differ by more");
    }

    /// The width of an interval halves in four times the time.
    #[test]
    fn more_time_shows_smaller_changes() {
        let widths = [[0.9, 1.0 / 0.9], [0.95, 1.0 / 0.95]];
        let found = widths.map(|ends| side_by_side(&[ends]).with_more_time().unwrap());
        let [wide, narrow] = found;
        assert_eq!(wide.seconds, 180.0);
        assert!((wide.share - (1.0 / 0.9_f64.sqrt() - 1.0)).abs() < 1e-9, "{wide:?}");
        // (ln 0.95 / ln 1.03)² = 3.01
        assert!((narrow.seconds - 120.0).abs() < 2.0 && narrow.share == 0.03, "{narrow:?}");
        assert_eq!(side_by_side(&[[0.99, 1.01]]).with_more_time(), None);
    }

    #[test]
    fn sides_that_measure_something_else_are_not_compared() {
        let mut rows = [SCATTER, SCATTER].map(|values| vec![row("ring", values)]);
        rows[1][0].operation = "join".to_owned();
        rows[0].push(row("only", [1.0]));
        let found = compared(rows, None, &[]);
        let reason =
            NotComparedFor::OtherOperation(["", "join"].map(|of| [String::new(), of.into()]));
        let only = not_measured("only", SideName::Candidate, None);
        let expected = [NotCompared { case: "ring".to_owned(), reason }, only];
        assert_eq!((found.cases.len(), &found.not_compared[..]), (0, &expected[..]));
    }

    fn not_measured(case: &str, side: SideName, error: Option<&str>) -> NotCompared {
        let error = error.map(str::to_owned);
        NotCompared { case: case.to_owned(), reason: NotComparedFor::NotMeasured { side, error } }
    }

    /// A run in which every process of a case failed knows neither its program nor its parameters.
    #[test]
    fn a_case_that_failed_on_one_side_is_reported_once_with_its_error() {
        let case = "a --tasks 3";
        let parameters = BTreeMap::from([("tasks".to_owned(), 3.into())]);
        let measured = Row { program: "a".to_owned(), parameters, ..row(case, SCATTER) };
        let failed = Row { error: Some("oops".to_owned()), ..row(case, []) };
        for (rows, side) in [
            ([&measured, &failed], SideName::Candidate),
            ([&failed, &measured], SideName::Baseline),
            ([&failed, &failed], SideName::Baseline),
        ] {
            let found = compared(rows.map(|row| vec![row.clone()]), None, &[]);
            assert_eq!(found.not_compared, [not_measured(case, side, Some("oops"))]);
            assert_eq!(found.missing_in_candidate().is_some(), side == SideName::Candidate);
        }
    }

    /// A run of six of one build: docs/STATISTICS.md says which.
    #[derive(serde::Deserialize)]
    struct Recorded {
        reference_ns: f64,
        /// The figures by case and round.
        cases: BTreeMap<String, BTreeMap<u32, f64>>,
    }

    fn six_runs() -> Vec<Recorded> {
        serde_json::from_str(include_str!("statistics/fixtures/six-runs.json")).unwrap()
    }

    fn rows(run: &Recorded, slower: f64) -> Vec<Row> {
        let cases = run.cases.iter();
        cases.map(|(case, figure)| row(case, figure.values().map(|value| value * slower))).collect()
    }

    fn figures(run: &Recorded) -> FiguresByCase {
        figures_by_case(&rows(run, 1.0))
    }

    /// Runs `first` and `second`, this much slower, compared with the help of the other four.
    fn of_pair(runs: &[Recorded], [first, second]: [usize; 2], slower: f64) -> Comparison {
        let others = runs.iter().enumerate().filter(|(at, _)| ![first, second].contains(at));
        let others = [others.map(|(_, run)| figures(run)).collect::<Vec<_>>()];
        let correction = runs[first].reference_ns / runs[second].reference_ns;
        let rows = [rows(&runs[first], 1.0), rows(&runs[second], slower)];
        compared(rows, Some(correction), &others)
    }

    /// Half of the cases of the second run take four times as long, as next to a busy loop.
    #[test]
    fn no_pair_with_a_disturbed_run_has_a_verdict() {
        let runs = six_runs();
        for first in 0..runs.len() {
            for second in (0..runs.len()).filter(|second| *second != first) {
                let mut slowed = rows(&runs[second], 4.0);
                slowed.splice(..10, rows(&runs[second], 1.0).into_iter().take(10));
                let both = [rows(&runs[first], 1.0), slowed];
                let earlier: Vec<FiguresByCase> = runs.iter().map(figures).collect();
                let earlier = &[earlier];
                for are_undisturbed in [[true, false], [false, true], [false; 2]] {
                    let found = compared_in(are_undisturbed, both.clone(), None, earlier);
                    assert_eq!(found.no_verdict, Some(NoVerdict::Disturbed));
                    assert_eq!(found.count(Verdict::Unresolved), found.cases.len());
                }
                let found = compared_in([true; 2], both, None, earlier);
                assert!(found.no_verdict.is_none() && found.count(Verdict::Slower) > 5);
            }
        }
    }

    #[test]
    fn memory_that_is_the_same_needs_no_earlier_runs() {
        let memory = |values: [f64; 12]| {
            let row = row("ring", values.map(|value| 1290.0 + value / 1e3));
            vec![Row { unit: Quantity::Bytes, ..row }]
        };
        let found = compared([SCATTER, SCATTER].map(memory), None, &[]);
        assert_eq!(found.no_verdict, Some(NoVerdict::FewEarlier(2)));
        assert_eq!(found.cases[0].verdict, Verdict::Same);
    }

    #[test]
    fn verdicts_on_runs_of_one_build_are_not_false_and_a_planted_change_is_found() {
        let runs = six_runs();
        let mut pairs = Vec::new();
        for one in 0..runs.len() {
            pairs.extend((0..runs.len()).filter(|other| *other != one).map(|other| [one, other]));
        }
        let changed = |comparison: &Comparison| {
            comparison.count(Verdict::Slower) + comparison.count(Verdict::Faster)
        };
        // A pair in either order is one comparison.
        let of_one_build = pairs.iter().filter(|[first, second]| first < second);
        let falsely = of_one_build.filter(|pair| changed(&of_pair(&runs, **pair, 1.0)) > 0).count();
        println!("false verdicts in {falsely} of 15 comparisons");
        assert!(falsely <= 1, "{falsely}");
        for (slower, least) in [(1.05, 0.2), (1.1, 0.4), (1.2, 0.6), (1.4, 0.8)] {
            let mut found = 0;
            let mut all = 0;
            for pair in &pairs {
                let comparison = of_pair(&runs, *pair, slower);
                found += comparison.count(Verdict::Slower);
                all += comparison.cases.len();
            }
            let share = found as f64 / all as f64;
            println!("{:.0} % slower: found in {:.0} %", 100.0 * (slower - 1.0), 100.0 * share);
            assert!(share >= least, "{slower}: {share}");
        }
    }

    /// How far these runs differ, each from all others.
    fn experience_of(runs: &[&FiguresByCase]) -> Experience {
        let mut scaled = Vec::new();
        let mut by_case = BTreeMap::<String, Vec<f64>>::new();
        for (at, own) in runs.iter().enumerate() {
            for (other_at, other) in runs.iter().enumerate().filter(|(other, _)| *other != at) {
                for (case, figure) in *own {
                    let Some(other) = other.get(case) else { continue };
                    let difference = (figure.value / other.value).ln().abs();
                    scaled.push(difference / figure.log_error().unwrap().max(LEAST_ERROR));
                    if at < other_at {
                        by_case.entry(case.clone()).or_default().push(difference);
                    }
                }
            }
        }
        let scaled = sorted(&scaled);
        let scaled =
            (0..=100).map(|percent| quantile(&scaled, f64::from(percent) / 100.0).unwrap());
        let spread = |(case, differences): (String, Vec<f64>)| {
            let differences = sorted(&differences);
            let [median, p90, largest] =
                [0.5, 0.9, 1.0].map(|probability| quantile(&differences, probability).unwrap());
            (case, Spread { median, p90, largest })
        };
        let floors = by_case.into_iter().map(spread).collect();
        Experience { runs: vec![runs.len()], scaled: scaled.collect(), floors }
    }

    /// Each of six runs of one build forecasts each later one from those before it. What is recorded
    /// comes from the four runs that are neither: none judges a forecast that it makes.
    #[test]
    fn the_next_run_differs_by_as_much_as_is_printed() {
        let runs: Vec<FiguresByCase> = six_runs().iter().map(figures).collect();
        let mut within = Vec::new();
        let mut beyond = Vec::new();
        for (at, own) in runs.iter().enumerate().skip(1) {
            for (later, other) in runs.iter().enumerate().skip(at + 1) {
                let rest = runs.iter().enumerate().filter(|(run, _)| ![at, later].contains(run));
                let experience = experience_of(&rest.map(|(_, run)| run).collect::<Vec<_>>());
                let before: Vec<&FiguresByCase> = runs[..at].iter().collect();
                let Repeat { half, tenth, .. } =
                    Repeat::forecast(own, &before, &experience).unwrap();
                let differences = own.iter().filter_map(|(case, figure)| {
                    Some((figure.value / other.get(case)?.value).ln().abs().exp_m1())
                });
                let differences: Vec<f64> = differences.collect();
                let share = |most: f64| {
                    let count =
                        differences.iter().filter(|difference| **difference <= most).count();
                    count as f64 / differences.len() as f64
                };
                within.push(share(half));
                beyond.push(1.0 - share(tenth));
            }
        }
        let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
        println!(
            "within: {:.2} {within:.2?}, beyond: {:.2} {beyond:.2?}",
            mean(&within),
            mean(&beyond)
        );
        assert!(
            (mean(&within) - 0.5).abs() <= 0.1 && mean(&beyond) <= 0.1,
            "{within:?} {beyond:?}"
        );
        let is_near = |share: &f64| (share - 0.5).abs() <= 0.25;
        assert!(within.iter().all(is_near) && beyond.iter().all(|share| *share <= 0.25));
    }

    #[test]
    fn a_calm_run_does_not_promise_a_calm_next_one() {
        let own = figures_by_case(&[row("ring", [1.0; 12])]);
        let forecast = |floors| {
            let experience = Experience { scaled: vec![1.0; 101], floors, ..Experience::default() };
            Repeat::forecast(&own, &[], &experience).unwrap()
        };
        let spread = Spread { median: 0.1, p90: 0.2, largest: 0.4 };
        let case = own.keys().next().unwrap().clone();
        let inexperienced = forecast(BTreeMap::new());
        assert!(inexperienced.worst < 0.001, "{inexperienced:?}");
        let found = forecast([(case, spread)].into());
        let [half, tenth, worst] = [found.half, found.tenth, found.worst].map(f64::ln_1p);
        assert!((half - 0.1).abs() < 1e-9 && (tenth - 0.2).abs() < 1e-9, "{found:?}");
        assert!(worst > 0.2, "{found:?}");
    }
}
