//! How precise and how disturbed a run is.

use crate::judge::statistics::{Estimate, median};

use super::model::{Case, CaseEstimate, Fate, Quality, WideCase};
use crate::manifest::Manifest;
use crate::store::invocation::Invocation;
use crate::store::results::RunDescription;

/// The half-width that is narrow enough where the run names none, in percent.
const TARGET_PERCENT: f64 = 3.0;

/// The quality of the run of this index.
pub fn quality<'a>(
    cases: impl Iterator<Item = &'a Case>,
    run: usize,
    description: &RunDescription,
    invocations: &[Invocation],
    manifest: &Manifest,
) -> Quality {
    let further = description.procedure.as_ref().and_then(|procedure| procedure.further);
    let target_percent = further.map_or(TARGET_PERCENT, |further| further.target_percent);
    let estimates: Vec<(&str, &CaseEstimate)> = cases
        .filter_map(|case| Some((case.name.as_str(), case.estimates[run].as_ref()?)))
        .collect();
    let times: Vec<(&str, Estimate)> = estimates
        .iter()
        .filter_map(|(name, case)| Some((*name, case.measurement(None)?.time_ns)))
        .collect();
    let wide: Vec<WideCase> = times
        .iter()
        .map(|(name, time)| WideCase {
            case: (*name).to_owned(),
            half_width_percent: half_width_percent(time),
            count: time.count,
        })
        .filter(|case| case.half_width_percent.is_none_or(|percent| percent > target_percent))
        .collect();
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
            .map(|(_, case)| case.count(Fate::Disturbed) + case.count(Fate::Unusable))
            .sum(),
        steal_seconds: (!steal.is_empty()).then(|| steal.iter().sum()),
        remedy: if wide.is_empty() { None } else { remedy(description, manifest) },
        wide,
    }
}

/// Half the width of an interval, in percent of its median.
fn half_width_percent(time: &Estimate) -> Option<f64> {
    let interval = time.interval?;
    (time.median > 0.0).then(|| (interval.high - interval.low) / 2.0 / time.median * 100.0)
}

/// The profile that measures next longer than the run's.
fn remedy(description: &RunDescription, manifest: &Manifest) -> Option<String> {
    let budget = |name: &str| manifest.profiles.get(name)?.budget_seconds;
    let spent = budget(&description.profile).unwrap_or(0.0);
    let longer = manifest.profiles.iter().filter_map(|(name, profile)| {
        Some((name, profile.budget_seconds.filter(|budget| *budget > spent)?))
    });
    let next = longer.min_by(|(_, first), (_, second)| first.total_cmp(second));
    next.map(|(name, _)| format!("--profile {name}"))
}
