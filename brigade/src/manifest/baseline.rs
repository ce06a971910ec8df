//! What reports subtract from a case's time.

use super::place::{Complaint, Table};
use super::{Case, Manifest};

/// Checks that every baseline is a case, that no case has two, and that no
/// case leads back to itself by its baseline's baseline.
pub(super) fn validate(manifest: &Manifest) -> Result<(), Complaint> {
    manifest.cases.iter().try_for_each(|case| {
        let complaint = |reason| Complaint {
            table: Table::Case(case.entry.0, case.entry.1),
            key: "baseline",
            reason: format!("case '{}': baseline: {reason}", case.name),
        };
        if case.baseline.is_some() && case.baseline_measurement.is_some() {
            let reason = "is a case, and baseline_measurement is in the same record: use one";
            return Err(complaint(reason.to_owned()));
        }
        follow(case, manifest).map_err(complaint)
    })
}

/// Goes from baseline to baseline until a case has none.
fn follow(case: &Case, manifest: &Manifest) -> Result<(), String> {
    let mut way = vec![&case.name];
    let mut current = case;
    while let Some(baseline) = &current.baseline {
        if let Some(start) = way.iter().position(|name| *name == baseline) {
            let cycle: Vec<&str> = way[start..].iter().map(|name| name.as_str()).collect();
            return Err(format!("leads back to itself: {} -> {baseline}", cycle.join(" -> ")));
        }
        current = manifest.case(baseline)?;
        way.push(&current.name);
    }
    Ok(())
}
