//! How precise and how disturbed a run is.

use crate::judge::statistics::{Estimate, median};

use super::model::{Case, CaseEstimate, JudgedOutcome, Quality};
use crate::judge::statistics::MIN_SAMPLE;
use crate::store::invocation::Invocation;
use crate::store::results::RunDescription;

/// An advised budget is a multiple of this, in seconds.
const STEP_SECONDS: f64 = 60.0;

/// Nobody is advised to measure for longer, in seconds.
const LONGEST_SECONDS: f64 = 6.0 * 3600.0;

/// The half-width that is narrow enough where the run names none, in percent.
const TARGET_PERCENT: f64 = 3.0;

/// The quality of the run of this index.
pub fn quality<'a>(
    cases: impl Iterator<Item = &'a Case>,
    run: usize,
    description: &RunDescription,
    invocations: &[Invocation],
) -> Quality {
    let further = description.procedure.as_ref().and_then(|procedure| procedure.further);
    let target_percent = further.map_or(TARGET_PERCENT, |further| further.target_percent);
    let estimates: Vec<(&str, &CaseEstimate)> = cases
        .filter_map(|case| Some((case.name.as_str(), case.estimates[run].as_ref()?)))
        .collect();
    let times: Vec<(&str, Estimate)> =
        estimates.iter().filter_map(|(name, case)| Some((*name, case.principal()?))).collect();
    let mut wide = times.clone();
    wide.retain(|(_, time)| half_width_percent(time).is_none_or(|of| of > target_percent));
    let widths: Vec<f64> = times.iter().filter_map(|(_, time)| half_width_percent(time)).collect();
    let stolen = |invocation: &Invocation| invocation.record.as_ref()?.interference.steal_ns;
    let steal: Vec<f64> = invocations.iter().filter_map(stolen).map(|ns| ns as f64 / 1e9).collect();
    Quality {
        target_percent,
        cases: times.len(),
        within_target: times.len() - wide.len(),
        median_half_width_percent: median(&widths),
        disturbed: estimates
            .iter()
            .map(|(_, case)| {
                case.count(JudgedOutcome::Disturbed) + case.count(JudgedOutcome::Unusable)
            })
            .sum(),
        steal_seconds: (!steal.is_empty()).then(|| steal.iter().sum()),
        remedy: remedy(&wide, target_percent, invocations),
        wide: wide.into_iter().map(|(name, _)| name.to_owned()).collect(),
    }
}

/// Half the width of an interval, in percent of its figure.
fn half_width_percent(time: &Estimate) -> Option<f64> {
    Some(time.half_width()? * 100.0)
}

/// The budget that brings the cases to the target, where there is one: an interval
/// narrows with the root of the number of processes. Those of a case take as long as
/// they did, and all that ran counts.
fn remedy(
    wide: &[(&str, Estimate)],
    target_percent: f64,
    invocations: &[Invocation],
) -> Option<String> {
    let seconds = |of: &Invocation| of.duration_ns as f64 / 1e9;
    let further = |(case, time): &(&str, Estimate)| {
        let times: Vec<f64> =
            invocations.iter().filter(|of| of.case == *case).map(seconds).collect();
        let count = time.count as f64;
        let needed = match half_width_percent(time) {
            Some(percent) => count * (percent / target_percent).powi(2),
            None => MIN_SAMPLE as f64,
        };
        Some((needed - count).max(1.0) * median(&times)?)
    };
    let further: f64 = wide.iter().filter_map(further).sum();
    let budget = invocations.iter().map(seconds).sum::<f64>() + further;
    let budget = (budget / STEP_SECONDS).ceil() * STEP_SECONDS;
    (!wide.is_empty() && budget <= LONGEST_SECONDS).then(|| format!("--budget {budget:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::statistics::Interval;
    use crate::store::fixtures as sample;

    /// Ten processes of a case with this half-width.
    fn wide(percent: Option<f64>) -> (&'static str, Estimate) {
        let mut time = Estimate::of(&[100.0; 10]).unwrap();
        let ends = percent.map(|of| Interval { low: 100.0 - of, high: 100.0 + of });
        time.interval = ends;
        ("ring", time)
    }

    #[test]
    fn a_budget_grows_with_the_square_of_what_is_too_wide() {
        let mut invocations = sample::case("ring", [1.0; 10]);
        invocations.iter_mut().for_each(|of| of.duration_ns = 2_000_000_000);
        let advised = |wide: &[(&str, Estimate)]| remedy(wide, 3.0, &invocations);
        assert_eq!(advised(&[]), None);
        // 20 s, and 30 processes more than the ten there are.
        assert_eq!(advised(&[wide(Some(6.0))]).as_deref(), Some("--budget 120"));
        assert_eq!(advised(&[wide(Some(30.0))]).as_deref(), Some("--budget 2040"));
        assert_eq!(advised(&[wide(None)]).as_deref(), Some("--budget 60"));
        assert_eq!(advised(&[wide(Some(300.0))]), None);
    }
}
