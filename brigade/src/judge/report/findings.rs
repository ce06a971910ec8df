//! What `suite.toml` sets against each other, with the figures of a run. Both
//! sides of a finding are estimated from the rounds that they share, and by one
//! estimator, so that its ratio or difference is that of the figures beside it. A finding whose
//! case was not measured says nothing.

use crate::judge::statistics::{ByRound, Estimate, alike, common, difference, ratio};

use super::model::{AttributedCase, Attribution, Finding, Outcome, Side};
use super::unlike::Conditions;
use super::{Cases, attribution, growth};
use crate::judge::sample::Run;
use crate::manifest::finding::{self, Breakdown, Comparison, Remainder, Subject};

/// A difference below this does not matter, as a share.
pub const MARGIN: f64 = 0.03;
/// The least share of a difference that is worth a word.
const LEAST_SHARE: f64 = 0.1;
/// By how much the share of crossing hops has to differ.
const LEAST_CROSSING: f64 = 0.1;

/// The finding with the figures of the run of this index, on a machine with these
/// caches; `None` if a case that it needs was not measured.
pub fn finding(
    of: &finding::Finding,
    cases: &Cases,
    run: usize,
    caches: &[String],
) -> Option<Finding> {
    match of {
        finding::Finding::Comparison(of) => comparison(of, cases, run),
        finding::Finding::Remainder(of) => remainder(of, cases, run),
        finding::Finding::Attribution(of) => breakdown(of, cases, run),
        finding::Finding::Knee(of) => growth::knee(of, cases, run, caches),
        finding::Finding::Slope(of) => growth::slope_of(of, cases, run),
        finding::Finding::Aftermath(of) => growth::aftermath(of, cases, run),
    }
}

/// A subject with what was measured of it.
struct Measured<'a> {
    subject: &'a Subject,
    time_ns: ByRound,
    has_two_modes: bool,
    /// The runs, if the measurement is its case's principal one.
    runs: &'a [Run<'a>],
    attribution: Option<&'a Attribution>,
    conditions: Conditions,
}

impl<'a> Measured<'a> {
    fn find(subject: &'a Subject, cases: &'a Cases, run: usize) -> Option<Self> {
        let (case, runs) = cases.find(&subject.case, run)?;
        let estimate = case.estimates[run].as_ref()?;
        let measurement = estimate.measurement(subject.measurement.as_deref())?;
        let is_principal = estimate.measurement(None) == Some(measurement);
        Some(Self {
            subject,
            time_ns: estimate.by_round(measurement),
            has_two_modes: measurement.modes.is_some(),
            runs: if is_principal { runs } else { &[] },
            attribution: estimate.attribution.as_ref().filter(|_| is_principal),
            conditions: Conditions::of(case, runs),
        })
    }

    fn side(&self, time_ns: Estimate) -> Side {
        Side {
            case: self.subject.case.clone(),
            text: self.subject.text.clone(),
            name: self.subject.name.clone(),
            time_ns,
            has_two_modes: self.has_two_modes,
        }
    }

    /// The waiting of its operation in each of its rounds.
    fn waiting(&self) -> ByRound {
        let of = |run: &Run| Some((run.round, attribution::Parts::of(run.record)?.waiting));
        let shared = |(round, _): &(u32, f64)| self.time_ns.contains_key(round);
        self.runs.iter().filter_map(of).filter(shared).collect()
    }
}

/// Both subjects, over the rounds that they share.
fn both<'a>(subjects: [&'a Subject; 2], cases: &'a Cases, run: usize) -> Option<[Measured<'a>; 2]> {
    let mut first = Measured::find(subjects[0], cases, run)?;
    let mut second = Measured::find(subjects[1], cases, run)?;
    [first.time_ns, second.time_ns] = common(&first.time_ns, &second.time_ns);
    Some([first, second])
}

fn comparison(of: &Comparison, cases: &Cases, run: usize) -> Option<Finding> {
    let [first, second] = both([&of.first, &of.second], cases, run)?;
    let outcome = outcome_of_ratio(&ratio(&first.time_ns, &second.time_ns)?);
    let [first_ns, second_ns] = alike(&first.time_ns, &second.time_ns)?;
    let is_second_longer = first_ns.value < second_ns.value;
    let (longer, shorter) = if is_second_longer { (&second, &first) } else { (&first, &second) };
    let differ = outcome == Outcome::Differ;
    Some(Finding::Comparison {
        first: first.side(first_ns),
        second: second.side(second_ns),
        outcome,
        is_second_longer,
        ratio: ratio(&longer.time_ns, &shorter.time_ns)?,
        waiting_ns: waiting(longer, shorter).filter(|_| differ),
        crossing_shares: crossings(longer, shorter).filter(|_| differ),
        tasks: first.conditions.common_tasks(&second.conditions),
        unlike: first.conditions.unlike(&second.conditions),
    })
}

/// What can be said of two figures of this ratio.
fn outcome_of_ratio(ratio: &Estimate) -> Outcome {
    let Some(interval) = ratio.interval else { return Outcome::TooFewRounds };
    let most = 1.0 + MARGIN;
    if 1.0 / most <= interval.low && interval.high <= most {
        Outcome::Same
    } else if interval.contains(1.0) {
        Outcome::TooNoisy
    } else {
        Outcome::Differ
    }
}

fn waiting(longer: &Measured, shorter: &Measured) -> Option<Estimate> {
    let whole_ns = difference(&longer.time_ns, &shorter.time_ns)?;
    let more_ns = difference(&longer.waiting(), &shorter.waiting())?;
    let matters = more_ns.value >= LEAST_SHARE * whole_ns.value && more_ns.excludes(0.0);
    matters.then_some(more_ns)
}

fn crossings(longer: &Measured, shorter: &Measured) -> Option<[f64; 2]> {
    let more = longer.attribution?.crossing_share?;
    let less = shorter.attribution?.crossing_share?;
    (more - less >= LEAST_CROSSING).then_some([more, less])
}

fn remainder(of: &Remainder, cases: &Cases, run: usize) -> Option<Finding> {
    let [whole, baseline] = both([&of.of, &of.baseline], cases, run)?;
    let difference_ns = difference(&whole.time_ns, &baseline.time_ns)?;
    let [whole_ns, baseline_ns] = alike(&whole.time_ns, &baseline.time_ns)?;
    let margin = MARGIN * baseline_ns.value;
    let outcome = match difference_ns.interval {
        None => Outcome::TooFewRounds,
        Some(interval) if -margin <= interval.low && interval.high <= margin => Outcome::Same,
        Some(interval) if interval.contains(0.0) => Outcome::TooNoisy,
        Some(_) => Outcome::Differ,
    };
    Some(Finding::Remainder {
        of: whole.side(whole_ns),
        baseline: baseline.side(baseline_ns),
        outcome,
        difference_ns,
        remains: of.remains.clone(),
        tasks: whole.conditions.common_tasks(&baseline.conditions),
        unlike: whole.conditions.unlike(&baseline.conditions),
    })
}

fn breakdown(of: &Breakdown, cases: &Cases, run: usize) -> Option<Finding> {
    let part = |condition: &finding::Condition| {
        let (case, _) = cases.find(&condition.case, run)?;
        let attribution = case.estimates[run].as_ref()?.attribution.clone()?;
        Some(AttributedCase {
            case: condition.case.clone(),
            text: condition.text.clone(),
            attribution,
        })
    };
    let parts: Vec<AttributedCase> = of.cases.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| Finding::Attribution { of: of.of.clone(), parts })
}
